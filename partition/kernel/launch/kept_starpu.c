/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#ifdef HEDDLE_USE_OPENCL

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "partition/kernel/launch/device_starpu.h"
#include "partition/kernel/launch/kept_starpu.h"
#include "support/message.h"

/* Data that is kept at most; what was used longest ago is freed first. */
enum { MOST = 64 };
/* Launches that are looked at when one waits for another. */
enum { NEXT_MOST = 32 };
/* Spans that only a device has, at most: more results return. A later part takes one out at most,
 * so there is memory for many. */
enum { ONLY_MOST = 64, ONLY_ROOM = 1024 };

struct kept_copy {
	struct kept_data *data;
	cl_mem buffer; /* NULL: none */
	unsigned node;
	int device;        /* StarPU's number, of OpenCL's devices */
	bool busy;         /* a part uses it */
	unsigned fetching; /* threads that bring what is in it to main memory */
	struct kernel_spans held;
	struct kernel_spans only; /* of what is held: main memory and other copies have it not */
};

/* The data of a handle, or of host memory. The mutex guards all but the buffer of a busy copy. */
struct kept_data {
	struct kept_data *next;
	starpu_data_handle_t handle;
	const unsigned char *host;
	struct heddle_kernel_image image; /* zeros: it is none */
	size_t bytes;
	uint64_t writes;  /* of others than launches, submitted so far */
	uint64_t current; /* the copies are as after so many of them */
	unsigned users;   /* launches */
	unsigned writers; /* of them, not ended; also those that read what one of them writes */
	struct kept_copy copies[SPLIT_MAXDEVICES];
};

/* Ordered by their use, the latest first. */
static struct kept_data *all;
static starpu_pthread_mutex_t mutex = STARPU_PTHREAD_MUTEX_INITIALIZER;
static size_t bytes_on[SPLIT_MAXDEVICES]; /* of the copies */
static bool any;                          /* there has been data: a hint, without the mutex */

/* Nothing is current: the next launch begins anew. */
static const uint64_t NEVER = UINT64_MAX;

/* ---- who writes ---- */

/* Accesses of the launch that this thread submits, which were not seen yet. */
static __thread struct kept_own own;

void kernel_kept_submit_begin(struct heddle_kernel_request *request, struct kept_own *before)
{
	*before = own;
	own = (struct kept_own){.request = request};
	for (unsigned a = 0; a < request->given.narguments; a++)
		if (request->kept[a] && request->kept[a]->handle && kernel_kept_writes(request, a))
			own.arguments |= (uint64_t)1 << a;
}

void kernel_kept_submit_end(const struct kept_own *before)
{
	own = *before;
}

/* Each access of a launch's own is submitted once, before anything else is by this thread. StarPU
 * holds a mutex of the handle's: accesses that it has not seen yet come later. */
static bool is_own(starpu_data_handle_t handle)
{
	for (unsigned a = 0; own.arguments >> a; a++)
		if (own.arguments >> a & 1 && own.request->given.arguments[a].handle == handle) {
			own.arguments &= ~((uint64_t)1 << a);
			__atomic_or_fetch(&own.request->entered, (uint64_t)1 << a,
			                  __ATOMIC_RELEASE);
			return true;
		}
	return false;
}

/* StarPU calls this when a task or an acquisition that writes is submitted. */
static void write_submitted(starpu_data_handle_t handle)
{
	if (!__atomic_load_n(&any, __ATOMIC_ACQUIRE) || is_own(handle))
		return;
	starpu_pthread_mutex_lock(&mutex);
	for (struct kept_data *data = all; data; data = data->next)
		data->writes += data->handle == handle;
	starpu_pthread_mutex_unlock(&mutex);
}

/* StarPU-MPI wants the only hook for itself. */
static int library_find(struct dl_phdr_info *info, size_t size, void *found)
{
	*(bool *)found = *(bool *)found || strstr(info->dlpi_name, "starpumpi");
	return 0;
}

/* StarPU has a hook for its MPI library; no public function tells of writes. */
static bool writes_watch(void)
{
	typedef void (*set_hook)(void (*)(starpu_data_handle_t));
	set_hook set = (set_hook)dlsym(RTLD_DEFAULT, "_starpu_implicit_data_deps_write_hook");
	bool taken = false;

	dl_iterate_phdr(library_find, &taken);
	if (!set || taken) {
		heddle_explain("kernels: no data of handles stays on devices: %s",
		               taken ? "StarPU-MPI asks StarPU who writes data"
		                     : "this StarPU does not tell who writes data");
		return false;
	}
	set(write_submitted);
	return true;
}

/* Whether StarPU tells who writes. Writes that are being submitted while the hook is set may be
 * missed: not yet at the first launch. */
