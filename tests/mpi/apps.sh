#!/bin/sh
# Apps and the example over ranks of this machine.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
# Time limit: 600 s
. "$top_srcdir/tests/mpi/common.sh"
apps=$top_builddir/apps
# fails TEXT COMMAND...: the run fails, and a rank says TEXT. The status is the launcher's: when it
# ends ranks, Open MPI's may crash itself (in PMIx_server_finalize()).
fails() {
	text=$1
	shift
	export LAUNCHER_LIMIT=120
	"$@" </dev/null >"$work/out" 2>&1 && fail "$*: does not fail"
	unset LAUNCHER_LIMIT
	grep -q -e "$text" "$work/out" || fail "$*: no '$text' in $(tail -n 5 "$work/out")"
}
# StarPU has not measured this machine yet.
STARPU_HOME=$work/cold expect 0 'verified' ranks 4 "$apps/blackscholes/blackscholes" --mpi --verify --size 1000
expect 0 'verified' ranks 4 "$apps/blackscholes/blackscholes" --mpi --verify --sched hdss --size 300001
expect 0 'verified' ranks 2 "$apps/blackscholes/blackscholes" --mpi --verify --size 0
expect 0 'verified' ranks 3 "$apps/histogram/histogram" --mpi --verify --sched gss --size 5000001
expect 0 'verified' ranks 3 "$apps/boxfilter/boxfilter" --mpi --verify --size 300
expect 0 'verified' ranks 4 "$apps/mandelbrot/mandelbrot" --mpi --verify --size 300
# Wavefronts; with one rank, and with more ranks than rows.
expect 0 'verified' ranks 4 "$apps/strmatch/strmatch" --mpi --verify --size 2000
expect 0 'verified' ranks 3 "$apps/floyd/floyd" --mpi --verify --size 400 --channels 3 --h 50 --k 4
expect 0 'verified' ranks 3 "$apps/strmatch/strmatch" --mpi --verify --size 3000 --k 5
expect 0 'verified' ranks 2 "$apps/heat2d/heat2d" --mpi --verify --size 200 --sweeps 10
expect 0 'verified' ranks 4 "$apps/heat2d/heat2d" --mpi --verify --size 3 --sweeps 4
# Boundaries of a device, under a policy that follows speeds, and one of StarPU's that places bands.
for policy in hdss dmda; do
	STARPU_NOPENCL=1 STARPU_OPENCL_ON_CPUS=1 expect 0 'verified' ranks 2 "$apps/heat2d/heat2d" \
		--mpi --verify --sched "$policy" --size 100 --sweeps 4 --h 20 --k 2 --reps 1
	STARPU_NOPENCL=1 STARPU_OPENCL_ON_CPUS=1 expect 0 'verified' ranks 2 "$apps/floyd/floyd" \
		--mpi --verify --sched "$policy" --size 200 --h 20 --k 3 --reps 1
done
expect 0 'verified' ranks 1 "$apps/strmatch/strmatch" --mpi --verify --size 500
expect 0 'verified' ranks 2 "$apps/floyd/floyd" --mpi --verify --size 0
# What a message costs is measured once.
HEDDLE_PROFILE_DIR=$work/profile
export HEDDLE_PROFILE_DIR
expect 0 '' ranks 2 "$apps/strmatch/strmatch" --mpi --size 1000 --reps 1
grep -q '^message nodes="cpu .* to cpu .* inside".* cd=' "$work"/profile/heddle_mpi* ||
	fail "profile: $(ls "$work/profile")"
cp "$work"/profile/heddle_mpi* "$work/before"
expect 0 '' ranks 2 "$apps/strmatch/strmatch" --mpi --size 1000 --reps 1
cmp "$work"/profile/heddle_mpi* "$work/before" || fail "it was measured again"
unset HEDDLE_PROFILE_DIR
# Each rank logs by itself, in the loop's own numbers, and from the same time on.
HEDDLE_BLOCK_LOG=$work/blocks.csv expect 0 '' ranks 3 "$apps/mandelbrot/mandelbrot" --mpi --size 300 --reps 2
head -qn 1 "$work"/blocks-rank?.csv | sort | uniq -c | grep -q ' 3 loop,.*,rank,run$' ||
	fail "logs of blocks: $(ls "$work")"
