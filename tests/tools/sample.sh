#!/bin/sh
# heddle sample: jobs on every kind of device, whose times `heddle estimate` then finds.
set -u
: "${top_builddir:?}"
heddle=$top_builddir/bin/heddle
HEDDLE_PROFILE_DIR=$(mktemp -d "${TMPDIR:-/tmp}/heddle-test-sample.XXXXXX") || exit 99
export HEDDLE_PROFILE_DIR
trap 'rm -rf "$HEDDLE_PROFILE_DIR"' EXIT HUP INT TERM
failures=0

# expect STATUS PATTERN COMMAND...: its exit status, and a line of its output.
expect() {
	status=$1 pattern=$2
	shift 2
	"$@" >"$HEDDLE_PROFILE_DIR/out" 2>&1 </dev/null
	got=$?
	if [ "$got" != "$status" ] || ! grep -q -e "$pattern" "$HEDDLE_PROFILE_DIR/out"; then
		echo "$*: exit status $got instead of $status, or no line with '$pattern':"
		head -5 "$HEDDLE_PROFILE_DIR/out"
		failures=$((failures + 1))
	fi
}

expect 2 'which codelet' "$heddle" sample
expect 2 'no codelet "axpy"' "$heddle" sample axpy
expect 2 'not a whole number' "$heddle" sample --jobs 0 histogram
expect 2 'exceeds' "$heddle" sample --least 2K --most 1K histogram
expect 1 'tiles have 16 to 4194304 pixels' "$heddle" sample --jobs 1 --least 4 --most 4 nbia
expect 2 'no times are kept' env HEDDLE_PROFILE=0 "$heddle" sample histogram
for codelet in blackscholes boxfilter histogram nbia; do
	expect 0 "^$HEDDLE_PROFILE_DIR/$codelet.profile" \
		"$heddle" sample --jobs 4 --reps 3 --least 1K --most 64K $codelet
	expect 0 ' 1  *3  *cpu ' "$heddle" estimate show $codelet
	# Another run adds to it.
	expect 0 '4 jobs on each of' \
		"$heddle" sample --jobs 4 --reps 2 --least 1K --most 64K $codelet
	expect 0 ' 2  *5  *cpu ' "$heddle" estimate show $codelet
done
# Where there is an OpenCL worker there are two devices to compare.
if grep -q 'device="opencl' "$HEDDLE_PROFILE_DIR/blackscholes.profile"; then
	expect 0 '^ *4 .*opencl' "$heddle" estimate cv --folds 2 blackscholes
fi
[ "$failures" = 0 ]
