/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * NDRanges as Heddle's kernels. StarPU starts with the first one that may be split. The engine
 * calls one function at a time.
 */
#include "config.h"

/* It says which OpenCL the headers are for. */
#include "partition/opencl/split.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "support/message.h"
#include "support/variables.h"

/* Of what trials may cost: what splits of a kernel may, by the time that home computed it, and
 * preparations of all kernels, by the time that home computed. */
static const double SPLITS_SHARE = 1 / 3.0, PREPARE_SHARE = 2 / 3.0;
/* Launches at home before StarPU's workers sleep. They look for work all the time. */
enum { RESTS = 8 };

static pid_t process; /* that has started StarPU */
static atomic_bool started;
static bool paused;
static unsigned rests;       /* launches at home since the last split */
static const char *no_start; /* why StarPU does not run; NULL: it does, or was not asked */

/* ---- StarPU ---- */

static const char *starpu_begin(void)
{
	struct starpu_conf conf;

	if (starpu_is_initialized())
		return "the program uses StarPU itself";
	starpu_conf_init(&conf);
	conf.ncpus = 0;
	conf.ncuda = 0;
	conf.catch_signals = 0;
	/* Else the user's: STARPU_SCHED. */
	if (!conf.sched_policy_name || !*conf.sched_policy_name)
		conf.sched_policy_name = "heddle";
	if (starpu_init(&conf))
		return "StarPU does not start";
	if (starpu_opencl_worker_get_count() < 2) {
		starpu_shutdown();
		return "StarPU has less than two OpenCL devices";
	}
	return NULL;
}

const char *split_start(void)
{
	if (started && process != getpid())
		return "the process was forked from one that computes";
	if (paused)
		starpu_resume();
	paused = false;
	if (started || no_start)
		return no_start;
	no_start = starpu_begin();
	process = getpid();
	started = !no_start;
	return no_start;
}

void split_rest(void)
{
	if (prepare_running() || !started || paused || process != getpid() || ++rests < RESTS)
		return;
	starpu_pause();
	paused = true;
}

void split_changed(const void *memory, size_t bytes)
{
	if (started)
		heddle_kernels_changed(memory, bytes);
}

cl_int split_fetch(const void *memory, size_t bytes)
{
	bool outer = layer_inside;
	int status;

	/* A forked process cannot ask the devices. */
	if (!started || process != getpid())
		return CL_OUT_OF_RESOURCES;
	layer_inside = true;
	status = heddle_kernels_fetch(memory, bytes);
	layer_inside = outer;
	return status ? CL_OUT_OF_RESOURCES : CL_SUCCESS;
}

void split_end(void)
{
	/* A forked process has neither the thread nor StarPU. */
	if (!prepare_ours() || (prepare_end(), !started) || process != getpid())
		return;
	layer_inside = true;
	split_start();
	memories_forget();
	heddle_kernels_unload();
	starpu_shutdown();
	started = false;
}

/* ---- what can be split ---- */

/* Extensions have more formats. */
static bool format_known(const struct memory *memory)
{
	cl_channel_order order = memory->format.image_channel_order;
	cl_channel_type type = memory->format.image_channel_data_type;
	bool known = order == CL_R || order == CL_A || order == CL_INTENSITY ||
	             order == CL_LUMINANCE || order == CL_RG || order == CL_RA || order == CL_RGB ||
	             order == CL_RGBA || order == CL_BGRA || order == CL_ARGB;

	return !memory->image || (known && type >= CL_SNORM_INT8 && type <= CL_FLOAT);
}

/* Whether two arguments have bytes in common. */
static bool overlap(const struct memory *a, const struct memory *b)
{
	return a->whole == b->whole && a->offset < b->offset + b->bytes &&
	       b->offset < a->offset + a->bytes;
}

static bool is_same(const struct memory *a, const struct memory *b)
{
	return a->offset == b->offset && a->bytes == b->bytes && !a->image;
}

/* Whether a buffer is two arguments. */
static bool is_twice(const struct launch *launch)
{
	for (cl_uint a = 0; a < launch->kernel->narguments; a++)
		for (cl_uint b = 0; launch->arguments[a].memory && b < a; b++)
			if (launch->arguments[b].memory &&
			    overlap(launch->arguments[a].memory, launch->arguments[b].memory))
				return true;
	return false;
}

static uint64_t mix(uint64_t key, const void *data, size_t bytes)
{
	for (const unsigned char *at = data, *end = at + bytes; at < end; at++)
		key = (key ^ *at) * 0x100000001b3;
	return key;
}

