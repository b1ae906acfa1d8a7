/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Making a wavefront: its arrays, the workers that take part, its strategy and codelet. Also
 * makes small wavefronts on copies of the first rows and columns, for calibration.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <heddle/wavefront.h>

#include "estimator/platform_starpu.h"
#include "partition/common/workers_starpu.h"
#include "support/message.h"
#include "support/variables.h"
#include "wavefront_private.h"

/* ---- which workers ---- */

static size_t row_bytes(const struct heddle_wavefront_request *wave)
{
	size_t bytes = 0;

	for (unsigned i = 0; i < wave->given.narrays; i++)
		bytes += wave_array_row_bytes(&wave->arrays[i]);
	return bytes;
}

/* Rows of a band that a worker's memory holds: a quarter of it, since the band before may
 * still be written back while the next one is transferred. */
static size_t worker_rows(const struct heddle_wavefront_request *wave,
                          const struct wave_worker *worker)
{
	starpu_ssize_t total =
	    starpu_memory_get_total(starpu_worker_get_memory_node(worker->stats.id));
	size_t row = row_bytes(wave), rows;

	if (worker->host || total < 0 || !row)
		return 0;
	rows = total / 4 / row;
	return rows ? rows : 1;
}

/* Whether a worker's memory holds all that may be there at a time. Where bands stay to the
 * end of the wavefront, or where StarPU's policy places them, that may be all of them. A band
 * that StarPU evicted would come back without the boundaries that were not written back. */
static bool worker_holds(const struct heddle_wavefront_request *wave, int id)
{
	starpu_ssize_t total = starpu_memory_get_total(starpu_worker_get_memory_node(id));

	if (starpu_worker_get_type(id) == STARPU_CPU_WORKER || total < 0 ||
	    (wave->sweeps == 1 && wave->placement != PLACE_BY_STOCK) ||
	    (double)row_bytes(wave) * wave->rows <= total / 2)
		return true;
	heddle_warn("wavefront %s: worker %d is left out: half its memory is less than the arrays",
	            wave->name, id);
	return false;
}

static void worker_init(struct heddle_wavefront_request *wave, struct wave_worker *worker, int id)
{
	*worker = (struct wave_worker){.index = wave->nworkers++, .depth = 1};
	worker->stats = work_worker_stats(id);
	worker->host = starpu_worker_get_type(id) == STARPU_CPU_WORKER;
	worker->maximum = worker_rows(wave, worker);
	if (!worker->host && heddle_variable_number(HEDDLE_VARIABLE_DEPTH) > 1)
		worker->depth = heddle_variable_number(HEDDLE_VARIABLE_DEPTH);
	wave->worker_of_id[id] = worker->index;
	work_ids_add(&wave->ids, id);
}

static int workers_init(struct heddle_wavefront_request *wave)
{
	const struct heddle_wavefront *given = &wave->given;
	unsigned nworkers = starpu_worker_get_count();

	wave->workers = calloc(nworkers ? nworkers : 1, sizeof(*wave->workers));
	if (!wave->workers)
		return -ENOMEM;
	for (unsigned id = 0; id < nworkers; id++) {
		wave->worker_of_id[id] = -1;
		if (work_worker_wanted(id, given->workers, given->nworkers, given->sched_ctx) &&
		    (!wave->strategy || work_worker_leads(id, given->workers, given->sched_ctx)) &&
		    work_codelet_serves(given->codelet, id, NULL) >= 0 && worker_holds(wave, id))
			worker_init(wave, &wave->workers[wave->nworkers], id);
	}
	if (wave->nworkers && !wave->strategy) {
		int status = work_policy_places_on(given->sched_ctx, wave->nworkers, "wavefront",
		                                   wave->name);

		if (status)
			return status;
	}
	if (wave->nworkers)
		return wave_team_init(&wave->team, wave->nworkers);
	return heddle_refuse(-ENODEV, "wavefront %s: the codelet has no implementation for any %s",
	                     wave->name, given->workers ? "of the workers named" : "worker");
}

/* ---- which strategy ---- */

static bool goes_by_speed(const char *strategy)
{
	return strcspn(strategy, ":") == 4 && !strncmp(strategy, "hdss", 4);
}

/* Refuses what a wavefront has no use for. It takes from hdss that bands follow measured speeds,
 * not its block sizes. Over several sweeps, whose bands are all dealt out before, no other
 * strategy has a say. What is set for the whole program, which may have loops, becomes hdss alone.
 * @param[in,out] spec of a strategy that there is
 * @return 0; -EINVAL after a message */
