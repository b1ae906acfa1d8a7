#!/bin/sh
# The scripts of the source tree: help, wrong use, and a flavour that is not there.
. "$top_srcdir/tests/tools/common.sh"
unset HEDDLE_FLAVOUR

for script in setup check demo; do
	outcome -F 0 "Usage: tools/$script" "$top_srcdir/tools/$script" --help
	outcome -F 2 nonsense "$top_srcdir/tools/$script" nonsense
done
outcome -F 2 /no/such/file "$top_srcdir/tools/demo" --file /no/such/file
outcome -F 2 'wants a file' "$top_srcdir/tools/demo" --image
outcome -F 2 'HEDDLE_FLAVOUR=nonsense: there is no such flavour' \
	env HEDDLE_FLAVOUR=nonsense "$top_srcdir/tools/heddle" info
outcome -F 2 'no such flavour' env HEDDLE_FLAVOUR=1.5-sim "$top_srcdir/tools/heddle" info
outcome -F 2 "--starpu '1.5': known are 1.3 and 1.4" "$top_srcdir/tools/setup" --starpu 1.5
outcome -F 2 "--starpu ''" "$top_srcdir/tools/setup" --starpu
outcome -F 2 "'sim2'" "$top_srcdir/tools/setup" --starpu=1.4 sim2
# Of a tree in which nothing is built.
mkdir -p "$work/tree/tools" && cp "$top_srcdir/tools/heddle" "$work/tree/tools/"
outcome -G 2 'tools/setup --starpu 1.4 gpu$' env HEDDLE_FLAVOUR=1.4-gpu "$work/tree/tools/heddle" info
# Of a tree that belongs to somebody else.
cp "$top_srcdir/tools/setup" "$top_srcdir/tools/common.sh" "$work/tree/tools/" && : >"$work/tree/.starpu"
outcome -G 2 '^setup: cannot write in .*/tree/.starpu;' "$work/tree/tools/setup"
# Flags of StarPU 1.4 have quotes.
printf '#!/bin/sh\n[ "$1" = --cflags-only-I ] || echo \047-DDIR=\\"/x\\"\047\necho -I%s\n' "$work" >"$work/pkg-config"
chmod +x "$work/pkg-config"
echo '#define STARPU_MAXCPUS 7' >"$work/starpu_config.h"
{
	echo series=
	sed -n '/^system_max_cpus()/,/^}/p' "$top_srcdir/tools/setup"
	echo system_max_cpus
} >"$work/max_cpus"
told=$(PATH=$work:$PATH bash "$work/max_cpus" 2>&1)
[ "$told" = 7 ] || fail "cores of the system's StarPU: $told"
# Who is not root is told of all packages.
{
	echo 'examples=yes'
	sed -n '/^llvm_version()/,/^}/p; /^packages_for()/,/^}/p; /^welcome_packages()/,/^}/p
		/^missing_of()/,/^}/p; /^want_packages()/,/^}/p' "$top_srcdir/tools/setup"
	echo 'refuse() { echo "$*"; exit 2; }
		id() { echo 1000; }
		is_installed() { case $1 in libhwloc-dev | libopenblas-dev | verilator) false ;; esac; }
		dpkg-query() { :; }
		apt-get() { :; }
		want_packages system'
} >"$work/packages"
outcome -G 2 ' libhwloc-dev libopenblas-dev$' bash "$work/packages"
outcome -G 2 'can do without these, but uses them too: verilator *$' bash "$work/packages"
# While Debian's own updates hold apt's locks, it waits.
{
	cat "$top_srcdir/tools/common.sh"
	sed -n '/^lock_wait=/,/^}/p; /^install_packages()/,/^}/p' "$top_srcdir/tools/setup"
	echo 'state=$1
		apt-cache() { false; }
		apt-get() {
			case $*:$(ls "$state/waited" 2>/dev/null) in
			install*DPkg::Lock::Timeout=[1-9]*) echo "$*" >"$state/installed" ;;
			update:) echo "E: Could not get lock /var/lib/apt/lists/lock."; return 100 ;;
			update:?*) ;;
			*) return 100 ;;
			esac
		}
		sleep() { : >"$state/waited"; }
		install_packages one two'
} >"$work/locked"
outcome -F 0 'installing 2' bash "$work/locked" "$work"
grep -q 'one two$' "$work/installed" || fail 'setup gives up when other updates hold a lock'
# Where the source of the installed StarPU is not to be had, the newest of its series takes its
# place, and stays there.
mkdir -p "$work/set/tools" "$work/set/.starpu" "$work/apt"
cp "$top_srcdir/tools/common.sh" "$work/set/tools"
{
	sed '/^main "/d' "$top_srcdir/tools/setup"
	echo 'log=$state/log; new_work; fetch_source && starpu_version && drop_work'
} >"$work/set/tools/setup"
echo 'echo 1.4.7+dfsg-2' >"$work/apt/dpkg-query"
echo 'for v in 1.3.10+dfsg-3 1.4.6-1 1.4.9-1 1.4.10+dfsg-2 1.5.0-1; do echo "Version: $v"; done' \
	>"$work/apt/apt-cache"
