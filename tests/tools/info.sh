#!/bin/sh
# heddle info: the tables are all there, the manual page is the one in doc/.
. "$top_srcdir/tests/tools/common.sh"
info=$top_builddir/bin/heddle-info
if grep -q 'define HEDDLE_USE_SIMGRID' "$top_builddir/config.h"; then
	exit 77 # it wants a machine to simulate
fi
"$info" --man | cmp - "$top_srcdir/doc/variables.md" || fail "doc/variables.md: make update-doc"

"$info" --frob >/dev/null 2>&1
[ $? = 2 ] || fail "exit status of an unknown option"
all=$("$info") || fail "exit status"
for text in 'Heddle ' 'StarPU 1' 'cpu ' 'hdss' 'HEDDLE_DEPTH=2 (default)'; do
	echo "$all" | grep -qF "$text" || fail "'$text' is missing"
done
HEDDLE_DEPTH=5 "$info" --variables | grep -qF 'HEDDLE_DEPTH=5 (environment)' || fail "origin"
HEDDLE_NOSUCH=5 "$info" --variables 2>&1 | grep -q 'HEDDLE_NOSUCH is not a variable of Heddle (' || fail "a name far from all"
HEDDLE_DEPHT=5 "$info" --variables 2>&1 | grep -q 'did you mean HEDDLE_DEPTH' || fail "unknown name"
"$info" --strategies | grep -q 'Polychronopoulos' || fail "source of gss"
"$info" --strategies | grep -q 'HEDDLE_DEPTH' && fail "more than asked for"
# What buses devices are on, where there are OpenCL workers.
STARPU_OPENCL_ON_CPUS=1 STARPU_NOPENCL=2 HEDDLE_KERNEL_IN_PLACE=0 HEDDLE_KERNEL_BUSES=7
export STARPU_OPENCL_ON_CPUS STARPU_NOPENCL HEDDLE_KERNEL_IN_PLACE HEDDLE_KERNEL_BUSES
workers=$("$info" | grep '^ *[0-9]* opencl ')
if [ -n "$workers" ]; then
	echo "$workers" | grep -q ', bus 0$' || fail "bus of an OpenCL worker: $workers"
	"$info" --json | grep -q '"bus": "bus 0"' || fail "bus of an OpenCL worker in JSON"
fi
unset STARPU_OPENCL_ON_CPUS STARPU_NOPENCL HEDDLE_KERNEL_IN_PLACE HEDDLE_KERNEL_BUSES
"$info" --json | grep -q '"matches": true' || fail "JSON"
"$info" nonsense 2>/dev/null && fail "nonsense is accepted"
# A home that cannot be made, before StarPU ends the program.
homeless() {
	# shellcheck disable=SC3045 # dash and bash have it
	(ulimit -c 0 && exec env -u XDG_CACHE_HOME -u STARPU_HOME "$1" "$info") >"$work/told" 2>&1
	[ "$(grep -c "^heddle: StarPU keeps .* in $2, .*written in $3$" "$work/told")" = 1 ] ||
		fail "a home that cannot be made: $(cat "$work/told")"
}
homeless HOME=/dev/null/none /dev/null/none/.starpu/sampling STARPU_HOME
homeless XDG_CACHE_HOME=/dev/null /dev/null/.starpu/sampling XDG_CACHE_HOME
[ "$failures" = 0 ]