static int strategy_reduce(const struct heddle_wavefront_request *wave, const char **spec)
{
	static atomic_flag warned = ATOMIC_FLAG_INIT;
	bool hdss = goes_by_speed(*spec);
	const char *unused = hdss ? *spec + strlen("hdss") : *spec,
	           *where = hdss ? "strategy hdss: " : "over several sweeps ";

	if (hdss ? !*unused : wave->sweeps == 1)
		return 0;
	unused += hdss; /* the ':' */
	if (wave->given.strategy)
		return heddle_refuse(-EINVAL, "wavefront %s: %sa wavefront has no use for %s",
		                     wave->name, where, unused);
	if (!atomic_flag_test_and_set(&warned))
		heddle_warn("wavefront %s: %sa wavefront has no use for %s; it takes hdss alone",
		            wave->name, where, unused);
	*spec = "hdss";
	return 0;
}

static int strategy_init(struct heddle_wavefront_request *wave)
{
	const struct heddle_wavefront *given = &wave->given;
	struct heddle_strategy_problem none = {.nworkers = 1};
	const char *spec = work_strategy(given->strategy, given->sched_ctx);
	struct heddle_strategy *blocks;
	int status;

	/* Of the variable, which is also for loops. */
	if (!spec || (!given->strategy && !strcmp(spec, "tasks"))) {
		wave->placement =
		    work_policy_ours(given->sched_ctx) ? PLACE_BY_SPEED : PLACE_BY_STOCK;
		return 0;
	}
	/* A wrong specification is refused now, not when the wavefront begins. */
	status = heddle_strategy_create(spec, &none, &blocks);
	if (status)
		return work_strategy_blame(given->strategy, status);
	heddle_strategy_destroy(blocks);
	if ((status = strategy_reduce(wave, &spec)))
		return status;
	/* The caller may free its text before the wavefront begins. */
	wave->strategy = strdup(spec);
	if (!wave->strategy)
		return -ENOMEM;
	wave->placement = goes_by_speed(spec) ? PLACE_BY_SPEED : PLACE_BY_STRATEGY;
	return 0;
}

/* ---- codelets ---- */

#ifdef HEDDLE_USE_SIMGRID
/* What the codelet says of its kernel, whose argument the tile is. Models that ask for the kind of
 * worker are those of loops' blocks. */
static bool own_cost(struct starpu_task *task, unsigned implementation, double *us)
{
	const struct wave_tile *tile = task->cl_arg;
	const struct starpu_perfmodel *model = tile->strip->wave->given.codelet->model;

	if (!model || model->type != STARPU_COMMON || !model->cost_function)
		return false;
	*us = model->cost_function(task, implementation);
	return true;
}

/* A tile takes as long as a block of as many iterations. */
static double tile_cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                        unsigned implementation)
{
	const struct heddle_platform *platform = heddle_platform_current();
	const struct wave_tile *tile = task->cl_arg;
	bool core = arch->devices[0].type == STARPU_CPU_WORKER;
	const struct wave_space *space = &tile->strip->wave->space;
	int device = core ? HEDDLE_PLATFORM_CORE : arch->devices[0].devid;
	double us;

	if (own_cost(task, implementation, &us))
		return us;
	if (!platform || device >= (int)platform->naccelerators)
		return tile->iterations * (core ? 1e-3 : 1e-4) + 1e-3;
	us = heddle_platform_block_us(platform, device, tile->iterations,
	                              space->rows * space->columns * tile->strip->wave->sweeps,
	                              starpu_timing_now());
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
		codelet->cpu_funcs[0] = wave_tile_function;
	if (wave->given.codelet->cuda_funcs[0])
		codelet->cuda_funcs[0] = wave_tile_function;
	if (wave->given.codelet->opencl_funcs[0])
		codelet->opencl_funcs[0] = wave_tile_function;
	/* Boundaries are copied in the worker's stream or queue after the kernel. */
	codelet->cuda_flags[0] = STARPU_CUDA_ASYNC;
	codelet->opencl_flags[0] = STARPU_OPENCL_ASYNC;
#ifdef HEDDLE_USE_HIP
	if (wave->given.codelet->hip_funcs[0])
		codelet->hip_funcs[0] = wave_tile_function;
	codelet->hip_flags[0] = STARPU_HIP_ASYNC;
#endif
#ifdef HEDDLE_USE_SIMGRID
	codelet->model = &tile_model;
#endif
}

/* ---- making one ---- */

