/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#ifdef HEDDLE_USE_OPENCL

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "partition/kernel/launch/device_starpu.h"
#include "partition/kernel/launch/kept_starpu.h"
#include "support/message.h"

/* Data that is kept at most; what was used longest ago is freed first. */
enum { MOST = 64 };

struct kept_copy {
	struct kept_data *data;
	cl_mem buffer; /* NULL: none */
	unsigned node;
	bool busy; /* a part uses it */
	struct kernel_spans held;
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

void kernel_kept_submit_begin(const struct heddle_kernel_request *request, struct kept_own *before)
{
	*before = own;
	own.n = 0;
	for (unsigned a = 0; a < request->given.narguments; a++)
		if (request->kept[a] && request->kept[a]->handle &&
		    request->given.arguments[a].mode != STARPU_R)
			own.handles[own.n++] = request->given.arguments[a].handle;
}

void kernel_kept_submit_end(const struct kept_own *before)
{
	own = *before;
}

/* Each access of a launch's own is submitted once, before anything else is by this thread. */
static bool is_own(starpu_data_handle_t handle)
{
	for (unsigned i = 0; i < own.n; i++)
		if (own.handles[i] == handle) {
			own.handles[i] = own.handles[--own.n];
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

/* Frees what was used longest ago where there is too much. */
static void data_trim(void)
{
	struct kept_data **last = NULL, *data;
	unsigned n = 0;

	for (struct kept_data **at = &all; *at; at = &(*at)->next, n++)
		if (!(*at)->users)
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

void kernel_kept_note(struct heddle_kernel_request *request)
{
	uint32_t kept = 0;

	for (unsigned a = 0; a < request->given.narguments; a++)
		kept |= (uint32_t)is_kept(request, a) << a;
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
		if (data)
			data->users++;
		request->kept[a] = data;
	}
	/* Only now: two arguments may have been two names of the same memory. */
	for (unsigned a = 0; a < request->given.narguments; a++)
		if (request->kept[a])
			request->writes[a] = request->kept[a]->writes;
	starpu_pthread_mutex_unlock(&mutex);
}

/* A write that was submitted since this launch was, perhaps before it, makes its data unknown. */
void kernel_kept_begin(struct heddle_kernel_request *request)
{
	for (unsigned a = 0; a < request->given.narguments; a++) {
		struct kept_data *data = request->kept[a];

		if (!data)
			continue;
		starpu_pthread_mutex_lock(&mutex);
		if (data->writes != request->writes[a] || data->current != data->writes)
			data_forget(data);
		if (data->writes == request->writes[a])
			data->current = data->writes;
		starpu_pthread_mutex_unlock(&mutex);
	}
}

void kernel_kept_leave(struct heddle_kernel_request *request)
{
	for (unsigned a = 0; a < request->given.narguments; a++) {
		if (!request->kept[a])
			continue;
		starpu_pthread_mutex_lock(&mutex);
		request->kept[a]->users--;
		starpu_pthread_mutex_unlock(&mutex);
		request->kept[a] = NULL;
	}
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

/* It counts as held before it is sent: what another device writes meanwhile is taken off again
 * when its results are in main memory. */
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
	starpu_pthread_mutex_unlock(&mutex);
	return n;
}

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

/* What was certainly written is the same in main memory and in the copy that the part used. What
 * was perhaps written is known of no device. The mutex is held. */
static void written_note(struct kept_data *data, const struct kept_copy *used,
                         const struct index_window *written)
{
	for (unsigned d = 0; d < SPLIT_MAXDEVICES; d++)
		kernel_spans_written(&data->copies[d].held, written,
		                     &data->copies[d] == used && written->dense);
}

void kernel_kept_return(struct part *part, const struct index_window *written, int status)
{
	struct heddle_kernel_request *request = part->request;
	struct kept_copy **copies = part->device->memory->kept;

	for (unsigned a = 0; a < request->given.narguments; a++) {
		struct kept_data *data = request->kept[a];
		struct kept_copy *copy = copies[a];

		copies[a] = NULL;
		if (!data || part->dry)
			continue;
		starpu_pthread_mutex_lock(&mutex);
		if (status)
			data_forget(data);
		else if (!index_window_empty(&written[a]))
			written_note(data, is_current(request, a) ? copy : NULL, &written[a]);
		if (copy && scribbles(request, a))
			copy_forget(copy);
		if (copy)
			copy->busy = false;
		starpu_pthread_mutex_unlock(&mutex);
	}
}

/* ---- all ---- */

void kernel_kept_changed(const void *memory, size_t bytes)
{
	starpu_pthread_mutex_lock(&mutex);
	memory_written(NULL, memory, bytes);
	starpu_pthread_mutex_unlock(&mutex);
}

bool kernel_kept_drop(unsigned device)
{
	bool freed = false;

	starpu_pthread_mutex_lock(&mutex);
	for (struct kept_data *data = all; data; data = data->next) {
		struct kept_copy *copy = &data->copies[device];

		if (copy->busy || !copy->buffer)
			continue;
		copy_free(copy);
		freed = true;
	}
	starpu_pthread_mutex_unlock(&mutex);
	return freed;
}

void kernel_kept_free(void)
{
	while (all) {
		struct kept_data *next = all->next;

		data_free(all);
		all = next;
	}
	__atomic_store_n(&any, false, __ATOMIC_RELEASE);
}

#endif