static bool writes_watched(void)
{
	static enum { UNKNOWN, TRYING, NO, YES } state;
	int now = UNKNOWN;

	if (__atomic_compare_exchange_n(&state, &now, TRYING, false, __ATOMIC_ACQ_REL,
	                                __ATOMIC_ACQUIRE))
		__atomic_store_n(&state, writes_watch() ? YES : NO, __ATOMIC_RELEASE);
	return now == YES;
}

/* ---- data ---- */

static void copy_forget(struct kept_copy *copy)
{
	kernel_spans_clear(&copy->held);
	kernel_spans_clear(&copy->only);
}

static void data_forget(struct kept_data *data)
{
	for (unsigned d = 0; d < SPLIT_MAXDEVICES; d++)
		copy_forget(&data->copies[d]);
	data->current = NEVER;
}

static void copy_free(struct kept_copy *copy)
{
	if (!copy->buffer)
		return;
	clReleaseMemObject(copy->buffer);
	starpu_memory_deallocate(copy->node, copy->data->bytes);
	bytes_on[copy - copy->data->copies] -= copy->data->bytes;
	copy->buffer = NULL;
	copy_forget(copy);
}

static void data_free(struct kept_data *data)
{
	for (unsigned d = 0; d < SPLIT_MAXDEVICES; d++) {
		copy_free(&data->copies[d]);
		copy_forget(&data->copies[d]);
	}
	free(data);
}

/* Whether main memory has not all of it. */
static bool is_away(const struct kept_data *data)
{
	for (unsigned d = 0; d < SPLIT_MAXDEVICES; d++)
		if (data->copies[d].only.n)
			return true;
	return false;
}

/* Frees what was used longest ago where there is too much. */
static void data_trim(void)
{
	struct kept_data **last = NULL, *data;
	unsigned n = 0;

	for (struct kept_data **at = &all; *at; at = &(*at)->next, n++)
		if (!(*at)->users && !is_away(*at))
			last = at;
	if (n < MOST || !last)
		return;
	data = *last;
	*last = data->next;
	data_free(data);
}

/* NULL of host memory. */
static starpu_data_handle_t handle_of(const struct heddle_kernel_argument *argument)
{
	return argument->type == HEDDLE_KERNEL_HANDLE ? argument->handle : NULL;
}

/* Data of an argument, moved to the front. The mutex is held. @return NULL: no memory */
static struct kept_data *data_find(const struct heddle_kernel_request *request, unsigned a)
{
	const struct heddle_kernel_argument *argument = &request->given.arguments[a];
	const struct heddle_kernel_image *given = kernel_image_of(argument), none = {0};
	const struct heddle_kernel_image *image = given ? given : &none;
	const unsigned char *host = kernel_host_of(request, a);
	starpu_data_handle_t handle = handle_of(argument);
	size_t bytes = request->bytes[a];
	struct kept_data **at = &all, *data;

	while (*at && ((*at)->handle != handle || (*at)->host != host || (*at)->bytes != bytes ||
	               memcmp(&(*at)->image, image, sizeof(*image))))
		at = &(*at)->next;
	data = *at;
	if (data) {
		*at = data->next;
	} else {
		data_trim();
		data = calloc(1, sizeof(*data));
		if (!data)
			return NULL;
		*data = (struct kept_data){.handle = handle,
		                           .host = host,
		                           .image = *image,
		                           .bytes = bytes,
		                           .current = NEVER};
		for (unsigned d = 0; d < SPLIT_MAXDEVICES; d++)
			data->copies[d].data = data;
	}
	data->next = all;
	all = data;
	__atomic_store_n(&any, true, __ATOMIC_RELEASE);
	return data;
}

/* Memory is perhaps written by another name: data there is not known any more. */
static void memory_written(const struct kept_data *but, const unsigned char *host, size_t bytes)
{
	for (struct kept_data *data = all; data; data = data->next)
		if (data != but && host < data->host + data->bytes && data->host < host + bytes)
			data->writes++;
}

/* ---- what only a device has ---- */

/* Finds a span between two places. The mutex is held. */
static bool only_find(const struct kept_copy *copy, struct kernel_span in,
                      struct kernel_span *found)
{
	for (size_t i = 0; i < copy->only.n; i++) {
		struct kernel_span span = copy->only.all[i];

		if (span.first >= in.end || span.end <= in.first)
			continue;
		found->first = span.first > in.first ? span.first : in.first;
		found->end = span.end < in.end ? span.end : in.end;
		return true;
	}
	return false;
}

/* Brings to main memory what only this copy has between two places. It counts as away until it is
 * there: of several threads that need it each fetches it.
 * @param[in,out] bytes what was fetched is added
 * @return 0; -EIO after a message: it is still away */