static bool writes(const struct heddle_wavefront *given, enum heddle_extent extent)
{
	for (unsigned i = 0; i < given->narrays; i++)
		if (given->arrays[i].extent == extent && given->arrays[i].mode & STARPU_W)
			return true;
	return false;
}

unsigned wave_vectors_all(const struct heddle_wavefront *given, struct heddle_dependence *vectors)
{
	unsigned n = given->nvectors;

	memcpy(vectors, given->vectors, n * sizeof(*vectors));
	if (writes(given, HEDDLE_COLUMNS))
		vectors[n++] = (struct heddle_dependence){.row = 1};
	if (writes(given, HEDDLE_ROWS))
		vectors[n++] = (struct heddle_dependence){.column = 1};
	return n;
}

static int space_init(struct heddle_wavefront_request *wave)
{
	const struct heddle_wavefront *given = &wave->given;
	unsigned n = given->nvectors;
	int status = heddle_dependences_check(given->vectors, n);

	if (status)
		return status;
	n = wave_vectors_all(given, wave->vectors);
	wave->sweeps = given->sweeps ? given->sweeps : 1;
	wave->space = (struct wave_space){
	    .rows = given->rows,
	    .columns = given->columns,
	    .nvectors = n,
	    .vectors = wave->vectors,
	    .skew = wave_vectors_skew(wave->vectors, n),
	};
	wave->reach = wave_vectors_reach(wave->vectors, n);
	wave->whole_range.rows = given->rows;
	wave->ranges = wave->part ? wave->part->ranges : &wave->whole_range;
	wave->nranges = wave->part ? wave->part->nranges : 1;
	wave->rows_given = wave->ranges[0].first;
	for (unsigned r = 0; r < wave->nranges; r++)
		wave->rows += wave->ranges[r].rows;
	wave->rows_left = wave->rows;
	return 0;
}

static int arrays_init(struct heddle_wavefront_request *wave)
{
	const struct work_arrays arrays = wave_arrays(wave);
	struct heddle_wavefront here = wave->given;
	int status = 0;

	here.rows = wave->rows;
	for (unsigned i = 0; i < wave->given.narrays && !status; i++) {
		struct wave_array *array = &wave->arrays[i];

		status = wave_array_init(array, &here, i, wave->name);
		array->ranges = wave->ranges;
		array->nranges = wave->nranges;
		array->index = i;
		array->above = wave->reach.above;
	}
	return status ? status : work_arrays_check_overlap(&arrays);
}

void wave_free(void *work)
{
	struct heddle_wavefront_request *wave = work;

	while (wave->spare) {
		struct wave_tile *tile = wave->spare;

		wave->spare = tile->next;
		wave_tile_free(tile);
	}
	for (size_t s = 0; s < wave->nstrips; s++)
		free(wave->strips[s]);
	while (wave->gone) {
		struct wave_strip *strip = wave->gone;

		wave->gone = strip->next;
		free(strip);
	}
	free(wave->strips);
	wave_part_fini(wave);
	heddle_strategy_destroy(wave->blocks);
	wave_team_fini(&wave->team);
	starpu_pthread_mutex_destroy(&wave->mutex);
	control_fini(&wave->control);
	free(wave->records);
	free(wave->workers);
	free(wave->strategy);
	if (!wave->whole)
		free(wave->name);
	free(wave);
}

