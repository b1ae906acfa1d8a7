/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * `heddle bench --clusters`: the figures of Teodoro et al. (HPDC 2010, section 6.4) on simulated
 * clusters, as comma-separated values. ddfcfs and ddwrr have the number of requests that is best in
 * an exhaustive search, as in the paper.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tools/bench/bench.h"
#include "tools/bench/clusters.h"

/* Tiles of the figures of one node and two, and of those of many. */
#define FEW 26742
#define MANY 267420
/* Share of tiles that are looked at again, where it does not vary, percent. */
#define RATE 8
/* A GPU runs a large tile so many times as fast as a core, and a small one as fast. */
#define SPEED 33
#define INTERVALS 50

/* What the paper's text and Tables 4 and 6 say; NAN: nothing. Those of 16 % are of section 6.3. */
static const struct published {
	const char *figure, *contender;
	double rate, speedup, small_on_gpus, large_on_gpus;
} published[] = {
    {"9", "ddfcfs", 8, NAN, 98.16, 92.42},    {"9", "ddwrr", 8, 23, 17.07, 96.34},
    {"9", "odds", 8, 25, 6.98, 97.89},        {"9", "gpus", 16, 16.06, NAN, NAN},
    {"9", "ddfcfs", 16, 16.78, 98.48, 85.30}, {"9", "ddwrr", 16, 29.79, 15.37, 99.84},
    {"10", "ddfcfs", 8, NAN, 84.85, 85.67},   {"10", "ddwrr", 8, 25, 16.72, 92.92},
    {"10", "odds", 8, 44, 0, 97.62},
};

static const char *const policies[] = {"ddfcfs", "ddwrr", "odds"};
static const unsigned requests[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128};
#define NREQUESTS (sizeof(requests) / sizeof(*requests))

/* Seconds of one core for 26,742 tiles (Table 3); between its rates a large tile takes as long as
 * at the next one. */
static void times_set(struct cluster *cluster, double rate)
{
	static const double table[][2] = {{4, 350}, {8, 665}, {12, 974}, {16, 1287}, {20, 1532}};
	size_t row = 0;

	while (row < 4 && table[row][0] < rate - 1e-9)
		row++;
	cluster->large = lround(cluster->tiles * rate / 100);
	cluster->core_us[CLUSTER_SMALL] = 30e6 / FEW;
	cluster->core_us[CLUSTER_LARGE] = (table[row][1] - 30) * 1e6 / (table[row][0] / 100 * FEW);
	cluster->gpu_us[CLUSTER_SMALL] = cluster->core_us[CLUSTER_SMALL];
	cluster->gpu_us[CLUSTER_LARGE] = cluster->core_us[CLUSTER_LARGE] / SPEED;
}

/* Gigabit Ethernet; a message waits until the other side looks for it. */
static struct cluster cluster_of(unsigned nodes, bool equal, double rate, unsigned long tiles)
{
	struct cluster cluster = {.nodes = nodes,
	                          .accelerated = equal ? nodes : (nodes + 1) / 2,
	                          .cores = true,
	                          .tiles = tiles,
	                          .bytes = {3 * 32 * 32, 3 * 512 * 512},
	                          .network_us = 100,
	                          .network_mbps = 125,
	                          .bus_us = 10,
	                          .bus_mbps = 276};

	times_set(&cluster, rate);
	return cluster;
}

static double one_core_us(const struct cluster *cluster)
{
	return cluster->tiles * cluster->core_us[CLUSTER_SMALL] +
	       cluster->large * cluster->core_us[CLUSTER_LARGE];
}

/* ---- rows ---- */

static double percent(unsigned long part, unsigned long rest)
{
	return part + rest ? 100. * part / (part + rest) : 0;
}

static void published_print(double number)
{
	if (isnan(number))
		printf(",");
	else
		printf(",%g", number);
}

/* The end of a row: the same in the paper. */
static void row_end(const char *figure, double rate, const char *contender)
{
	struct published row = {NULL, NULL, rate, NAN, NAN, NAN};

	for (size_t i = 0; i < sizeof(published) / sizeof(*published); i++)
		if (!strcmp(published[i].figure, figure) && published[i].rate == rate &&
		    !strcmp(published[i].contender, contender))
			row = published[i];
	published_print(row.speedup);
	published_print(row.small_on_gpus);
	published_print(row.large_on_gpus);
	printf("\n");
	fflush(stdout);
}

static void row_print(const char *figure, const struct cluster *cluster, double rate,
                      const char *contender, const struct cluster_result *result)
{
	printf("%s,%s,%u,%lu,%g,%s,%u,%.3f,%.2f,%.4f,%.2f,%.2f,%lu", figure,
	       cluster->accelerated == cluster->nodes ? "equal" : "half", cluster->nodes,
	       cluster->tiles, rate, contender, cluster->requests, result->us / 1e6,
	       one_core_us(cluster) / result->us, cluster_bound_us(cluster) / result->us,
	       percent(result->done[CLUSTER_SMALL][1], result->done[CLUSTER_SMALL][0]),
	       percent(result->done[CLUSTER_LARGE][1], result->done[CLUSTER_LARGE][0]),
	       result->sent);
	row_end(figure, rate, contender);
}

