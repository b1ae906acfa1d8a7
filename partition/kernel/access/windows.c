/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <string.h>

#include "partition/kernel/access/windows.h"

/* Bytes compared at once; memcmp() is as fast as memory on so many. */
enum { COMPARED = 64 };

static size_t bytes_merge(unsigned char *into, const unsigned char *original,
                          const unsigned char *partial, size_t bytes)
{
	size_t changed = 0;

	for (size_t i = 0; i < bytes; i++)
		if (partial[i] != original[i]) {
			into[i] = partial[i];
			changed++;
		}
	return changed;
}

size_t kernel_merge_differences(void *into, const void *original, const void *partial, size_t bytes)
{
	unsigned char *to = into;
	const unsigned char *before = original, *after = partial;
	size_t changed = 0;

	for (size_t at = 0; at < bytes; at += COMPARED) {
		size_t n = bytes - at < COMPARED ? bytes - at : COMPARED;

		if (memcmp(before + at, after + at, n))
			changed += bytes_merge(to + at, before + at, after + at, n);
	}
	return changed;
}

/* Bytes that cross in the time that beginning a row costs: rows with smaller gaps between
 * them cross in one piece. */
enum { ROW_COST = 256 };

struct kernel_layout kernel_layout(const struct index_window *window)
{
	size_t span = window->end - window->first, rows = index_window_rows(window);
	struct kernel_layout layout = {window->first, span, !!span, span, span, span, false};

	if (!window->pitch)
		return layout;
	layout.width = window->width;
	layout.rows = rows;
	layout.pitch = layout.stride = window->pitch;
	/* Rows that go on in the next line of a rectangle of that pitch are no rectangle. */
	if (window->pitch - window->width < ROW_COST ||
	    window->first % window->pitch + window->width > window->pitch)
		return layout;
	layout.by_rows = true;
	layout.stride = window->width;
	layout.bytes = rows * window->width;
	return layout;
}

bool kernel_layout_same(const struct kernel_layout *a, const struct kernel_layout *b)
{
	return a->first == b->first && a->bytes == b->bytes && a->width == b->width &&
	       a->pitch == b->pitch && a->rows == b->rows;
}

void kernel_merge_pack(void *copy, const void *buffer, const struct kernel_layout *layout)
{
	const unsigned char *from = (const unsigned char *)buffer + layout->first;

	if (!layout->by_rows) {
		memcpy(copy, from, layout->bytes);
		return;
	}
	for (size_t row = 0; row < layout->rows; row++)
		memcpy((unsigned char *)copy + row * layout->stride, from + row * layout->pitch,
		       layout->width);
}

size_t kernel_merge_rows(void *buffer, const void *before, const void *copy,
                         const struct kernel_layout *layout)
{
	unsigned char *to = (unsigned char *)buffer + layout->first;
	size_t taken = 0;

	for (size_t row = 0; row < layout->rows; row++) {
		size_t at = row * layout->stride;
		const unsigned char *from = (const unsigned char *)copy + at;

		if (before) {
			taken += kernel_merge_differences(to + row * layout->pitch,
			                                  (const unsigned char *)before + at, from,
			                                  layout->width);
		} else {
			memcpy(to + row * layout->pitch, from, layout->width);
			taken += layout->width;
		}
	}
	return taken;
}

/* ---- windows together ---- */

bool kernel_windows_apart(const struct index_window *a, const struct index_window *b)
{
	size_t left, right;

	if (a->first == a->end || b->first == b->end || a->end <= b->first || b->end <= a->first)
		return true;
	if (!a->pitch || a->pitch != b->pitch)
		return false;
	left = a->first % a->pitch;
	right = b->first % b->pitch;
	return left + a->width <= a->pitch && right + b->width <= b->pitch &&
	       (left + a->width <= right || right + b->width <= left);
}

/* ---- gaps between rows ---- */

static bool lies_within(const struct index_window *inner, const struct index_window *outer)
{
	return outer->first <= inner->first && outer->end >= inner->end;
}

/* Whether two windows have no byte in common, if both are in one piece. */
static bool spans_apart(const struct index_window *a, const struct index_window *b)
{
	return index_window_empty(a) || index_window_empty(b) || a->end <= b->first ||
	       b->end <= a->first;
}

bool kernel_gaps_sent(const struct index_use *mine)
{
	bool has_gaps = mine->write.pitch && mine->write.dense;

	return has_gaps && !mine->read.pitch && lies_within(&mine->write, &mine->read) &&
	       !kernel_layout(&mine->write).by_rows;
}

bool kernel_gaps_unwritten(const struct index_use *mine, const struct index_use *all)
{
	const struct index_window *rows = &mine->write;

	return all->write.pitch == rows->pitch && all->write.width == rows->width &&
	       (rows->first - all->write.first) % rows->pitch == 0;
}

bool kernel_gaps_unshared(const struct index_use *mine, const struct index_use *theirs)
{
	return spans_apart(&mine->write, &theirs->read) && spans_apart(&mine->read, &theirs->write);
}

/* ---- what chunks send and fetch ---- */

bool kernel_chunk_send(const struct index_window *read, struct kernel_span *sent,
                       struct kernel_span *send)
{
	*send = (struct kernel_span){read->first, read->end};
	if (read->first == read->end)
		return true;
	if (sent->first == sent->end || read->first > sent->end) {
		*sent = *send;
		return true;
	}
	if (read->first < sent->first)
		return false;
	send->first = sent->end;
	if (send->end < send->first)
		send->end = send->first;
	sent->end = send->end;
	return true;
}

bool kernel_chunk_fetch(const struct index_use *use, struct kernel_span *fetch)
{
	*fetch = (struct kernel_span){use->write.first, use->write.end};
	return fetch->first == fetch->end ||
	       (use->write.dense && !use->write.pitch && use->read.first == use->read.end);
}