cat >"$work/apt/apt-get" <<-'END'
	version=${5#starpu=}
	[ "$1" = -c ] || exit 0
	grep -q 'Valid-Until "false"' "$2" || exit 100
	[ "$3" = source ] || exit 0
	echo "$version" >>"$ASKED"
	case " $HAVE " in *" $version "*) ;; *) exit 100 ;; esac
	touch "starpu_$version.debian.tar.xz" && echo "Version: $version" >"starpu_$version.dsc"
END
for program in "$work/apt"/*; do
	sed -i '1i #!/bin/sh' "$program" && chmod +x "$program"
done
has_source() {
	PATH=$work/apt:$PATH ASKED=$work/asked HAVE=$1 bash "$work/set/tools/setup"
}
has_source '1.4.6-1 1.3.10+dfsg-3 1.5.0-1' >/dev/null 2>&1 && fail 'a source of another series is taken'
[ "$(tr '\n' ' ' <"$work/asked")" = '1.4.7+dfsg-2 1.4.10+dfsg-2 1.4.9-1 ' ] ||
	fail "versions asked for: $(cat "$work/asked")"
outcome -F 0 'the source of StarPU 1.4.7+dfsg-2 could not be downloaded' has_source '1.4.9-1'
for offered in '' '1.4.7+dfsg-2'; do
	[ "$(has_source "$offered" 2>&1)" = 1.4.9-1 ] || fail "the source that was taken is not kept"
done
rm -r "$work/set/.starpu/source"
[ "$(has_source '1.4.7+dfsg-2 1.4.9-1' | tail -n 1)" = 1.4.7+dfsg-2 ] || fail 'the source of the installed StarPU is not taken'
# A clone that git cannot read is a folder.
mkdir "$work/clone"
echo nothing >"$work/clone/.git"
echo : >"$work/clone/a.sh"
sed -n '/^is_clone()/p; /^files()/,/^}/p' "$top_srcdir/tools/style" >"$work/files"
echo 'files "*.sh"' >>"$work/files"
told=$(cd "$work/clone" && bash "$work/files" 2>&1)
[ "$told" = a.sh ] || fail "files of a clone without git: $told"
# What is traced is of the flavour that traces.
mkdir -p "$work/tools" "$work/.starpu"
cp "$top_srcdir/tools/heddle" "$work/tools"
echo system >"$work/.starpu/default"
for flavour in system trace; do
	mkdir -p "$work/build-$flavour/bin"
	printf '#!/bin/sh\n[ "$1" = trace ] && shift && exec "$@"\necho "$0 $*"\n' \
		>"$work/build-$flavour/bin/heddle"
	chmod +x "$work/build-$flavour/bin/heddle"
done
outcome -F 0 build-system/bin/heddle "$work/tools/heddle" app nbia
outcome -F 0 build-trace/bin/heddle "$work/tools/heddle" trace "$work/tools/heddle" app nbia

# Their help needs no such build.
outcome -F 0 'build-system/bin/heddle simulate --help' "$work/tools/heddle" simulate --help
outcome -F 0 'build-system/bin/heddle bench --platform x --help' "$work/tools/heddle" bench --platform x --help
rm -r "$work/build-trace"
outcome -F 0 'build-system/bin/heddle help trace' "$work/tools/heddle" help trace
outcome -F 2 "flavour 'trace' is not built" "$work/tools/heddle" trace -o x -- y --help
# Where none was built, the default may trace.
echo '#define HEDDLE_USE_FXT 1' >"$work/build-system/config.h"
outcome -F 0 'build-system/bin/heddle app nbia' "$work/tools/heddle" trace "$work/tools/heddle" app nbia
rm "$work/build-system/config.h"

# The series of the default is that of the others.
echo 1.4-system >"$work/.starpu/default"
outcome -G 2 "'1.4-trace' is not built.*tools/setup --starpu 1.4 trace$" \
	"$work/tools/heddle" trace -- y
outcome -F 2 "'1.4-sim' is not built" "$work/tools/heddle" bench --platform x
outcome -F 2 "'1.4-system' is not built" "$work/tools/heddle" info

# A command that fails shows its own lines of the log.
cat >"$work/logged" <<END
. '$(cd "$top_srcdir" && pwd)/tools/common.sh'
log=$work/log
echo of another >"\$log"
run_logged slow timeout 0.1 sleep 60
run_logged wrong sh -c 'echo its own; exit 3'
END
outcome -F 3 'slow exceeded its time limit' bash "$work/logged"
outcome -F 3 'wrong failed (status 3)' bash "$work/logged"
outcome -F 3 '    its own' bash "$work/logged"
! grep -q '^  *of another' "$work/out" || fail "lines of another command: $(cat "$work/out")"
rm "$work/log"

# The demo compares with one core and with StarPU's default, and draws the repetition that the
# text reports. (Where workers are simulated, an app wants a machine first.)
if ! grep -q 'define HEDDLE_USE_SIMGRID' "$top_builddir/config.h"; then
	cat >"$work/heddle" <<-END
		#!/bin/sh
		echo "cores=\${STARPU_NCPU-all} log=\${HEDDLE_BLOCK_LOG-none} \$*" >>"$work/called"
		[ "\$1" = plot ] || STARPU_WORKERS_NOBIND=1 exec "$(cd "$top_builddir" && pwd)/bin/heddle" "\$@"
	END
	chmod +x "$work/heddle"
	{
		echo ". '$(cd "$top_srcdir" && pwd)/tools/common.sh'; out=$work log=$work/log heddle=$work/heddle"
		sed -n '/^show()/,/^}/p; /^beside()/,/^}/p; /^time_add()/,/^}/p; /^plot()/,/^}/p' \
			"$top_srcdir/tools/demo"
		echo 'show histogram --size 100000 && plot histogram'
	} >"$work/demo"
	(STARPU_NCPU=2 && export STARPU_NCPU && outcome -F 0 '(median: its workers follow)' bash "$work/demo" && exit "$failures") ||
		fail "the demo's histogram"
	for called in 'cores=2 log=/.* app histogram --sched hdss ' \
		'cores=1 log=none app histogram --sched lws ' 'cores=2 log=none app histogram --sched lws '; do
		grep -q "^$called.*--reps 5.* --size 100000" "$work/called" || fail "the demo does not run $called"
	done
	grep -Eqx 'histogram,one core,[0-9.]+' "$work/times.csv" && grep -q '^histogram,all by lws,[0-9]' "$work/times.csv" &&
		grep -q '^histogram,all by hdss,[0-9]' "$work/times.csv" || fail "times: $(cat "$work/times.csv")"
	median=$(tr -d ' \n' <"$work/histogram.json" | sed 's/.*"us":\[\([^]]*\)\].*/\1/' | tr ',' '\n' |
		cat -n | sort -k 2g | awk 'NR == 3 { print $1 }')
	grep -q "^cores.* plot --loop $median -o " "$work/called" ||
		fail "repetition $median is the median, not drawn: $(cat "$work/called")"