/* The same for launches of a kernel that touch the same, wherever their buffers are. */
static uint64_t launch_key(const struct launch *launch)
{
	uint64_t key = mix(0xcbf29ce484222325, &launch->dimensions, sizeof(launch->dimensions));

	key = mix(key, launch->offset, sizeof(launch->offset));
	key = mix(key, launch->global, sizeof(launch->global));
	key = mix(key, launch->local, sizeof(launch->local));
	for (cl_uint a = 0; a < launch->kernel->narguments; a++) {
		const struct argument *argument = &launch->arguments[a];
		const struct memory *memory = argument->memory;
		cl_uint first = 0;

		if (argument->value && !memory)
			key = mix(key, argument->value, argument->bytes);
		if (!memory)
			continue;
		while (first < a && (!launch->arguments[first].memory ||
		                     !overlap(memory, launch->arguments[first].memory)))
			first++;
		key = mix(key, &first, sizeof(first));
		key = mix(key, &memory->bytes, sizeof(memory->bytes));
		key = mix(key, &memory->flags, sizeof(memory->flags));
	}
	return key;
}

static const char *arguments_refuse(const struct launch *launch)
{
	cl_uint n = launch->kernel->narguments;

	if (n > HEDDLE_KERNEL_MAXARGUMENTS)
		return "it has too many arguments";
	for (cl_uint a = 0; a < n; a++) {
		const struct memory *memory = launch->arguments[a].memory;
		const struct sampler *sampler = &launch->arguments[a].sampler;

		if (sampler->id && (sampler->filter == CL_FILTER_LINEAR || sampler->normalized))
			return "a sampler interpolates, or its coordinates are normalized";
		if (launch->arguments[a].none)
			return "an argument is NULL, not a buffer";
		if (memory && !format_known(memory))
			return "an image has a format of an extension";
		for (cl_uint b = 0; memory && b < a; b++) {
			const struct memory *other = launch->arguments[b].memory;

			if (other && overlap(memory, other) && !is_same(memory, other))
				return memory->image ? "one image is two arguments"
				                     : "parts of a buffer overlap";
		}
	}
	return NULL;
}

/* What a launch itself says. */
static const char *launch_refuse(const struct launch *launch)
{
	const struct program *program = launch->kernel->program;

	if (layer_devices()->n < 2)
		return "there is one device";
	if (program->refusal)
		return program->refusal;
	if (!program->text)
		return "its program was not built of source";
	if (!launch->even)
		return "its groups are not of one size";
	if (launch->large)
		return "its groups are larger than all devices say they compute";
	return arguments_refuse(launch);
}

/* What the environment says. Every launch asks. */
static double after_ns, trials;
static pthread_once_t asked = PTHREAD_ONCE_INIT;

static void variables_ask(void)
{
	after_ns = heddle_variable_number(HEDDLE_VARIABLE_OPENCL_AFTER) * 1e6;
	trials = heddle_variable_number(HEDDLE_VARIABLE_OPENCL_TRIALS) / 100;
}

/* Bytes that have to cross before a split: a buffer crosses as a whole, also for a part of it. */
static size_t bytes_crossing(const struct launch *launch)
{
	size_t bytes = 0;

	for (cl_uint a = 0; a < launch->kernel->narguments; a++) {
		const struct memory *memory = launch->arguments[a].memory;
		bool counts = memory && !memory->whole->at_host && !memory->whole->shared;

		for (cl_uint b = 0; b < a && counts; b++)
			counts = !launch->arguments[b].memory ||
			         launch->arguments[b].memory->whole != memory->whole;
		bytes += counts ? memory_bytes(memory->whole) : 0;
	}
	return bytes;
}

/* Whether it pays, by what trials have cost and may cost. HEDDLE_OPENCL_AFTER=0 does not ask. */
static const char *speed_refuse(const struct launch *launch)
{
	static const char early[] = "it has not run for long yet";
	const struct record *record = launch->kernel->record;
	double crossing_ns;

	pthread_once(&asked, variables_ask);
	if (after_ns <= 0)
		return NULL;
	if (record->home_ns < after_ns || record->home_rate <= 0)
		return early;
	if (record_short(record, launch_items(launch)))
		return "its launches are short";
	if (record->preparing)
		return "it is being compiled for all devices";
	crossing_ns = record_crossing_ns(bytes_crossing(launch));
	if (!record->prepared)
		return record_prepare_ns(layer_devices()->on_host, crossing_ns) <=
		               PREPARE_SHARE * trials * record_home_ns()
		           ? NULL
		           : early;
	if (record_split_pays(record, launch_items(launch), crossing_ns, SPLITS_SHARE * trials))
		return NULL;
	return record->split_rate > 0 ? "one device was faster" : early;
}

