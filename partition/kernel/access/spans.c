/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "partition/kernel/access/spans.h"

void kernel_spans_clear(struct kernel_spans *spans)
{
	free(spans->all);
	*spans = (struct kernel_spans){0};
}

/* The first span that ends behind `at`, or at it where `touching`. */
static size_t find(const struct kernel_spans *spans, size_t at, bool touching)
{
	size_t low = 0, high = spans->n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (spans->all[middle].end > at || (touching && spans->all[middle].end == at))
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

bool kernel_spans_reserve(struct kernel_spans *spans, size_t room)
{
	struct kernel_span *more;

	if (spans->room >= room)
		return true;
	more = realloc(spans->all, room * sizeof(*more));
	if (!more)
		return false;
	spans->all = more;
	spans->room = room;
	return true;
}

/* Replaces `n` spans from the one at `at` on by `by` others, of which there is memory for.
 * @return false: there is not */
static bool replace(struct kernel_spans *spans, size_t at, size_t n, const struct kernel_span *with,
                    size_t by)
{
	size_t all = spans->n - n + by;

	if (all > KERNEL_SPANS_MOST)
		return false;
	if (all > spans->room && !kernel_spans_reserve(spans, all + all / 2 + 4))
		return false;
	if (spans->n > at + n)
		memmove(spans->all + at + by, spans->all + at + n,
		        (spans->n - at - n) * sizeof(*spans->all));
	for (size_t i = 0; i < by; i++)
		spans->all[at + i] = with[i];
	spans->n = all;
	return true;
}

void kernel_spans_add(struct kernel_spans *spans, size_t first, size_t end)
{
	struct kernel_span both = {first, end};
	size_t at = find(spans, first, true), n = 0;

	if (first >= end)
		return;
	for (; at + n < spans->n && spans->all[at + n].first <= end; n++) {
		const struct kernel_span *met = &spans->all[at + n];

		both.first = both.first < met->first ? both.first : met->first;
		both.end = both.end > met->end ? both.end : met->end;
	}
	replace(spans, at, n, &both, 1);
}

void kernel_spans_remove(struct kernel_spans *spans, size_t first, size_t end)
{
	size_t at = find(spans, first, false), n = 0, rests = 0;
	struct kernel_span rest[2];

	if (first >= end)
		return;
	for (; at + n < spans->n && spans->all[at + n].first < end; n++) {
		const struct kernel_span *met = &spans->all[at + n];

		if (met->first < first)
			rest[rests++] = (struct kernel_span){met->first, first};
		if (met->end > end)
			rest[rests++] = (struct kernel_span){end, met->end};
	}
	/* One of two rests is forgotten rather than keeping what is to be removed. */
	if (n && !replace(spans, at, n, rest, rests))
		replace(spans, at, n, rest, 1);
}

size_t kernel_spans_held(const struct kernel_spans *spans, size_t first, size_t end)
{
	size_t held = 0;

	for (size_t at = find(spans, first, false); at < spans->n && spans->all[at].first < end;
	     at++) {
		size_t from = spans->all[at].first > first ? spans->all[at].first : first;
		size_t to = spans->all[at].end < end ? spans->all[at].end : end;

		held += to - from;
	}
	return held;
}

unsigned kernel_spans_missing(const struct kernel_spans *spans, size_t first, size_t end,
                              unsigned most, struct kernel_span *missing)
{
	unsigned n = 0;

	for (size_t at = find(spans, first, false); first < end; at++) {
		bool any = at < spans->n && spans->all[at].first < end;
		size_t upto = any ? spans->all[at].first : end;

		if (upto > first && n == most)
			missing[n - 1].end = upto;
		else if (upto > first)
			missing[n++] = (struct kernel_span){first, upto};
		first = any ? spans->all[at].end : end;
	}
	return n;
}

/* ---- windows ---- */

void kernel_spans_add_window(struct kernel_spans *spans, const struct kernel_layout *layout)
{
	if (!layout->by_rows) {
		kernel_spans_add(spans, layout->first, layout->first + layout->bytes);
		return;
	}
	for (size_t row = 0; row < layout->rows; row++) {
		size_t first = layout->first + row * layout->pitch;

		kernel_spans_add(spans, first, first + layout->width);
	}
}

size_t kernel_spans_held_window(const struct kernel_spans *spans,
                                const struct kernel_layout *layout)
{
	size_t held = 0;

	if (!layout->by_rows)
		return kernel_spans_held(spans, layout->first, layout->first + layout->bytes);
	for (size_t row = 0; row < layout->rows; row++) {
		size_t first = layout->first + row * layout->pitch;

		held += kernel_spans_held(spans, first, first + layout->width);
	}
	return held;
}

void kernel_spans_written(struct kernel_spans *spans, const struct index_window *window, bool here)
{
	size_t rows = index_window_rows(window);
	size_t width = window->pitch ? window->width : window->end - window->first;

	if (rows > KERNEL_SPANS_MOST) {
		kernel_spans_remove(spans, window->first, window->end);
		return;
	}
	for (size_t row = 0; row < rows; row++) {
		size_t first = window->first + row * window->pitch;

		if (here)
			kernel_spans_add(spans, first, first + width);
		else
			kernel_spans_remove(spans, first, first + width);
	}
}
