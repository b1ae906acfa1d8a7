/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A wavefront as one node of StarPU's task graph: from heddle_wavefront_submit() to its
 * end. What is in between is strip_starpu.c's and tile_starpu.c's.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <heddle/heddle.h>
#include <heddle/wavefront.h>

#include "partition/common/workers_starpu.h"
#include "support/message.h"
#include "support/pin_starpu.h"
#include "estimator/platform_starpu.h"
#include "support/variables.h"
#include "wavefront_private.h"

/* ---- which workers ---- */

static size_t row_bytes(const struct heddle_wavefront_request *wave)
{
	size_t bytes = 0;

	for (unsigned i = 0; i < wave->given.narrays; i++)
		bytes += array_row_bytes(&wave->arrays[i]);
	return bytes;
}

/* Rows of a band that a lane's memory holds: a quarter of it, since the band before may
 * be on its way home while the next one comes. */
static size_t lane_rows(const struct heddle_wavefront_request *wave, const struct lane *lane)
{
	starpu_ssize_t total =
	    starpu_memory_get_total(starpu_worker_get_memory_node(lane->stats.id));
	size_t row = row_bytes(wave), rows;

	if (lane->home || total < 0 || !row)
		return 0;
	rows = total / 4 / row;
	return rows ? rows : 1;
}

/* Whether a worker's memory holds all that may be there at a time. Where bands stay to
 * the end of the wavefront, or where StarPU's policy places them, that may be all of
 * them. What StarPU had to drive out would come back without the boundaries that were
 * not sent home. */
static bool worker_holds(const struct heddle_wavefront_request *wave, int id)
{
	starpu_ssize_t total = starpu_memory_get_total(starpu_worker_get_memory_node(id));

	if (starpu_worker_get_type(id) == STARPU_CPU_WORKER || total < 0 ||
	    (wave->sweeps == 1 && wave->placement != PLACE_BY_STOCK) ||
	    (double)row_bytes(wave) * wave->space.rows <= total / 2)
		return true;
	heddle_warn("wavefront %s: worker %d is left out: half its memory is less than the arrays",
	            wave->name, id);
	return false;
}

static void lane_init(struct heddle_wavefront_request *wave, struct lane *lane, int id)
{
	*lane = (struct lane){.index = wave->nlanes++, .depth = 1};
	lane->stats = worker_stats(id);
	lane->home = starpu_worker_get_type(id) == STARPU_CPU_WORKER;
	lane->maximum = lane_rows(wave, lane);
	if (!lane->home && heddle_variable_number(HEDDLE_VARIABLE_DEPTH) > 1)
		lane->depth = heddle_variable_number(HEDDLE_VARIABLE_DEPTH);
	wave->lane_of_worker[id] = lane->index;
	worker_set_add(&wave->workers, id);
}

static int lanes_init(struct heddle_wavefront_request *wave)
{
	const struct heddle_wavefront *given = &wave->given;
	unsigned nworkers = starpu_worker_get_count();

	wave->lanes = calloc(nworkers ? nworkers : 1, sizeof(*wave->lanes));
	if (!wave->lanes)
		return -ENOMEM;
	for (unsigned id = 0; id < nworkers; id++) {
		wave->lane_of_worker[id] = -1;
		if (worker_wanted(id, given->workers, given->nworkers, given->sched_ctx) &&
		    codelet_serves(given->codelet, id, NULL) >= 0 && worker_holds(wave, id))
			lane_init(wave, &wave->lanes[wave->nlanes], id);
	}
	if (wave->nlanes && !wave->strategy) {
		int status =
		    policy_places_on(given->sched_ctx, wave->nlanes, "wavefront", wave->name);

		if (status)
			return status;
	}
	if (wave->nlanes)
		return crew_init(&wave->crew, wave->nlanes);
	return heddle_refuse(
	    -ENODEV, "wavefront %s: the codelet has no implementation for any worker", wave->name);
}

/* ---- which strategy ---- */