static int copy_home(struct kept_copy *copy, struct kernel_span in, size_t *bytes)
{
	unsigned char *host = (unsigned char *)copy->data->host;
	struct kernel_span span;
	int status = 0;

	starpu_pthread_mutex_lock(&mutex);
	copy->fetching++;
	while (!status && only_find(copy, in, &span)) {
		starpu_pthread_mutex_unlock(&mutex);
		status = kernel_device_fetch(copy->device, copy->buffer, span, host + span.first);
		*bytes += span.end - span.first;
		starpu_pthread_mutex_lock(&mutex);
		if (!status)
			kernel_spans_remove(&copy->only, span.first, span.end);
	}
	copy->fetching--;
	starpu_pthread_mutex_unlock(&mutex);
	return status;
}

/* The same of all copies but one.
 * @param but NULL: of all
 * @param[in,out] fetched by device */
static int data_home(struct kept_data *data, const struct kept_copy *but, struct kernel_span in,
                     size_t *fetched)
{
	int status = 0;

	for (unsigned d = 0; d < SPLIT_MAXDEVICES; d++)
		if (&data->copies[d] != but && data->copies[d].buffer &&
		    copy_home(&data->copies[d], in, &fetched[d]))
			status = -EIO;
	return status;
}

/* What of data lies in a piece of memory. */
static struct kernel_span piece_of(const struct kept_data *data, const unsigned char *memory,
                                   size_t bytes)
{
	const unsigned char *end = memory + bytes;

	if (end <= data->host || memory >= data->host + data->bytes)
		return (struct kernel_span){0, 0};
	return (struct kernel_span){memory > data->host ? memory - data->host : 0,
	                            end < data->host + data->bytes ? end - data->host
	                                                           : (ptrdiff_t)data->bytes};
}

/* Whether main memory has not all of a piece of it. The mutex is held. */
static bool is_piece_away(const struct kept_data *data, struct kernel_span piece)
{
	for (unsigned d = 0; d < SPLIT_MAXDEVICES && piece.first < piece.end; d++)
		if (kernel_spans_held(&data->copies[d].only, piece.first, piece.end))
			return true;
	return false;
}

/* The next data that main memory has not all of in a piece of memory, but for one; counted as used.
 * Handles are StarPU's to order. */
static struct kept_data *away_find(const unsigned char *memory, size_t bytes,
                                   const struct kept_data *but)
{
	struct kept_data *data;

	starpu_pthread_mutex_lock(&mutex);
	for (data = all; data; data = data->next)
		if (data != but && !data->handle &&
		    is_piece_away(data, piece_of(data, memory, bytes)))
			break;
	if (data)
		data->users++;
	starpu_pthread_mutex_unlock(&mutex);
	return data;
}

/* Brings home what launches have left away of a piece of host memory.
 * @param but NULL: of all data there */
static int memory_home(const unsigned char *memory, size_t bytes, const struct kept_data *but)
{
	size_t fetched[SPLIT_MAXDEVICES] = {0};
	struct kept_data *data;
	int status = 0;

	while (!status && __atomic_load_n(&any, __ATOMIC_ACQUIRE) &&
	       (data = away_find(memory, bytes, but))) {
		if (data_home(data, NULL, piece_of(data, memory, bytes), fetched))
			status = -EIO;
		starpu_pthread_mutex_lock(&mutex);
		data->users--;
		starpu_pthread_mutex_unlock(&mutex);
	}
	return status;
}

/* ---- a launch ---- */

/* What HEDDLE_KERNEL_KEEP says: nothing stays, what launches say, or all handles, too. */
enum { KEEP_NOTHING, KEEP_GIVEN, KEEP_HANDLES };

static bool is_kept(const struct heddle_kernel_request *request, unsigned a)
{
	const struct heddle_kernel_argument *argument = &request->given.arguments[a];
	bool is_handle = argument->type == HEDDLE_KERNEL_HANDLE;

	if (request->kernel->keep == KEEP_NOTHING || request->same[a] != (int)a ||
	    !kernel_is_buffer(argument))
		return false;
	if (!argument->keep && !(is_handle && request->kernel->keep == KEEP_HANDLES))
		return false;
	return !is_handle ||
	       (starpu_data_get_sequential_consistency_flag(argument->handle) && writes_watched());
}

bool kernel_kept_writes(const struct heddle_kernel_request *request, unsigned a)
{
	return request->given.arguments[a].mode != STARPU_R || request->holds >> a & 1;
}

/* Whether a launch that follows may find results on devices alone. */
static bool may_leave(const struct heddle_kernel_request *request, unsigned a)
{
	return request->given.arguments[a].stay && kernel_kept_writes(request, a);
}

