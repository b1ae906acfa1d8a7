#!/bin/sh
# Loops under dmda whose times nobody knows: cores are tried with small tasks, and what is left is placed
# when all devices have told. Machines are drawn at random. Iterations are equal, or rising.
set -u
: "${top_builddir:?}"
seed=${HEDDLE_TEST_SEED:-$(($(date +%s) % 100000))}
echo "HEDDLE_TEST_SEED=$seed"
export STARPU_SCHED=dmda HEDDLE_PROFILE=0
failures=0
iterations=1000000
# makespan SPEC [rising] [estimates|choosy] [sums]
makespan() {
	spec=$1
	shift
	HEDDLE_ESTIMATE=online,neighbours timeout 60 "$top_builddir/bin/heddle-simulate" --platform "$spec" -- \
		"$top_builddir/tests/sim/loop" tasks $iterations "$@" 2>/dev/null |
		sed -n 's/.*makespan \([0-9]*\).*/\1/p'
}
# compare SPEC WORD LAST: hundredths of the makespan with known times that the cold one is. Both words are for
# makespan, or empty.
compare() {
	known=$(makespan "$1" ${2:+"$2"} ${3:+"$3"})
	cold=$(makespan "$1" ${2:+"$2"} estimates ${3:+"$3"})
	hundredths=$((${cold:-0} * 100 / ${known:-1}))
	[ "$hundredths" != 0 ] || hundredths=99999
	echo "$*: $HEDDLE_PARTS tasks a worker, known $known us, cold $cold us"
}
# limit HUNDREDTHS MOST
limit() {
	[ "$1" -le "$2" ] && return
	echo "cold it takes too long: $1, at most $2 hundredths"
	failures=$((failures + 1))
}
# Tasks of two sizes that differ by an iteration. The GPU's first task says little of that size, but one
# of the other has told: the core that knows its time last submits enough for all.
export HEDDLE_PARTS=14
compare 11cpu+gpu27@12000:10 "" ""
limit "$hundredths" 105
compare 5cpu+gpu17@12000:10 rising ""
limit "$hundredths" 110
# The GPU's own thread knows last. With two tasks for each worker a core would seem to be done after it.
HEDDLE_PARTS=10
compare 5cpu+gpu13@12000:10 "" ""
limit "$hundredths" 105
# The GPU is worth so many cores. It does two tasks before it is known, while cores wait. What iterations
# that rise take is known too late now and then, so their mean counts.
HEDDLE_PARTS=$((8 + seed % 9))
sum=0 n=0
for gpu in 4 20 60 200 $((2 + seed % 97)); do
	machine="$((4 + seed % 13))cpu+gpu$gpu@12000:10"
	compare "$machine" "" ""
	limit "$hundredths" 150
	compare "$machine" rising ""
	sum=$((sum + hundredths)) n=$((n + 1))
done
limit $((sum / n)) 135
# Decisions take longer than tasks on the GPU: one thread alone would need 9.9 ms, and all of them, among
# them the GPU's whenever it can, 7.9.
cold=$(HEDDLE_PARTS=10 makespan "8cpu+gpu200@50000:10" slow estimates)
echo "slow decisions: cold $cold us"
if [ "${cold:-0}" -lt 1 ] || [ "$cold" -gt 7400 ]; then
	echo "the threads that submit are too few, or too many"
	failures=$((failures + 1))
fi
# Cores do more than one thread submits. If that is the GPU's, and it stays at it, the GPU has done 8 of
# 258 tasks after 9.7 ms.
iterations=90000
cold=$(HEDDLE_PARTS=16 makespan "15cpu+gpu4@50000:10" slow estimates)
iterations=1000000
echo "slow decisions, fast cores: cold $cold us"
if [ "${cold:-0}" -lt 1 ] || [ "$cold" -gt 8500 ]; then
	echo "the GPU's thread submits for too long"
	failures=$((failures + 1))
fi
# Cores refuse the small tasks: others do them.
[ "$(makespan "4cpu+gpu20@12000:10" choosy)" -gt 0 ] || {
	echo "tasks that cores refuse are lost"
	failures=$((failures + 1))
}
# Where all blocks share their arrays, the time of a small one is not that of another.
compare 4cpu+gpu60@12000:10 "" sums
limit "$hundredths" 200
[ "$failures" = 0 ]
