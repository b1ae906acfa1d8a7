# Sourced by the scripts of tests: a folder for their files, a count of failures, and checks of
# what a command prints. A script ends with: [ "$failures" = 0 ]
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
set -u
: "${top_srcdir:?}" "${top_builddir:?}"
work=$(mktemp -d "${TMPDIR:-/tmp}/heddle-script.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT
# A test whose time is up ends here, and not with failures for want of its files.
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
failures=0

fail() {
	echo "FAIL: $*"
	failures=$((failures + 1))
}

# outcome OPTION STATUS TEXT COMMAND...: checks the exit status, and that TEXT, as OPTION of grep
# says, is in the output, which stays in $work/out.
outcome() {
	option=$1 wanted=$2 text=$3
	shift 3
	"$@" >"$work/out" 2>&1
	got=$?
	[ "$got" = "$wanted" ] && grep -q "$option" -e "$text" "$work/out" && return
	fail "$*: exit status $got instead of $wanted, or no '$text' in"
	tail -n 5 "$work/out"
}

# expect STATUS PATTERN COMMAND...: checks the exit status, and that a line matches PATTERN.
expect() {
	outcome -G "$@" </dev/null
}

# expect_app STATUS TEXT APP ARGUMENT...: checks the exit status of an app, and that it prints
# TEXT.
expect_app() {
	app_status=$1 app_text=$2 app_program=$top_builddir/apps/$3/$3
	shift 3
	outcome -F "$app_status" "$app_text" "$app_program" "$@"
}