/* ---- launching ---- */

static void image_fill(const struct memory *memory, struct heddle_kernel_image *image)
{
	bool is_1d = memory->image == CL_MEM_OBJECT_IMAGE1D;
	bool is_lines = memory->image == CL_MEM_OBJECT_IMAGE1D_ARRAY;
	bool is_3d = memory->image == CL_MEM_OBJECT_IMAGE3D;

	*image = (struct heddle_kernel_image){
	    .width = memory->extent[0],
	    .height = is_1d || is_lines ? 0 : memory->extent[1],
	    .depth = is_3d ? memory->extent[2] : 0,
	    .layers = is_lines                                       ? memory->extent[1]
	              : memory->image == CL_MEM_OBJECT_IMAGE2D_ARRAY ? memory->extent[2]
	                                                             : 0,
	    .order = memory->format.image_channel_order,
	    .type = memory->format.image_channel_data_type,
	    .pixels = memory->host,
	};
}

static void argument_fill(const struct argument *from, struct split_kernel *split, unsigned a)
{
	struct heddle_kernel_argument *to = &split->kernel.arguments[a];
	struct memory *memory = from->memory;

	to->bytes = from->bytes;
	to->pointer = from->value;
	to->type = from->value ? HEDDLE_KERNEL_VALUE : HEDDLE_KERNEL_LOCAL;
	if (from->sampler.id) {
		split->of[a].sampler = (struct heddle_kernel_sampler){
		    from->sampler.normalized, from->sampler.addressing, from->sampler.filter};
		to->type = HEDDLE_KERNEL_SAMPLER;
		to->pointer = &split->of[a].sampler;
		to->bytes = sizeof(split->of[a].sampler);
	}
	if (!memory)
		return;
	to->type = HEDDLE_KERNEL_HOST;
	to->mode = memory->flags & CL_MEM_READ_ONLY ? STARPU_R : STARPU_RW;
	to->pointer = memory->whole->host ? memory_host(memory) : NULL;
	to->bytes = memory->bytes;
	to->keep = true;
	to->stay = !memory->image;
	if (!memory->image)
		return;
	image_fill(memory, &split->of[a].image);
	to->type = HEDDLE_KERNEL_IMAGE;
	to->pointer = &split->of[a].image;
	to->bytes = sizeof(split->of[a].image);
}

void split_fill(const struct launch *launch, struct split_kernel *split)
{
	const struct record *record = launch->kernel->record;
	struct heddle_kernel *kernel = &split->kernel;

	memset(split, 0, sizeof(*split));
	kernel->source = record->text;
	kernel->name = record->name;
	kernel->options = record->options;
	kernel->dimensions = launch->dimensions;
	for (unsigned d = 0; d < launch->dimensions; d++) {
		kernel->global[d] = launch->global[d];
		kernel->local[d] = launch->chosen ? launch->local[d] : 0;
		kernel->offset[d] = launch->offset[d];
	}
	kernel->split = HEDDLE_KERNEL_ALWAYS;
	kernel->narguments = launch->kernel->narguments;
	for (unsigned a = 0; a < kernel->narguments; a++)
		argument_fill(&launch->arguments[a], split, a);
}

/* Why Heddle does not launch a kernel, by what its functions return. */
static const char *status_refusal(int status)
{
	return status == -EFAULT   ? "it reads or writes outside of a buffer"
	       : status == -EINVAL ? "Heddle refuses its arguments"
	                           : "no device computes parts of it";
}

static const char *classes_ask(const struct heddle_kernel *kernel)
{
	struct heddle_kernel_access accesses[HEDDLE_KERNEL_MAXARGUMENTS];
	const char *refusal = NULL;
	int status = heddle_kernel_classes(kernel, accesses, &refusal);

	return status ? status_refusal(status) : refusal;
}

const char *split_analyse(struct record *record, const struct heddle_kernel *kernel)
{
	struct heddle_kernel reads = *kernel;
	const char *refusal;

	if (record->asked)
		return record->refusal;
	record->asked = true;
	/* What is only read does not meet, whichever arguments this launch has. */
	for (unsigned a = 0; a < reads.narguments; a++)
		reads.arguments[a].mode = STARPU_R;
	refusal = classes_ask(&reads);
	/* The text goes with StarPU, the report comes later. */
	record->refusal = refusal ? strdup(refusal) : NULL;
	return refusal && !record->refusal ? "no memory" : record->refusal;
}