/* The data of an argument is this. What a launch before this one leaves on devices waits for this
 * one alone, so nobody else is to read it meanwhile. The mutex is held. */
static void data_take(struct heddle_kernel_request *request, unsigned a, struct kept_data *data)
{
	request->kept[a] = data;
	if (!data)
		return;
	data->users++;
	request->holds |=
	    (uint64_t)(data->handle && data->writers && request->given.arguments[a].stay) << a;
	data->writers += may_leave(request, a);
}

/* The launch does not count as a writer any more: before its data is another's, for the program may
 * acquire that to read it, and wait for a launch that does the same. The mutex is held. */
static void writers_leave(struct heddle_kernel_request *request)
{
	for (unsigned a = 0; a < request->given.narguments && !request->over; a++)
		if (request->kept[a])
			request->kept[a]->writers -= may_leave(request, a);
	request->over = true;
}

void kernel_kept_note(struct heddle_kernel_request *request)
{
	uint64_t kept = 0;

	for (unsigned a = 0; a < request->given.narguments; a++)
		kept |= (uint64_t)is_kept(request, a) << a;
	if (!kept && !__atomic_load_n(&any, __ATOMIC_ACQUIRE))
		return;
	starpu_pthread_mutex_lock(&mutex);
	for (unsigned a = 0; a < request->given.narguments; a++) {
		const struct heddle_kernel_argument *argument = &request->given.arguments[a];
		struct kept_data *data = NULL;

		if (!kernel_is_buffer(argument) || request->same[a] != (int)a)
			continue;
		if (kept >> a & 1)
			data = data_find(request, a);
		if (argument->mode != STARPU_R)
			memory_written(data, kernel_host_of(request, a), request->bytes[a]);
		data_take(request, a, data);
	}
	/* Only now: two arguments may have been two names of the same memory. */
	for (unsigned a = 0; a < request->given.narguments; a++)
		if (request->kept[a])
			request->writes[a] = request->kept[a]->writes;
	starpu_pthread_mutex_unlock(&mutex);
}

/* Brings all of an argument's data home. */
static int argument_home(struct heddle_kernel_request *request, unsigned a)
{
	return data_home(request->kept[a], NULL, (struct kernel_span){0, request->bytes[a]},
	                 request->fetched);
}

/* Whether what devices alone have is in very many pieces. The mutex is held. */
static bool is_scattered(const struct kept_data *data)
{
	for (unsigned d = 0; d < SPLIT_MAXDEVICES; d++)
		if (data->copies[d].only.n > ONLY_ROOM / 2)
			return true;
	return false;
}

/* Whether the launch cannot use the data where it is. Of host memory a launch that reads it at the
 * same time may have the copy. The mutex is held. */
static bool is_unfit(const struct heddle_kernel_request *request, unsigned a, bool shares)
{
	const struct kept_data *data = request->kept[a];
	bool alone = data->handle || (request->given.arguments[a].stay && data->users == 1);

	return !shares || request->looked >> a & 1 || is_scattered(data) ||
	       data->writes != request->writes[a] || data->current != data->writes || !alone;
}

/* A write that was submitted since this launch was, perhaps before it, makes its data unknown. The
 * mutex is held, and nothing is away then. */
static void data_begin(struct kept_data *data, uint64_t writes)
{
	if (data->writes != writes || data->current != data->writes)
		data_forget(data);
	if (data->writes == writes)
		data->current = writes;
}

int kernel_kept_begin(struct heddle_kernel_request *request, bool shares)
{
	int status = 0;

	for (unsigned a = 0; a < request->given.narguments && !status; a++) {
		struct kept_data *data = request->kept[a];

		/* Of other names of the memory. Not before: a launch that has waited for another
		 * one may use what that has left. */
		if (kernel_is_buffer(&request->given.arguments[a]) && request->same[a] == (int)a)
			status = memory_home(kernel_host_of(request, a), request->bytes[a], data);
		if (!data || status)
			continue;
		starpu_pthread_mutex_lock(&mutex);
		while (!status && is_away(data) && is_unfit(request, a, shares)) {
			starpu_pthread_mutex_unlock(&mutex);
			status = argument_home(request, a);
			starpu_pthread_mutex_lock(&mutex);
		}
		if (!status)
			data_begin(data, request->writes[a]);
		starpu_pthread_mutex_unlock(&mutex);
	}
	return status;
}

/* ---- results that stay ---- */

/* Whether the kernel may write an argument that is given as read only. */
static bool scribbles(const struct heddle_kernel_request *request, unsigned a)
{
	const struct index_kernel *index = &request->kernel->index;

	if (request->given.arguments[a].mode != STARPU_R)
		return false;
	for (unsigned i = 0; i < index->naccesses; i++)
		if (request->same[index->accesses[i].argument] == (int)a &&
		    index->accesses[i].write)
			return true;
	return false;
}

