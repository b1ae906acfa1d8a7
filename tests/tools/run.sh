#!/bin/sh
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# heddle run, and how StarPU finds the policies, on a program that does not use Heddle.
. "$top_srcdir/tests/tools/common.sh"
run=$top_builddir/bin/heddle-run
program=$top_builddir/tests/tools/which_policy

# expect STATUS OUTPUT COMMAND...: exit status and standard output.
expect() {
	want_status=$1 want=$2
	shift 2
	got=$("$@" 2>"$work/stderr")
	status=$?
	[ "$status" = "$want_status" ] || fail "$*: exit status $status, not $want_status"
	[ "$got" = "$want" ] || fail "$*: printed '$got', not '$want'"
}

# says PATTERN: the last command's standard error.
says() {
	grep -q -e "$1" "$work/stderr" || fail "standard error lacks '$1': $(cat "$work/stderr")"
}

names=$("$run" --help | sed -n "/^Heddle's policies:/,/^StarPU's/s/^  \([a-z]*\) .*/\1/p")
[ "$(echo "$names" | wc -l)" -ge 10 ] || fail "too few policies: $names"
for name in $names; do
	expect 0 "$name" "$run" --sched "$name" -- "$program"
done

# Without --sched: what the environment says, else heddle. An empty name is none.
expect 0 heddle env -u STARPU_SCHED "$run" -- "$program"
expect 0 heddle env STARPU_SCHED= "$run" "$program" eager
expect 0 ddwrr env STARPU_SCHED=ddwrr "$run" -- "$program"
expect 0 lws env STARPU_SCHED=lws "$run" -- "$program"
expect 2 '' env STARPU_SCHED=nobody "$run" -- "$program"
says "'nobody' is not a policy"

# What the program asks for in its configuration gives way to --sched.
expect 0 hdss "$run" --sched hdss -- "$program" eager
# The program's own choice, from the environment, of a policy that we displaced.
expect 0 graph_test "$run" --sched hdss -- env STARPU_SCHED=graph_test "$program"
# ... and from its configuration.
expect 0 modular-gemm "$run" --sched hdss -- env -u STARPU_SCHED "$program" modular-gemm
# StarPU's own stay.
for name in lws eager prio ws dmda dmdas heteroprio modular-heft; do
	expect 0 "$name" "$run" --sched hdss -- env STARPU_SCHED=$name "$program"
done

# A libheddle that is not beside what is preloaded is named.
if [ "$(sed -n 's/^starpu_series = //p' "$top_builddir/Makefile")" = 1.3 ]; then
	cp "$top_builddir/.libs/libheddle-preload.so" "$work/"
	expect 2 '' env LD_PRELOAD="$work/libheddle-preload.so" STARPU_SCHED=hdss "$program"
	says 'heddle: libheddle.so[.0-9]* was not found;'
fi

# One command compares: StarPU's own run, too, without Heddle.
for name in lws eager dmda graph_test; do
	expect 0 "$name" "$run" --sched $name -- "$program" prio
	expect 0 '' "$run" --sched $name -- sh -c 'echo "$LD_PRELOAD"'
done
"$run" --help | grep -q '^  lws  ' || fail "lws is not in the help"

# The list has them all, once.
"$run" --sched gss -- env STARPU_SCHED=help "$program" >/dev/null 2>list.$$
for name in $names; do
	[ "$(grep -c "^$name  *	*-> " list.$$)" = 1 ] || fail "STARPU_SCHED=help lacks $name"
done

# StarPU 1.4 asks the library alone: nothing is preloaded, and no policy of its own gives way, in
# programs that are linked with Heddle either.
series=$(sed -n 's/^starpu_series = //p' "$top_builddir/Makefile")
if [ "$series" != 1.3 ]; then
	library=$top_builddir/.libs/libheddle.so
	for name in $names; do
		expect 0 "$name" env STARPU_SCHED="$name" STARPU_SCHED_LIB="$library" "$program"
		expect 0 "$name" env STARPU_SCHED_LIB="$library" "$program" "$name"
	done
	STARPU_SCHED=help "$top_builddir/bin/heddle-info" >/dev/null 2>list.$$
	for name in $names graph_test modular-gemm modular-ws; do
		[ "$(grep -c "^$name  *	*-> " list.$$)" = 1 ] || fail "a linked program lacks $name"
	done
	STARPU_SCHED=hdss STARPU_SCHED_LIB=/no/such/library.so "$top_builddir/bin/heddle-info" \
		>/dev/null 2>"$work/stderr"
	says "STARPU_SCHED_LIB=/no/such/library.so hides Heddle's policies"
	[ "$(grep -c hides "$work/stderr")" = 1 ] || fail "said twice"
fi

# Exit status, options of the command, children without StarPU.
expect 7 '' "$run" -s gss -- sh -c 'exit 7'
expect 0 '--sched x' "$run" -s gss echo --sched x
expect 0 'inner' env LD_BIND_NOW=1 "$run" -s gss -- sh -c 'sh -c "echo inner"'
[ -s "$work/stderr" ] && fail "a process without StarPU was not left alone: $(cat "$work/stderr")"
expect 127 '' "$run" -s gss -- ./no-such-program
says 'no-such-program'
printf '#!/bin/sh\n' >"$work/axpy"
chmod +x "$work/axpy"
run=$(cd "$top_builddir/bin" && pwd)/heddle-run
(cd "$work" && expect 127 '' "$run" -s gss -- axpy && says 'axpy: not in PATH; .* is ./axpy$' &&
	[ "$failures" = 0 ]) || fail "a program in this folder"
