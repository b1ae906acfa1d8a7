#!/bin/sh
# Wrong use of an app ends with 2, help with 0 and one that gets stuck with 1, also where
# main() is simulated; and only those workers work that were asked for.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
set -u
: "${top_builddir:?}" "${top_srcdir:?}"
failures=0

# expect CODE TEXT APP ARGUMENT...: the exit code, and TEXT among what is printed.
expect() {
	code=$1 text=$2 app=$3
	shift 3
	"$top_builddir/bin/heddle-simulate" --platform '3cpu+gpu8@6000:10' -- \
		"$top_builddir/apps/$app/$app" "$@" >usage.$$ 2>&1
	got=$?
	if [ $got != "$code" ] || ! grep -qF -- "$text" usage.$$; then
		echo "FAILED: $app $*: exit $got, or does not say '$text'"
		tail -n 5 usage.$$
		failures=$((failures + 1))
	fi
	rm -f usage.$$
}

for app in blackscholes boxfilter floyd heat2d histogram nbia strmatch vecinc; do
	expect 2 "--size x: not a whole number" $app --size x
	expect 2 "takes no arguments" $app extra
	expect 2 "unrecognized option '--nonsense'" $app --nonsense
	expect 0 "--strategy=SPEC" $app --help
done
expect 2 "--k 0: not a whole number" heat2d --k 0
expect 2 "not ascending divisors" nbia --resolutions 32,100

"$top_builddir/bin/heddle-simulate" --platform 2cpu -- "$top_builddir/tests/sim/stuck" >usage.$$ 2>&1
got=$?
if [ $got != 1 ] || ! grep -q 'stuck: all threads wait' usage.$$; then
	echo "FAILED: stuck: exit $got"
	tail -n 5 usage.$$
	failures=$((failures + 1))
fi

# only KINDS WORKERS: on a machine of all kinds those have values of 8 chunks that were asked
# for.
only() {
	"$top_builddir/bin/heddle-simulate" --platform '1cpu+gpu10+fpga5' -- \
		"$top_builddir/apps/vecinc/vecinc" --size 8000 --chunk 1000 --reps 1 --sched odds \
		--workers "$1" >usage.$$ 2>&1
	got=$(awk '$1 ~ /^[0-9]+$/ && $3 > 0 { printf "%s%s", n++ ? " " : "", $2 }' usage.$$)
	if [ "$got" != "$2" ]; then
		echo "FAILED: vecinc --workers $1: values on: $got"
		tail -n 9 usage.$$
		failures=$((failures + 1))
	fi
	rm -f usage.$$
}
only cpu cpu
only cuda cuda
only fpga fpga
only cuda,fpga 'cuda fpga'

# A StarPU that does not simulate is not run, and the one that does is named.
value() { sed -n "s/^$1 = //p" "$top_builddir/Makefile"; }
other=$(mktemp -d "${TMPDIR:-/tmp}/heddle-test-usage.XXXXXX") || exit 99
source=$top_srcdir/tests/tools/other_starpu.c library=$other/libstarpu-0.9.so.1
$(value CC) -shared -fPIC -Wl,-soname,libstarpu-0.9.so.1 "$source" -o "$library" &&
	$(value CC) -DPROGRAM "$source" "$library" -Wl,-rpath,"$other" -o "$other/program"
"$top_builddir/bin/heddle-simulate" --platform 2cpu -- "$other/program" >usage.$$ 2>&1
got=$?
if [ $got != 2 ] || grep -q initialized usage.$$ ||
	! grep -q "runs with StarPU 0.9.7 in $library, .*; build it with .* in $(value starpu_libdir)," usage.$$; then
	echo "FAILED: a program of another StarPU: exit $got"
	cat usage.$$
	failures=$((failures + 1))
fi
rm -rf "$other" usage.$$
[ $failures = 0 ]
