/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The kernel cache: what stays of a kernel from launch to launch.
 */
#include "config.h"

#ifdef HEDDLE_USE_OPENCL

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "partition/kernel/launch/answers.h"
#include "partition/kernel/launch/device_starpu.h"
#include "partition/kernel/launch/kept_starpu.h"
#include "partition/kernel/split/buses_starpu.h"
#include "estimator/estimate_starpu.h"
#include "estimator/profile_store.h"
#include "support/message.h"
#include "support/variables.h"

/* The mutex guards the list. It is not held while a kernel is analysed: launches of others would
 * wait for a compiler. */
static struct kernel *kernels;
static starpu_pthread_mutex_t kernels_mutex = STARPU_PTHREAD_MUTEX_INITIALIZER;
static starpu_pthread_cond_t kernel_made = STARPU_PTHREAD_COND_INITIALIZER;

/* ---- performance tables from run to run ---- */

/* Asks for the name while StarPU runs. */
static void device_name(struct kernel_device *device)
{
	snprintf(device->name, sizeof(device->name), "%s",
	         heddle_device_class_name(heddle_device_class(device->worker)));
}

static void hash_make(struct kernel *kernel)
{
	const char *const texts[] = {kernel->options, kernel->prologue, kernel->source};

	kernel_hash('t', texts, 3, kernel->hash);
}

static struct kernel_records_key key_of(const struct kernel *kernel, unsigned d)
{
	return (struct kernel_records_key){kernel->hash, kernel->devices[d].name,
	                                   kernel->devices[d].units};
}

static void tables_look(const struct heddle_profile *known, const char *path, void *arg)
{
	struct kernel *kernel = arg;

	(void)path;
	for (unsigned d = 0; d < kernel->ndevices; d++) {
		struct kernel_device *device = &kernel->devices[d];
		struct kernel_records_key key = key_of(kernel, d);

		if (kernel_records_find(known, &key, &device->known))
			continue;
		device->stored = device->known;
		kernel->timed |= 1U << d;
		heddle_explain("kernel %s: %s took %.1f us for %g groups in earlier runs",
		               kernel->name, device->name,
		               device->known.table.points[device->known.table.npoints - 1].us,
		               device->known.table.points[device->known.table.npoints - 1].groups);
	}
}

/* The kernel is being made: nobody else looks at it. */
static void tables_read(struct kernel *kernel)
{
	hash_make(kernel);
	for (unsigned d = 0; d < kernel->ndevices; d++)
		device_name(&kernel->devices[d]);
	/* Without memory nothing is known. */
	if (profile_store_wanted())
		profile_store_ask(kernel->name, tables_look, kernel);
}

/* Adds what a kernel measured to its profile. */
static void tables_add(struct kernel *kernel)
{
	struct heddle_profile news = {0};

	/* Workers may still measure when the process ends. */
	starpu_pthread_mutex_lock(&kernel->mutex);
	for (unsigned d = 0; d < kernel->ndevices; d++) {
		struct kernel_device *device = &kernel->devices[d];
		struct kernel_records_key key = key_of(kernel, d);

		if (!(kernel->failed >> d & 1) &&
		    !kernel_records_add(&news, &key, &device->stored, &device->known, time(NULL)))
			device->stored = device->known;
	}
	starpu_pthread_mutex_unlock(&kernel->mutex);
	for (size_t r = 0; r < news.n; r++)
		profile_store_add(kernel->name, news.records[r]);
	heddle_profile_free(&news);
}

/* Called before profiles are written. */
static void tables_collect(void)
{
	if (!profile_store_wanted())
		return;
	starpu_pthread_mutex_lock(&kernels_mutex);
	for (struct kernel *kernel = kernels; kernel; kernel = kernel->next)
		if (!kernel->making)
			tables_add(kernel);
	starpu_pthread_mutex_unlock(&kernels_mutex);
}

/* ---- kernels ---- */

struct kernel_device *kernel_device_of(struct kernel *kernel, int worker)
{
	for (unsigned d = 0; d < kernel->ndevices; d++)
		if (kernel->devices[d].worker == worker)
			return &kernel->devices[d];
	return NULL;
}

static void shapes_free(struct kernel *kernel)
{
	while (kernel->shapes) {
		struct shape *next = kernel->shapes->next;

		free(kernel->shapes);
		kernel->shapes = next;
	}
}

static void kernel_free(struct kernel *kernel)
{
	for (unsigned d = 0; d < kernel->ndevices; d++)
		kernel_device_free(&kernel->devices[d]);
	shapes_free(kernel);
	index_free(&kernel->index);
	starpu_pthread_cond_destroy(&kernel->left);
	starpu_pthread_mutex_destroy(&kernel->mutex);
	free(kernel->source);
	free(kernel->name);
	free(kernel->options);
	free(kernel->prologue);
	free(kernel);
}

