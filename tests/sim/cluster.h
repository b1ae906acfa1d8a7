/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A drawn cluster, a drawn loop on it, and a time that no schedule can beat.
 */
#ifndef HEDDLE_TEST_SIM_CLUSTER_H
#define HEDDLE_TEST_SIM_CLUSTER_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* What an iteration costs is the same in each of so many parts of the loop. */
enum { CLUSTER_PIECES = 64, CLUSTER_RANKS = 64, CLUSTER_WORKERS = 160 };
#define CLUSTER_GPU_MBPS 12000
#define CLUSTER_MOST_BYTES 2e9

struct cluster_rank {
	unsigned cpus, gpus;
	double cpu_us, gpu_us; /* for an iteration that costs 1 */
};

struct cluster {
	unsigned nranks, cpus, gpus; /* the most of a rank */
	double mbps, latency_us;
	size_t n, in, out;               /* iterations, bytes that one reads and writes */
	const char *shape;               /* of the costs */
	double costs[CLUSTER_PIECES];    /* mean 1 */
	double sums[CLUSTER_PIECES + 1]; /* of those before */
	struct cluster_rank ranks[CLUSTER_RANKS];
};

/* Between two numbers, each factor as likely. */
static inline double cluster_between(unsigned *seed, double least, double most)
{
	return least * pow(most / least, rand_r(seed) / (RAND_MAX + 1.0));
}

static inline void cluster_costs_draw(struct cluster *cluster, unsigned *seed)
{
	static const char *const shapes[] = {"even", "even", "rising", "falling", "hill", "rough"};
	double most = cluster_between(seed, 2, 10), sum = 0;

	cluster->shape = shapes[rand_r(seed) % (sizeof(shapes) / sizeof(*shapes))];
	for (unsigned p = 0; p < CLUSTER_PIECES; p++) {
		double at = (p + 0.5) / CLUSTER_PIECES, part = 0;

		if (!strcmp(cluster->shape, "rising"))
			part = at;
		else if (!strcmp(cluster->shape, "falling"))
			part = 1 - at;
		else if (!strcmp(cluster->shape, "hill"))
			part = 1 - fabs(2 * at - 1);
		else if (!strcmp(cluster->shape, "rough"))
			part = rand_r(seed) / (RAND_MAX + 1.0);
		cluster->costs[p] = 1 + (most - 1) * part;
		sum += cluster->costs[p] / CLUSTER_PIECES;
	}
	for (unsigned p = 0; p < CLUSTER_PIECES; p++) {
		cluster->costs[p] /= sum;
		cluster->sums[p + 1] = cluster->sums[p] + cluster->costs[p] / CLUSTER_PIECES;
	}
}

static inline double cluster_rate(const struct cluster *cluster, const struct cluster_rank *rank)
{
	return rank->cpus / rank->cpu_us + rank->gpus / rank->gpu_us;
}

static inline double cluster_rates(const struct cluster *cluster)
{
	double sum = 0;

	for (unsigned r = 0; r < cluster->nranks; r++)
		sum += cluster_rate(cluster, &cluster->ranks[r]);
	return sum;
}

static inline void cluster_draw(struct cluster *cluster, unsigned seed)
{
	double slow, us, fast;

	memset(cluster, 0, sizeof(*cluster));
	/* The first numbers of neighbours are alike otherwise. */
	seed = (seed ^ seed >> 16) * 0x45d9f3bu;
	seed = (seed ^ seed >> 16) * 0x45d9f3bu;
	seed ^= seed >> 16;
	cluster->nranks = cluster_between(&seed, 2, CLUSTER_RANKS + 1);
	cluster->cpus = cluster_between(&seed, 1, fmin(8, CLUSTER_WORKERS / cluster->nranks) + 1);
	cluster->gpus = rand_r(&seed) % 3;
	cluster->mbps = cluster_between(&seed, 125, 12500);
	cluster->latency_us = cluster_between(&seed, 2, 50);
	cluster->in = cluster_between(&seed, 1, 65);
	cluster->out = cluster_between(&seed, 1, 65);
	slow = cluster_between(&seed, 1, 8);
	us = cluster_between(&seed, 0.2, 20);
	fast = cluster_between(&seed, 4, 40);
	for (unsigned r = 0; r < cluster->nranks; r++) {
		struct cluster_rank *rank = &cluster->ranks[r];

		rank->cpus = 1 + rand_r(&seed) % cluster->cpus;
		rank->gpus = rand_r(&seed) % (cluster->gpus + 1);
		rank->cpu_us = us * cluster_between(&seed, 1, slow);
		/* Its own link feeds it. */
		rank->gpu_us = fmax(rank->cpu_us / fast,
		                    2 * fmax(cluster->in, cluster->out) / (double)CLUSTER_GPU_MBPS);
	}
	cluster_costs_draw(cluster, &seed);
	cluster->n = fmin(cluster_between(&seed, 10e3, 300e3) * cluster_rates(cluster),
	                  CLUSTER_MOST_BYTES / (cluster->in + cluster->out));
	cluster->n += cluster->nranks;
}

