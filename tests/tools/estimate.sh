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
	printf '#!/bin/sh' >prog && chmod +x prog
	expect_estimate 2 'no profile prog, nor of a codelet of that name: .*/prog.profile' show prog
	[ "$failures" = 0 ]
) || failures=$((failures + 1))
expect_estimate 0 '^Usage: heddle estimate' --help
expect_estimate 2 '^Usage: heddle estimate'
expect_estimate 2 '"vc" is nothing to do' vc
for what in cv predict show; do
	expect_estimate 0 "Usage: heddle estimate $what" $what --help
	[ $what = cv ] || expect_estimate 2 'which profile' $what
	expect_estimate 2 'No such file' $what "$work/none"
	expect_estimate 2 'not a regular file' $what "$work"
done
for what in cv show; do
	expect_estimate 0 'job.profile:6: skipped: a name without a value' $what "$job"
done
expect_estimate 0 'job.profile:6: skipped: a name without a value' predict "$job" size=2
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
# Another sampling of the same jobs is the floor: speed-ups 10, 10 and 8 instead of 10, 10 and 5.
expect_estimate 0 '"again": null' cv --json "$job"
{
	grep -v 'size=4' "$job"
	echo 'task device="cpu X" size=4 : us=40'
	echo 'task device="cuda Y" size=4 : us=5'
} >"$work/job-again.profile"
expect_estimate 0 '^ *3  *20.00%  *12.50%  *0.00%  .*cuda Y, sampled again' cv "$job"
expect_estimate 0 '"speedup_error": 0.2' cv --json "$job"
rm "$work/job-again.profile"
# A power law: the cores' 10 us a size to the left and right of what is left out.
expect_estimate 0 '^10 folds, fit; reference: cpu X' cv "$job"
expect_estimate 0 '^ *60.0 .* 1.000  *neighbours  *cpu X' predict "$job" size=6
expect_estimate 0 '^ *3 .*cpu X$' cv --reference 'cuda Y' "$job"
expect_estimate 2 'has no device "cuda"' cv --reference cuda "$job"
expect_estimate 2 'not a whole number' cv --folds 1 "$job"
expect_estimate 2 'not a whole number' cv --neighbours 17 "$job"
expect_estimate 2 'one profile at a time' cv "$job" "$job"
# By a time that is known and the ratio 5 / 30 of the nearest tasks; by the averages.
# The GPU was never measured beyond size 4: extrapolated.
expect_estimate 0 '^ *15.0  *- *-  *6.000  *extrapolated  *cuda Y' predict -k 2 "$job" size=9
# Four samples have a range, one has none.
expect_estimate 0 '^ *20.0  *19.5  *7000.0  *1.000  *profile  *cpu X' predict "$job" size=2
expect_estimate 0 '^ *2.0  *-  *-  *10.000  *profile  *cuda Y' predict "$job" size=2
expect_estimate 0 '^ *15.0 .* 1.000  *neighbours  *cpu X' predict -k 2 "$job" size=1.4
expect_estimate 0 '"from": "neighbours"' predict --json "$job" size=3
for bad in size size= size=x size=inf color=red =1; do
	expect_estimate 2 'is no parameter here; there are size=NUMBER' predict "$job" "$bad"
done
# Parameters that make no sense: of those that were measured none is like them.
expect_estimate 2 '"size=-5": all values of size that were measured are above 0' predict "$job" size=-5
expect_estimate 2 '"size=0": all values of size that were measured are above 0' predict "$job" size=0
expect_estimate 2 'size=NUMBER is missing' predict "$job"
expect_estimate 2 'size is given twice' predict "$job" size=3 size=4
cat >"$work/words.profile" <<'END'
task device="cpu X" size=1 kind="plain" : us=10
task device="cpu X" size=2 kind="plain" : us=20
task device="cpu X" size=4 kind="fancy" : us=80
task device="cpu X" balance=-4 : us=80
END
words=$work/words.profile
expect_estimate 2 'size=NUMBER is missing' predict "$words" kind=plain
expect_estimate 2 'kind=WORD is missing' predict "$words" size=2
expect_estimate 2 'size=NUMBER does not go with' predict "$words" size=2 balance=4
expect_estimate 2 '"kind=odd" was not measured; there are fancy plain' \
	predict "$words" kind=odd size=2
expect_estimate 0 'neighbours  *cpu X' predict "$words" kind=plain size=1.5
expect_estimate 0 'profile  *cpu X' predict "$words" balance=-4
# Outside of everything sampled: either side of a number, or a word with numbers of another.
for far in size=0.9 size=9.1 size=1000000; do
	expect_estimate 0 'extrapolated  *cpu X' predict "$job" $far
done
expect_estimate 0 '"from": "extrapolated"' predict --json "$job" size=10
expect_estimate 0 'extrapolated  *cpu X' predict "$words" kind=fancy size=1
# An interval: times of 10 us a size, off by 10 % up and down in turn.
for size in 1 2 3 4 5 6 7 8 9 10 11 12; do
	echo "task device=\"cpu X\" size=$size : us=$((size * (size % 2 ? 11 : 9)))"
done >"$work/rough.profile"
expect_estimate 0 'neighbours  *cpu X' predict "$work/rough.profile" size=6.5
awk '/cpu X/ { exit !($2 > 45 && $2 < $1 && $1 < $3 && $3 < 90) }' "$work/out" ||
	{ fail "no interval around the time"; cat "$work/out"; }
expect_estimate 0 '"low": [1-9]' predict --json "$work/rough.profile" size=6.5
expect_estimate 0 '"low": null' predict --json "$job" size=10
echo 'rate device="cpu X" : rate=3' >"$work/rates"
expect_estimate 2 'no times of tasks' cv "$work/rates"
grep cpu "$job" >"$work/one.profile"
expect_estimate 1 'no two devices have times' cv "$work/one.profile"
# Of the times of rough, four of five are in the intervals.
sed 's/cpu X/cuda Y/' "$work/rough.profile" >>"$work/rough.profile.2"
cat "$work/rough.profile" >>"$work/rough.profile.2"
expect_estimate 0 ' [5-9][0-9]%  *cuda Y' cv "$work/rough.profile.2"
HEDDLE_PROFILE_DIR=$work
export HEDDLE_PROFILE_DIR
expect_estimate 0 'cuda Y' cv job
# Without a profile: the paper's table, of what was sampled.
expect_estimate 1 'no codelet has times of two tasks on two devices' cv
cp "$job" "$work/nbia.profile"
expect_estimate 0 '^nbia  *7.4  *61.5 .* 30.4 .* 3  cuda Y$' cv
expect_estimate 0 '"codelet": "nbia"' cv --json
expect_estimate 2 'none.profile: No such file' cv none
[ "$failures" = 0 ]