void kernel_cache_free(void)
{
	struct kernel *all;

	profile_store_write();
	/* Other threads may save profiles. */
	starpu_pthread_mutex_lock(&kernels_mutex);
	all = kernels;
	kernels = NULL;
	starpu_pthread_mutex_unlock(&kernels_mutex);
	while (all) {
		struct kernel *next = all->next;

		kernel_free(all);
		all = next;
	}
}

bool kernel_cache_buffers_drop(struct kernel *but, int worker)
{
	bool any = kernel_kept_drop(kernel_device_of(but, worker) - but->devices);

	starpu_pthread_mutex_lock(&kernels_mutex);
	for (struct kernel *kernel = kernels; kernel; kernel = kernel->next)
		if (kernel != but && !kernel->making &&
		    kernel_device_buffers_drop(kernel, kernel_device_of(kernel, worker)))
			any = true;
	starpu_pthread_mutex_unlock(&kernels_mutex);
	return any;
}

static void device_ask(struct kernel_device *device)
{
	cl_uint units = 0, bits = 64;
	cl_device_id id;

	starpu_opencl_get_device(starpu_worker_get_devid(device->worker), &id);
	clGetDeviceInfo(id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(units), &units, NULL);
	clGetDeviceInfo(id, CL_DEVICE_ADDRESS_BITS, sizeof(bits), &bits, NULL);
	device->units = units;
	device->as_analysed = bits == 64;
}

static void buses_explain(const struct kernel *kernel, const struct heddle_bus *buses)
{
	char text[1024] = "", bus[64];
	size_t length = 0;

	for (unsigned d = 0; d < kernel->ndevices && length < sizeof(text); d++) {
		heddle_bus_text(&buses[d], bus, sizeof(bus));
		length += snprintf(text + length, sizeof(text) - length, "%s %d: %s", d ? ";" : "",
		                   kernel->devices[d].worker, bus);
	}
	heddle_explain("kernel %s: buses of workers:%s", kernel->name, text);
}

static void devices_find(struct kernel *kernel)
{
	int ids[STARPU_NMAXWORKERS];
	int n = starpu_worker_get_ids_by_type(STARPU_OPENCL_WORKER, ids, STARPU_NMAXWORKERS);
	struct heddle_bus buses[SPLIT_MAXDEVICES];

	kernel->ndevices = n < SPLIT_MAXDEVICES ? n : SPLIT_MAXDEVICES;
	heddle_buses_find(ids, kernel->ndevices, buses);
	for (unsigned d = 0; d < kernel->ndevices; d++) {
		struct kernel_device *device = &kernel->devices[d];

		device->worker = ids[d];
		starpu_worker_get_name(device->worker, device->title, sizeof(device->title));
		device->bus = buses[d].number;
		device->in_host_memory = buses[d].none;
		device->shares_bus = buses[d].shared;
		device_ask(device);
	}
	buses_explain(kernel, buses);
}

/* The first reason counts. */
static int refusal_set(struct kernel *kernel, const char *reason)
{
	if (!kernel->index.refusal)
		kernel->index.refusal = strdup(reason);
	return kernel->index.refusal ? 0 : -ENOMEM;
}

/* Asks a device's compiler for names. */
static int device_answers(const struct kernel *kernel, unsigned d, const char *names,
                          char **answers, char why[KERNEL_WHY])
{
	cl_device_id id;
	int error;

	starpu_opencl_get_device(starpu_worker_get_devid(kernel->devices[d].worker), &id);
	error = kernel_answers_ask(id, kernel->options, names, answers);
	if (error)
		snprintf(why, KERNEL_WHY,
		         "%s does not tell how its compiler defines the names that the source asks "
		         "for: %s",
		         kernel->devices[d].title, strerror(-error));
	return error;
}

/* Analyses a kernel by a device's answers, and compares with what those before it compile.
 * @param[in,out] answers those of the device before; NULL: it is the first */
static int analyse_for(struct kernel *kernel, unsigned d, const char *names, char **answers,
                       char why[KERNEL_WHY])
{
	struct index_kernel index = {0};
	char *own;
	int error = device_answers(kernel, d, names, &own, why);

	if (error)
		return error;
	if (*answers && strcmp(*answers, own)) {
		error =
		    kernel_analyse(kernel->source, kernel->name, kernel->options, own, &index, why);
		if (!error && !index_same(&index, &kernel->index)) {
			error = -ENOTSUP;
			snprintf(why, KERNEL_WHY,
			         "%s compiles code with other accesses to its buffers",
			         kernel->devices[d].title);
		}
		index_free(&index);
	} else if (!*answers) {
		error = kernel_analyse(kernel->source, kernel->name, kernel->options, own,
		                       &kernel->index, why);
	}
	free(*answers);
	*answers = own;
	return error;
}

