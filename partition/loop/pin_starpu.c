/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The arrays of a loop in pinned memory, for the time of the loop.
 */
#include "config.h"

#include "loop_private.h"
#include "private/message.h"
#include "private/pin_starpu.h"
#include "private/variables.h"

static void view_pin(struct view *view, unsigned index, const char *loop)
{
	view->pinned = !heddle_pin((void *)view->base, view_bytes(view));
	if (view->pinned)
		heddle_explain("loop %s: pinned handle %u for the time of the loop", loop, index);
	else
		heddle_warn("loop %s: the memory of handle %u cannot be pinned; copies to CUDA "
			    "devices will be slow (allocate it with heddle_malloc)",
			    loop, index);
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

		if (view->access.share == HEDDLE_REDUCE || !view->units)
			continue;
		/* Another loop may have pinned it, which must not unpin it under this one. */
		view->pinned = heddle_pin_hold((void *)view->base, view_bytes(view));
		if (view->pinned || heddle_is_pinned((void *)view->base))
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
			heddle_unpin((void *)views[i].base, view_bytes(&views[i]));
}