fi

# StarPU's examples are those of the StarPU that Heddle was built against; a crash, also of one
# that fails by itself, is none that is left out.
examples=$work/lib/starpu/examples
mkdir -p "$examples" "$work/build/bin"
echo "starpu_libdir = $work/lib" >"$work/build/Makefile"
printf '#!/bin/sh\nshift 3\nOURS=1 exec "$@"\n' >"$work/build/bin/heddle-run"
printf '#!/bin/sh\n[ "$STARPU_SCHED" != help ] || echo "hdss -> chunks"\n' >"$examples/hello_world"
printf '#!/bin/sh\n[ -z "$OURS" ] || kill -SEGV $$\nexit 77\n' >"$examples/crashes"
printf '#!/bin/sh\nexit 77\n' >"$examples/unusable"
chmod +x "$work/build/bin/heddle-run" "$examples"/*
examples_all="sh $top_srcdir/tests/tools/examples-all --builddir $work/build"
outcome -F 0 '1 passed under hdss, 0 failed; 1 of 2 do not pass' $examples_all hello_world unusable
outcome -F 1 'FAIL: crashes under hdss' $examples_all crashes
printf '#!/bin/sh\nkill -SEGV $$\n' >"$examples/hello_world"
outcome -F 1 'hello_world crashed' $examples_all
printf '#!/bin/sh\nexit 0\n' >"$examples/hello_world"
outcome -F 77 'another StarPU' $examples_all
rm "$examples/hello_world"
outcome -F 77 "no examples of StarPU's in $examples" $examples_all
[ "$failures" -eq 0 ]