# Of each repetition all blocks together are the loop.
tail -qn +2 "$work"/blocks-rank?.csv | sort -t, -k10,10n -k5,5n | awk -F, '
	$10 != run { if (run && next_one != rows) exit 1; run = $10; next_one = 0 }
	$5 != next_one { exit 1 }
	{ next_one = $5 + $6; if (run == 1) rows = next_one }
	END { if (run != 2 || next_one != rows || !rows) exit 1 }' ||
	fail "blocks of ranks: $(sort -t, -k10,10n -k5,5n "$work"/blocks-rank?.csv)"
HEDDLE_TILE_LOG=$work/tiles.csv expect 0 '' ranks 2 "$apps/strmatch/strmatch" --mpi --size 1000 --reps 1
# The last tile of a band is logged as wide as the others.
[ "$(cat "$work"/tiles-rank?.csv | awk -F, '
	$14 == 1 { n += $5 * ($6 + $7 > $12 ? $12 - $6 : $7); rows[$13] += $5 }
	END { print n, (rows[0] * rows[1] > 0) }')" = \
	"1000000 1" ] || fail "tiles of ranks: $(cat "$work"/tiles-rank?.csv)"
# Each rank makes its part of the options, or reads it, and keeps its results: where ranks compute
# their own parts alone, nothing is sent.
HEDDLE_NODE_STRATEGY=static expect 0 'verified' ranks 3 "$apps/blackscholes/blackscholes" --mpi --verify \
	--size 100001 --reps 1 --json "$work/json"
[ "$(grep -c '"bytes_received": 0,\|"bytes_sent": 0,' "$work/json")" = 6 ] ||
	fail "options were sent: $(cat "$work/json")"
# So do these. Rank 0 gets the sums of the others, and a rank the rows in the windows of its first and
# last ones.
# sent BYTES APP ARGUMENT...: what ranks 0 to 2 receive, then what they send.
sent() {
	bytes=$1 app=$2
	shift 2
	HEDDLE_NODE_STRATEGY=static expect 0 'verified' ranks 3 "$apps/$app/$app" --mpi --verify \
		--reps 2 "$@" --json "$work/json"
	got=$(sed -n 's/.*"bytes_received": \([0-9]*\).*/\1/p' "$work/json" | tr '\n' ' '
		sed -n 's/.*"bytes_sent": \([0-9]*\).*/\1/p' "$work/json" | tr '\n' ' ')
	[ "$got" = "$bytes " ] || fail "$app $*: ranks received and sent $got bytes, not $bytes"
}
sent '4096 0 0 0 2048 2048' histogram --size 5000001
sent '2400 4800 2400 2400 4800 2400' boxfilter --size 300
sent '0 0 0 0 0 0' mandelbrot --size 300
# More ranks than pieces, and windows of more than a rank has.
expect 0 'verified' ranks 3 "$apps/histogram/histogram" --mpi --verify --size 3
expect 0 'verified' ranks 3 "$apps/boxfilter/boxfilter" --mpi --verify --size 100 --radius 70 --channels 3
expect 0 '' "$apps/boxfilter/boxfilter" --size 90 --reps 1 --save-input "$work/box.png"
for app in histogram boxfilter; do
	expect 0 'verified' ranks 3 "$apps/$app/$app" --mpi --verify --input "$work/box.png"
	expect 0 '' "$apps/$app/$app" --input "$work/box.png" --output "$work/one-$app"
	expect 0 'rank ' ranks 3 "$apps/$app/$app" --mpi --input "$work/box.png" --output "$work/three-$app"
	cmp "$work/one-$app" "$work/three-$app" || fail "other results of $app"
done
printf 'spot,strike,years\n100,110,1\n50,40,2\n60,60,3\n' >"$work/in.csv"
expect 0 '' "$apps/blackscholes/blackscholes" --input "$work/in.csv" --output "$work/one.csv"
expect 0 'rank ' ranks 3 "$apps/blackscholes/blackscholes" --mpi --input "$work/in.csv" \
	--output "$work/three.csv" --json "$work/json"
expect 0 'verified' ranks 2 "$apps/blackscholes/blackscholes" --mpi --input "$work/in.csv" --verify
# What rank 0 is to write is all there.
cmp "$work/one.csv" "$work/three.csv" || fail "other results: $(cat "$work/three.csv")"
[ "$(grep -c '"ranges"' "$work/json")" = 3 ] || fail "JSON: $(cat "$work/json")"
# All ranks read the slide: each its tiles before the run, or all during it. Tiles go to whoever asks,
# and rank 0 has all results.
for memory in 5M 1G; do
	expect 0 'verified' ranks 3 "$apps/nbia/nbia" --mpi --verify --size 4096 --reps 1 --memory "$memory"
	grep 'tiles, ' "$work/out" >>"$work/tiles"
done
grep -q 'read on the way' "$work/tiles" && grep -q 'in memory' "$work/tiles" ||
	fail "tiles: $(cat "$work/tiles")"
expect 0 '' "$apps/nbia/nbia" --size 2100 --reps 1 --save-input "$work/slide.png"
expect 0 '' "$apps/nbia/nbia" --input "$work/slide.png" --reps 1 --output "$work/one.png"
for sched in odds ddfcfs; do
	expect 0 'verified' ranks 3 "$apps/nbia/nbia" --mpi --verify --sched "$sched" --size 2100 \
		--reps 2 --confidence 1 --json "$work/json"
	[ "$(grep -c '"bytes_sent"' "$work/json")" = 3 ] || fail "JSON: $(cat "$work/json")"
	expect 0 'rank ' ranks 2 "$apps/nbia/nbia" --mpi --sched "$sched" --reps 1 \
		--input "$work/slide.png" --output "$work/two.png"
	cmp "$work/one.png" "$work/two.png" || fail "other labels under $sched"
done
expect 2 'no such file\|No such file' ranks 2 "$apps/nbia/nbia" --mpi --input "$work/none.png"
expect 2 'no such file\|No such file' ranks 2 "$apps/blackscholes/blackscholes" --mpi --input "$work/none.csv"
expect 2 'does not run over ranks' "$apps/spmv/spmv" --mpi
expect 0 '' "$apps/floyd/floyd" --size 300 --save-input "$work/in.png" --output "$work/one.png"
expect 0 'rank ' ranks 3 "$apps/floyd/floyd" --mpi --input "$work/in.png" --output "$work/three.png" \
	--json "$work/json"
cmp "$work/one.png" "$work/three.png" || fail "other images"
[ "$(grep -c '"messages_sent"' "$work/json")" = 3 ] || fail "JSON: $(cat "$work/json")"
expect 0 '' ranks 2 "$apps/heat2d/heat2d" --mpi --size 60 --sweeps 20 --every 10 --reps 1 \
	--snapshots "$work/heat"
[ -f "$work/heat-000020.png" ] || fail "no snapshot: $(ls "$work")"
for strategy in static css:chunk=1000 gss hdss; do
	HEDDLE_NODE_STRATEGY=$strategy
	export HEDDLE_NODE_STRATEGY
	expect 0 'verified' ranks 2 "$apps/blackscholes/blackscholes" --mpi --verify --reps 1
done
HEDDLE_NODE_STRATEGY=best
expect 2 'HEDDLE_NODE_STRATEGY: "best" is not a block strategy, or steal. There are steal hdss .* auto$' \
	ranks 2 "$apps/blackscholes/blackscholes" --mpi
HEDDLE_NODE_STRATEGY=tasks
expect 2 'HEDDLE_NODE_STRATEGY: "tasks" is not' ranks 2 "$apps/blackscholes/blackscholes" --mpi
HEDDLE_NODE_STRATEGY=steal:first=1
expect 2 'steal:first=1: steal has no parameters' ranks 2 "$apps/blackscholes/blackscholes" --mpi
HEDDLE_NODE_STRATEGY=css:first=1
expect 2 'HEDDLE_NODE_STRATEGY=css:first=1 cannot be used' ranks 2 "$apps/blackscholes/blackscholes" --mpi
unset HEDDLE_NODE_STRATEGY
HEDDLE_STRATEGY=best expect 2 'HEDDLE_STRATEGY=best cannot be used' \
	ranks 2 "$apps/blackscholes/blackscholes" --mpi
expect 0 'rank 3: 0 wrong' ranks 4 "$top_builddir/doc/examples/ranks"
# Between an app and MPI: what Open MPI is told before it starts, an error of MPI, which MPI itself
# does not end the program for, and a rank that hangs before the first run or after the last one.
cat >"$work/between.c" <<'EOF'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <mpi.h>
/* TEST_STOPS has the moment, and the rank. */
static void stops(const char *moment)
{
	const char *where = getenv("TEST_STOPS"), *rank = getenv("OMPI_COMM_WORLD_RANK");
	size_t length = strlen(moment);

	rank = rank ? rank : getenv("PMI_RANK");
	if (where && rank && !strncmp(where, moment, length) && !strcmp(where + length, rank))
		raise(SIGSTOP);
}
int MPI_Init_thread(int *argc, char ***argv, int wanted, int *level)
{
	int error = PMPI_Init_thread(argc, argv, wanted, level);

	printf("yields: %s\n", getenv("OMPI_MCA_mpi_yield_when_idle"));
	stops("first ");
	return error;
}
int MPI_Test(MPI_Request *request, int *over, MPI_Status *status)
{
	return getenv("TEST_FAILS") ? MPI_ERR_OTHER : PMPI_Test(request, over, status);
}
void starpu_shutdown(void)
{
	if (getenv("TEST_PATIENCE"))
		setenv("HEDDLE_NODE_TIMEOUT", getenv("TEST_PATIENCE"), 1);
	stops("last ");
}
EOF
# shellcheck disable=SC2046 # words
$(sed -n 's/^CC = //p' "$top_builddir/Makefile") -shared -fPIC -o "$work/between.so" "$work/between.c" \
	$(sed -n 's/^MPI_CFLAGS = //p' "$top_builddir/Makefile") || fail "no library between"
between() {
	ranks 2 env LD_PRELOAD="$work/between.so" "$@" --mpi --reps 1
}
for yields in 0 1; do
	export OMPI_MCA_mpi_yield_when_idle="$yields"
	for app in blackscholes floyd nbia; do
		expect 0 "^yields: $yields" between "$apps/$app/$app" --size 256
	done
done
unset OMPI_MCA_mpi_yield_when_idle
expect 0 '^yields: 0' between "$apps/blackscholes/blackscholes" --size 1000
expect 0 '^yields: 0' between "$apps/floyd/floyd" --size 256
expect 0 '^yields: 1' between "$apps/nbia/nbia" --size 256
export OMPI_MCA_mpi_yield_when_idle=0
TEST_FAILS=1 between "$apps/blackscholes/blackscholes" --size 1000 >"$work/out" && fail "MPI's error: the app goes on"
grep -q 'MPI: .*; the run ends on all ranks' "$work/out" || fail "MPI's error: $(cat "$work/out")"
TEST_STOPS='last 1' HEDDLE_NODE_TIMEOUT=5 fails 'step at the end over ranks: rank 0: rank 1 has not been heard of' \
	between "$apps/blackscholes/blackscholes" --size 1000
# One that reads, or writes, has 30 times as long.
TEST_STOPS='first 1' HEDDLE_NODE_TIMEOUT=0.5 fails 'after 15 s .*these ranks have not begun this step: 1' \
	between "$apps/blackscholes/blackscholes" --size 1000
TEST_STOPS='last 0' TEST_PATIENCE=0.5 fails 'step at the end over ranks: rank 1: rank 0 has not been heard of for 15 s' \
	between "$apps/blackscholes/blackscholes" --size 1000
# A rank that goes early ends the run on all, also where the others wait for it between runs.
for app in blackscholes nbia; do
	# shellcheck disable=SC2016 # for the rank's shell
	HEDDLE_NODE_TIMEOUT=10 fails 'rank 3 has not been heard of for 10 s' ranks 4 sh -c '
		reps=30
		[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" != 3 ] || reps=1
		exec "$1" --mpi --size 1000 --reps "$reps"' sh "$apps/$app/$app"
done
# So does rank 0. It and the others do not take each other for alive.
# shellcheck disable=SC2016 # for the rank's shell
HEDDLE_NODE_TIMEOUT=10 fails 'rank [0-3] has not been heard of for 10 s' ranks 4 sh -c '
	reps=30
	[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" != 0 ] || reps=1
	exec "$1" --mpi --size 200 --reps "$reps"' sh "$apps/floyd/floyd"
# on_all RANKS TEXT: so many ranks said it.
on_all() {
	[ "$(grep -c -e "$2" "$work/out")" = "$1" ] || fail "not on $1 ranks: $(cat "$work/out")"
}
# shellcheck disable=SC2016 # for the rank's shell
expect 2 '' ranks 4 sh -c '
	app=blackscholes
	[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" != 0 ] || app=histogram
	exec "$1/$app/$app" --mpi --size 1000' sh "$apps"
on_all 4 '--mpi: rank 0 runs histogram, rank 1 blackscholes'
# Ranks divide a machine: the cores of this one, as StarPU counts them.
cores() {
	env -u STARPU_NCPU -u STARPU_WORKERS_NOBIND "$@" --size 1000 --reps 1 --json "$work/json" >"$work/out" 2>&1 ||
		fail "$*: $(cat "$work/out")"
	grep -c '"kind": "cpu"' "$work/json"
}
all=$(cores "$apps/blackscholes/blackscholes")
half=$(cores "$mpirun" -n 2 "$apps/blackscholes/blackscholes" --mpi)
[ $((half - all / 2)) = 0 ] || [ $((half - (all + 1) / 2)) = 0 ] || fail "$half cores of $all for one of two ranks"
# Those of another one, with GPUs: what StarPU is told.
cat >"$work/start.c" <<'EOF'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int cudaGetDeviceCount(int *n)
{
	*n = atoi(getenv("TEST_GPUS"));
	return 0;
}
int cudaDeviceGetPCIBusId(char *text, int size, int device)
{
	snprintf(text, size, "0000:%02x:00.0", device);
	return 0;
}
static const char *told(const char *name)
{
	return getenv(name) ? getenv(name) : "all";
}
static int begun;
int starpu_init(void *conf)
{
	begun = 1;
	FILE *file = fopen(getenv("TEST_TOLD"), "a");
	fprintf(file, "cores %s, %s not used, CUDA devices %s: %s\n", told("STARPU_WORKERS_CPUID"),
	        told("STARPU_RESERVE_NCPU"), told("STARPU_NCUDA"), told("STARPU_WORKERS_CUDAID"));
	if (getenv("STARPU_WORKERS_GETBIND"))
		fprintf(stderr, "binding kept: %s\n", getenv("STARPU_WORKERS_GETBIND"));
	fclose(file);
	return -19;
}
/* The first rank that ends has the others ended. */
__attribute__((destructor)) static void wait_for_all(void)
{
	for (int tries = 0; begun && tries < 600; tries++) {
		FILE *file = fopen(getenv("TEST_TOLD"), "r");
		int c, lines = 0;
		while (file && (c = getc(file)) != EOF)
			lines += c == '\n';
		if (file)
			fclose(file);
		if (lines >= atoi(getenv("TEST_RANKS")))
			return;
		usleep(100000);
	}
}
EOF
$(sed -n 's/^CC = //p' "$top_builddir/Makefile") -shared -fPIC -o "$work/start.so" "$work/start.c" || fail "no start.so"
# told CORES GPUS RANKS TEXT...
told() {
	cores=$1 gpus=$2 n=$3
	shift 3
	rm -f "$work/told"
	expect 77 'StarPU does not start here' ranks "$n" env -u STARPU_NCPU -u STARPU_WORKERS_NOBIND -u STARPU_NCUDA \
		HWLOC_SYNTHETIC="core:$cores pu:1" HWLOC_THISSYSTEM=0 TEST_GPUS="$gpus" TEST_TOLD="$work/told" TEST_RANKS="$n" \
		LD_PRELOAD="$work/start.so" "$apps/blackscholes/blackscholes" --mpi --size 1000
	for text in "$@"; do
		grep -qx "$text" "$work/told" || fail "$cores cores, $gpus GPUs, $n ranks: no '$text' in $(cat "$work/told")"
	done
}
told 12 2 2 'cores 0 1 2 3 4 5, 7 not used, CUDA devices 1: 0' 'cores 6 7 8 9 10 11, 7 not used, CUDA devices 1: 1'
told 8 0 2 'cores 0 1 2 3, 4 not used, CUDA devices all: all' 'cores 4 5 6 7, 4 not used, CUDA devices all: all'
# One core is too much of four; a rank without a device leaves none.
told 8 2 2 'cores 0 1 2 3, 4 not used, CUDA devices 1: 0'
told 16 1 2 'cores 0 1 2 3 4 5 6 7, 8 not used, CUDA devices 0: all' \
	'cores 8 9 10 11 12 13 14 15, 9 not used, CUDA devices all: all'
# Open MPI binds a rank that is alone to a core. It has all, and none is free for messages.
told 12 2 1 'cores all, 0 not used, CUDA devices all: all'
grep -q '^binding kept: 0' "$work/out" || fail "one rank keeps the launcher's binding: $(cat "$work/out")"
# What the user says counts.
STARPU_RESERVE_NCPU=3 told 12 2 2 'cores 0 1 2 3 4 5, 9 not used, CUDA devices 1: 0'
STARPU_WORKERS_CUDAID=1 told 12 2 2 'cores 0 1 2 3 4 5, 7 not used, CUDA devices all: 1'
# differs N APP OPTION: it is 100 on rank 0, 200 on the last of N, and both say so.
differs() {
	# shellcheck disable=SC2016 # for the rank's shell
	expect 2 '' ranks "$1" sh -c '
		value=100
		[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" != "$3" ] || value=200
		exec "$1" --mpi --size 300 "$2" "$value"' sh "$apps/$2/$2" "$3" "$(($1 - 1))"
	on_all "$1" "--mpi: $3 is 100 on rank 0, 200 on rank $(($1 - 1))"
}
for app in blackscholes floyd heat2d strmatch nbia; do
	differs 2 "$app" --size
done
differs 4 floyd --seed
# alone RANK OPTION...: it is given to this one of four ranks only.
alone() {
	alone=$1
	shift
	# shellcheck disable=SC2016 # for the rank's shell
	ranks 4 sh -c '
		app=$1 alone=$2
		shift 2
		[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = "$alone" ] || shift "$#"
		exec "$app" --mpi --size 1000 --reps 1 "$@"' sh "$apps/blackscholes/blackscholes" "$alone" "$@"
}
expect 2 '' alone 1 --verify
on_all 4 '--mpi: --verify is 0 on rank 0, 1 on rank 1'
# Rank 0 alone would compute what is in the file, and the others what they make.
# shellcheck disable=SC2016 # for the rank's shell
expect 2 '' ranks 4 sh -c '
	[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 0 ] || set -- "$1"
	exec "$@" --mpi --reps 1' sh "$apps/blackscholes/blackscholes" \
	--input "$work/in.csv"
on_all 4 '--mpi: --input is 1 on rank 0, 0 on rank 1'
# What one rank lacks ends the run on all before they wait for it.
for rank in 0 2; do
	LAUNCHER_LIMIT=60 expect 77 'StarPU has no cuda worker here' alone "$rank" --workers cuda
done
# Rank 0 alone writes, whoever else knows of it.
expect 0 '' "$apps/blackscholes/blackscholes" --size 1000 --reps 1 --output "$work/one.csv"
expect 0 'rank ' alone 0 --output "$work/zero.csv"
cmp "$work/one.csv" "$work/zero.csv" || fail "rank 0 wrote other results"
# struck SIGNAL: rank 1 of four gets it while rank 0 writes. The run ends on all of them.
struck() {
	rm -rf "$work/ranks" "$work"/struck.csv*
	mkdir "$work/ranks"
	echo before >"$work/struck.csv"
	# shellcheck disable=SC2016 # for the rank's shell
	LAUNCHER_LIMIT=120 HEDDLE_NODE_TIMEOUT=10 ranks 4 sh -c '
		echo $$ >"$0/${OMPI_COMM_WORLD_RANK:-$PMI_RANK}"
		exec "$@"' "$work/ranks" "$apps/blackscholes/blackscholes" --mpi --size 1M --reps 1 \
		--output "$work/struck.csv" </dev/null >"$work/out" 2>&1 &
	until [ -s "$(echo "$work"/struck.csv.*)" ] || ! kill -0 $! 2>/dev/null; do
		sleep 0.05
	done
	kill -"$1" "$(cat "$work/ranks/1")" || fail "$1: rank 1 is not there: $(cat "$work/out")"
	wait $! && fail "$1: the run did not fail"
	for rank in 0 1 2 3; do
		! lives "$(cat "$work/ranks/$rank")" || fail "$1: rank $rank is left"
	done
}
expect 0 '' "$apps/blackscholes/blackscholes" --size 1M --reps 1 --output "$work/whole.csv"
# Who started the ranks sees the end of one, and ends the others: the output is as it was.
struck KILL
echo before | cmp - "$work/struck.csv" || fail "killed: the output is $(head -n 2 "$work/struck.csv")"
case $("$mpirun" --version 2>/dev/null) in
*'Open MPI'*) grep -q 'rank 1 ' "$work/out" || fail "killed: nobody names rank 1: $(cat "$work/out")" ;;
esac
# Nobody sees one that stops until rank 0, which has written all, waits for it.
struck STOP
cmp "$work/whole.csv" "$work/struck.csv" || fail "stopped: the output is not whole"
grep -q 'rank 0: rank 1 has not been heard of for 10 s' "$work/out" || fail "stopped: $(cat "$work/out")"
[ "$failures" = 0 ]
