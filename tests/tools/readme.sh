#!/bin/sh
# The README's example is the one that is compiled, and it runs; so it does as a program
# outside the tree, and C++ takes the headers.
set -eu
example=$top_srcdir/doc/examples/axpy.c
lines=$(wc -l <"$example")
expand "$example" | sed '/./s/^/    /' >axpy.expected
grep -n -A "$lines" '^    #include <stdio.h>' "$top_srcdir/README" |
	sed 's/^[0-9]*[:-]//' | head -n "$lines" >axpy.found
status=0
diff axpy.expected axpy.found || status=1
rm -f axpy.expected axpy.found
if grep -q 'define HEDDLE_USE_SIMGRID' "$top_builddir/config.h"; then
	exit "$status" # nothing to run it on
fi
for policy in hdss gss eager; do
	STARPU_SCHED=$policy "$top_builddir/doc/examples/axpy" || status=1
done
# Without one it has blocks of Heddle's, not equal tasks.
told=$(HEDDLE_VERBOSE=2 "$top_builddir/doc/examples/axpy" 2>&1) || status=1
case $told in
*"policy heddle, since neither"*) ;;
*) echo "without a policy: $told"; status=1 ;;
esac
case $told in
*"equal tasks"*) echo "without a policy: $told"; status=1 ;;
esac

# value NAME: what configure found out.
value() { sed -n "s/^$1 = //p" "$top_builddir/Makefile"; }
work=$(mktemp -d "${TMPDIR:-/tmp}/heddle-test-readme.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT HUP INT TERM

# Each example compiles as it says itself, or else as the README says.
PKG_CONFIG_PATH=$(cd "$top_builddir" && pwd)
export PKG_CONFIG_PATH
cp "$top_srcdir"/doc/examples/*.c "$work"
for file in "$work"/*.c; do
	name=$(basename "$file" .c)
	command=$(sed -n 's/^ \*  *cc //p' "$file")
	[ -n "$command" ] || command="$name.c -o $name \$(pkg-config --cflags --libs heddle)"
	case $command in
	*heddle-mpi*) pkg-config --exists heddle-mpi || continue ;;
	*OpenCL) pkg-config --exists OpenCL || continue ;;
	esac
	(cd "$work" && eval "$(value CC) $command $(value HEDDLE_LDFLAGS)") ||
		{ echo "doc/examples/$name.c: cc $command"; status=1; }
done

# No worker: said, once.
code=0
told=$(STARPU_NCPU=0 STARPU_NCUDA=0 STARPU_NOPENCL=0 "$top_builddir/doc/examples/axpy" 2>&1) || code=$?
[ "$code" = 77 ] && [ "$(echo "$told" | grep -c '^heddle: StarPU does not start: no worker is left')" = 1 ] ||
	{ echo "without a worker: $told"; status=1; }

cd "$work"
flags=$(pkg-config --cflags --libs heddle)
STARPU_SCHED=hdss ./axpy >told || status=1
awk 'NR == 1 && !/^0 wrong, [0-9]+ us$/ { bad = 1 } / iterations in / { n += $(NF - 4) }
	END { exit bad || n != 1048576 }' told || { cat told; status=1; }
cat >loop.cpp <<'END'
#include <heddle/heddle.h>
int main()
{
	heddle_loop loop = {};
	return heddle_loop_run(&loop, nullptr) ? 0 : 1;
}
END
if command -v g++ >/dev/null; then
	# shellcheck disable=SC2046,SC2086
	g++ -std=c++11 -Wall -Wextra -Werror loop.cpp -o loop $flags $(value HEDDLE_LDFLAGS) &&
		./loop || status=1
fi
exit "$status"
