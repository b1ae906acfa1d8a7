#!/bin/sh
# A GPU becomes 100 times slower in mid-block. A loop that need not wait for it ends soon after the
# workers that are idle have computed its blocks again. Without a late block nothing changes.
set -u
: "${top_builddir:?}"
failures=0
# Iterations, makespan in whole us, efficiency, and late blocks of a loop of STRATEGY on PLATFORM.
run() {
	"$top_builddir/bin/heddle-simulate" --platform "$1" -- \
		"$top_builddir/tests/sim/loop" "$2" 1000000 late \
		2>/dev/null | sed -n 's/^iterations \([0-9]*\) .* makespan \([0-9]*\)\..*efficiency \([0-9.]*\) .*/\1 \2 \3/p; s/^late \([0-9]*\) .*/\1/p' |
		tr '\n' ' '
}
fail() {
	echo "FAIL: $*"
	failures=$((failures + 1))
}
# The policy decides how blocks lie when the GPU becomes slow. Under Heddle's, hdss: it ends a slow
# block shortly before the cores are done. Its next block was given before.
export STARPU_SCHED
slow='15cpu+gpu36%0.01/0.5'
while read -r STARPU_SCHED strategy least; do
	for late in 0 1; do
		HEDDLE_LATE=$late
		export HEDDLE_LATE
		# shellcheck disable=SC2046
		set -- $(run "$slow" "$strategy")
		[ "$#" = 4 ] && [ "$1" = 1000000 ] || {
			fail "$STARPU_SCHED, $strategy, HEDDLE_LATE=$late: $*"
			continue
		}
		echo "$STARPU_SCHED, $strategy, HEDDLE_LATE=$late: $2 us, efficiency $3, late blocks $4"
		if [ "$late" = 0 ]; then
			without=$2
			[ "$4" = 0 ] || fail 'a late block though all are waited for'
		else
			[ "$4" -ge 1 ] || fail 'no late block'
			[ "$2" -lt $((without * 3 / 4)) ] || fail "not much below $without us"
			awk "BEGIN { exit !($3 >= $least) }" || fail "efficiency below $least"
		fi
	done
done <<-END
	lws hdss 0.95
	lws fss 0.8
	lws css:chunk=20000 0.8
	heddle hdss 0.9
	heddle fss 0.8
	heddle css:chunk=20000 0.8
END
STARPU_SCHED=heddle
# Nothing is late: the same to the last microsecond.
for platform in 15cpu+gpu36 '3cpu+gpu8@6000:10'; do
	for strategy in hdss gss; do
		waits=$(HEDDLE_LATE=0 run "$platform" "$strategy")
		looks=$(HEDDLE_LATE=1 run "$platform" "$strategy")
		[ -n "$waits" ] && [ "$waits" = "$looks" ] ||
			fail "$platform $strategy: $waits and $looks"
	done
done
[ "$failures" = 0 ]
