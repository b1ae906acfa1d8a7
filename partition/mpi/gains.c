/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "gains.h"
#include "sched_policies/pool.h"

/* Octaves by which a time that is told differs from the one before: a step of gain. */
#define NEWS 0.125

/* So many times as long as an accelerator a core may need that was never tried. */
#define TRIAL_FACTOR 64
/* Accelerators that are not that much faster are no help. */
#define FASTER 2

struct type {
	uint64_t name;
	double *us;                  /* of each rank, of each kind */
	double least[HEDDLE_NKINDS]; /* of all ranks; 0: nobody knows */
	double rate;                 /* of all accelerators together, 1/us */
};

struct mpi_gains {
	unsigned nranks, ntypes; /* type 0 is always there */
	bool accelerators;
	unsigned *devices; /* of each rank, of each kind */
	struct type types[QUEUES_TYPES];
};

struct mpi_gains *mpi_gains_create(unsigned nranks, bool accelerators)
{
	struct mpi_gains *gains = calloc(1, sizeof(*gains));

	if (gains)
		gains->devices = calloc((size_t)nranks * HEDDLE_NKINDS, sizeof(*gains->devices));
	if (!gains || !gains->devices) {
		free(gains);
		return NULL;
	}
	gains->nranks = nranks;
	gains->ntypes = 1;
	gains->accelerators = accelerators;
	return gains;
}

void mpi_gains_destroy(struct mpi_gains *gains)
{
	for (unsigned t = 0; gains && t < gains->ntypes; t++)
		free(gains->types[t].us);
	if (gains)
		free(gains->devices);
	free(gains);
}

unsigned mpi_gains_type(struct mpi_gains *gains, uint64_t name)
{
	struct type *type = &gains->types[gains->ntypes];

	if (!name)
		return 0;
	for (unsigned t = 1; t < gains->ntypes; t++)
		if (gains->types[t].name == name)
			return t;
	if (gains->ntypes == QUEUES_TYPES)
		return 0;
	type->us = calloc((size_t)gains->nranks * HEDDLE_NKINDS, sizeof(*type->us));
	if (!type->us)
		return 0;
	type->name = name;
	return gains->ntypes++;
}

unsigned mpi_gains_types(const struct mpi_gains *gains)
{
	return gains->ntypes;
}

uint64_t mpi_gains_name(const struct mpi_gains *gains, unsigned type)
{
	return gains->types[type].name;
}

static void rate_find(struct mpi_gains *gains, struct type *type)
{
	type->rate = 0;
	for (unsigned i = 0; i < gains->nranks * HEDDLE_NKINDS; i++)
		if (i % HEDDLE_NKINDS != HEDDLE_KIND_CPU && type->us[i] > 0)
			type->rate += gains->devices[i] / type->us[i];
}

static void least_find(struct mpi_gains *gains, struct type *type, enum heddle_kind kind)
{
	double least = 0;

	for (unsigned r = 0; r < gains->nranks; r++) {
		double us = type->us[r * HEDDLE_NKINDS + kind];

		if (us > 0 && (least <= 0 || us < least))
			least = us;
	}
	type->least[kind] = least;
}

bool mpi_gains_set(struct mpi_gains *gains, unsigned type, unsigned rank, enum heddle_kind kind,
                   double us, unsigned devices)
{
	double *old = type ? &gains->types[type].us[rank * HEDDLE_NKINDS + kind] : NULL;

	if (!old || !(us > 0) || !isfinite(us) || (*old > 0 && fabs(log2(us / *old)) < NEWS))
		return false;
	*old = us;
	gains->devices[rank * HEDDLE_NKINDS + kind] = devices;
	least_find(gains, &gains->types[type], kind);
	rate_find(gains, &gains->types[type]);
	return true;
}

double mpi_gains_own_us(const struct mpi_gains *gains, unsigned type, unsigned rank,
                        enum heddle_kind kind)
{
	const struct type *of = &gains->types[type];

	return of->us ? of->us[rank * HEDDLE_NKINDS + kind] : 0;
}

double mpi_gains_us(const struct mpi_gains *gains, unsigned type, unsigned rank,
                    enum heddle_kind kind)
{
	double us = mpi_gains_own_us(gains, type, rank, kind);

	return us > 0 ? us : gains->types[type].least[kind];
}

double mpi_gains_accelerator_us(const struct mpi_gains *gains, unsigned number)
{
	const struct type *type = &gains->types[number];
	double least = 0;

	for (unsigned k = 0; k < HEDDLE_NKINDS; k++)
		if (k != HEDDLE_KIND_CPU && type->least[k] > 0 &&
		    (least <= 0 || type->least[k] < least))
			least = type->least[k];
	return least;
}

bool mpi_gains_leave(const struct mpi_gains *gains, unsigned type, unsigned rank,
                     enum heddle_kind kind, double n, double *us, double *until_us)
{
	double best = mpi_gains_accelerator_us(gains, type);

	if (kind != HEDDLE_KIND_CPU || !type || best <= 0)
		return false;
	*us = mpi_gains_us(gains, type, rank, kind);
	if (*us <= 0)
		*us = TRIAL_FACTOR * best;
	*until_us = n / gains->types[type].rate;
	return *us > FASTER * best;
}

int mpi_gains_of(const struct mpi_gains *gains, unsigned type, unsigned rank, enum heddle_kind kind)
{
	double us = mpi_gains_us(gains, type, rank, kind), than;

	if (!type)
		return 0;
	if (kind != HEDDLE_KIND_CPU) {
		than = mpi_gains_us(gains, type, rank, HEDDLE_KIND_CPU);
		if (!(us > 0))
			return HEDDLE_POOL_UNKNOWN;
		return than > 0 ? heddle_pool_gain(than / us) : -MPI_GAINS_LATER;
	}
	than = mpi_gains_accelerator_us(gains, type);
	if (than > 0 && us > 0)
		return heddle_pool_gain(than / us);
	return us > 0 || !gains->accelerators ? 0 : MPI_GAINS_LATER;
}
