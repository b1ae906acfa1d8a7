/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Shapes: launches of a kernel that are alike. What they touch is found once, and the best split
 * is remembered.
 */
#include "config.h"

#ifdef HEDDLE_USE_OPENCL

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "partition/kernel/launch/request_starpu.h"
#include "partition/kernel/access/published.h"
#include "partition/kernel/access/windows.h"
#include "support/message.h"

/* A kernel with more shapes forgets those that were not used for longest. */
enum { MAXSHAPES = 64 };

/* ---- devices of a launch ---- */

unsigned kernel_devices(const struct heddle_kernel_request *request)
{
	return ~request->barred & ((1U << request->kernel->ndevices) - 1);
}

unsigned kernel_devices_untimed(const struct heddle_kernel_request *request)
{
	struct kernel *kernel = request->kernel;
	unsigned untimed;

	starpu_pthread_mutex_lock(&kernel->mutex);
	untimed = kernel_devices(request) & ~kernel->failed & ~kernel->timed;
	starpu_pthread_mutex_unlock(&kernel->mutex);
	return untimed;
}

bool kernel_device_usable(const struct heddle_kernel_request *request, unsigned d)
{
	unsigned failed = __atomic_load_n(&request->kernel->failed, __ATOMIC_RELAXED);

	return !((failed | __atomic_load_n(&request->barred, __ATOMIC_RELAXED)) >> d & 1);
}

/* ---- shapes ---- */

static uint64_t keeps_of(const struct heddle_kernel_request *request)
{
	uint64_t keeps = 0;

	for (unsigned a = 0; a < request->given.narguments; a++) {
		const struct heddle_kernel_argument *argument = &request->given.arguments[a];

		keeps = keeps << 2 | (argument->keep ? 1 : 0) | (argument->stay ? 2 : 0);
	}
	return keeps;
}

/* What is read and written depends on them. */
static uint64_t modes_of(const struct heddle_kernel_request *request)
{
	uint64_t modes = 0;

	for (unsigned a = 0; a < request->given.narguments; a++) {
		enum starpu_data_access_mode mode = request->given.arguments[a].mode;

		modes = modes << 2 | (mode == STARPU_R ? 1 : mode == STARPU_W ? 2 : 0);
	}
	return modes;
}

static bool is_shape(const struct shape *shape, const struct heddle_kernel_request *request)
{
	return shape->method == request->method && shape->declared == request->declared &&
	       shape->keeps == keeps_of(request) && shape->modes == modes_of(request) &&
	       shape->devices == kernel_devices(request) &&
	       shape->range.dimensions == request->range.dimensions &&
	       !memcmp(shape->range.groups, request->range.groups, sizeof(shape->range.groups)) &&
	       !memcmp(shape->range.local, request->range.local, sizeof(shape->range.local)) &&
	       !memcmp(shape->bytes, request->bytes,
	               request->given.narguments * sizeof(*shape->bytes)) &&
	       !memcmp(shape->same, request->same,
	               request->given.narguments * sizeof(*shape->same));
}

static struct shape *shape_make(const struct heddle_kernel_request *request)
{
	struct shape *shape = calloc(1, sizeof(*shape));

	if (!shape)
		return NULL;
	shape->range = request->range;
	memcpy(shape->bytes, request->bytes, request->given.narguments * sizeof(*shape->bytes));
	shape->devices = kernel_devices(request);
	shape->method = request->method;
	shape->declared = request->declared;
	memcpy(shape->same, request->same, request->given.narguments * sizeof(*shape->same));
	shape->keeps = keeps_of(request);
	shape->modes = modes_of(request);
	shape->main = -1;
	return shape;
}

/* Frees the one that was used longest ago where there are too many. */
static void shapes_trim(struct kernel *kernel)
{
	struct shape **last = NULL, *shape;
	unsigned n = 0;

	for (struct shape **at = &kernel->shapes; *at; at = &(*at)->next, n++)
		if (!(*at)->users)
			last = at;
	if (n < MAXSHAPES || !last)
		return;
	shape = *last;
	*last = shape->next;
	free(shape);
}

