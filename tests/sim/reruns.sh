#!/bin/sh
# Simulated runs are the same to the last digit, however often they are repeated,
# for every strategy and for a wavefront; and all iterations are done. A user's model that looks at
# a block's data makes the same run as one with the machine's function.
set -u
: "${top_builddir:?}"
run() {
	"$top_builddir/bin/heddle-simulate" --platform "$1" -- \
		"$top_builddir/tests/sim/loop" "$2" "$3" ${4-} 2>/dev/null
}
failures=0
same() {
	first=$(run "$@")
	case $first in
	*"iterations $3 "*) ;;
	*)
		echo "$*: not all iterations were done: $first"
		failures=$((failures + 1))
		;;
	esac
	for rerun in 2 3 4 5; do
		again=$(run "$@")
		if [ "$again" != "$first" ]; then
			echo "$*: run $rerun differs:"
			echo "$first"
			echo "$again"
			failures=$((failures + 1))
		fi
	done
	echo "$* $(echo "$first" | tail -n 1)"
}
# With the machine's own model blocks on cores have no data. Where they have, an accelerator's worker
# looks for the end of a transfer at other times, a microsecond apart.
for strategy in hdss gss css awfd; do
	own=$(run '3cpu=1000+gpu8@6000:10' $strategy 200000 own)
	copied=$(run '3cpu=1000+gpu8@6000:10' $strategy 200000 copied)
	if [ -z "$own" ] || [ "$own" != "$copied" ]; then
		echo "$strategy: another run by a user's model: $own"
		echo "$copied"
		failures=$((failures + 1))
	fi
done
for strategy in hdss hdss:published=1 gss css:cpu=1000,cuda=9000 tss fss linear exponential \
	static qilin axel mfsc awfd awfe af plbhec logfit auto; do
	same '3cpu+gpu8@6000:10' $strategy 200000
done
same '12cpu+gpu36+gpu24+gpu12+gpu6' hdss 1000000
same '15cpu+gpu36~65536%0.5/0.5' hdss 1000000
same '4cpu+fpga6@3200:5' hdss 100000
# Tiles have several handles, which StarPU fetches in the order of their addresses.
waves() {
	"$top_builddir/bin/heddle-simulate" --platform '15cpu+gpu36@12000:10' -- \
		"$top_builddir/apps/strmatch/strmatch" --sched gss --size 2000 --reps 1 2>/dev/null
}
first=$(waves)
for rerun in 2 3 4 5 6 7 8; do
	again=$(waves)
	if [ -z "$first" ] || [ "$again" != "$first" ]; then
		echo "a wavefront: run $rerun differs:"
		echo "$first"
		echo "$again"
		failures=$((failures + 1))
	fi
done
[ "$failures" = 0 ]
