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
	grep -q '^Tasks are measured under .*HEDDLE_WARM=1' "$work/out" || fail "show: what is measured"
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
expect_estimate 0 '^ *us/iteration  *+ us/block  *runs ' show "$work/loop.profile"
expect_estimate 0 '^ *0.5  *2  *3  *0  cpu X bytes=8 *$' show "$work/loop.profile"
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
for bad in size color=red =1; do
	expect_estimate 2 'is no parameter here; there are size=NUMBER' predict "$job" "$bad"
done
for bad in size= size=x size=inf size=nan size=1e999 size=3,5; do
	expect_estimate 2 "\"$bad\": size is a finite number" predict "$job" "$bad"
done
expect_estimate 2 'both want standard output' cv --json --csv -
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
# Where a law leads beyond all times, nothing: both devices were said to take 50 years, or a nanosecond.
for far in size=1e-300 size=1e300; do
	expect_estimate 0 ' 0.0  *- *-  *0.000  *nothing  *cpu X' predict "$job" $far
	grep -q ' 0.0  *- *-  *0.000  *nothing  *cuda Y' "$work/out" || { fail "$far"; cat "$work/out"; }
done
expect_estimate 0 ' 10000000.0  *- *- .*extrapolated  *cpu X' predict "$job" size=1000000
expect_estimate 0 'extrapolated  *cpu X' predict "$words" kind=fancy size=1
# Of one job: as in programs, a device that small tasks do not fill takes half as much longer.
sed '/size=1 /!d' "$job" >"$work/single.profile"
expect_estimate 0 '^ *4.0 .*extrapolated  *cuda Y' predict "$work/single.profile" size=16
grep -q '^ *160.0 .*extrapolated  *cpu X' "$work/out" || { fail "one job"; cat "$work/out"; }
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
# Records of tasks that say nothing: each is named, and the others count.
# left_out REASON RECORD [PATTERN]: PATTERN of the record, as it is shown.
left_out() {
	printf 'task device="cpu X" size=1 : us=10\n%s\n' "$2" >"$work/bad.profile"
	expect_estimate 0 "bad.profile: left out: .*$1.*: ${3:-$2}" show "$work/bad.profile"
	expect_estimate 0 ' 10.0 .*profile  *cpu X' predict "$work/bad.profile" size=1
	echo "$2" >"$work/bad.profile"
	expect_estimate 2 'bad.profile: no times of tasks' predict "$work/bad.profile" size=1
}
left_out 'a time that is not above 0' 'task device="cpu X" size=2 : us=-10'
left_out 'a time that is not above 0' 'task device="cpu X" size=2 : us=0'
left_out 'a time that is not above 0' 'task device="cpu X" size=2 : us=5,-3,7' 'task .* us=5'
left_out 'a time that is not above 0 and at most 1e15 us' 'task device="cpu X" size=2 : us=1e300' 'task .* us=1e+300'
left_out 'no us=NUMBER' 'task device="cpu X" size=2 : ms=10'
left_out 'no us=NUMBER' 'task device="cpu X" size=2 : us="10"'
left_out 'no device=' 'task size=2 : us=10'
left_out 'no device=' 'task device=3 size=2 : us=10' 'task device=3 size=2'
left_out 'no device=' 'task size=2 : device="cpu X" us=10'
left_out 'several numbers' 'task device="cpu X" size=2,3 : us=10' 'task device="cpu X" size='
left_out 'a result before the colon' 'task device="cpu X" samples=1 : us=10'
left_out 'an empty word' 'task device="cpu X" kind="" : us=10'
left_out 'too many parameters' 'task a=1 b=1 c=1 d=1 device="cpu X" e=1 f=1 g=1 h=1 i=1 : us=10'
left_out 'a word that is too long' "task device=\"cpu X\" kind=\"$(printf '%064d' 0)\" : us=10"
# A parameter is a number or a word, as in most records.
number='task device="cpu X" size=1 : us=10' word='task device="cpu X" size="large" : us=20'
printf '%s\n' "$word" "$number" 'task device="cpu X" size=2 : us=20' >"$work/bad.profile"
expect_estimate 0 'left out: a word where others have a number: .*size="large"' show "$work/bad.profile"
expect_estimate 0 ' 10.0 .*profile  *cpu X' predict "$work/bad.profile" size=1
printf '%s\n' "$number" "$word" 'task device="cpu X" size="small" : us=5' >"$work/bad.profile"
expect_estimate 0 'left out: a number where others have a word: .*size=1 ' show "$work/bad.profile"
expect_estimate 0 ' 20.0 .*profile  *cpu X' predict "$work/bad.profile" size=large
for p in a b c d e f g h i; do
	echo "task device=\"cpu X\" $p=1 : us=10"
done >"$work/bad.profile"
expect_estimate 0 'left out: too many parameters in all: .* i=1 ' show "$work/bad.profile"
HEDDLE_NEIGHBOURS=foo
export HEDDLE_NEIGHBOURS
expect_estimate 2 'HEDDLE_NEIGHBOURS=foo: not a value (fit or mean)' predict "$job" size=1
unset HEDDLE_NEIGHBOURS
# Lines that are none, named with their numbers.
for line in 'task device="cpu X" siz' 'task device="cpu X" size=2 : us' 'task size=nan : us=1' \
	'task size=2 : us=1e999' 'task size=2 : us=10ms' 'task device="cpu' "$(printf '\001\002')"; do
	printf '# times\n%s' "$line" >"$work/bad.profile"
	expect_estimate 2 'bad.profile:2: skipped: ' show "$work/bad.profile"
done
# A byte-order mark before them is no part of them.
printf '\357\273\277task device="cpu X" size=1 : us=10\n' >"$work/bad.profile"
expect_estimate 0 ' 10.0 .*cpu X' show "$work/bad.profile"
expect_estimate 2 'an empty name of a profile' show ''
HEDDLE_PROFILE_DIR=$job
export HEDDLE_PROFILE_DIR
expect_estimate 2 "job.profile/knn.profile: Not a directory" show knn
for bad in '' ' 5' +5 -5 5x 1e9 99999999999999999999; do
	expect_estimate 2 "folds $bad: not a whole number from 2" cv --folds "$bad" "$job"
done
expect_estimate 2 'neighbours 0: not a whole number from 1 to 16' cv -k 0 "$job"
expect_estimate 2 'seed x: not a whole number' cv --seed x "$job"
expect_estimate 1 'csv "": No such file' cv --csv ''
HEDDLE_PROFILE_DIR=$work
expect_estimate 0 'cuda Y' cv job
# Without a profile: the paper's table, of what was sampled.
expect_estimate 1 'no codelet has times of two tasks on two devices' cv
cp "$job" "$work/nbia.profile"
expect_estimate 0 '^nbia  *7.4  *61.5 .* 30.4 .* 3  cuda Y$' cv
expect_estimate 0 '"codelet": "nbia"' cv --json
expect_estimate 2 'none.profile: No such file' cv none
[ "$failures" = 0 ]