static struct heddle_wavefront_request *
wave_alloc(void (*start)(void *wave), void (*ended)(struct heddle_wavefront_request *wave))
{
	struct heddle_wavefront_request *wave = calloc(1, sizeof(*wave));

	if (!wave)
		return NULL;
	wave->references = 1;
	wave->ended = ended;
	starpu_pthread_mutex_init(&wave->mutex, NULL);
	control_init(&wave->control, start, wave_free, wave);
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

static int wave_init(struct heddle_wavefront_request *wave, const struct heddle_wavefront *given,
                     const struct wave_part *part)
{
	size_t k = part ? part->nranges : given->bands_per_worker;
	int status = 0;

	wave->given = *given;
	wave->part = part;
	wave->logged = *heddle_variable_text(HEDDLE_VARIABLE_TILE_LOG);
	wave->name = strdup(given->name            ? given->name
	                    : given->codelet->name ? given->codelet->name
	                                           : "wavefront");
	if (!wave->name)
		return -ENOMEM;
	wave->tile_columns = given->tile_columns;
	status = work_context_check(given->sched_ctx, "wavefront", wave->name);
	if (!status)
		status =
		    work_workers_check(given->workers, given->nworkers, "wavefront", wave->name);
	if (!status)
		status =
		    work_codelet_check(given->codelet, given->narrays, "wavefront", wave->name);
	if (!wave->tile_columns && !status)
		status = variable_read(HEDDLE_VARIABLE_WAVE_TILE_COLUMNS,
		                       "HEDDLE_WAVE_TILE_COLUMNS", &wave->tile_columns);
	if (!k && !status)
		status = variable_read(HEDDLE_VARIABLE_WAVE_BANDS, "HEDDLE_WAVE_BANDS", &k);
	if (status)
		return status;
	wave->bands_per_worker = k;
	wave->given.tile_columns = wave->tile_columns;
	if ((status = space_init(wave)) || (status = arrays_init(wave)) ||
	    (status = strategy_init(wave)) || (status = workers_init(wave)) ||
	    (status = wave_part_init(wave)))
		return status;
	tile_codelet_init(wave);
	return 0;
}

int wave_make(const struct heddle_wavefront *given, const struct wave_part *part,
              void (*start)(void *wave), void (*ended)(struct heddle_wavefront_request *wave),
              struct heddle_wavefront_request **made)
{
	struct heddle_wavefront_request *wave = wave_alloc(start, ended);
	int status;

	if (!wave)
		return -ENOMEM;
	status = wave_init(wave, given, part);
	if (status) {
		wave_free(wave);
		return status;
	}
	*made = wave;
	return 0;
}

/* ---- a sample of one ---- */

/* A copy of an array's first rows and columns. */
static int array_sample(struct wave_array *sample, const struct wave_array *array, size_t rows,
                        size_t columns)
{
	size_t per = array->given.per_iteration, bytes;
	char *copy;

	*sample = *array;
	sample->whole = NULL;
	sample->nranges = 0;
	switch (array->given.extent) {
	case HEDDLE_ALL:
		return 0;
	case HEDDLE_ROWS:
		sample->main.units = rows * per;
		break;
	case HEDDLE_COLUMNS:
		sample->main.units = columns * per;
		break;
	default:
		sample->main.units = rows;
		sample->main.nx = sample->main.ld = columns * per;
	}
	sample->main.base = 0;
	bytes = sample->main.ld * sample->main.elemsize;
	copy = calloc(sample->main.units + 1, bytes);
	if (!copy)
		return -ENOMEM;
	for (size_t unit = 0; unit < sample->main.units; unit++)
		memcpy(copy + unit * bytes, (void *)work_array_at(&array->main, unit), bytes);
	sample->main.base = (uintptr_t)copy;
	return 0;
}

static void sample_arrays_free(struct heddle_wavefront_request *sample)
{
	for (unsigned i = 0; i < sample->given.narrays; i++)
		if (sample->arrays[i].given.extent != HEDDLE_ALL)
			free((void *)sample->arrays[i].main.base);
}

void wave_free_sample(struct heddle_wavefront_request *sample)
{
	sample_arrays_free(sample);
	wave_free(sample);
}

struct heddle_wavefront_request *
wave_make_sample(struct heddle_wavefront_request *whole, const struct wave_worker *worker,
                 size_t rows, size_t columns, size_t tile_columns,
                 void (*ended)(struct heddle_wavefront_request *sample))
{
	struct heddle_wavefront_request *sample = wave_alloc(NULL, ended);
	int status = 0;

	if (!sample)
		return NULL;
	sample->whole = whole;
	sample->given = whole->given;
	sample->name = whole->name;
	memcpy(sample->vectors, whole->vectors, sizeof(sample->vectors));
	sample->space = whole->space;
	sample->space.vectors = sample->vectors;
	sample->space.rows = sample->rows = sample->rows_left = sample->whole_range.rows = rows;
	sample->ranges = &sample->whole_range;
	sample->nranges = 1;
	sample->space.columns = columns;
	sample->reach = whole->reach;
	sample->sweeps = 1;
	sample->tile_columns = sample->given.tile_columns = tile_columns;
	sample->bands_per_worker = 1;
	sample->workers = calloc(1, sizeof(*sample->workers));
	if (!sample->workers || wave_team_init(&sample->team, 1))
		status = -ENOMEM;
	else
		worker_init(sample, &sample->workers[0], worker->stats.id);
	for (unsigned i = 0; i < sample->given.narrays && !status; i++)
		status = array_sample(&sample->arrays[i], &whole->arrays[i], rows, columns);
	tile_codelet_init(sample);
	if (!status)
		return sample;
	wave_free_sample(sample);
	return NULL;
}
