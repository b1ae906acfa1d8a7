/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wavefront_deal.h"

/* Speeds of one name that differ by less count as one kind of the model. */
#define ALIKE 1.02
/* Fewest rows of a chunk where the model chooses k, as on one machine. */
#define NARROWEST 16

/* ---- what ranks have ---- */

static bool is_same(const struct wave_tile_cost *a, const struct wave_tile_cost *b)
{
	return a->us == b->us && a->row == b->row && a->column == b->column &&
	       a->iteration == b->iteration;
}

void mpi_wave_power_add(struct mpi_wave_power *power, const char *name,
                        const struct wave_tile_cost *cost)
{
	struct mpi_wave_workers *kind = power->kinds, *end = kind + power->nkinds;

	while (kind < end &&
	       (strncmp(kind->name, name, sizeof(kind->name) - 1) || !is_same(&kind->cost, cost)))
		kind++;
	if (kind == power->kinds + MPI_WAVE_KINDS)
		kind--;
	if (kind == end) {
		snprintf(kind->name, sizeof(kind->name), "%s", name);
		kind->cost = *cost;
		kind->count = 0;
		power->nkinds++;
	}
	kind->count++;
}

static struct wave_tile_cost least_cost(const struct mpi_wave_power *powers, unsigned nranks,
                                        const struct mpi_wave_power *power,
                                        const struct mpi_wave_workers *own)
{
	struct wave_tile_cost least = own->cost;

	for (unsigned r = 0; r < nranks; r++)
		for (unsigned k = 0; k < powers[r].nkinds; k++) {
			const struct mpi_wave_workers *other = &powers[r].kinds[k];

			if (!strcmp(powers[r].machine, power->machine) &&
			    !strcmp(other->name, own->name) && other->cost.iteration > 0 &&
			    other->cost.iteration < least.iteration &&
			    !wave_model_drifted(other->cost.iteration, own->cost.iteration))
				least = other->cost;
		}
	return least;
}

void mpi_wave_powers_pool(const struct mpi_wave_power *measured, unsigned nranks,
                          struct mpi_wave_power *pooled)
{
	for (unsigned r = 0; r < nranks; r++) {
		pooled[r] = measured[r];
		for (unsigned k = 0; k < measured[r].nkinds; k++)
			pooled[r].kinds[k].cost =
			    least_cost(measured, nranks, &measured[r], &measured[r].kinds[k]);
	}
}

int mpi_wave_known(const struct mpi_wave_power *powers, unsigned nranks)
{
	for (unsigned r = 0; r < nranks; r++)
		for (unsigned k = 0; k < powers[r].nkinds; k++)
			if (!(powers[r].kinds[k].cost.iteration > 0))
				return false;
	return true;
}

/* ---- the model ---- */

static double ratio(double a, double b)
{
	return a > b ? a / b : b / a;
}

/* The model's kind that is most like one of a rank. Another one is added where none is alike and
 * there is room.
 * @return its index */
static unsigned kind_of(struct wave_model *model, const struct mpi_wave_workers *workers, bool add)
{
	double least = INFINITY;
	unsigned best = 0;

	for (unsigned j = 0; j < model->nkinds; j++) {
		const struct wave_kind *kind = &model->kinds[j];
		double away = ratio(kind->cp, workers->cost.iteration);

		if (strncmp(kind->name, workers->name, sizeof(workers->name) - 1))
			away += 1;
		if (away < least) {
			least = away;
			best = j;
		}
	}
	if (!add || least < ALIKE || model->nkinds == WAVE_MAXKINDS)
		return best;
	best = model->nkinds++;
	model->kinds[best] = (struct wave_kind){.cp = workers->cost.iteration,
	                                        .cr = workers->cost.row,
	                                        .more_cd = workers->cost.us / 2,
	                                        .more_cc = workers->cost.column / 2};
	snprintf(model->kinds[best].name, sizeof(model->kinds[best].name), "%s", workers->name);
	return best;
}

void mpi_wave_model(const struct mpi_wave_problem *problem, struct wave_model *model)
{
	unsigned workers;

	*model = (struct wave_model){.rows = problem->rows,
	                             .columns = problem->columns,
	                             .k = 1,
	                             .skew = problem->skew,
	                             .sweeps = problem->sweeps};
	for (unsigned r = 0; r < problem->nranks; r++)
		for (unsigned k = 0; k < problem->powers[r].nkinds; k++) {
			const struct mpi_wave_workers *kind = &problem->powers[r].kinds[k];

			model->kinds[kind_of(model, kind, true)].count += kind->count;
		}
	workers = wave_model_workers(model);
	if (workers < 2)
		return;
	model->cd = problem->cd * (problem->nranks - 1) / (workers - 1);
	model->cc = problem->cc * (problem->nranks - 1) / (workers - 1);
}

