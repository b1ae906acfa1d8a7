# shellcheck shell=bash
# Sourced by setup, check and demo: messages, and commands that are logged.

# The log that a failure message names; each script may change it.
log=/dev/null

say() { printf '%s: %s\n' "${0##*/}" "$*"; }
warn() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
die() { warn "$*"; exit 1; }

# Wrong use, or something only the user or root can put right.
refuse() { warn "$*"; exit 2; }

# run_child COMMAND...: runs COMMAND with its output in $log. It is put in the
# background and waited for, so that a signal to the script is acted on at once
# and, by stop_child, ends COMMAND too.
child=
run_child() {
	local status=0

	"$@" >>"$log" 2>&1 </dev/null &
	child=$!
	wait "$child" || status=$?
	child=
	return "$status"
}

# failure STATUS: in words. 124 is timeout's.
failure() {
	case $1 in
	124) echo 'exceeded its time limit' ;;
	*) echo "failed (status $1)" ;;
	esac
}

# run_logged WHAT COMMAND...: the same; says where and why COMMAND failed.
run_logged() {
	local what=$1 status=0 before=0
	shift
	[ ! -e "$log" ] || before=$(wc -l <"$log")

	printf '\n== %s: %s\n' "$what" "$*" >>"$log"
	run_child "$@" || status=$?
	if [ "$status" -ne 0 ]; then
		warn "$what $(failure "$status"); its last lines in $log:"
		tail -n "+$((before + 2))" "$log" | tail -n 25 | sed 's/^/    /' >&2
	fi
	return "$status"
}

# For the traps: ends the command that run_logged waits for. A second signal must not
# end this.
stop_child() {
	trap '' INT TERM HUP
	if [ -n "$child" ]; then
		kill "$child" 2>/dev/null
		wait "$child" 2>/dev/null
	fi
	child=
}