static bool in_one_piece(const struct index_window *window)
{
	return index_window_empty(window) || (window->dense && !window->pitch);
}

/* Whether what is sent of a window includes what only this copy has: windows that cross by rows are
 * sent as a whole, and few pieces include what lies between. Until it is sent other parts may make
 * more pieces of it: any number, if they write rows.
 * @param rows this or another part writes rows */
static bool sends_own(const struct kept_copy *copy, const struct index_window *read, bool rows)
{
	const struct kernel_layout layout = kernel_layout(read);
	struct kernel_span missing[KEPT_PIECES] = {{read->first, read->end}};
	bool found = false;
	unsigned n;

	starpu_pthread_mutex_lock(&mutex);
	if (rows)
		n = 1;
	else if (layout.by_rows)
		n = kernel_spans_held_window(&copy->held, &layout) < layout.bytes;
	else
		n = kernel_spans_missing(&copy->held, read->first, read->end, KEPT_PIECES / 2,
		                         missing);
	for (unsigned i = 0; i < n; i++)
		found = found || kernel_spans_held(&copy->only, missing[i].first, missing[i].end);
	starpu_pthread_mutex_unlock(&mutex);
	return found;
}

/* Brings home what a part needs from main memory: what others alone have of what it reads, and of
 * what it perhaps writes all, for it is compared with main memory.
 * @param copy the part's; NULL: it has none */
static int window_home(struct heddle_kernel_request *request, unsigned a,
                       const struct kept_copy *copy, const struct index_use *use)
{
	const struct kernel_span read = {use->read.first, use->read.end};
	const struct kernel_span write = {use->write.first, use->write.end};
	bool rows = !in_one_piece(&use->write) || !in_one_piece(&request->whole[a].write);
	int status = 0;

	if (!index_window_empty(&use->read))
		status = data_home(request->kept[a],
		                   copy && sends_own(copy, &use->read, rows) ? NULL : copy, read,
		                   request->fetched);
	if (!index_window_empty(&use->write) && (!copy || use->write.pitch || !use->write.dense) &&
	    !status)
		status = data_home(request->kept[a], NULL, write, request->fetched);
	return status;
}

/* The argument of a launch that is this handle; -1: none is. */
static int argument_of(const struct heddle_kernel_request *request, starpu_data_handle_t handle)
{
	for (unsigned a = 0; a < request->given.narguments; a++)
		if (handle_of(&request->given.arguments[a]) == handle)
			return request->same[a];
	return -1;
}

/* Whether a launch that is being submitted has its place among the accesses to this data, takes it
 * from StarPU to write it, computes in shares, and finds what stays. */
static bool serves(const struct heddle_kernel_request *next, unsigned a,
                   const struct kept_data *data)
{
	return __atomic_load_n(&next->entered, __ATOMIC_ACQUIRE) >> a & 1 &&
	       next->kept[a] == data && next->split && next->method != SPLIT_PUBLISHED &&
	       !kernel_in_blocks(next) && !kernel_devices_untimed(next);
}

/* Whether launches alone wait for this one, some of them for this data, and these all find what
 * stays. One of them is the next access, for this launch takes the data to write it: what comes
 * later waits for that one. */
static bool is_followed(const struct heddle_kernel_request *request, const struct kept_data *data)
{
	struct starpu_task *next[NEXT_MOST];
	int n = request->control.task
	            ? starpu_task_get_task_succs(request->control.task, NEXT_MOST, next)
	            : 0;
	bool found = false;

	for (int i = 0; i < n; i++) {
		const struct control *control = control_of(next[i]);
		int a;

		if (!control || control->start != request->control.start || n == NEXT_MOST)
			return false;
		a = argument_of(control->work, data->handle);
		if (a >= 0 && !serves(control->work, a, data))
			return false;
		found = found || a >= 0;
	}
	return found;
}

bool kernel_kept_away(const struct heddle_kernel_request *request)
{
	bool away = false;

	starpu_pthread_mutex_lock(&mutex);
	for (unsigned a = 0; a < request->given.narguments; a++)
		away = away || (request->kept[a] && is_away(request->kept[a]));
	starpu_pthread_mutex_unlock(&mutex);
	return away;
}

uint64_t kernel_kept_staying(const struct heddle_kernel_request *request)
{
	uint64_t staying = 0;

	/* A launch begun by who submits it ends in a callback of OpenCL's, which may not fetch. */
	if (!request->shares || request->method == SPLIT_PUBLISHED ||
	    (request->control.here && !request->waits))
		return 0;
	for (unsigned a = 0; a < request->given.narguments; a++) {
		const struct kept_data *data = request->kept[a];

		if (data && request->given.arguments[a].mode != STARPU_R && !data->image.width &&
		    request->given.arguments[a].stay &&
		    (!data->handle || is_followed(request, data)))
			staying |= (uint64_t)1 << a;
	}
	return staying;
}

