/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Tiles shared by the nodes of simulated clusters: each is computed once, and under ODDS they share
 * them nearly as well as they could. Simulated nodes know no noise, so that every number is exact.
 */
#include "config.h"

#include <stdlib.h>

#include "tests/unit/test.h"
#include "tools/bench/clusters.h"

/* Times of Teodoro et al. (HPDC 2010). */
static struct cluster cluster_of(unsigned nodes, unsigned accelerated, unsigned long tiles,
                                 unsigned rate)
{
	return (struct cluster){.nodes = nodes,
	                        .accelerated = accelerated,
	                        .cores = true,
	                        .tiles = tiles,
	                        .large = tiles * rate / 100,
	                        .core_us = {1122, 297000},
	                        .gpu_us = {1122, 9000},
	                        .bytes = {3072, 786432},
	                        .network_us = 100,
	                        .network_mbps = 125,
	                        .bus_us = 10,
	                        .bus_mbps = 276,
	                        .policy = CLUSTER_ODDS};
}

static double run(const struct cluster *cluster)
{
	struct cluster_result result;

	assert_int_equal(cluster_run(cluster, &result), 0);
	assert_int_equal(result.done[CLUSTER_SMALL][0] + result.done[CLUSTER_SMALL][1],
	                 cluster->tiles);
	assert_int_equal(result.done[CLUSTER_LARGE][0] + result.done[CLUSTER_LARGE][1],
	                 cluster->large);
	return cluster_bound_us(cluster) / result.us;
}

static void test_shares(void **state)
{
	for (unsigned nodes = 1; nodes <= 14; nodes += nodes < 2 ? 1 : 4)
		for (unsigned rate = 0; rate <= 16; rate += 8)
			for (unsigned half = 0; half < 2; half++) {
				struct cluster cluster = cluster_of(
				    nodes, half ? (nodes + 1) / 2 : nodes, 19000 * nodes, rate);
				double part = run(&cluster);

				print_message("%u nodes, %u with GPUs, %u %%: %.4f of the bound\n",
				              nodes, cluster.accelerated, rate, part);
				assert_true(part >= 0.97);
			}
}

/* At the end GPUs of two nodes have tiles of two others, whose links carry one in 6.3 ms: faster
 * than one is wanted, unless one of them has none left. */
static void test_links(void **state)
{
	static const unsigned tiles[] = {60000, 60007, 267420};

	for (unsigned i = 0; i < 3; i++) {
		struct cluster cluster = cluster_of(4, 2, tiles[i], 8);
		double part = run(&cluster);

		print_message("%u tiles: %.4f of the bound\n", tiles[i], part);
		assert_true(part >= 0.98);
	}
}

/* Nodes that are alike need each other at the end only. None may give what its own GPU does soon,
 * nor leave its core without small tiles because its GPU has them, or asks for many large ones that
 * nobody has tried. */
static void test_alike(void **state)
{
	static const unsigned nodes[] = {4, 14, 64}, tiles[] = {60000, 1900, 1040};

	for (unsigned i = 0; i < 3; i++) {
		struct cluster odds = cluster_of(nodes[i], nodes[i], nodes[i] * tiles[i], 8);
		struct cluster ddwrr = odds;
		double part = run(&odds), other;

		ddwrr.policy = CLUSTER_DDWRR;
		ddwrr.requests = 3;
		other = run(&ddwrr);
		print_message("%u nodes: %.4f of the bound, ddwrr %.4f\n", nodes[i], part, other);
		assert_true(part >= 0.97);
		assert_true(part >= other - 0.006);
	}
}

/* Few tiles for each node: a core that asks for small ones must not get large ones instead, which
 * its node's GPU would have done sooner than others' at the end. Nor must it begin several because
 * their times become known just when it has room, nor a GPU ask for many that nobody has tried,
 * where all nodes have one. */
static void test_many_nodes(void **state)
{
	static const double large_us[] = {297000, 296817.7, 297000};

	for (unsigned nodes = 64; nodes <= 256; nodes *= 4)
		for (unsigned i = 0; i < 3; i++) {
			struct cluster cluster =
			    cluster_of(nodes, nodes / (i < 2 ? 2 : 1), 267420, 8);
			double part;

			cluster.core_us[CLUSTER_LARGE] = large_us[i];
			cluster.gpu_us[CLUSTER_LARGE] = large_us[i] / 33;
			part = run(&cluster);
			print_message("%u nodes: %.4f of the bound\n", nodes, part);
			assert_true(part >= 0.95);
		}
}

/* Where nobody chooses, each tile is still computed once. */
static void test_policies(void **state)
{
	for (unsigned policy = CLUSTER_DDFCFS; policy <= CLUSTER_DDWRR; policy++)
		for (unsigned requests = 1; requests <= 9; requests += 4) {
			struct cluster cluster = cluster_of(5, 3, 3000, 8), odds = cluster;

			cluster.policy = policy;
			cluster.requests = requests;
			assert_true(run(&cluster) < run(&odds));
		}
}

/* No GPU at all, and few tiles. */
static void test_odd_clusters(void **state)
{
	struct cluster cores = cluster_of(3, 0, 600, 4), few = cluster_of(6, 3, 2, 50);

	assert_true(run(&cores) > 0.8);
	assert_true(run(&few) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_shares),       cmocka_unit_test(test_alike),
	    cmocka_unit_test(test_many_nodes),   cmocka_unit_test(test_policies),
	    cmocka_unit_test(test_odd_clusters), cmocka_unit_test(test_links),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