int kernel_shape_find(struct heddle_kernel_request *request)
{
	struct kernel *kernel = request->kernel;
	struct shape **at, *shape;

	starpu_pthread_mutex_lock(&kernel->mutex);
	for (at = &kernel->shapes; *at && !is_shape(*at, request);)
		at = &(*at)->next;
	shape = *at;
	if (shape) {
		*at = shape->next;
	} else {
		shapes_trim(kernel);
		shape = shape_make(request);
	}
	if (shape) {
		shape->next = kernel->shapes;
		kernel->shapes = shape;
		shape->users++;
		request->shape = shape;
	}
	starpu_pthread_mutex_unlock(&kernel->mutex);
	return shape ? 0 : -ENOMEM;
}

void kernel_shape_leave(struct heddle_kernel_request *request)
{
	if (!request->shape)
		return;
	starpu_pthread_mutex_lock(&request->kernel->mutex);
	request->shape->users--;
	starpu_pthread_mutex_unlock(&request->kernel->mutex);
}

/* ---- where to cut ---- */

size_t kernel_row(const struct ndrange *range)
{
	size_t row = range->groups[0] * (range->groups[2] > 1 ? range->groups[1] : 1);

	return ndrange_groups(range) / row < 16 ? 1 : row;
}

size_t kernel_cut_round(const struct ndrange *range, size_t at)
{
	size_t row = kernel_row(range);

	return at == ndrange_groups(range) ? at : (at + row / 2) / row * row;
}

/* ---- integers ---- */

/* Whether the integer arguments and the offset are those that the shape was prepared with. */
static bool integers_same(const struct heddle_kernel_request *request)
{
	const struct index_kernel *index = &request->kernel->index;

	if (memcmp(request->shape->offset, request->range.offset, sizeof(request->range.offset)))
		return false;
	for (unsigned a = 0; a < request->given.narguments; a++)
		if (index->arguments[a].kind == INDEX_INTEGER &&
		    request->shape->integers[a] != request->integers[a])
			return false;
	return !memcmp(request->shape->integers + index->narguments,
	               request->integers + index->narguments,
	               index->nfields * sizeof(*request->integers));
}

static void integers_keep(const struct heddle_kernel_request *request)
{
	struct shape *shape = request->shape;

	if (!integers_same(request))
		shape->known = shape->asked = false;
	memcpy(shape->integers, request->integers,
	       kernel_integers(request) * sizeof(*shape->integers));
	memcpy(shape->offset, request->range.offset, sizeof(shape->offset));
}

/* ---- what is touched ---- */

/* Buffers that can be looked at, beyond those taken. In mode STARPU_W nothing says what the kernel
 * finds. Where half of the groups need too many places, smaller parts do not look either. */
static uint64_t contents_wanted(const struct heddle_kernel_request *request)
{
	const struct index_kernel *index = &request->kernel->index;
	struct index_launch launch = kernel_index_launch(request);
	size_t total = request->stats.groups,
	       half = kernel_cut_round(&request->range, (total + 1) / 2);
	uint64_t wanted = index_wants(index, &launch, 0, half), found = 0;

	if (half < total)
		wanted |= index_wants(index, &launch, half, total - half);
	for (unsigned a = 0; a < request->given.narguments; a++)
		if (wanted >> a & 1 && request->given.arguments[a].mode != STARPU_W)
			found |= (uint64_t)1 << request->same[a];
	return found;
}

void kernel_contents_find(struct heddle_kernel_request *request)
{
	struct shape *shape = request->shape;

	starpu_pthread_mutex_lock(&request->kernel->mutex);
	if (!shape->asked || !integers_same(request)) {
		integers_keep(request);
		shape->first_looked = contents_wanted(request);
		shape->asked = true;
	}
	request->looked = shape->first_looked;
	starpu_pthread_mutex_unlock(&request->kernel->mutex);
}