int kernel_kept_gather(struct heddle_kernel_request *request, const struct kernel_device *device,
                       size_t from, size_t n)
{
	struct index_use uses[HEDDLE_KERNEL_MAXARGUMENTS];
	bool found = false;
	int status = 0;

	for (unsigned a = 0; a < request->given.narguments && !status; a++) {
		struct kept_data *data = request->kept[a];
		struct kept_copy *copy;
		bool away, all_home;

		if (!data)
			continue;
		starpu_pthread_mutex_lock(&mutex);
		away = is_away(data);
		starpu_pthread_mutex_unlock(&mutex);
		if (away && !found)
			status = kernel_uses(request, from, n, uses);
		if (!away || status)
			continue;
		found = true;
		copy = &data->copies[device - request->kernel->devices];
		all_home = !copy->buffer || request->method == SPLIT_PUBLISHED ||
		           kernel_in_place(request, device, a, &uses[a], false);
		if (scribbles(request, a))
			status = argument_home(request, a);
		else
			status = window_home(request, a, all_home ? NULL : copy, &uses[a]);
	}
	return status;
}

void kernel_kept_leave(struct heddle_kernel_request *request)
{
	starpu_pthread_mutex_lock(&mutex);
	writers_leave(request);
	for (unsigned a = 0; a < request->given.narguments; a++) {
		if (request->kept[a])
			request->kept[a]->users--;
		request->kept[a] = NULL;
	}
	starpu_pthread_mutex_unlock(&mutex);
}

/* Whether copies are as this launch finds main memory. The mutex is held. */
static bool is_current(const struct heddle_kernel_request *request, unsigned a)
{
	const struct kept_data *data = request->kept[a];

	return data && data->current == request->writes[a];
}

size_t kernel_kept_bytes(const struct heddle_kernel_request *request, unsigned device,
                         const struct index_use *uses)
{
	size_t held = 0;

	for (unsigned a = 0; a < request->given.narguments; a++) {
		struct kernel_layout layout;

		if (!request->kept[a] || request->method == SPLIT_PUBLISHED ||
		    (!index_window_empty(&uses[a].write) && !uses[a].write.dense))
			continue;
		layout = kernel_layout(&uses[a].read);
		starpu_pthread_mutex_lock(&mutex);
		if (is_current(request, a))
			held += kernel_spans_held_window(&request->kept[a]->copies[device].held,
			                                 &layout);
		starpu_pthread_mutex_unlock(&mutex);
	}
	return held;
}

/* ---- a part ---- */

static unsigned number_of(const struct part *part)
{
	return part->device - part->request->kernel->devices;
}

/* Half of a device's memory at most is for what is kept. */
static bool has_room(const struct part *part, size_t bytes)
{
	cl_ulong most = 0;
	size_t used;

	clGetDeviceInfo(part->device->memory->device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(most),
	                &most, NULL);
	starpu_pthread_mutex_lock(&mutex);
	used = bytes_on[number_of(part)];
	starpu_pthread_mutex_unlock(&mutex);
	return used + bytes <= most / 2;
}

/* Makes the buffer of a copy that this part has. @return whether it is there */
static bool buffer_make(struct part *part, struct kept_copy *copy)
{
	struct device_memory *memory = part->device->memory;
	size_t bytes = copy->data->bytes;
	cl_mem buffer;
	cl_int error;

	if (copy->buffer)
		return true;
	if (!has_room(part, bytes) &&
	    (!kernel_kept_drop(number_of(part)) || !has_room(part, bytes)))
		return false;
	/* Another kernel may do something else with it. */
	buffer = kernel_memory_create(memory->context, &copy->data->image, bytes, CL_MEM_READ_WRITE,
	                              &error);
	if (error)
		return false;
	starpu_memory_allocate(memory->node, bytes, STARPU_MEMORY_OVERFLOW);
	starpu_pthread_mutex_lock(&mutex);
	copy->buffer = buffer;
	copy->node = memory->node;
	copy->device = starpu_worker_get_devid(part->device->worker);
	bytes_on[number_of(part)] += bytes;
	starpu_pthread_mutex_unlock(&mutex);
	return true;
}

struct kept_copy *kernel_kept_take(struct part *part, unsigned a)
{
	const struct heddle_kernel_request *request = part->request;
	struct kept_copy *copy = NULL;

