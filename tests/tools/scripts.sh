#!/bin/sh
# The scripts of the source tree: help, wrong use, and a flavour that is not there.
set -u
: "${top_srcdir:?}"
unset HEDDLE_FLAVOUR
failures=0

# expect STATUS TEXT COMMAND...: the exit status, and a text in what is printed.
expect() {
	want=$1 text=$2
	shift 2
	output=$("$@" 2>&1)
	status=$?
	if [ "$status" != "$want" ] || ! echo "$output" | grep -qF -- "$text"; then
		echo "FAIL: $*: status $status (wanted $want), output (wanted '$text'):"
		echo "$output"
		failures=$((failures + 1))
	fi
}

for script in setup check demo; do
	expect 0 "Usage: tools/$script" "$top_srcdir/tools/$script" --help
	expect 2 nonsense "$top_srcdir/tools/$script" nonsense
done
expect 2 /no/such/file "$top_srcdir/tools/demo" --file /no/such/file
expect 2 'wants a file' "$top_srcdir/tools/demo" --image
expect 2 'tools/setup nonsense' env HEDDLE_FLAVOUR=nonsense "$top_srcdir/tools/heddle" info
# What is traced is of the flavour that traces.
work=$(mktemp -d "${TMPDIR:-/tmp}/heddle-test-scripts.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT HUP INT TERM
mkdir -p "$work/tools" "$work/.starpu"
cp "$top_srcdir/tools/heddle" "$work/tools"
echo system >"$work/.starpu/default"
for flavour in system trace; do
	mkdir -p "$work/build-$flavour/bin"
	printf '#!/bin/sh\n[ "$1" = trace ] && shift && exec "$@"\necho "$0 $*"\n' \
		>"$work/build-$flavour/bin/heddle"
	chmod +x "$work/build-$flavour/bin/heddle"
done
expect 0 build-system/bin/heddle "$work/tools/heddle" app nbia
expect 0 build-trace/bin/heddle "$work/tools/heddle" trace "$work/tools/heddle" app nbia
[ "$failures" -eq 0 ]