static int strategy_init(struct heddle_wavefront_request *wave)
{
	const struct heddle_wavefront *given = &wave->given;
	struct heddle_strategy_problem none = {.nworkers = 1};
	const char *spec = strategy_of(given->strategy, given->sched_ctx);
	struct heddle_strategy *blocks;
	int status;

	/* A caller's words may be gone when it begins. */
	if (spec && !(wave->strategy = strdup(spec)))
		return -ENOMEM;
	if (!wave->strategy) {
		wave->placement = policy_ours(given->sched_ctx) ? PLACE_BY_SPEED : PLACE_BY_STOCK;
		return 0;
	}
	/* What is wrong with it is said now, not when the wavefront starts. */
	status = heddle_strategy_create(wave->strategy, &none, &blocks);
	if (status)
		return status;
	heddle_strategy_destroy(blocks);
	wave->placement = strcspn(wave->strategy, ":") == 4 && !strncmp(wave->strategy, "hdss", 4)
	                      ? PLACE_BY_SPEED
	                      : PLACE_BY_STRATEGY;
	return 0;
}

/* ---- codelets ---- */

#ifdef HEDDLE_USE_SIMGRID
/* A tile takes as long as a block of as many iterations. */
static double tile_cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                        unsigned implementation)
{
	const struct heddle_platform *platform = heddle_platform_current();
	const struct tile *tile = task->cl_arg;
	bool core = arch->devices[0].type == STARPU_CPU_WORKER;
	const struct space *space = &tile->strip->wave->space;
	int device = core ? HEDDLE_PLATFORM_CORE : arch->devices[0].devid;
	double us;

	if (!platform || device >= (int)platform->naccelerators)
		return tile->iterations * (core ? 1e-3 : 1e-4) + 1e-3;
	us = heddle_platform_block_us(platform, device, tile->iterations,
	                              space->rows * space->columns, starpu_timing_now());
	return us > 0 ? us : 1e-3;
}

static struct starpu_perfmodel tile_model = {
    .type = STARPU_PER_ARCH,
    .arch_cost_function = tile_cost,
    .symbol = "heddle_wavefront_tile",
};
#endif

static void tile_codelet_init(struct heddle_wavefront_request *wave)
{
	struct starpu_codelet *codelet = &wave->tile_codelet;

	*codelet = (struct starpu_codelet){
	    .name = wave->name,
	    .nbuffers = STARPU_VARIABLE_NBUFFERS,
	    .color = wave->given.codelet->color,
	    .where = wave->given.codelet->where,
	};
	if (wave->given.codelet->cpu_funcs[0])
		codelet->cpu_funcs[0] = tile_function;
	if (wave->given.codelet->cuda_funcs[0])
		codelet->cuda_funcs[0] = tile_function;
	if (wave->given.codelet->opencl_funcs[0])
		codelet->opencl_funcs[0] = tile_function;
	/* Boundaries are copied in the worker's stream or queue after the kernel. */
	codelet->cuda_flags[0] = STARPU_CUDA_ASYNC;
	codelet->opencl_flags[0] = STARPU_OPENCL_ASYNC;
#ifdef HEDDLE_USE_SIMGRID
	codelet->model = &tile_model;
#endif
}

static void wave_start(void *work)
{
	struct heddle_wavefront_request *wave = work;

	if (wave->space.rows && wave->space.columns) {
		wave_measure(wave);
		return;
	}
	wave->start_us = starpu_timing_now();
	wave->rows_given = wave->space.rows;
	wave_release(wave);
}

/* All data of the wavefront, for its control task. */
static void control_take(struct heddle_wavefront_request *wave)
{
	for (unsigned i = 0; i < wave->given.narrays; i++) {
		const struct heddle_wave_array *given = &wave->arrays[i].given;

		/* What the loop does not write of an output stays as it was. */
		control_data(&wave->control, given->handle,
		             given->mode == STARPU_R ? STARPU_R : STARPU_RW);
	}
}

/* ---- making one ---- */

static bool writes(const struct heddle_wavefront_request *wave, enum heddle_extent extent)
{
	for (unsigned i = 0; i < wave->given.narrays; i++)
		if (wave->given.arrays[i].extent == extent && wave->given.arrays[i].mode & STARPU_W)
			return true;
	return false;
}