/* Describes a kernel. Where its source asks for what compilers define, it is analysed for each
 * set of answers that the devices have. */
static int analyse(struct kernel *kernel, char why[KERNEL_WHY])
{
	char *names, *answers = NULL;
	int error = kernel_analyse_asks(kernel->source, kernel->options, &names, why);

	if (error)
		return error;
	if (!*names)
		error = kernel_analyse(kernel->source, kernel->name, kernel->options, NULL,
		                       &kernel->index, why);
	for (unsigned d = 0; *names && d < kernel->ndevices && !error; d++)
		error = analyse_for(kernel, d, names, &answers, why);
	free(answers);
	free(names);
	if (error)
		index_free(&kernel->index);
	return error;
}

_Static_assert(INDEX_MAXARGUMENTS == HEDDLE_KERNEL_MAXARGUMENTS, "what plans say holds");
_Static_assert(HEDDLE_KERNEL_MAXARGUMENTS <= 64, "they are bits of a number");

static int description_make(const struct heddle_kernel *given, struct kernel *kernel)
{
	static const char begin[] = "it is not analysed: ";
	static const enum index_kind kinds_of[] = {
	    [HEDDLE_KERNEL_HANDLE] = INDEX_BUFFER, [HEDDLE_KERNEL_HOST] = INDEX_BUFFER,
	    [HEDDLE_KERNEL_VALUE] = INDEX_OTHER,   [HEDDLE_KERNEL_LOCAL] = INDEX_LOCAL,
	    [HEDDLE_KERNEL_IMAGE] = INDEX_IMAGE,   [HEDDLE_KERNEL_SAMPLER] = INDEX_SAMPLER};
	enum index_kind kinds[HEDDLE_KERNEL_MAXARGUMENTS];
	char why[sizeof(begin) + KERNEL_WHY];
	int error = analyse(kernel, strcpy(why, begin) + strlen(begin));

	if (!error)
		return 0;
	heddle_explain("kernel %s is not analysed: %s", kernel->name, why + strlen(begin));
	for (unsigned a = 0; a < given->narguments; a++)
		kinds[a] = kinds_of[given->arguments[a].type];
	error = index_unknown(given->narguments, kinds, &kernel->index);
	/* Nothing is known of atomic operations either. */
	return error ? error : refusal_set(kernel, why);
}

/* A size_t of other bits overflows elsewhere. */
static int devices_check(struct kernel *kernel)
{
	for (unsigned d = 0; d < kernel->ndevices; d++)
		if (!kernel->devices[d].as_analysed)
			return refusal_set(kernel, "its analysis holds for addresses of 64 bits, "
			                           "which a device has not");
	return 0;
}

void kernel_waited(struct kernel *kernel, double *longest_us, double since_us)
{
	double us = starpu_timing_now() - since_us;

	starpu_pthread_mutex_lock(&kernel->mutex);
	if (*longest_us < us)
		*longest_us = us;
	starpu_pthread_mutex_unlock(&kernel->mutex);
}

/* What tells a kernel apart from others. @return NULL: no memory */
static struct kernel *kernel_begin(const struct heddle_kernel *given, const struct ndrange *range)
{
	struct kernel *kernel = calloc(1, sizeof(*kernel));

	if (!kernel)
		return NULL;
	starpu_pthread_mutex_init(&kernel->mutex, NULL);
	starpu_pthread_cond_init(&kernel->left, NULL);
	kernel->making = true;
	kernel->way = ndrange_way(range);
	kernel->range = *range;
	memset(kernel->range.offset, 0, sizeof(kernel->range.offset));
	kernel->source = strdup(given->source);
	kernel->name = strdup(given->name);
	kernel->options = strdup(given->options ? given->options : "");
	if (kernel->source && kernel->name && kernel->options)
		return kernel;
	kernel_free(kernel);
	return NULL;
}

/* Fills in the rest. The analysis runs a compiler.
 * @param[out] way how its ranges are launched, to be stored under the mutex */
static int kernel_make(struct kernel *kernel, const struct heddle_kernel *given,
                       enum ndrange_way *way)
{
	double start_us;
	int error;