# A folder of PATH that this user cannot search (root can) says nothing of the program.
mkdir -m 0 "$work/closed"
(cd "$work" && expect 127 '' env PATH="$work/closed:$PATH" "$run" -s gss -- axpy &&
	says 'axpy: not in PATH; .* is ./axpy$' && [ "$failures" = 0 ]) || fail "a closed folder in PATH"
expect 127 '' env PATH="$work/closed:$PATH" "$run" -s gss -- no-such-program
says 'no-such-program: No such file'
rmdir "$work/closed"
run=$top_builddir/bin/heddle-run

# A program of tasks alone is told of variables that cannot be used.
expect 0 heddle env HEDDLE_DEPTH=-1 HEDDLE_DEPHT=3 "$run" -- "$program"
says '^heddle: HEDDLE_DEPTH=-1: not a value (0 to 64 blocks or tasks)$'
says '^heddle: HEDDLE_DEPHT is not a variable of Heddle; did you mean HEDDLE_DEPTH?'
expect 0 hdss env HEDDLE_DEPTH=-1 "$run" -s hdss -- "$program"
says '^heddle: HEDDLE_DEPTH=-1: not a value'

# Wrong use.
expect 2 '' "$run" --sched nonsense -- "$program"
says "'nonsense' is not a policy"
says "^Heddle's policies: hdss gss "
says "^StarPU's own: "
says ' lws\b'
[ "$(wc -l <"$work/stderr")" -lt 20 ] || fail "the message is out of sight: $(cat "$work/stderr")"
[ "$(wc -L <"$work/stderr")" -le 80 ] || fail "long lines: $(cat "$work/stderr")"
# What is for loops only is no policy.
expect 2 '' "$run" --sched mfsc -- "$program"
says "^heddle: 'mfsc' is a block strategy, for loops only, .*HEDDLE_STRATEGY=mfsc"
expect 2 '' "$run" --sched hdss
expect 2 '' "$run" --nonsense

# A program of another StarPU does not run under another policy than the one asked for; whether
# that StarPU is there from the beginning or loaded later.
value() { sed -n "s/^$1 = //p" "$top_builddir/Makefile"; }
other=$(mktemp -d "${TMPDIR:-/tmp}/heddle-test-run.XXXXXX") || exit 99
trap 'rm -rf "$other"' EXIT HUP INT TERM
source=$top_srcdir/tests/tools/other_starpu.c library=$other/libstarpu-0.9.so.1
# shellcheck disable=SC2046 # words
$(value CC) -shared -fPIC -Wl,-soname,libstarpu-0.9.so.1 "$source" -o "$library" &&
	$(value CC) -DPROGRAM "$source" "$library" -Wl,-rpath,"$other" -o "$other/program" &&
	$(value CC) -DLATE "$source" -ldl -o "$other/late" || fail "no other StarPU"
expect 0 initialized "$other/program"
for name in hdss gss; do
	expect 2 '' "$run" --sched $name -- "$other/program"
	says "built against StarPU [0-9.]* in .*, but runs with StarPU 0.9.7 in $library,"
	[ "$(grep -c . "$work/stderr")" = 1 ] || fail "not one message: $(cat "$work/stderr")"
	expect 2 '' "$run" --sched $name -- "$other/late" "$library"
	says "runs with StarPU 0.9.7 in $library,"
done
# Who asks for no policy and no messages gets none.
preload=$(readlink -f "$top_builddir/.libs/libheddle-preload.so")
expect 0 initialized env HEDDLE_VERBOSE=0 LD_PRELOAD="$preload" "$other/program"
[ -s "$work/stderr" ] && fail "a message was forced on who wants none: $(cat "$work/stderr")"

# One of the same series with other structures.
printf '#include <string.h>\nint starpu_conf_init(void *conf) { memset(conf, 0, 8); return 0; }\n' >"$other/conf.c"
$(value CC) -shared -fPIC "$other/conf.c" -o "$other/conf.so" || fail "no other structures"
for verbose in 0 1; do
	expect 2 '' env HEDDLE_VERBOSE=$verbose LD_PRELOAD="$other/conf.so" "$run" --sched hdss -- "$program"
	says 'runs with StarPU .*, whose structures differ; rebuild Heddle'
	[ "$(grep -c . "$work/stderr")" = 1 ] || fail "not one message: $(cat "$work/stderr")"
done

# A StarPU of the same series in which a function is missing, for example one without CUDA: the
# reason is that, and nobody gets another policy than the one asked for.
series=$(value starpu_series)
soname=$(objdump -p "$(value starpu_libdir)/libstarpu-$series.so" | sed -n 's/ *SONAME *//p')
mkdir "$other/poor"
$(value CC) -shared -fPIC -Wl,-soname,"$soname" -DVERSION="$(echo "$series" | tr . ,),99" "$source" \
	-o "$other/poor/$soname" &&
	$(value CC) -DPROGRAM "$source" "$other/poor/$soname" -Wl,-rpath,"$other/poor" -o "$other/poor/program" ||
	fail "no poor StarPU"
expect 0 initialized "$other/poor/program"
expect 2 '' "$run" --sched hdss -- "$other/poor/program"
says "undefined symbol: starpu_.*, but runs with StarPU $series.99 in $other/poor/$soname$"
expect 0 initialized "$run" --sched lws -- "$other/poor/program"

# What does not simulate is not run on a simulated machine, as if it had been.
simulate="$top_builddir/bin/heddle-simulate --platform 2cpu --"
expect 2 '' $simulate "$program"
says 'this program runs with StarPU .*libstarpu.*, which does not simulate machines; build it with'
expect 2 '' $simulate sh -c "'$other/program'"
says "StarPU 0.9.7 in $library,"
expect 2 '' $simulate "$other/late" "$library"
expect 5 inner $simulate sh -c 'echo inner; exit 5'

rm -f list.$$
[ "$failures" = 0 ]
