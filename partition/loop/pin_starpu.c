/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Pinned main memory: a CUDA device copies from and to it several times faster,
 * and only from it while kernels run.
 */
#include "config.h"

#include "loop_private.h"
#include "private/message.h"
#include "private/variables.h"

#ifdef HEDDLE_USE_CUDA
#include <cuda_runtime_api.h>

static bool memory_is_pinned(uintptr_t pointer)
{
	struct cudaPointerAttributes attributes;

	if (cudaPointerGetAttributes(&attributes, (void *)pointer) != cudaSuccess) {
		cudaGetLastError();
		return false;
	}
	return attributes.type != cudaMemoryTypeUnregistered;
}

static void view_pin(struct view *view, unsigned index, const char *loop)
{
	if (starpu_memory_pin((void *)view->base, view_bytes(view))) {
		cudaGetLastError();
		heddle_warn("loop %s: the memory of handle %u cannot be pinned; copies to CUDA "
			    "devices will be slow (allocate it with heddle_malloc)",
			    loop, index);
		return;
	}
	view->pinned = true;
	heddle_explain("loop %s: pinned handle %u for the time of the loop", loop, index);
}

/* Said once: a program that cannot help it need not hear it for every loop. */
static void advise(const char *loop, unsigned index)
{
	static bool said;

	if (!__atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
		heddle_warn("loop %s: the memory of handle %u is not pinned; copies to CUDA devices "
			    "will be slow (allocate it with heddle_malloc, or see HEDDLE_PIN)",
			    loop, index);
}

void views_pin(struct view *views, unsigned nviews, const char *loop)
{
	bool wanted = heddle_variable_number(HEDDLE_VARIABLE_PIN);

	for (unsigned i = 0; i < nviews; i++) {
		struct view *view = &views[i];

		if (view->access.share == HEDDLE_REDUCE || !view->units ||
		    memory_is_pinned(view->base))
			continue;
		if (wanted)
			view_pin(view, i, loop);
		else
			advise(loop, i);
	}
}

void views_unpin(struct view *views, unsigned nviews)
{
	for (unsigned i = 0; i < nviews; i++)
		if (views[i].pinned)
			starpu_memory_unpin((void *)views[i].base, view_bytes(&views[i]));
}
#else
void views_pin(struct view *views, unsigned nviews, const char *loop)
{
}

void views_unpin(struct view *views, unsigned nviews)
{
}
#endif