/* The number of requests with which a policy takes the shortest time. */
static int requests_search(struct cluster *cluster, struct cluster_result *best)
{
	unsigned chosen = 0;

	for (size_t i = 0; i < NREQUESTS; i++) {
		struct cluster_result result;

		cluster->requests = requests[i];
		if (cluster_run(cluster, &result))
			return -1;
		if (!i || result.us < best->us) {
			*best = result;
			chosen = requests[i];
		}
	}
	cluster->requests = chosen;
	return 0;
}

static int policy_run(const char *figure, const struct cluster *given, double rate,
                      enum cluster_policy policy)
{
	struct cluster cluster = *given;
	struct cluster_result result;
	int status;

	cluster.policy = policy;
	status = policy == CLUSTER_ODDS ? cluster_run(&cluster, &result)
	                                : requests_search(&cluster, &result);
	if (!status)
		row_print(figure, &cluster, rate, policies[policy], &result);
	return status;
}

/* Of the nodes with GPUs, the GPUs alone. */
static int gpus_run(const char *figure, const struct cluster *given, double rate)
{
	struct cluster cluster = *given;
	struct cluster_result result;
	int status;

	cluster.nodes = cluster.accelerated;
	cluster.cores = false;
	cluster.policy = CLUSTER_ODDS;
	status = cluster_run(&cluster, &result);
	if (!status)
		row_print(figure, &cluster, rate, "gpus", &result);
	return status;
}

/* All contenders on a cluster. */
static int cluster_rows(const char *figure, const struct cluster *cluster, double rate)
{
	struct cluster_result bound = {.us = cluster_bound_us(cluster)};
	int status = gpus_run(figure, cluster, rate);

	for (unsigned p = CLUSTER_DDFCFS; p <= CLUSTER_ODDS && !status; p++)
		status = policy_run(figure, cluster, rate, p);
	row_print(figure, cluster, rate, "bound", &bound);
	return status;
}

/* ---- figures ---- */

/* Figures 9 and 10; the column of requests is Figure 11, and the rows of 8 % Table 6. */
static int rates_run(unsigned long tiles)
{
	int status = 0;

	for (unsigned nodes = 1; nodes <= 2; nodes++)
		for (double rate = 0; rate <= 20 && !status; rate += 4) {
			struct cluster cluster = cluster_of(nodes, nodes == 1, rate, tiles);

			status = cluster_rows(nodes == 1 ? "9" : "10", &cluster, rate);
		}
	return status;
}

struct looks {
	double busy_us[2], every_us;
};

static void look_print(void *arg, double now_us, unsigned node, unsigned queued, double busy_us)
{
	struct looks *looks = arg;

	printf("12,half,%u,%.3f,%.3f,%u\n", node, now_us / 1e6,
	       (busy_us - looks->busy_us[node]) / looks->every_us, queued);
	looks->busy_us[node] = busy_us;
}

/* Figure 12: busy processors, and tiles requested or received, of each of two nodes. */
static int time_run(unsigned long tiles)
{
	struct cluster cluster = cluster_of(2, false, 10, tiles);
	struct cluster_result result;
	struct looks looks = {.every_us = cluster_bound_us(&cluster) / INTERVALS};

	cluster.policy = CLUSTER_ODDS;
	cluster.look = look_print;
	cluster.every_us = looks.every_us;
	cluster.arg = &looks;
	printf("\nfigure,nodes_kind,node,seconds,busy,queued\n");
	return cluster_run(&cluster, &result);
}

/* Figures 13 and 14, and as many tiles for each node on larger clusters. */
static int nodes_run(unsigned long tiles, bool quick)
{
	static const unsigned nodes[] = {1, 2, 4, 6, 8, 10, 12, 14}, more[] = {64, 256};
	int status = 0;

	for (unsigned kind = 0; kind < 2; kind++) {
		bool equal = !kind;
		const char *figure = equal ? "13" : "14";

		for (size_t n = kind; n < sizeof(nodes) / sizeof(*nodes) && !status; n++) {
			struct cluster cluster = cluster_of(nodes[n], equal, RATE, tiles);

			status = cluster_rows(figure, &cluster, RATE);
		}
		for (size_t n = 0; n < 4 && !quick && !status; n++) {
			unsigned many = more[n / 2];
			struct cluster cluster =
			    cluster_of(many, equal, RATE, n % 2 ? tiles * many / 14 : tiles);

			status = policy_run("more", &cluster, RATE, CLUSTER_ODDS);
		}
	}
	return status;
}

int bench_clusters(const struct bench_settings *settings)
{
	unsigned long few = settings->size ? settings->size : FEW;
	unsigned long many = settings->size ? settings->size : MANY;
	int status;

	printf("figure,nodes_kind,nodes,tiles,recalc,contender,requests,seconds,speedup,"
	       "of_bound,small_on_gpus,large_on_gpus,sent,paper_speedup,paper_small,"
	       "paper_large\n");
	status = rates_run(few);
	if (!status)
		status = nodes_run(many, settings->quick);
	if (!status)
		status = time_run(few);
	if (status)
		fprintf(stderr, "heddle: no memory for a simulated cluster\n");
	return status;
}
