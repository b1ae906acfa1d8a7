#!/bin/sh
# The example of the estimator: estimates come from this run, and from the
# profile of earlier ones, under policies of StarPU's and of ours.
set -u
example=$top_builddir/doc/examples/estimate
HEDDLE_PROFILE_DIR=$(mktemp -d "${TMPDIR:-/tmp}/heddle-test-example.XXXXXX") || exit 99
export HEDDLE_PROFILE_DIR
trap 'rm -rf "$HEDDLE_PROFILE_DIR"' EXIT HUP INT TERM
status=0
runs=0
for policy in dmda eager lws ddwrr odds; do
	runs=$((runs + 1))
	STARPU_SCHED=$policy "$example" >"$HEDDLE_PROFILE_DIR/out" || status=1
	[ "$(grep -c 'us on worker [0-9]*, from online$' "$HEDDLE_PROFILE_DIR/out")" = 8 ] || {
		echo "under $policy:"
		cat "$HEDDLE_PROFILE_DIR/out"
		status=1
	}
	"$top_builddir/bin/heddle" estimate show polynomial >"$HEDDLE_PROFILE_DIR/out"
	[ "$(grep -c " $runs  *[0-9]*  cpu .*degree=[0-9]* points=10000 precision=single" \
		"$HEDDLE_PROFILE_DIR/out")" = 8 ] || {
		echo "in the profile after $policy:"
		cat "$HEDDLE_PROFILE_DIR/out"
		status=1
	}
done
# Where a device's worker comes before the cores, the example still asks for a core.
if grep -q 'define HEDDLE_USE_OPENCL' "$top_builddir/config.h"; then
	STARPU_NCPU=1 STARPU_NOPENCL=1 STARPU_OPENCL_ON_CPUS=1 STARPU_SCHED=eager "$example" \
		>"$HEDDLE_PROFILE_DIR/out"
	[ "$(grep -c ', from online$' "$HEDDLE_PROFILE_DIR/out")" = 8 ] ||
		{ echo "beside an OpenCL device:"; cat "$HEDDLE_PROFILE_DIR/out"; status=1; }
fi
# As the manual says.
command=$(sed -n 's/^heddle \(estimate predict polynomial [^#]*\).*/\1/p' "$top_srcdir/doc/estimator.md")
# shellcheck disable=SC2086 # words
"$top_builddir/bin/heddle" $command >"$HEDDLE_PROFILE_DIR/out" 2>&1 && grep -q ' cpu ' "$HEDDLE_PROFILE_DIR/out" || {
	echo "heddle $command:"
	cat "$HEDDLE_PROFILE_DIR/out"
	status=1
}
# Of one device nothing can be said, and no table is begun.
told=$("$top_builddir/bin/heddle" estimate cv polynomial 2>/dev/null)
[ -z "$told" ] || { echo "of one device: $told"; status=1; }
exit "$status"