/* Asks about a launch with a buffer that is two arguments. */
static const char *twice_analyse(const struct launch *launch, const struct heddle_kernel *kernel)
{
	struct record *record = launch->kernel->record;
	const char *refusal;

	if (!is_twice(launch))
		return NULL;
	refusal = classes_ask(kernel);
	record->twice_key = launch_key(launch);
	record->twice_refused = refusal;
	if (refusal && (!record->twice_refusal || strcmp(record->twice_refusal, refusal)))
		record->twice_refusal = strdup(refusal);
	if (refusal && !record->twice_refusal)
		return "no memory";
	return refusal ? record->twice_refusal : NULL;
}

static cl_int memories_to_host(const struct launch *launch)
{
	cl_int error = CL_SUCCESS;

	for (cl_uint a = 0; a < launch->kernel->narguments && !error; a++)
		if (launch->arguments[a].memory)
			error = memory_to_host(launch->arguments[a].memory);
	return error;
}

/* Heddle knows itself what it changes; home is to be told. */
static void memories_changed(const struct launch *launch)
{
	for (cl_uint a = 0; a < launch->kernel->narguments; a++) {
		struct memory *memory = launch->arguments[a].memory;

		if (memory && !(memory->flags & CL_MEM_READ_ONLY)) {
			memory->whole->changed = true;
			memory->whole->away = memory->whole->away || !memory->image;
		}
	}
}

static bool any_computed(const struct heddle_kernel_stats *stats)
{
	for (unsigned w = 0; w < stats->nworkers; w++)
		if (stats->workers[w].groups)
			return true;
	return false;
}

static cl_int run(struct launch *launch, const struct heddle_kernel *kernel, const char **reason)
{
	struct heddle_kernel_stats stats;
	struct record *record = launch->kernel->record;
	cl_ulong begin = clock_ns();
	int status;

	if (memories_to_host(launch)) {
		*reason = "the host has no memory for it";
		return CL_SUCCESS;
	}
	launch->crossing_ns = clock_ns() - begin;
	rests = 0;
	stats.nworkers = 0;
	status = heddle_kernel_run(kernel, &stats);
	memories_changed(launch);
	/* Where no part was computed and nothing is lost, home can compute it. */
	if (status && status != -ENODATA && !any_computed(&stats)) {
		*reason = record->refusal = status_refusal(status);
		return CL_SUCCESS;
	}
	return status == -ENOMEM ? CL_OUT_OF_HOST_MEMORY
	       : status          ? CL_OUT_OF_RESOURCES
	                         : CL_SUCCESS;
}

const char *split_refuse(const struct launch *launch)
{
	const struct record *record = launch->kernel->record;
	const char *reason = launch_refuse(launch);

	if (!reason && !record->preparing)
		reason = record->refusal;
	if (!reason && record->twice_refused && is_twice(launch) &&
	    record->twice_key == launch_key(launch))
		reason = record->twice_refusal;
	return reason ? reason : speed_refuse(launch);
}

static bool to_be_prepared(const struct record *record)
{
	return !record->prepared && after_ns > 0;
}

/* Makes host memory for all buffers. */
static const char *hosts_make(const struct launch *launch)
{
	for (cl_uint a = 0; a < launch->kernel->narguments; a++)
		if (launch->arguments[a].memory && memory_host_make(launch->arguments[a].memory))
			return "the host has no memory for it";
	return NULL;
}

cl_int split_launch(struct launch *launch, const char **reason)
{
	struct record *record = launch->kernel->record;
	struct split_kernel split;
	cl_int error = CL_SUCCESS;

	if (prepare_running()) {
		*reason = "another kernel is being compiled for all devices";
		return CL_SUCCESS;
	}
	if (to_be_prepared(record)) {
		*reason = prepare_begin(launch);
		return CL_SUCCESS;
	}
	*reason = hosts_make(launch);
	if (*reason)
		return CL_SUCCESS;
	split_fill(launch, &split);
	layer_inside = true;
	*reason = split_start();
	if (!*reason)
		*reason = split_analyse(record, &split.kernel);
	if (!*reason)
		*reason = twice_analyse(launch, &split.kernel);
	if (!*reason)
		error = run(launch, &split.kernel, reason);
	layer_inside = false;
	return error;
}
