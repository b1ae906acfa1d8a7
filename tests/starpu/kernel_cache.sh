#!/bin/sh
# kernel_cache with an analyser that waits for a file, up to 20 s.
set -u
: "${top_builddir:?}"
directory=$(mktemp -d "${TMPDIR:-/tmp}/heddle-test-cache.XXXXXX") || exit 99
trap 'rm -rf "$directory"' EXIT HUP INT TERM
HEDDLE_PROFILE_DIR=$directory/profiles HEDDLE_PROFILE=0 STARPU_SCHED=skmd
STARPU_OPENCL_ON_CPUS=1 STARPU_NCPU=1 STARPU_NOPENCL=2 POCL_DEVICES='pthread basic'
POCL_MAX_PTHREAD_COUNT=2 HEDDLE_ANALYSE=$directory/analyse HEDDLE_ANALYSE_LIMIT=60
GATE=$directory/gate BEGUN=$directory/begun ENDED=$directory/ended
export HEDDLE_PROFILE_DIR HEDDLE_PROFILE STARPU_SCHED STARPU_OPENCL_ON_CPUS STARPU_NCPU
export STARPU_NOPENCL POCL_DEVICES POCL_MAX_PTHREAD_COUNT HEDDLE_ANALYSE HEDDLE_ANALYSE_LIMIT
export GATE BEGUN ENDED
cat >"$HEDDLE_ANALYSE" <<EOF
#!/bin/sh
echo "\$1" >>'$directory/log'
: >'$BEGUN'
n=0
while [ ! -e '$GATE' ] && [ \$n -lt 200 ]; do
	sleep 0.1
	n=\$((n + 1))
done
: >'$ENDED'
[ -x '$top_builddir/bin/heddle-analyse' ] || exit 1
exec '$top_builddir/bin/heddle-analyse' "\$@"
EOF
chmod +x "$HEDDLE_ANALYSE"
"$top_builddir/tests/starpu/kernel_cache" || exit
[ "$(sort "$directory/log" | tr '\n' ' ')" = "fresh known " ] || {
	echo "analysed: $(cat "$directory/log")" >&2
	exit 1
}