/* What iterations cost, together. */
static inline double cluster_cost(const struct cluster *cluster, double start, double n)
{
	double ends[2] = {start, start + n}, sums[2];

	for (int i = 0; i < 2; i++) {
		double at = ends[i] * CLUSTER_PIECES / cluster->n;
		unsigned p = fmin(at, CLUSTER_PIECES - 1);

		sums[i] = cluster->sums[p] + cluster->costs[p] * (at - p) / CLUSTER_PIECES;
	}
	return (sums[1] - sums[0]) * cluster->n;
}

/* ---- the bound ---- */

/* The fewest iterations of a rank's that cost so much, the dearest ones. */
static inline double cluster_fewest(const struct cluster *cluster, unsigned rank, double cost,
                                    double *dearest)
{
	double first = (double)rank * CLUSTER_PIECES / cluster->nranks, n = 0;
	double end = first + (double)CLUSTER_PIECES / cluster->nranks, limit = INFINITY;

	while (cost > 0) {
		double dear = 0, width = 0, take;

		for (unsigned p = first; p < CLUSTER_PIECES && p < end; p++)
			if (cluster->costs[p] < limit && cluster->costs[p] > dear)
				dear = cluster->costs[p];
		for (unsigned p = first; p < CLUSTER_PIECES && p < end; p++)
			if (cluster->costs[p] == dear)
				width += fmin(end, p + 1) - fmax(first, p);
		if (!(dear > 0))
			break;
		*dearest = fmax(*dearest, dear);
		take = fmin(width * cluster->n / CLUSTER_PIECES, cost / dear);
		n += take;
		cost -= take * dear;
		limit = dear;
	}
	return n;
}

/* Whether the loop can be over after `us`. Rank 0 knows of the loop at once, the others a message
 * later, and that much passes from their last result until rank 0 knows of it. What a rank cannot
 * compute until then others do: they get it a message after it may begin, and it is back a message
 * before its end. Inputs leave and results come back by the rank's link, and by those of the
 * others, whatever the order: the dearest iterations are the fewest bytes. */
static inline bool cluster_can(const struct cluster *cluster, double us, double message_us)
{
	double given = 0, taken = 0, pieces = 0, room = 0, dearest = 0;
	double bytes = fmax(cluster->in, cluster->out);

	for (unsigned r = 0; r < cluster->nranks; r++) {
		double first = (double)r * cluster->n / cluster->nranks;
		double own = cluster_cost(cluster, first, (double)cluster->n / cluster->nranks);
		double rest =
		    own - cluster_rate(cluster, &cluster->ranks[r]) * (us - 2 * message_us * !!r);
		double few = cluster_fewest(cluster, r, rest, &dearest);

		if (few * bytes > cluster->mbps * (us - 2 * message_us * (1 + !!r)))
			return false;
		given += fmax(0, rest);
		pieces += few;
	}
	for (unsigned r = 0; r < cluster->nranks; r++) {
		double first = (double)r * cluster->n / cluster->nranks;
		double own = cluster_cost(cluster, first, (double)cluster->n / cluster->nranks);
		double rate = cluster_rate(cluster, &cluster->ranks[r]);
		double time = us - 2 * message_us * !!r, away = fmax(0, time - 2 * message_us);
		double link = cluster->mbps * away / bytes;
		double spare = fmin(fmin(rate * time - own, rate * away), link * dearest);

		taken += fmax(0, spare);
		room += spare > 0 ? link : 0;
	}
	return given <= taken && pieces <= room;
}

/* The least time, within a thousandth.
 * @param message_us what a short message takes */
static inline double cluster_bound_us(const struct cluster *cluster, double message_us)
{
	double us = cluster->n / cluster_rates(cluster);

	while (!cluster_can(cluster, us, message_us))
		us *= 1.0005;
	return us;
}

#endif