/* The vectors, and those that need not be said. */
static int space_init(struct heddle_wavefront_request *wave)
{
	const struct heddle_wavefront *given = &wave->given;
	unsigned n = given->nvectors;
	int status = heddle_dependences_check(given->vectors, n);

	if (status)
		return status;
	memcpy(wave->vectors, given->vectors, n * sizeof(*wave->vectors));
	if (writes(wave, HEDDLE_COLUMNS))
		wave->vectors[n++] = (struct heddle_dependence){.row = 1};
	if (writes(wave, HEDDLE_ROWS))
		wave->vectors[n++] = (struct heddle_dependence){.column = 1};
	wave->sweeps = given->sweeps ? given->sweeps : 1;
	wave->space = (struct space){
	    .rows = given->rows,
	    .columns = given->columns,
	    .nvectors = n,
	    .vectors = wave->vectors,
	    .skew = vectors_skew(wave->vectors, n),
	};
	wave->reach = vectors_reach(wave->vectors, n);
	return 0;
}

static int arrays_init(struct heddle_wavefront_request *wave)
{
	int status = 0;

	for (unsigned i = 0; i < wave->given.narrays && !status; i++)
		status = array_init(&wave->arrays[i], &wave->given, i, wave->name);
	return status ? status
	              : arrays_check_overlap(wave->arrays, wave->given.narrays, wave->name);
}

static struct heddle_wavefront_request *wave_alloc(void)
{
	struct heddle_wavefront_request *wave = calloc(1, sizeof(*wave));

	if (!wave)
		return NULL;
	wave->references = 1;
	starpu_pthread_mutex_init(&wave->mutex, NULL);
	control_init(&wave->control, wave_start, wave_free, wave);
	return wave;
}

static int variable_read(enum heddle_variable variable, const char *name, size_t *value)
{
	double number = heddle_variable_number(variable);

	if (number < 0 || number > INT_MAX)
		return heddle_refuse(-EINVAL, "%s: %g is not between 0 and %d", name, number,
		                     INT_MAX);
	*value = number;
	return 0;
}

static int wave_init(struct heddle_wavefront_request *wave, const struct heddle_wavefront *given)
{
	size_t k = given->bands_per_worker;
	int status = 0;

	wave->given = *given;
	wave->logged = *heddle_variable_text(HEDDLE_VARIABLE_TILE_LOG);
	wave->name = strdup(given->name            ? given->name
	                    : given->codelet->name ? given->codelet->name
	                                           : "wavefront");
	if (!wave->name)
		return -ENOMEM;
	wave->h = given->tile_columns;
	status = context_check(given->sched_ctx, "wavefront", wave->name);
	if (!wave->h && !status)
		status = variable_read(HEDDLE_VARIABLE_WAVE_TILE_COLUMNS,
		                       "HEDDLE_WAVE_TILE_COLUMNS", &wave->h);
	if (!k && !status)
		status = variable_read(HEDDLE_VARIABLE_WAVE_BANDS, "HEDDLE_WAVE_BANDS", &k);
	if (status)
		return status;
	wave->k = k;
	wave->given.tile_columns = wave->h;
	if ((status = space_init(wave)) || (status = arrays_init(wave)) ||
	    (status = strategy_init(wave)) || (status = lanes_init(wave)))
		return status;
	tile_codelet_init(wave);
	return 0;
}

void wave_free(void *work)
{
	struct heddle_wavefront_request *wave = work;

	while (wave->spare) {
		struct tile *tile = wave->spare;

		wave->spare = tile->next;
		tile_free(tile);
	}
	for (size_t s = 0; s < wave->nstrips; s++)
		free(wave->strips[s]);
	free(wave->strips);
	heddle_strategy_destroy(wave->blocks);
	crew_fini(&wave->crew);
	starpu_pthread_mutex_destroy(&wave->mutex);
	control_fini(&wave->control);
	free(wave->records);
	free(wave->lanes);
	free(wave->strategy);
	if (!wave->whole)
		free(wave->name);
	free(wave);
}

/* ---- a piece of one ---- */