bool kernel_contents_take(struct heddle_kernel_request *request)
{
	uint64_t looked = request->looked;

	if (!looked)
		return false;
	for (unsigned a = 0; a < request->given.narguments; a++)
		request->contents[a] =
		    looked >> request->same[a] & 1 ? kernel_host_of(request, a) : NULL;
	request->looks = true;
	request->looked |= contents_wanted(request);
	return request->looked != looked;
}

/* Windows in bytes, also of images. */
static int windows_find(const struct heddle_kernel_request *request, size_t from, size_t n,
                        struct index_use *uses)
{
	struct index_launch launch = kernel_index_launch(request);
	int status = index_uses(&request->kernel->index, &launch, from, n, uses);

	for (unsigned a = 0; a < request->given.narguments && !status; a++) {
		size_t pixel = kernel_image_of(&request->given.arguments[a])
		                   ? request->bytes[a] / request->units[a]
		                   : 1;

		index_window_scale(&uses[a].read, pixel);
		index_window_scale(&uses[a].write, pixel);
	}
	return status;
}

/* The contents of a buffer given as STARPU_W need not be kept. So a window into which no other
 * group writes belongs to the range, and counts as written completely. */
static int windows_own(const struct heddle_kernel_request *request, size_t from, size_t n,
                       struct index_use *uses)
{
	size_t total = ndrange_groups(&request->range);
	const size_t starts[2] = {0, from + n}, sizes[2] = {from, total - from - n};
	struct index_use others[2][HEDDLE_KERNEL_MAXARGUMENTS];
	int status = 0;

	memset(others, 0, sizeof(others));
	for (int i = 0; i < 2 && !status; i++)
		if (sizes[i])
			status = windows_find(request, starts[i], sizes[i], others[i]);
	for (unsigned a = 0; a < request->given.narguments && !status; a++)
		if (request->given.arguments[a].mode == STARPU_W &&
		    kernel_windows_apart(&uses[a].write, &others[0][a].write) &&
		    kernel_windows_apart(&uses[a].write, &others[1][a].write))
			uses[a].write.dense = true;
	return status;
}

/* SKMD sends all of what a kernel reads that is not contiguous. */
static void reads_widen(const struct heddle_kernel_request *request, struct index_use *uses)
{
	for (unsigned a = 0; a < request->given.narguments; a++)
		if (!index_window_empty(&uses[a].read))
			uses[a].read =
			    (struct index_window){.end = request->bytes[a], .known = true};
}

int kernel_uses(const struct heddle_kernel_request *request, size_t from, size_t n,
                struct index_use *uses)
{
	int status = windows_find(request, from, n, uses);
	bool asked = false;

	for (unsigned a = 0; a < request->given.narguments && !status; a++)
		if (request->given.arguments[a].mode == STARPU_R) {
			uses[a].write = (struct index_window){0};
		} else if (request->given.arguments[a].mode == STARPU_W) {
			uses[a].read = (struct index_window){0};
			asked = asked || !uses[a].write.dense;
		}
	if (asked && !status)
		status = windows_own(request, from, n, uses);
	if (request->scattered && !status)
		reads_widen(request, uses);
	return status;
}

int kernel_cut_meets(const struct heddle_kernel_request *request, size_t at, bool *meets)
{
	struct index_use before[HEDDLE_KERNEL_MAXARGUMENTS], behind[HEDDLE_KERNEL_MAXARGUMENTS];
	size_t total = request->stats.groups;
	int status = kernel_uses(request, 0, at, before);
	bool met = false;

	if (!status)
		status = kernel_uses(request, at, total - at, behind);
	if (status)
		return status;
	for (unsigned a = 0; a < request->given.narguments && !met; a++)
		met = request->same[a] != (int)a &&
		      (!kernel_windows_apart(&before[request->same[a]].read,
		                             &behind[request->same[a]].write) ||
		       !kernel_windows_apart(&behind[request->same[a]].read,
		                             &before[request->same[a]].write));
	if (met)
		__atomic_store_n(&request->shape->meets, true, __ATOMIC_RELAXED);
	*meets = met;
	return 0;
}

