#!/bin/sh
# tools/check in a tree of its own, whose builds say what each test says here: what it
# counts, and that a signal to it ends all that it has started, at once. And that tests
# under tests/run see nothing of the user's.
. "$top_srcdir/tests/tools/common.sh"

# build FLAVOUR RECIPE: a build folder in which all that the check makes is RECIPE.
build() {
	mkdir -p "$work/build-$1"
	touch "$work/build-$1/config.status"
	printf 'check check-series check-starpu check-traced check-unit: ; %s\nbin/%%: ;\n' "$2" >"$work/build-$1/Makefile"
}

# check ARGUMENT...: the tree's tools/check, with nothing of this test's own make.
check() {
	exec env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u BUILD "$work/tools/check" "$@"
}

mkdir -p "$work/tools" "$work/tests"
cp "$top_srcdir/tools/check" "$top_srcdir/tools/common.sh" "$work/tools"
cp "$top_srcdir/tests/run" "$work/tests"
printf '#!/bin/sh\necho "$*"\n' >"$work/tools/setup"
cp "$work/tools/setup" "$work/tools/style"
chmod +x "$work/tools/setup" "$work/tools/style"

build system 'for i in 1 2 3; do echo ":test-result: PASS" >$$i.trs; done'
build sim 'echo ":test-result: PASS" >a.trs; echo ":test-result: SKIP" >b.trs'
build trace 'echo ":test-result: FAIL" >broken.trs; exit 1'
build asan 'exit 1'
(check --quick) >"$work/printed" 2>&1
[ $? = 1 ] || fail "exit status of a check that fails"
cat "$work/printed"
# 3 tests, 1, 0 and 0; the set-up; the style; the one that failed, and a part without results.
[ "$(tail -n 1 "$work/printed")" = '6 passed, 2 failed, 1 skipped' ] || fail "counts"
grep -q 'failed: broken' "$work/printed" || fail "the name of the test that failed"
grep -q 'skipped: b' "$work/printed" || fail "the name of the test that was skipped"
grep -q 'no other series of StarPU is set up' "$work/printed" || fail "what does not run"
grep -qx -e '--configure system sim trace examples' "$work/printed" || fail "what set-up says is not shown"
# Of another series the flavours that were set up, and of these not all.
build trace 'echo ":test-result: PASS" >broken.trs'
for flavour in sim gpu; do
	mkdir -p "$work/.starpu/1.4/$flavour"
	touch "$work/.starpu/1.4/$flavour/.ok"
done
build 1.4-sim 'echo ":test-result: PASS" >a.trs; echo ":test-result: PASS" >b.trs'
build asan 'echo ":test-result: PASS" >a.trs'
(check --quick) >"$work/printed" 2>&1 || fail "exit status of a check that succeeds"
grep -q '^tests: 1.4-sim  *2 passed  *0 failed' "$work/printed" || fail "tests of another series"
grep -q 'gpu\|no other series' "$work/printed" && fail "more than was asked for"
grep -qx -e '--configure --starpu 1.4 sim' "$work/check-out/setup--other-series.log" ||
	fail "set-up of another series"
rm -r "$work/.starpu"

# ended WHAT: a check that has got so far that $work/pids holds two numbers is told to
# end; its children must be gone when it is, and that before their time limits.
ended() {
	rm -f "$work/pids"
	check --quick >"$work/printed" 2>&1 &
	check=$!
	tries=0
	while [ "$(cat "$work/pids" 2>/dev/null | wc -l)" -lt 2 ]; do
		tries=$((tries + 1))
		[ $tries -lt 600 ] || { fail "$1: did not begin"; cat "$work/printed"; break; }
		sleep 0.1
	done
	kill "$check"
	wait "$check"
	[ $? = 143 ] || fail "$1: exit status"
	while read -r pid; do
		tries=0
		while kill -0 "$pid" 2>/dev/null; do
			tries=$((tries + 1))
			[ $tries -lt 50 ] || { fail "$1: $pid is left"; kill "$pid"; break; }
			sleep 0.1
		done
	done <"$work/pids"
}

# As tests do: a trap, and a time limit within theirs.
cat >"$work/sleeper.sh" <<END
trap : TERM
echo \$\$ >>'$work/pids'
timeout 1000 sh -c 'echo \$\$ >>"$work/pids"; exec sleep 1000'
END
build system "'$work/tests/run' '$work/sleeper.sh'"
ended 'a test'
printf '#!/bin/sh\n. "%s/sleeper.sh"\n' "$work" | sed '/trap/d' >"$work/tools/setup"
sed -i '/^trap/d; s/timeout 1000//' "$work/sleeper.sh"
ended 'the set-up'

# seen BY COMMAND...: what a test that COMMAND runs sees is $work/expected; OWN is its folder.
cat >"$work/seen.sh" <<'END'
for name in HOME XDG_CACHE_HOME XDG_CONFIG_HOME STARPU_HOME POCL_CACHE_DIR CCACHE_DIR LC_ALL \
	HEDDLE_DEPTH HEDDLE_TEST_SEED STARPU_SCHED STARPU_NCPU; do
	eval "echo $name=\${$name-}"
done
ls -A "$HOME"
END
seen() {
	by=$1
	shift
	"$@" "$work/tests/run" "$work/seen.sh" 2>&1 |
		sed 's~=/.*/heddle-test\.[A-Za-z0-9]*~=OWN~' >"$work/printed"
	diff "$work/expected" "$work/printed" || fail "what a test sees of $by"
}

cat >"$work/expected" <<END
HOME=OWN
XDG_CACHE_HOME=OWN/.cache
XDG_CONFIG_HOME=
STARPU_HOME=OWN
POCL_CACHE_DIR=OWN/.cache/pocl
CCACHE_DIR=$work/ccache
LC_ALL=C
HEDDLE_DEPTH=
HEDDLE_TEST_SEED=5
STARPU_SCHED=
STARPU_NCPU=1
END
seen 'who has much' env -u HEDDLE_TEST_KERNELS HOME="$work" XDG_CACHE_HOME="$work" \
	XDG_CONFIG_HOME="$work" STARPU_HOME="$work" POCL_CACHE_DIR="$work" LC_ALL=de_DE.UTF-8 \
	CCACHE_DIR="$work/ccache" HEDDLE_DEPTH=9 HEDDLE_TEST_SEED=5 STARPU_SCHED=eager STARPU_NCPU=1
sed -i 's/^\(HEDDLE_TEST_SEED\)=5/\1=/; s/^STARPU_NCPU=1/STARPU_NCPU=2/' "$work/expected"
seen 'who has nothing' env -i PATH="$PATH" CCACHE_DIR="$work/ccache"

# The time limit, by itself and where the machine has other work.
printf '# Time limit: 1 s\nsleep 100\n' >"$work/slow.sh"
for times in 0 2; do
	HEDDLE_TEST_LOAD=$(($(nproc) * times)) "$work/tests/run" "$work/slow.sh" >"$work/printed" 2>&1
	[ $? = 124 ] || fail "a test over its limit: exit status"
	grep -q "no end within $((times ? times : 1)) s" "$work/printed" || fail "limit: $(cat "$work/printed")"
done
[ "$failures" -eq 0 ]