/* A copy of what a piece of the first rows and columns has of an array. */
static int array_piece(struct array *piece, const struct array *array, size_t rows, size_t columns)
{
	size_t per = array->given.per_iteration, bytes;
	char *copy;

	*piece = *array;
	piece->whole = NULL;
	switch (array->given.extent) {
	case HEDDLE_ALL:
		return 0;
	case HEDDLE_ROWS:
		piece->home.units = rows * per;
		break;
	case HEDDLE_COLUMNS:
		piece->home.units = columns * per;
		break;
	default:
		piece->home.units = rows;
		piece->home.nx = piece->home.ld = columns * per;
	}
	bytes = piece->home.ld * piece->home.elemsize;
	copy = calloc(piece->home.units + 1, bytes);
	if (!copy)
		return -ENOMEM;
	for (size_t unit = 0; unit < piece->home.units; unit++)
		memcpy(copy + unit * bytes, (void *)home_array_at(&array->home, unit), bytes);
	piece->home.base = (uintptr_t)copy;
	return 0;
}

static void arrays_free(struct heddle_wavefront_request *piece)
{
	for (unsigned i = 0; i < piece->given.narrays; i++)
		if (piece->arrays[i].given.extent != HEDDLE_ALL)
			free((void *)piece->arrays[i].home.base);
}

struct heddle_wavefront_request *wave_piece(struct heddle_wavefront_request *whole,
                                            const struct lane *lane, size_t rows, size_t columns,
                                            size_t h)
{
	struct heddle_wavefront_request *piece = wave_alloc();
	int status = 0;

	if (!piece)
		return NULL;
	piece->whole = whole;
	piece->given = whole->given;
	piece->name = whole->name;
	memcpy(piece->vectors, whole->vectors, sizeof(piece->vectors));
	piece->space = whole->space;
	piece->space.vectors = piece->vectors;
	piece->space.rows = rows;
	piece->space.columns = columns;
	piece->reach = whole->reach;
	piece->sweeps = 1;
	piece->h = piece->given.tile_columns = h;
	piece->k = 1;
	piece->lanes = calloc(1, sizeof(*piece->lanes));
	if (!piece->lanes || crew_init(&piece->crew, 1))
		status = -ENOMEM;
	else
		lane_init(piece, &piece->lanes[0], lane->stats.id);
	for (unsigned i = 0; i < piece->given.narrays && !status; i++)
		status = array_piece(&piece->arrays[i], &whole->arrays[i], rows, columns);
	tile_codelet_init(piece);
	if (!status)
		return piece;
	arrays_free(piece);
	wave_free(piece);
	return NULL;
}

/* ---- from the first tile to the end ---- */

void wave_go(struct heddle_wavefront_request *wave)
{
	wave->start_us = starpu_timing_now();
	if (!wave->whole) {
		wave_kinds(wave);
		if (!wave->status)
			wave->status = wave_plan(wave);
	}
	for (unsigned l = 0; l < wave->nlanes; l++) {
		struct lane *lane = &wave->lanes[l];

		lane->last_done_us = wave->start_us;
		if (lane->excluded)
			continue;
		lane->waiting = true;
		crew_push(&wave->crew, l, lane->cp > 0 ? 1 / lane->cp : 0);
	}
	strips_deal(wave);
}

static void arrays_unpin(struct heddle_wavefront_request *wave)
{
	for (unsigned i = 0; i < wave->given.narrays; i++)
		home_array_unpin(&wave->arrays[i].home);
}

void wave_end(struct heddle_wavefront_request *wave)
{
	wave->end_us = starpu_timing_now();
	/* Left over after a failure. */
	for (size_t s = 0; s < wave->nstrips; s++)
		if (!wave->strips[s]->flushed)
			strip_flush(wave->strips[s]);
	for (unsigned i = 0; i < wave->given.narrays; i++)
		if (wave->arrays[i].whole)
			starpu_data_unregister_submit(wave->arrays[i].whole);
	if (wave->whole) {
		piece_measured(wave);
		arrays_free(wave);
		wave_free(wave);
		return;
	}
	for (unsigned l = 0; l < wave->nlanes; l++) {
		struct lane *lane = &wave->lanes[l];

		if (lane->stats.blocks)
			lane->stats.finish_us -= wave->start_us;
		if (lane->cp > 0)
			lane->stats.rate = 1 / lane->cp;
	}
	/* Extreme tiles, as somebody may ask for, teach nothing of others. */
	if (!wave->status && wave->free)
		speeds_learn(wave);
	if (!wave->status && wave->free && wave->placement == PLACE_BY_SPEED)
		trial_keep(wave);
	log_tiles(wave);
	arrays_unpin(wave);
	control_end(&wave->control);
}

