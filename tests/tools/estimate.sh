#!/bin/sh
# heddle estimate: what it says of a profile that can be computed by hand, and to
# wrong use and bad input.
. "$top_srcdir/tests/tools/common.sh"
heddle=$top_builddir/bin/heddle

# expect_estimate STATUS PATTERN ARGUMENT...: of `heddle estimate`.
expect_estimate() {
	status=$1 pattern=$2
	shift 2
	expect "$status" "$pattern" "$heddle" estimate "$@"
}

cat >"$work/job.profile" <<'END'
# Speed-ups 10, 10 and 5.
task device="cpu X" size=1 : us=10
task device="cuda Y" size=1 : us=1
task device="cpu X" size=2 : us=20,7000,19.5,21
task device="cuda Y" size=2 : us=2
what is this?
task device="cpu X" size=4 : us=40 samples=7
task device="cuda Y" size=4 : us=8
task device="cpu X" size=9 : us=90
END
job=$work/job.profile
# A codelet comes before a file of the same name, which may be the program itself; a file
# before nothing.
mkdir "$work/profiles" "$work/here"
cp "$job" "$work/profiles/axpy.profile"
echo 'task device="cpu Z" size=1 : us=10' >"$work/here/mine"
printf 'ELF\000\001' >"$work/here/axpy"
(
	cd "$work/here" || exit 99
	HEDDLE_PROFILE_DIR=$work/profiles
	export HEDDLE_PROFILE_DIR
	expect_estimate 0 'cuda Y' show axpy
	expect_estimate 0 'cpu Z' show mine
	expect_estimate 2 'skipped' show ./axpy
	[ "$failures" = 0 ]
) || failures=$((failures + 1))
expect_estimate 0 '^Usage: heddle estimate' --help
expect_estimate 2 '^Usage: heddle estimate'
expect_estimate 2 '"vc" is nothing to do' vc
for what in cv predict show; do
	expect_estimate 0 "Usage: heddle estimate $what" $what --help
	expect_estimate 2 'which profile' $what
	expect_estimate 2 'No such file' $what "$work/none"
	expect_estimate 2 'not a regular file' $what "$work"
	expect_estimate 0 'job.profile:6: skipped: a name without a value' $what "$job"
done
expect_estimate 0 ' 20.0  *4 .*cpu X .*size=2' show "$job"
expect_estimate 0 '"samples": 7.0' show --json "$job"
echo 'loop bytes=8 device="cpu X" : at=5 pace=0.5,0.25,0.75 start=2' >"$work/loop.profile"
expect_estimate 0 '^loop bytes=8 device="cpu X" : at=5 pace=0.5 start=2$' show "$work/loop.profile"
expect_estimate 2 'no times of tasks' cv "$work/loop.profile"
# Left out in turn, the speed-ups 10, 10, 5 are predicted as 6, 50/9 and 10.
expect_estimate 0 '^ *3  *61.48% .*cuda Y' cv -k 2 "$job"
expect_estimate 0 '"speedup_error": 0.6148' cv -k 2 --json "$job"
HEDDLE_NEIGHBOURS=mean
export HEDDLE_NEIGHBOURS
expect_estimate 0 '^ *3  *61.48% .*cuda Y' cv "$job"
unset HEDDLE_NEIGHBOURS
# A power law: the cores' 10 us a size to the left and right of what is left out.
expect_estimate 0 '^10 folds, fit; reference: cpu X' cv "$job"
expect_estimate 0 '^ *60.0  *1.000  *neighbours  *cpu X' predict "$job" size=6
expect_estimate 0 '^ *3 .*cpu X$' cv --reference 'cuda Y' "$job"
expect_estimate 2 'has no device "cuda"' cv --reference cuda "$job"
expect_estimate 2 'not a whole number' cv --folds 1 "$job"
expect_estimate 2 'not a whole number' cv --neighbours 17 "$job"
expect_estimate 2 'one profile at a time' cv "$job" "$job"
# By a time that is known and the ratio 5 / 30 of the nearest tasks; by the averages.
expect_estimate 0 '^ *15.0  *6.000  *neighbours  *cuda Y' predict -k 2 "$job" size=9
expect_estimate 0 '^ *20.0  *1.000  *profile  *cpu X' predict "$job" size=2
expect_estimate 0 '^ *15.0  *1.000  *neighbours  *cpu X' predict -k 2 "$job" size=1.4
expect_estimate 0 '"from": "neighbours"' predict --json "$job" size=3
for bad in size size= size=x size=inf color=red =1; do
	expect_estimate 2 'is no parameter here; there are size=NUMBER' predict "$job" "$bad"
done
echo 'rate device="cpu X" : rate=3' >"$work/rates"
expect_estimate 2 'no times of tasks' cv "$work/rates"
grep cpu "$job" >"$work/one.profile"
expect_estimate 1 'no two devices have times' cv "$work/one.profile"
HEDDLE_PROFILE_DIR=$work
export HEDDLE_PROFILE_DIR
expect_estimate 0 'cuda Y' cv job
expect_estimate 2 'none.profile: No such file' cv none
[ "$failures" = 0 ]