	kernel->chunks = heddle_variable_number(HEDDLE_VARIABLE_KERNEL_CHUNKS);
	kernel->ahead = heddle_variable_number(HEDDLE_VARIABLE_KERNEL_AHEAD);
	kernel->keep = heddle_variable_number(HEDDLE_VARIABLE_KERNEL_KEEP);
	kernel->poll_us = heddle_variable_number(HEDDLE_VARIABLE_KERNEL_SPIN);
	kernel->direct = heddle_variable_number(HEDDLE_VARIABLE_KERNEL_DIRECT);
	kernel->wait_us = heddle_variable_number(HEDDLE_VARIABLE_KERNEL_WAIT) * 1e6;
	devices_find(kernel);
	start_us = starpu_timing_now();
	error = description_make(given, kernel);
	kernel->waits.analysis_us = starpu_timing_now() - start_us;
	if (!error)
		error = devices_check(kernel);
	/* A refused kernel asks OpenCL itself for ids. Its dry run launches ranges nevertheless. */
	*way = kernel->index.refusal ? NDRANGE_EXIT : kernel->way;
	kernel->prologue = ndrange_prologue(&kernel->range, *way);
	if (!error && !kernel->prologue)
		error = -ENOMEM;
	/* The sizes are part of such a prologue. */
	if (!error && *way == NDRANGE_BOXES && !ndrange_cuttable(&kernel->range))
		error = refusal_set(kernel, "its NDRange is too large for offsets of every device");
	if (!error)
		tables_read(kernel);
	return error;
}

/* Whether a launch is one of a kernel's. The prologue is part of what that is. */
static bool is_kernel(const struct kernel *kernel, const struct heddle_kernel *given,
                      const struct ndrange *range)
{
	return (kernel->way == NDRANGE_EXIT || kernel->way == ndrange_way(range)) &&
	       ndrange_same_prologue(&kernel->range, range, kernel->way) &&
	       !strcmp(kernel->name, given->name) &&
	       !strcmp(kernel->options, given->options ? given->options : "") &&
	       !strcmp(kernel->source, given->source);
}

static bool same_texts(const struct kernel *kernel, const struct heddle_kernel *given)
{
	return kernel->given.source == given->source && kernel->given.name == given->name &&
	       kernel->given.options == given->options;
}

/* Looks first for a kernel whose latest launch had its texts at the same addresses: most programs
 * have them there again. The texts themselves decide. */
static struct kernel *kernel_known(const struct heddle_kernel *given, const struct ndrange *range)
{
	struct kernel *kernel = kernels;

	while (kernel && !(same_texts(kernel, given) && is_kernel(kernel, given, range)))
		kernel = kernel->next;
	if (kernel)
		return kernel;
	kernel = kernels;
	while (kernel && !is_kernel(kernel, given, range))
		kernel = kernel->next;
	if (kernel) {
		kernel->given.source = given->source;
		kernel->given.name = given->name;
		kernel->given.options = given->options;
	}
	return kernel;
}

static void kernel_remove(struct kernel *kernel)
{
	struct kernel **at = &kernels;

	while (*at != kernel)
		at = &(*at)->next;
	*at = kernel->next;
	kernel_free(kernel);
}

/* Adds a kernel. The mutex is held, but not while kernel_make() runs. Others see `making` then. */
static int kernel_add(const struct heddle_kernel *given, const struct ndrange *range,
                      struct kernel **added)
{
	int error = heddle_variables_check(environ);
	struct kernel *kernel;
	enum ndrange_way way;

	profile_store_collect(tables_collect);
	if (error)
		return error;
	kernel = kernel_begin(given, range);
	if (!kernel)
		return -ENOMEM;
	kernel->next = kernels;
	kernels = kernel;
	starpu_pthread_mutex_unlock(&kernels_mutex);
	error = kernel_make(kernel, given, &way);
	starpu_pthread_mutex_lock(&kernels_mutex);
	kernel->way = way;
	kernel->making = false;
	starpu_pthread_cond_broadcast(&kernel_made);
	if (error)
		kernel_remove(kernel);
	else
		*added = kernel;
	return error;
}

int kernel_cache_find(const struct heddle_kernel *given, const struct ndrange *range,
                      struct kernel **found)
{
	struct kernel *kernel;
	int error = 0;

	starpu_pthread_mutex_lock(&kernels_mutex);
	/* A kernel that could not be made has been removed. */
	while ((kernel = kernel_known(given, range)) && kernel->making)
		starpu_pthread_cond_wait(&kernel_made, &kernels_mutex);
	if (!kernel)
		error = kernel_add(given, range, &kernel);
	starpu_pthread_mutex_unlock(&kernels_mutex);
	if (!error)
		*found = kernel;
	return error;
}

#endif
