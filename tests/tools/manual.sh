#!/bin/sh
# The manual and the programs name the same policies, strategies, parameters, variables and options.
. "$top_srcdir/tests/tools/common.sh"
if grep -q 'define HEDDLE_USE_SIMGRID' "$top_builddir/config.h"; then
	exit 77 # heddle info wants a machine to simulate
fi
heddle=$top_builddir/bin/heddle
cd "$top_srcdir" || exit 99
manual="README HACKING doc/*.md doc/internals/*.md"

# What the programs have is in the manual.
"$heddle" info --policies | sed -n 's/^  \([a-z]*\)  .*/\1/p' >"$work/policies"
"$heddle" info --strategies >"$work/info" || fail "heddle info --strategies"
# A line "STRATEGY" or "STRATEGY:PARAMETER" for each.
awk '/^  [a-z]/ { name = $1; sub(/:$/, "", name); print name }
	/^      [a-z]/ && $1 != "source:" { print name ":" $1 }' "$work/info" >"$work/strategies"
[ "$(wc -l <"$work/policies")" -gt 10 ] || fail "heddle info --policies: $(cat "$work/policies")"
[ "$(wc -l <"$work/strategies")" -gt 40 ] || fail "heddle info --strategies: $(cat "$work/info")"
while read -r name; do
	grep -q "\`$name\`" doc/policies.md || fail "doc/policies.md: no policy $name"
done <"$work/policies"
while read -r name; do
	grep -q "\`${name#*:}[\`=]" doc/strategies.md || fail "doc/strategies.md: no $name"
done <"$work/strategies"

# What the manual has is in the programs.
# shellcheck disable=SC2086 # a list
{
	grep -hoE '(STRATEGY=|--strategy[= ])[a-z]+(:[a-z]+=[^ `,]*(,[a-z]+=[^ `,]*)*)?' $manual |
		sed 's/^[^= ]*[= ]//' | awk -F '[:,]' '{ print $1
			for (i = 2; i <= NF; i++) { sub(/=.*/, "", $i); print $1 ":" $i } }' | sort -u >"$work/named"
	grep -hoE '\bHEDDLE_[A-Z0-9_]+' $manual | sort -u >"$work/capitals"
	# A line "COMMAND|OPTION" for each option of a subcommand; a line ends where a program's begin.
	sed -e ':a' -e '/\\$/N; s/\\\n//; ta' $manual | grep -oE '\bheddle [a-z]+ [^`|#;&]*' |
		sed 's/ -- .*//' | awk '{ of = $2
			if ((of == "app" || of == "plan" || of == "estimate") && $3 ~ /^[a-z0-9]+$/) of = of " " $3
			for (i = 3; i <= NF; i++) if ($i ~ /^\[?--[a-z]/) { sub(/^\[/, "", $i)
				match($i, /--[a-z-]+/); print of "|" substr($i, 1, RLENGTH) } }' | sort -u >"$work/options"
}
[ "$(wc -l <"$work/named")" -gt 5 ] || fail "strategies of the manual: $(cat "$work/named")"
[ "$(wc -l <"$work/options")" -gt 40 ] || fail "options of the manual: $(cat "$work/options")"
while read -r name; do
	# Ranks share loops in a way of their own, too.
	[ "$name" = steal ] || grep -qx "$name" "$work/strategies" ||
		fail "heddle info --strategies: no $name"
done <"$work/named"
while read -r name; do
	# The launcher and the tests have theirs; the rest are names in C.
	grep -q "^VARIABLE(${name#HEDDLE_}," support/variables.def ||
		grep -rqw --include='*.h' --include='*.c' --include=heddle --include=run "$name" \
			include estimator partition sched_policies support tools tests/run tests/unit/test.h ||
		case $name in *_) ;; *) fail "the manual names $name: nothing has it" ;; esac
done <"$work/capitals"
while IFS='|' read -r command option; do
	# Some apps are built only where their libraries are.
	case $command in "app "*) [ -x "$top_builddir/apps/${command#app }/${command#app }" ] || continue ;; esac
	# shellcheck disable=SC2086 # a subcommand, and what of it
	"$heddle" $command --help >"$work/out" 2>&1
	grep -qE -e "$option([^a-z-]|\$)" "$work/out" || fail "heddle $command --help: no $option"
done <"$work/options"
[ "$failures" -eq 0 ]
