#!/bin/sh
# Loops under dmda whose times nobody knows: cores are tried with small tasks, and what is left is placed
# when all devices have told. Machines are drawn at random. Iterations are equal, or rising.
set -u
: "${top_builddir:?}"
seed=${HEDDLE_TEST_SEED:-$(($(date +%s) % 100000))}
echo "HEDDLE_TEST_SEED=$seed"
export STARPU_SCHED=dmda HEDDLE_PROFILE=0 HEDDLE_PARTS=$((8 + seed % 9))
failures=0
# makespan SPEC [rising] [estimates|choosy] [sums]
makespan() {
	spec=$1
	shift
	HEDDLE_ESTIMATE=online,neighbours timeout 60 "$top_builddir/bin/heddle-simulate" --platform "$spec" -- \
		"$top_builddir/tests/sim/loop" tasks 1000000 "$@" 2>/dev/null |
		sed -n 's/.*makespan \([0-9]*\).*/\1/p'
}
# The GPU is worth so many cores. It does two tasks before it is known, while cores wait.
for gpu in 4 20 60 200 $((2 + seed % 97)); do
	for unequal in "" rising; do
		machine="$((4 + seed % 13))cpu+gpu$gpu@12000:10"
		known=$(makespan "$machine" $unequal)
		cold=$(makespan "$machine" $unequal estimates)
		echo "$machine, $HEDDLE_PARTS tasks a worker${unequal:+, }$unequal: known $known us, cold $cold us"
		if [ "${cold:-0}" -lt 1 ] || [ "$cold" -gt $((known * 3 / 2)) ]; then
			echo "cold it takes too long"
			failures=$((failures + 1))
		fi
	done
done
# Decisions take longer than tasks on the GPU: one thread alone would need 9.9 ms, and all of them, among
# them the GPU's whenever it can, 7.9.
cold=$(HEDDLE_PARTS=10 makespan "8cpu+gpu200@50000:10" slow estimates)
echo "slow decisions: cold $cold us"
if [ "${cold:-0}" -lt 1 ] || [ "$cold" -gt 7400 ]; then
	echo "the threads that submit are too few, or too many"
	failures=$((failures + 1))
fi
# Cores refuse the small tasks: others do them.
[ "$(makespan "4cpu+gpu20@12000:10" choosy)" -gt 0 ] || {
	echo "tasks that cores refuse are lost"
	failures=$((failures + 1))
}
# Where all blocks share their arrays, the time of a small one is not that of another.
known=$(makespan "4cpu+gpu60@12000:10" sums)
cold=$(makespan "4cpu+gpu60@12000:10" estimates sums)
echo "sums: known $known us, cold $cold us"
if [ "${cold:-0}" -lt 1 ] || [ "$cold" -gt $((known * 2)) ]; then
	echo "cold it takes too long"
	failures=$((failures + 1))
fi
[ "$failures" = 0 ]