/* ---- dealing ---- */

/* Shares of all rows, of those ranks that have one. */
static void shares_fill(const struct mpi_wave_problem *problem, const struct wave_model *model,
                        double h, double *shares)
{
	double widths[WAVE_MAXKINDS];

	if (model)
		wave_model_balanced_widths(model, h, widths);
	for (unsigned r = 0; r < problem->nranks; r++) {
		const struct mpi_wave_power *power = &problem->powers[r];

		shares[r] = 0;
		for (unsigned k = 0; k < power->nkinds; k++) {
			const struct mpi_wave_workers *kind = &power->kinds[k];
			double width = 1;

			if (model)
				width = widths[kind_of((struct wave_model *)model, kind, false)];
			shares[r] += kind->count * width;
		}
	}
}

/* The ranks with rows, as many as can have the minimum: those with the least shares get none.
 * @return rounds in which all of them can have it */
static double shares_reduce(const struct mpi_wave_problem *problem, double *shares)
{
	for (;;) {
		double sum = 0, rounds;
		unsigned least = 0, n = 0;

		for (unsigned r = 0; r < problem->nranks; r++) {
			sum += shares[r];
			n += shares[r] > 0;
			if (shares[r] > 0 && (!(shares[least] > 0) || shares[r] < shares[least]))
				least = r;
		}
		/* A row for what rounding may take. */
		rounds = shares[least] / sum * problem->rows / (problem->minimum + 1);
		if (n < 2)
			return 1;
		if (rounds >= 1)
			return rounds;
		shares[least] = 0;
	}
}

static void rows_cut(const struct mpi_wave_problem *problem, const double *shares, unsigned k,
                     size_t *first)
{
	double sum = 0, before = 0;

	for (unsigned r = 0; r < problem->nranks; r++)
		sum += shares[r];
	first[0] = 0;
	for (unsigned q = 0; q < k * problem->nranks; q++) {
		double share = shares[q % problem->nranks];

		before += share;
		first[q + 1] =
		    share > 0 ? (size_t)(problem->rows * (before / (k * sum)) + 0.5) : first[q];
	}
}

/* Without known costs: as on one machine, 1/500 of the columns. */
static size_t h_blind(const struct mpi_wave_problem *problem)
{
	return problem->columns / 500 + 1;
}

/* What is 0 is chosen: by the model, but messages go between ranks while workers compute. */
static void plan_choose(const struct mpi_wave_problem *problem, const struct wave_model *given,
                        struct mpi_wave_plan *plan)
{
	struct wave_model model = *given;
	size_t h = problem->columns;

	model.cd = model.cc = 0;
	model.hops = problem->nranks;
	model.under_way = MPI_WAVE_UNDER_WAY;
	model.hop_us = problem->cd;
	model.hop_column_us = problem->cc;
	/* Half of it counts twice. */
	for (unsigned j = 0; j < model.nkinds; j++)
		model.kinds[j].more_cd +=
		    problem->own_us / 2 * problem->nranks / wave_model_workers(&model);
	model.k = plan->k;
	/* Alone nothing is gained by synchronising. */
	if (wave_model_workers(&model) > 1)
		h = wave_model_choose(&model, MPI_WAVE_ROUNDS,
		                      fmax(NARROWEST, problem->minimum + 1), &plan->k);
	model.k = plan->k = plan->k ? plan->k : 1;
	plan->h = plan->h ? plan->h : h;
	plan->predicted_us = wave_model_pipelined_time(&model, plan->h);
}

int mpi_wave_deal(const struct mpi_wave_problem *problem, struct mpi_wave_plan *plan, size_t *first)
{
	bool known = mpi_wave_known(problem->powers, problem->nranks);
	double *shares = calloc(problem->nranks, sizeof(*shares)), rounds;
	struct wave_model *model = calloc(1, sizeof(*model));

	if (!shares || !model) {
		free(shares);
		free(model);
		return -ENOMEM;
	}
	*plan = (struct mpi_wave_plan){.h = problem->h, .k = problem->k};
	if (problem->sweeps > 1 || problem->nranks < 2)
		plan->k = 1;
	if (known) {
		mpi_wave_model(problem, model);
		plan_choose(problem, model, plan);
	}
	if (!plan->h)
		plan->h = h_blind(problem);
	if (plan->h > problem->columns)
		plan->h = problem->columns;
	model->k = plan->k;
	shares_fill(problem, known ? model : NULL, plan->h, shares);
	rounds = fmin(shares_reduce(problem, shares), MPI_WAVE_ROUNDS);
	plan->k = fmax(1, fmin(plan->k, rounds));
	rows_cut(problem, shares, plan->k, first);
	free(shares);
	free(model);
	return 0;
}