/* What all arguments that are one array rely on. */
static size_t alignment_of(const struct heddle_kernel_request *request, unsigned a)
{
	size_t alignment = 1, other;

	for (unsigned b = 0; b < request->given.narguments; b++) {
		other =
		    request->same[b] == (int)a ? index_alignment(&request->kernel->index, b) : 1;
		alignment = other > alignment ? other : alignment;
	}
	return alignment;
}

/* Whether a kernel does with an array what its mode does not say, whichever argument it is. In mode
 * STARPU_W it may read it: windows do not say so, it may store all of a vector to write some of its
 * elements, while another device writes the others. What it writes in mode STARPU_R is perhaps
 * read-only memory. */
static bool does_unasked(const struct heddle_kernel_request *request, unsigned a,
                         enum starpu_data_access_mode mode,
                         bool (*does)(const struct index_kernel *kernel, unsigned argument))
{
	if (request->given.arguments[a].mode != mode)
		return false;
	for (unsigned b = 0; b < request->given.narguments; b++)
		if (request->same[b] == (int)a && does(&request->kernel->index, b))
			return true;
	return false;
}

bool kernel_in_place(const struct heddle_kernel_request *request,
                     const struct kernel_device *device, unsigned a, const struct index_use *use,
                     bool dry)
{
	if (!device->in_host_memory || kernel_image_of(&request->given.arguments[a]) ||
	    (uintptr_t)kernel_host_of(request, a) % alignment_of(request, a) ||
	    does_unasked(request, a, STARPU_R, index_writes))
		return false;
	/* A dry run must not write into the host's array. A failed part is undone from a copy,
	 * which needs a window that no other device writes into. */
	return index_window_empty(&use->write) ||
	       (!dry && ((index_window_empty(&use->read) &&
	                  !does_unasked(request, a, STARPU_W, index_reads)) ||
	                 (use->write.dense && !use->write.pitch)));
}

/* Bytes to and from a device with a bus, and those to be merged. */
struct crossing {
	double in, out, merge;
};

static struct crossing crossing_of(const struct heddle_kernel_request *request,
                                   const struct index_use *uses)
{
	struct crossing sum = {0};

	for (unsigned a = 0; a < request->given.narguments; a++) {
		double read = kernel_layout(&uses[a].read).bytes;
		double written = kernel_layout(&uses[a].write).bytes;

		if (request->scattered && written > 0)
			written = request->bytes[a];
		sum.in += uses[a].write.dense ? read : read > written ? read : written;
		sum.out += written;
		sum.merge += uses[a].write.dense && !uses[a].write.pitch && !request->scattered
		                 ? 0
		                 : written;
	}
	return sum;
}

/* A line through the bytes of all groups and of half of them: bytes for each group, and fixed
 * ones for each device. */
static struct split_bytes bytes_line(double all, double half, size_t groups, size_t half_groups)
{
	struct split_bytes bytes = {0};

	if (groups > half_groups && all > half)
		bytes.per_group = (all - half) / (groups - half_groups);
	bytes.fixed = all - bytes.per_group * groups;
	if (bytes.fixed < 0)
		bytes.fixed = 0;
	return bytes;
}

static bool lines_same(const struct split_bytes *a, const struct split_bytes *b)
{
	return a->fixed == b->fixed && a->per_group == b->per_group;
}

