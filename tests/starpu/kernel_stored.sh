#!/bin/sh
# Performance tables of kernels from run to run: the first run of a kernel measures, the
# next one knows, another source is another kernel, and files that others wrote do no harm.
set -u
: "${top_builddir:?}"
directory=$(mktemp -d "${TMPDIR:-/tmp}/heddle-test-stored.XXXXXX") || exit 99
trap 'rm -rf "$directory"' EXIT HUP INT TERM
HEDDLE_PROFILE_DIR=$directory/profiles HEDDLE_ANALYSE=$top_builddir/bin/heddle-analyse
STARPU_OPENCL_ON_CPUS=1 STARPU_NCPU=1 STARPU_NOPENCL=2 POCL_DEVICES='pthread basic'
export HEDDLE_PROFILE_DIR HEDDLE_ANALYSE STARPU_OPENCL_ON_CPUS STARPU_NCPU STARPU_NOPENCL
POCL_MAX_PTHREAD_COUNT=2
export POCL_DEVICES POCL_MAX_PTHREAD_COUNT
profile=$HEDDLE_PROFILE_DIR/times.profile
failures=0
fail() {
	echo "$*" >&2
	failures=$((failures + 1))
}
# expect WHAT FIRST FACTOR: runs the kernel; its first launch does FIRST.
expect() {
	"$top_builddir/tests/starpu/kernel_stored" "$3" >"$directory/out" 2>"$directory/err"
	status=$?
	[ "$status" = 77 ] && exit 77
	[ "$status" = 0 ] || fail "$1: exit $status: $(cat "$directory/err")"
	[ "$(sed -n 1p "$directory/out")" = "$2" ] ||
		fail "$1: not \"$2\": $(cat "$directory/out" "$directory/err" "$profile")"
	[ "$(grep -c '^no dry run, predicted' "$directory/out")" -ge 2 ] ||
		fail "$1: later launches: $(cat "$directory/out")"
}

expect first 'dry run, predicted' 2
expect second 'no dry run, predicted' 2
expect 'other source' 'dry run, predicted' 3
expect 'first source again' 'no dry run, predicted' 2
[ "$(grep -c '^kernel device="opencl' "$profile")" -ge 4 ] || fail "few records: $(cat "$profile")"
"$top_builddir/bin/heddle" estimate show times | grep -q 'opencl' || fail "not shown"
HEDDLE_PROFILE=0 expect 'not wanted' 'dry run, predicted' 2

# A device that is new is measured, also where the others are known.
sed -n 's/^kernel device="\([^"]*\)".*/\1/p' "$profile" | sort -u >"$directory/devices"
[ "$(wc -l <"$directory/devices")" = 2 ] || fail "not 2 devices: $(cat "$directory/devices")"
while read -r device <&3; do
	grep -vF "device=\"$device\"" "$profile" >"$directory/other"
	mv "$directory/other" "$profile"
	expect "$device is new" 'dry run, predicted' 2
done 3<"$directory/devices"

# Senseless, and a million times off: right all the same.
for us in 0 -3 1e400 x; do
	sed -E "s/ us=[^ ]*/ us=$us/" "$profile" >"$directory/bad"
	cp "$directory/bad" "$profile"
	expect "us=$us" 'dry run, predicted' 2
done
for us in 1e-9 1e9; do
	sed -E "s/ us=[^ ]*/ us=$us/" "$profile" >"$directory/bad"
	cp "$directory/bad" "$profile"
	expect "us=$us" 'no dry run, predicted' 2
done

# What the first launch waited for is said once, if it took long.
# waited NUMBER: so many lines say it.
waited() {
	rm -rf "$HEDDLE_PROFILE_DIR"
	expect waited 'dry run, predicted' 2
	[ "$(grep -c '^heddle: kernel times: its first launch waited [0-9.]* s: [0-9.]* s for its' \
		"$directory/err")" = "$1" ] || fail "waited: not $1: $(cat "$directory/err")"
}
HEDDLE_KERNEL_WAIT=1e-6
export HEDDLE_KERNEL_WAIT
waited 1
HEDDLE_VERBOSE=0 waited 0
HEDDLE_KERNEL_WAIT=1e6 waited 0
HEDDLE_KERNEL_WAIT=0 waited 0

# A kernel that no device compiles has not waited for anything.
"$top_builddir/tests/starpu/kernel_stored" nonsense >"$directory/out" 2>"$directory/err"
[ $? = 1 ] || fail "nonsense: no failure: $(cat "$directory/out")"
grep -q 'kernel times' "$directory/err" || fail "nonsense: no message: $(cat "$directory/err")"
grep 'waited' "$directory/err" && fail "nonsense: it waited"
[ "$failures" = 0 ]