/* ---- submission ---- */

static void arrays_pin(struct heddle_wavefront_request *wave)
{
	for (unsigned i = 0; heddle_pin_useful() && i < wave->given.narrays; i++)
		home_array_pin(&wave->arrays[i].home,
		               &(struct array_name){"wavefront", wave->name, i});
}

static int wave_check(const struct heddle_wavefront *given)
{
	int status = heddle_starpu_check();

	if (status)
		return status;
	if (!given || !given->codelet)
		return heddle_refuse(-EINVAL, "a wavefront without a codelet");
	if (given->narrays > WAVE_MAXARRAYS)
		return heddle_refuse(-EINVAL, "a wavefront of %u arrays; StarPU was built for %d",
		                     given->narrays, WAVE_MAXARRAYS);
	if (given->nvectors > HEDDLE_WAVEFRONT_MAXVECTORS)
		return heddle_refuse(-EINVAL, "a wavefront of %u vectors; %d are possible",
		                     given->nvectors, HEDDLE_WAVEFRONT_MAXVECTORS);
	if (!starpu_is_initialized())
		return heddle_refuse(-ENODEV, "a wavefront before starpu_init()");
	return heddle_variables_check(environ);
}

int heddle_wavefront_submit(const struct heddle_wavefront *given,
                            struct heddle_wavefront_request **request)
{
	struct heddle_wavefront_request *wave;
	int status = wave_check(given);

	if (status)
		return status;
	wave = wave_alloc();
	if (!wave)
		return -ENOMEM;
	status = wave_init(wave, given);
	if (!status) {
		arrays_pin(wave);
		control_take(wave);
		status = control_submit(&wave->control, "wavefront", wave->name, given->sched_ctx,
		                        !request);
		if (status)
			arrays_unpin(wave);
	}
	if (status) {
		wave_free(wave);
		return status;
	}
	if (request)
		*request = wave;
	return 0;
}

static void wave_stats(const struct heddle_wavefront_request *wave,
                       struct heddle_wavefront_stats *stats)
{
	memset(stats, 0, sizeof(*stats));
	snprintf(stats->strategy, sizeof(stats->strategy), "%s",
	         wave->placement == PLACE_BY_STOCK ? "stock"
	         : wave->strategy                  ? wave->strategy
	                                           : "hdss");
	stats->tile_columns = wave->h;
	stats->bands_per_worker = wave->k;
	stats->bands = wave->nstrips;
	stats->tiles = wave->ntiles;
	stats->us = wave->end_us - wave->start_us;
	stats->predicted_us = wave->predicted_us;
	stats->measuring_us = wave->measuring_us;
	stats->overhead_us = wave->overhead_us;
	stats->messages = wave->nmessages;
	stats->excluded = wave->nexcluded;
	stats->nworkers = wave->nlanes;
	for (unsigned l = 0; l < wave->nlanes; l++)
		stats->workers[l] = wave->lanes[l].stats;
}

int heddle_wavefront_wait(struct heddle_wavefront_request *wave,
                          struct heddle_wavefront_stats *stats)
{
	int status;

	control_wait(&wave->control);
	status = wave->status;
	if (stats)
		wave_stats(wave, stats);
	wave_free(wave);
	return status;
}

int heddle_wavefront_run(const struct heddle_wavefront *given, struct heddle_wavefront_stats *stats)
{
	struct heddle_wavefront_request *request;
	int status = heddle_wavefront_submit(given, &request);

	return status ? status : heddle_wavefront_wait(request, stats);
}