/* Finds the class that counts for the method "published". */
static int class_find(struct heddle_kernel_request *request)
{
	struct index_launch launch = kernel_index_launch(request);
	bool contiguous = request->declared == KERNEL_CLASS_CONTIGUOUS;
	int status = 0;

	if (request->method == SPLIT_PUBLISHED && request->declared == KERNEL_CLASS_FOUND)
		status = published_contiguous(&request->kernel->index, &launch, &contiguous);
	request->scattered = request->method == SPLIT_PUBLISHED && !contiguous;
	request->shape->scattered = request->scattered;
	return status;
}

int kernel_shape_look(struct heddle_kernel_request *request)
{
	struct index_launch launch = kernel_index_launch(request);
	struct shape *shape = request->shape;
	struct index_outside outside;
	int found = 0;

	starpu_pthread_mutex_lock(&request->kernel->mutex);
	if (!shape->looked || !integers_same(request)) {
		found = index_leaves(&request->kernel->index, &launch, &outside);
		integers_keep(request);
		shape->looked = !found;
		shape->known = false;
	}
	starpu_pthread_mutex_unlock(&request->kernel->mutex);
	if (found <= 0)
		return found;
	return heddle_refuse(-EFAULT,
	                     "kernel %s: argument %u has %zu bytes, and the kernel %s %u bytes at "
	                     "byte %lld of it",
	                     request->kernel->name, outside.argument + 1,
	                     request->bytes[outside.argument], outside.write ? "writes" : "reads",
	                     outside.bytes, (long long)outside.at);
}

int kernel_shape_prepare(struct heddle_kernel_request *request)
{
	struct shape *shape = request->shape;
	size_t total = request->stats.groups,
	       half = kernel_cut_round(&request->range, (total + 1) / 2);
	const struct split_bytes in = shape->in, out = shape->out, merge = shape->merge;
	bool cut = shape->choice.cut, whole_only = shape->whole_only, meets;
	struct crossing all, part;

	if (shape->known && !request->looks && integers_same(request)) {
		request->scattered = shape->scattered;
		return 0;
	}
	shape->known = shape->choice.cut = shape->whole_only = false;
	__atomic_store_n(&shape->meets, false, __ATOMIC_RELAXED);
	if (class_find(request) || kernel_uses(request, 0, total, shape->whole) ||
	    kernel_uses(request, 0, half, shape->half))
		return -ENOMEM;
	if (request->rewritten && half < total && kernel_cut_meets(request, half, &meets))
		return -ENOMEM;
	integers_keep(request);
	all = crossing_of(request, shape->whole);
	part = crossing_of(request, shape->half);
	shape->in = bytes_line(all.in, part.in, total, half);
	shape->out = bytes_line(all.out, part.out, total, half);
	shape->merge = bytes_line(all.merge, part.merge, total, half);
	if (request->looks && lines_same(&in, &shape->in) && lines_same(&out, &shape->out) &&
	    lines_same(&merge, &shape->merge)) {
		shape->choice.cut = cut;
		shape->whole_only = whole_only;
	}
	shape->known = !request->looks; /* another launch may find others */
	return 0;
}

/* ---- how it went ---- */

void kernel_shape_learn(struct heddle_kernel_request *request)
{
	struct shape *shape = request->shape;
	struct kernel *kernel = request->kernel;
	double most = 0;

	/* What tries a number of chunks says nothing of the device with the best one. */
	if (!shape || request->arm == KERNEL_ARMS || request->stats.moved || request->compiled ||
	    request->slow_chunks)
		return;
	starpu_pthread_mutex_lock(&kernel->mutex);
	bandit_measured(&shape->choice.arms, &kernel_arms_rules, request->arm,
	                request->stats.us - request->stats.profile_us);
	for (unsigned w = 0; w < request->stats.nworkers; w++) {
		const struct heddle_kernel_worker_stats *worker = &request->stats.workers[w];
		double us = worker->in_us + worker->compute_us + worker->out_us;

		if (us > most) {
			most = us;
			shape->main = worker->id;
		}
	}
	starpu_pthread_mutex_unlock(&kernel->mutex);
}

#endif
