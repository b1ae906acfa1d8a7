#!/bin/sh
# What ranks send each other is what MPI_PROTOCOL stands for: whoever changes a message or its number
# raises that. Builds of one version are told apart by nothing else.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
set -u
: "${top_srcdir:?}"
cd "$top_srcdir/partition/mpi" || exit 99
work=$(mktemp) || exit 99
trap 'rm -f "$work"' EXIT

# definitions FILE NAME...: those of a file, without comments and layout.
definitions() {
	file=$1
	shift
	for name; do
		sed -n "/^$name {/,/^}.*;\$/p" "$file" | tr '\n' ' ' |
			sed 's,/\*[^*]*\**\([^/*][^*]*\*\**\)*/,,g; s,[[:space:]],,g' >"$work"
		[ -s "$work" ] || { echo "$file has no $name" >&2; exit 1; }
		cat "$work"
	done
}

sum=$({
	definitions message.h 'struct mpi_message' 'enum node_message' 'enum front_message'
	definitions demand.h 'enum mpi_demand_message'
	definitions link_mpi.h 'enum mpi_channel'
	definitions agreement.h 'struct mpi_array_description' 'struct mpi_description'
	definitions agree_mpi.h 'struct mpi_verdict'
	definitions agree_starpu.c 'struct told' 'struct told_array'
	definitions layout.h 'struct mpi_layout_run'
	definitions bell.h 'struct bell_address'
	definitions flow_agreement.h 'struct mpi_flow_filter' 'struct mpi_flow_stream' 'struct mpi_flow_description'
	definitions loans_starpu.c 'struct shape' 'struct answer'
	definitions wavefront_agreement.h 'struct mpi_wave_description'
	definitions wavefront_deal.h 'struct mpi_wave_power' 'struct mpi_wave_plan'
	definitions wavefront_cost_starpu.c 'struct message_cost' 'struct node_name'
	definitions ../../include/heddle/mpi.h 'struct heddle_mpi_rank_stats' 'struct heddle_mpi_flow_rank' \
		'struct heddle_mpi_wave_rank'
} | cksum) || exit 1
sum=${sum%% *}
said=$(sed -n 's/.*(tests\/tools\/protocol.sh): \([0-9]*\).*/\1/p' protocol.h)
[ "$sum" = "$said" ] || {
	echo "Messages between ranks are others: raise MPI_PROTOCOL in partition/mpi/protocol.h," \
		"and write $sum instead of $said" >&2
	exit 1
}
