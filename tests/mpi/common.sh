# Sourced by the tests with several ranks: how they are started on this machine, whatever it has.
# Skips where there is no MPI.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
. "$top_srcdir/tests/tools/common.sh"
loops=$top_builddir/tests/mpi/loops
mpirun=$(sed -n 's/^MPIRUN = //p' "$top_builddir/Makefile")
[ -x "$loops" ] || { echo "skipped: built without MPI"; exit 77; }
[ "$mpirun" != no ] || { echo "skipped: there is no mpirun"; exit 77; }

# Open MPI: more ranks than cores (to version 4, and from 5 on); as root only where it must be;
# containers may forbid ranks to read each other's memory.
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export OMPI_MCA_btl_vader_single_copy_mechanism=none
# Nor does a rank that looks for messages give its core to workers of others.
export OMPI_MCA_mpi_yield_when_idle=0
[ "$(id -u)" != 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# A rank that ends waits 2 s at most for mpirun's answer. On a busy machine mpirun may get no core in
# that time. Open MPI's would then say "exiting improperly", and return 1 after a right result.
export OMPI_MCA_orte_allowed_exit_without_sync=1 PRTE_MCA_prte_allowed_exit_without_sync=1
# All ranks are on this machine, which may have no network.
case $("$mpirun" --version 2>/dev/null) in
*'Open MPI) '[1-4].*) export OMPI_MCA_btl=self,vader ;;
*'Open MPI) '*) export OMPI_MCA_btl=self,sm ;;
esac
# One worker a rank.
export STARPU_NCPU=1 STARPU_NOPENCL=0 STARPU_NCUDA=0

# ranks N COMMAND...: what each rank says, in one piece each: mpirun mixes them, within a line, too.
# Then what mpirun says, in one line: Open MPI 5 breaks its own somewhere.
# LAUNCHER_LIMIT: seconds for mpirun, which may not return from a run that MPI_Abort() has ended.
ranks() {
	n=$1
	shift
	said=$(mktemp -d "$work/said.XXXXXX") || return
	# shellcheck disable=SC2016 # the rank's shell expands it
	${LAUNCHER_LIMIT:+timeout -k 5 "$LAUNCHER_LIMIT"} "$mpirun" -n "$n" sh -c ': >"$0/pid.$$"
		exec "$@" >"$(mktemp "$0/rank.XXXXXX")" 2>&1' \
		"$said" "$@" >"$said/mpirun" 2>&1
	ranks_status=$?
	cat "$said"/rank.*
	tr '\n' ' ' <"$said/mpirun"
	return "$ranks_status"
}

# StarPU's first start on a machine writes files, which several ranks must not do at once.
"$top_builddir/apps/vecinc/vecinc" --size 1 --reps 1 >/dev/null

# refused_build PROGRAM CASE OTHER: rank 1 is of another build; all four say so, and none runs anything.
refused_build() {
	said_all="the version of Heddle is \"$own\" on ranks 0, 2-3 and \"$3\" on rank 1"
	expect 0 "$said_all" ranks 4 "$1" "$2"
	[ "$(grep -c "$said_all" "$work/out")" = 4 ] || fail "$2: not on 4 ranks: $(cat "$work/out")"
	[ "$(grep -c "^rank [0-3]: $2: -" "$work/out")" = 4 ] || fail "$2: $(cat "$work/out")"
}

# refused_version PROGRAM: rank 1 has another libheddle, and messages of another build.
refused_version() {
	number=$(sed -n 's/^PACKAGE_VERSION = //p' "$top_builddir/Makefile")
	own="$number, protocol $(sed -n 's/^#define MPI_PROTOCOL //p' "$top_srcdir/partition/mpi/protocol.h")"
	refused_build "$1" version "$own, libheddle 0.0.9"
	refused_build "$1" protocol "$number, protocol 0"
}

# lives PID: what nobody has waited for has ended, too.
lives() {
	grep -qs '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$1/status"
}

# ended PROGRAM CASE TEXT [deaf]: a rank says TEXT, unless it is empty, and the run ends on all ranks
# within the time that doc/mpi.md states. What launchers say, and their statuses, differ. A busy machine
# has half a minute more to start ranks, and to end them.
# Other runs have Heddle's own limit: on a busy machine a rank gets no core for 3 s.
ended() {
	program=$1 what=$2 text=$3
	shift 3
	bound=$((3 * 3 / 2 + 2 + 5 + 30))
	export HEDDLE_NODE_TIMEOUT=3
	rm -rf "$work"/said.*
	begin=$(date +%s)
	ranks 4 "$program" "$what" "$@" </dev/null >"$work/out" && fail "$what: the program did not fail"
	took=$(($(date +%s) - begin))
	unset HEDDLE_NODE_TIMEOUT
	[ "$took" -le "$bound" ] || fail "$what: ended after $took s, not $bound"
	[ -z "$text" ] || cat "$work"/said.*/rank.* | grep -q "$text" || fail "$what: no '$text' in $(cat "$work/out")"
	! grep "^rank [0-9]*: $what: " "$work"/said.*/rank.* || fail "$what: it goes on on some ranks"
	for pid in "$work"/said.*/pid.*; do
		# The launcher may return before the last of them.
		while lives "${pid##*.}" && [ $(($(date +%s) - begin)) -le "$bound" ]; do
			sleep 0.1
		done
		! lives "${pid##*.}" || fail "$what: process ${pid##*.} of the run is left"
	done
	[ "$(ls "$work"/said.*/pid.* | wc -l)" = 4 ] || fail "$what: there were not 4 ranks"
}