	if (part->dry || !request->kept[a] || request->method == SPLIT_PUBLISHED)
		return NULL;
	starpu_pthread_mutex_lock(&mutex);
	if (is_current(request, a) && !request->kept[a]->copies[number_of(part)].busy) {
		copy = &request->kept[a]->copies[number_of(part)];
		copy->busy = true;
	}
	starpu_pthread_mutex_unlock(&mutex);
	if (!copy || buffer_make(part, copy))
		return copy;
	starpu_pthread_mutex_lock(&mutex);
	copy->busy = false;
	starpu_pthread_mutex_unlock(&mutex);
	return NULL;
}

cl_mem kernel_kept_buffer(const struct kept_copy *copy)
{
	return copy->buffer;
}

/* What another device alone has main memory lacks, and who gets main memory's does not hold it. The
 * mutex is held. */
static void others_remove(struct kept_copy *copy)
{
	for (unsigned d = 0; d < SPLIT_MAXDEVICES; d++) {
		const struct kept_copy *other = &copy->data->copies[d];

		for (size_t i = 0; i < other->only.n && other != copy; i++)
			kernel_spans_remove(&copy->held, other->only.all[i].first,
			                    other->only.all[i].end);
	}
}

/* It counts as held before it is sent: what another device writes meanwhile is taken off again
 * when its results are in main memory, or stay. Those that stay by now are left out: a part gets
 * what it may read, as far as Heddle knows, from main memory, though another one writes it. */
unsigned kernel_kept_missing(struct kept_copy *copy, const struct kernel_layout *layout,
                             struct kernel_span *missing)
{
	unsigned n;

	starpu_pthread_mutex_lock(&mutex);
	if (layout->by_rows)
		n = kernel_spans_held_window(&copy->held, layout) < layout->bytes;
	else
		n = kernel_spans_missing(&copy->held, layout->first, layout->first + layout->bytes,
		                         KEPT_PIECES, missing);
	kernel_spans_add_window(&copy->held, layout);
	others_remove(copy);
	starpu_pthread_mutex_unlock(&mutex);
	return n;
}

bool kernel_kept_stay(struct part *part, unsigned a)
{
	const struct heddle_kernel_request *request = part->request;
	const struct index_window *written = &part->device->memory->written[a];
	struct kept_copy *copy = part->device->memory->kept[a];
	bool stays;

	if (!copy || !(part->staying >> a & 1) || !written->dense || written->pitch)
		return false;
	starpu_pthread_mutex_lock(&mutex);
	stays = is_current(request, a) && copy->only.n < ONLY_MOST &&
	        kernel_spans_reserve(&copy->only, ONLY_ROOM);
	starpu_pthread_mutex_unlock(&mutex);
	part->stays |= (uint64_t)stays << a;
	return stays;
}

/* What was certainly written is in the copy that the part used, and nowhere else or in main memory,
 * too. What was perhaps written is known of no device. The mutex is held. */
static void written_note(struct kept_data *data, struct kept_copy *used,
                         const struct index_window *written, bool stays)
{
	for (unsigned d = 0; d < SPLIT_MAXDEVICES; d++) {
		struct kept_copy *copy = &data->copies[d];

		kernel_spans_written(&copy->held, written, copy == used && written->dense);
		/* Other windows went home before. */
		if (written->dense && !written->pitch)
			kernel_spans_remove(&copy->only, written->first, written->end);
	}
	if (stays)
		kernel_spans_add(&used->only, written->first, written->end);
}

/* A part has failed. What only devices have is still there, but for what it may have changed.
 * @return false: something is lost that it read. The mutex is held. */
static bool failed_note(struct part *part, unsigned a, struct kept_copy *copy,
                        const struct index_window *written)
{
	struct kept_data *data = part->request->kept[a];
	bool lost = false;

	if (!is_away(data)) {
		data_forget(data);
		return true;
	}
	if (!copy)
		return true;
	if (part->launched && !index_window_empty(written)) {
		lost = part->rereads >> a & 1 &&
		       kernel_spans_held(&copy->only, written->first, written->end);
		kernel_spans_remove(&copy->only, written->first, written->end);
	}
	kernel_spans_clear(&copy->held);
	for (size_t i = 0; i < copy->only.n; i++)
		kernel_spans_add(&copy->held, copy->only.all[i].first, copy->only.all[i].end);
	return !lost;
}

/* Brings home what stayed for a launch that does not come. What this launch writes waits for its
 * end: there may be older results in the copy, in place of which another part brings its own. */
static int stayed_home(struct part *part, unsigned a, struct kept_copy *copy)
{
	struct heddle_kernel_request *request = part->request;
	const struct kept_data *data = request->kept[a];
	const struct kernel_span all_of_it = {0, data->bytes};

	if (!data->handle || request->given.arguments[a].mode != STARPU_R ||
	    is_followed(request, data))
		return 0;
	return copy_home(copy, all_of_it, &request->fetched[number_of(part)]);
}

