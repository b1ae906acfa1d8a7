/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A flow over the nodes of a cluster, event by event: the application of Teodoro et al. (HPDC 2010,
 * section 6). Tiles are looked at with 32 x 32 pixels, and some of them again with 512 x 512. The
 * nodes ask each other for tiles as in a real run: by queues.c, demand.c, gains.c and dqaa.c.
 * Processors, links and messages take the times that are given. Pure.
 */
#ifndef HEDDLE_BENCH_CLUSTERS_H
#define HEDDLE_BENCH_CLUSTERS_H

#include <stdbool.h>

enum cluster_policy { CLUSTER_DDFCFS, CLUSTER_DDWRR, CLUSTER_ODDS };

/** Sizes of tiles. */
enum { CLUSTER_SMALL, CLUSTER_LARGE, CLUSTER_SIZES };

struct cluster {
	unsigned nodes;
	unsigned accelerated; /**< of them with a core and a GPU; the others have two cores */
	bool cores;           /**< that of a node with a GPU takes part */
	unsigned long tiles, large;
	double core_us[CLUSTER_SIZES], gpu_us[CLUSTER_SIZES];
	double bytes[CLUSTER_SIZES];
	double network_us, network_mbps; /**< of a message; of a node's link */
	double bus_us, bus_mbps;         /**< of the GPUs */
	enum cluster_policy policy;
	unsigned requests; /**< for each processor; 0: DQAA decides */
	/** If not NULL: called every `every_us` with the requests and the busy processors of each
	 * node, all cores first. */
	void (*look)(void *arg, double now_us, unsigned node, unsigned requests, double busy);
	double every_us;
	void *arg;
};

struct cluster_result {
	double us;
	unsigned long done[CLUSTER_SIZES][2]; /**< by cores, by GPUs */
	unsigned long sent;                   /**< tiles between nodes */
	unsigned long messages;
};

/** @return 0; -ENOMEM */
int cluster_run(const struct cluster *cluster, struct cluster_result *result);

/** The shortest time that any division of the tiles could take, if they could be cut and nothing
 * had to be sent. */
double cluster_bound_us(const struct cluster *cluster);

#endif
