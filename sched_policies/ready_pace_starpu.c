/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Accelerators of one class with memories of their own need not be equally fast with each type of
 * task, though they bear one name. StarPU's models tell them apart, and what earlier runs measured.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "estimator/estimate_starpu.h"
#include "sched_policies/ready.h"

/* A worker whose time differs from the mean of its class by less than one part in so many counts
 * as equal. */
#define EVEN 32

struct ready_pace {
	float *paces; /* of all types, for each worker */
	bool asked[READY_TYPES], uneven[READY_TYPES];
	double *told; /* what a plan is told of the task in question */
};

int ready_pace_create(struct ready_context *c)
{
	struct ready_pace *p;

	if (!c->nmemories)
		return 0;
	p = c->pace = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->paces = calloc((size_t)READY_TYPES * c->nworkers, sizeof(*p->paces));
	p->told = calloc(c->nworkers, sizeof(*p->told));
	return p->paces && p->told ? 0 : -ENOMEM;
}

void ready_pace_destroy(struct ready_context *c)
{
	if (!c->pace)
		return;
	free(c->pace->paces);
	free(c->pace->told);
	free(c->pace);
	c->pace = NULL;
}

/* Finds the paces of the workers of a class. @return whether they differ */
static bool class_paces(const struct ready_context *c, struct starpu_task *task, unsigned class,
                        float *paces)
{
	unsigned n = 0;
	double sum_us = 0;
	bool differ = false;

	for (unsigned w = 0; w < c->nworkers; w++) {
		if (c->workers[w].class != class)
			continue;
		paces[w] = heddle_estimate_apart(task, w);
		sum_us += paces[w];
		n += paces[w] > 0;
	}
	for (unsigned w = 0; w < c->nworkers; w++) {
		if (c->workers[w].class != class)
			continue;
		if (n)
			paces[w] *= n / sum_us;
		if (fabs(paces[w] - 1) * EVEN < 1 || paces[w] <= 0)
			paces[w] = 1;
		differ |= paces[w] != 1;
	}
	return differ;
}

void ready_pace_ask(struct ready_context *c, const struct ready_type *type,
                    struct starpu_task *task)
{
	size_t place = type - c->types;
	float *paces;

	if (!c->pace || c->pace->asked[place])
		return;
	c->pace->asked[place] = true;
	paces = &c->pace->paces[place * c->nworkers];
	for (unsigned k = 0; k < c->nclasses; k++) {
		if (c->accelerators >> k & 1 && class_paces(c, task, k, paces)) {
			c->pace->uneven[place] = true;
			continue;
		}
		for (unsigned w = 0; w < c->nworkers; w++)
			if (c->workers[w].class == k)
				paces[w] = 1;
	}
}

const double *ready_paces(const struct ready_context *c, const struct ready_type *type,
                          const unsigned *ids, size_t n)
{
	size_t place = type - c->types;

	if (!c->pace || !c->pace->uneven[place])
		return NULL;
	for (size_t i = 0; i < n; i++)
		c->pace->told[i] = c->pace->paces[place * c->nworkers + ids[i]];
	return c->pace->told;
}