/* @return 0; after a message -ENODATA: something is lost; -EIO: it cannot be fetched */
static int copy_return(struct part *part, unsigned a, struct kept_copy *copy,
                       const struct index_window *written, int status)
{
	struct heddle_kernel_request *request = part->request;
	struct kept_data *data = request->kept[a];
	bool stays = part->stays >> a & 1;
	int lost = 0;

	starpu_pthread_mutex_lock(&mutex);
	if (status && !failed_note(part, a, copy, written))
		lost = heddle_refuse(-ENODATA,
		                     "kernel %s: argument %u: what earlier launches wrote is lost "
		                     "with the device that has failed",
		                     request->kernel->name, a + 1);
	if (!status && !index_window_empty(written))
		written_note(data, is_current(request, a) || stays ? copy : NULL, written, stays);
	starpu_pthread_mutex_unlock(&mutex);
	if (!copy)
		return lost;
	if (!status)
		lost = stayed_home(part, a, copy);
	starpu_pthread_mutex_lock(&mutex);
	if (scribbles(request, a))
		copy_forget(copy);
	copy->busy = false;
	starpu_pthread_mutex_unlock(&mutex);
	return lost;
}

int kernel_kept_return(struct part *part, const struct index_window *written, int status)
{
	struct heddle_kernel_request *request = part->request;
	struct kept_copy **copies = part->device->memory->kept;
	int lost = 0;

	for (unsigned a = 0; a < request->given.narguments; a++) {
		struct kept_copy *copy = copies[a];
		int one;

		copies[a] = NULL;
		if (!request->kept[a] || part->dry)
			continue;
		one = copy_return(part, a, copy, &written[a], status);
		lost = lost == -ENODATA || !one ? lost : one;
	}
	if (lost)
		__atomic_store_n(&request->barred, ~0U, __ATOMIC_RELAXED);
	return lost ? lost : status;
}

int kernel_kept_end(struct heddle_kernel_request *request)
{
	int status = 0;

	for (unsigned a = 0; a < request->given.narguments; a++) {
		struct kept_data *data = request->kept[a];
		bool away;

		if (!data || !data->handle)
			continue;
		starpu_pthread_mutex_lock(&mutex);
		away = is_away(data);
		starpu_pthread_mutex_unlock(&mutex);
		if (away && !(may_leave(request, a) && is_followed(request, data)) &&
		    argument_home(request, a))
			status = -EIO;
	}
	/* What it leaves waits for a launch that counts as well. */
	starpu_pthread_mutex_lock(&mutex);
	writers_leave(request);
	starpu_pthread_mutex_unlock(&mutex);
	return status;
}

/* ---- all ---- */

/* What launches have left on devices does not count there. */
void kernel_kept_changed(const void *memory, size_t bytes)
{
	const unsigned char *scattered = NULL;
	size_t scattered_bytes = 0;

	starpu_pthread_mutex_lock(&mutex);
	for (struct kept_data *data = all; data; data = data->next) {
		struct kernel_span piece = piece_of(data, memory, bytes);

		if (piece.first >= piece.end)
			continue;
		for (unsigned d = 0; d < SPLIT_MAXDEVICES; d++) {
			kernel_spans_remove(&data->copies[d].only, piece.first, piece.end);
			kernel_spans_remove(&data->copies[d].held, piece.first, piece.end);
		}
		if (is_scattered(data)) {
			scattered = data->host;
			scattered_bytes = data->bytes;
		}
	}
	starpu_pthread_mutex_unlock(&mutex);
	/* The data may be gone by now. Then nothing of it is away. */
	if (scattered)
		memory_home(scattered, scattered_bytes, NULL);
}

int kernel_kept_fetch(const void *memory, size_t bytes)
{
	return memory_home(memory, bytes, NULL);
}

bool kernel_kept_drop(unsigned device)
{
	bool freed = false;

	starpu_pthread_mutex_lock(&mutex);
	for (struct kept_data *data = all; data; data = data->next) {
		struct kept_copy *copy = &data->copies[device];

		if (copy->busy || copy->fetching || !copy->buffer || is_away(data))
			continue;
		copy_free(copy);
		freed = true;
	}
	starpu_pthread_mutex_unlock(&mutex);
	return freed;
}

void kernel_kept_free(void)
{
	for (struct kept_data *data = all; data; data = data->next)
		memory_home(data->host, data->bytes, NULL);
	while (all) {
		struct kept_data *next = all->next;

		data_free(all);
		all = next;
	}
	__atomic_store_n(&any, false, __ATOMIC_RELEASE);
}

#endif
