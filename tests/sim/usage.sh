#!/bin/sh
# Wrong use of an app ends with 2 and help with 0, also where main() is simulated.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
set -u
: "${top_builddir:?}"
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
[ $failures = 0 ]
