/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition/kernel/access/ndrange.h"
#include "support/message.h"

/* What fits into the offsets: see flat_prologue. */
enum { SHIFT = 15, MOST_1 = 1 << SHIFT, MOST_2 = 1 << 13 };

/* Work-items of a group whose size is chosen: enough for a GPU, and few enough for any device. */
enum { MOST_CHOSEN = 64 };

int ndrange_make(unsigned dimensions, const size_t *global, const size_t *local,
                 struct ndrange *range)
{
	struct ndrange made = {dimensions, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}};
	size_t items = 1;

	if (dimensions < 1 || dimensions > 3)
		return heddle_refuse(-EINVAL, "an NDRange of %u dimensions", dimensions);
	for (unsigned d = 0; d < dimensions; d++) {
		if (!global[d])
			return heddle_refuse(-EINVAL, "NDRange: no work-items in dimension %u", d);
		if (!local[d] || global[d] % local[d])
			return heddle_refuse(-EINVAL,
			                     "NDRange: %zu work-items in dimension %u are no "
			                     "multiple of the %zu of a group",
			                     global[d], d, local[d]);
		if (__builtin_mul_overflow(items, global[d], &items) || items > INT64_MAX)
			return heddle_refuse(-EINVAL, "NDRange: too many work-items to count");
		made.groups[d] = global[d] / local[d];
		made.local[d] = local[d];
	}
	*range = made;
	return 0;
}

int ndrange_shift(struct ndrange *range, const size_t *offset)
{
	for (unsigned d = 0; d < range->dimensions; d++) {
		size_t items = range->groups[d] * range->local[d];

		if (offset[d] > INT64_MAX - items)
			return heddle_refuse(-EINVAL,
			                     "NDRange: an offset of %zu in dimension %u is too "
			                     "large to count from",
			                     offset[d], d);
		range->offset[d] = offset[d];
	}
	return 0;
}

/* The largest divisor up to `most`. */
static size_t divisor(size_t of, size_t most)
{
	while (of % most)
		most--;
	return most;
}

void ndrange_local_choose(unsigned dimensions, const size_t *global, size_t *local)
{
	size_t left = MOST_CHOSEN;

	/* Two dimensions share them as 16 x 4: neighbours are along dimension 0. */
	for (unsigned d = 0; d < dimensions; d++) {
		size_t most = d + 1 < dimensions && left >= 4 ? left / 4 : left;

		local[d] = divisor(global[d], most);
		left /= local[d];
	}
}

size_t ndrange_groups(const struct ndrange *range)
{
	return range->groups[0] * range->groups[1] * range->groups[2];
}

unsigned ndrange_boxes(const struct ndrange *range, size_t from, size_t n,
                       struct ndrange_box boxes[NDRANGE_MAXBOXES])
{
	size_t row = range->groups[0], plane = row * range->groups[1], end = from + n;
	unsigned nboxes = 0;

	/* First up to the next row, then up to the next plane, then whole planes; then whole
	 * rows, and the rest of a row. */
	while (from < end) {
		size_t x = from % row, y = from / row % range->groups[1], z = from / plane;
		size_t left = end - from;
		struct ndrange_box box = {{x, y, z}, {row, range->groups[1], 1}};

		if (x || left < row) {
			box.n[0] = row - x < left ? row - x : left;
			box.n[1] = 1;
		} else if (y || left < plane) {
			box.n[1] =
			    left / row < range->groups[1] - y ? left / row : range->groups[1] - y;
		} else {
			box.n[2] = left / plane;
		}
		from += box.n[0] * box.n[1] * box.n[2];
		boxes[nboxes++] = box;
	}
	return nboxes;
}

enum ndrange_way ndrange_way(const struct ndrange *range)
{
	return range->groups[1] < MOST_1 && range->groups[2] < MOST_2 &&
	               ndrange_groups(range) <= INT32_MAX / range->local[0] &&
	               (range->dimensions > 1 || range->offset[0] <= INT32_MAX)
	           ? NDRANGE_FLAT
	           : NDRANGE_BOXES;
}

bool ndrange_cuttable(const struct ndrange *range)
{
	for (unsigned d = 0; d < 3; d++)
		if (range->groups[d] > INT32_MAX / range->local[d])
			return false;
	return true;
}

bool ndrange_offset_free(const struct ndrange *range, enum ndrange_way way)
{
	return way == NDRANGE_EXIT || way == NDRANGE_WHOLE ||
	       (way == NDRANGE_FLAT && range->dimensions == 1);
}

bool ndrange_offset_small(const struct ndrange *range)
{
	for (unsigned d = 0; d < 3; d++)
		if (range->offset[d] > INT32_MAX)
			return false;
	return true;
}

/* OpenCL C 1.0 and 1.1 have no `static`. Nor may they define __OPENCL_C_VERSION__. */
static const char static_prologue[] = "#if __OPENCL_C_VERSION__ >= 120\n"
                                      "#define HEDDLE_STATIC static inline\n"
                                      "#else\n"
                                      "#define HEDDLE_STATIC\n"
                                      "#endif\n";

/* The prologue reads the offsets from ids. PoCL is wrong about get_global_offset(): it compiles
 * variants of a kernel that assume it to be small. */
static const char flat_prologue[] = "HEDDLE_STATIC size_t heddle_flat(void)\n"
                                    "{\n"
                                    "	return get_global_id(0) - get_local_id(0) -\n"
                                    "	       get_group_id(0) * (get_local_size(0) - 1);\n"
                                    "}\n";

static const char row_prologue[] = "HEDDLE_STATIC size_t heddle_num_groups(uint d)\n"
                                   "{\n"
                                   "	return d == 0 ? get_global_id(1) - get_local_id(1) : 1;\n"
                                   "}\n"
                                   "HEDDLE_STATIC size_t heddle_group_id(uint d)\n"
                                   "{\n"
                                   "	return d == 0 ? heddle_flat() : 0;\n"
                                   "}\n"
                                   "HEDDLE_STATIC size_t heddle_global_offset(uint d)\n"
                                   "{\n"
                                   "	return d == 0 ? get_global_id(2) - get_local_id(2) : 0;\n"
                                   "}\n";

static const char rows_prologue[] =
    "HEDDLE_STATIC size_t heddle_num_groups(uint d)\n"
    "{\n"
    "	size_t packed = get_global_id(2) - get_local_id(2);\n"
    "	return d == 0 ? get_global_id(1) - get_local_id(1)\n"
    "	     : d == 1 ? packed & 32767 : d == 2 ? packed >> 15 : 1;\n"
    "}\n"
    "HEDDLE_STATIC size_t heddle_group_id(uint d)\n"
    "{\n"
    "	size_t row = heddle_flat() / heddle_num_groups(0);\n"
    "	return d == 0 ? heddle_flat() % heddle_num_groups(0)\n"
    "	     : d == 1 ? row % heddle_num_groups(1)\n"
    "	     : d == 2 ? row / heddle_num_groups(1) : 0;\n"
    "}\n";

static const char boxes_prologue[] =
    "HEDDLE_STATIC size_t heddle_num_groups(uint d)\n"
    "{\n"
    "	return d == 0 ? (size_t)HEDDLE_GROUPS_0 : d == 1 ? (size_t)HEDDLE_GROUPS_1\n"
    "	     : d == 2 ? (size_t)HEDDLE_GROUPS_2 : 1;\n"
    "}\n"
    "HEDDLE_STATIC size_t heddle_group_id(uint d)\n"
    "{\n"
    "	return get_global_id(d) / get_local_size(d);\n"
    "}\n";

static const char offset_prologue[] =
    "HEDDLE_STATIC size_t heddle_global_offset(uint d)\n"
    "{\n"
    "	return d == 0 ? (size_t)HEDDLE_OFFSET_0 : d == 1 ? (size_t)HEDDLE_OFFSET_1\n"
    "	     : d == 2 ? (size_t)HEDDLE_OFFSET_2 : 0;\n"
    "}\n";

static const char exit_prologue[] =
    "HEDDLE_STATIC int heddle_skips(ulong first, ulong last)\n"
    "{\n"
    "	size_t row = get_group_id(2) * get_num_groups(1) + get_group_id(1);\n"
    "	size_t flat = row * get_num_groups(0) + get_group_id(0);\n"
    "	return flat < first || flat > last;\n"
    "}\n"
    "#line 1\n";

static const char common_prologue[] =
    "HEDDLE_STATIC size_t heddle_global_id(uint d)\n"
    "{\n"
    "	return heddle_group_id(d) * get_local_size(d) + get_local_id(d) +\n"
    "	       heddle_global_offset(d);\n"
    "}\n"
    "HEDDLE_STATIC size_t heddle_global_size(uint d)\n"
    "{\n"
    "	return heddle_num_groups(d) * get_local_size(d);\n"
    "}\n" NDRANGE_ANSWERS "#line 1\n";

/* Answers questions about ids as for the whole NDRange. */
static void ids_print(const struct ndrange *range, enum ndrange_way way, FILE *out)
{
	fprintf(out, "#define HEDDLE_DIMENSIONS %u\n", range->dimensions);
	if (way == NDRANGE_BOXES)
		for (unsigned d = 0; d < 3; d++)
			fprintf(out, "#define HEDDLE_GROUPS_%u %zuUL\n", d, range->groups[d]);
	if (way == NDRANGE_FLAT)
		fputs(flat_prologue, out);
	if (ndrange_offset_free(range, way)) {
		fputs(row_prologue, out);
	} else {
		for (unsigned d = 0; d < 3; d++)
			fprintf(out, "#define HEDDLE_OFFSET_%u %zuUL\n", d, range->offset[d]);
		fputs(way == NDRANGE_FLAT ? rows_prologue : boxes_prologue, out);
		fputs(offset_prologue, out);
	}
	fputs(common_prologue, out);
}

bool ndrange_same_prologue(const struct ndrange *a, const struct ndrange *b, enum ndrange_way way)
{
	return way == NDRANGE_EXIT || way == NDRANGE_WHOLE ||
	       (a->dimensions == b->dimensions &&
	        (way == NDRANGE_FLAT || !memcmp(a->groups, b->groups, sizeof(a->groups))));
}

char *ndrange_prologue(const struct ndrange *range, enum ndrange_way way)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	if (way != NDRANGE_WHOLE)
		fputs(static_prologue, out);
	if (way == NDRANGE_EXIT)
		fputs(exit_prologue, out);
	else if (way != NDRANGE_WHOLE)
		ids_print(range, way, out);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

static struct ndrange_launch flat_launch(const struct ndrange *range, size_t from, size_t n)
{
	return (struct ndrange_launch){
	    3,
	    {from, range->groups[0],
	     ndrange_offset_free(range, NDRANGE_FLAT)
	         ? range->offset[0]
	         : range->groups[1] | range->groups[2] << SHIFT},
	    {n * range->local[0], range->local[1], range->local[2]},
	    {range->local[0], range->local[1], range->local[2]},
	};
}

static struct ndrange_launch full_launch(const struct ndrange *range)
{
	struct ndrange_launch launch = {.dimensions = range->dimensions};

	for (unsigned d = 0; d < 3; d++) {
		launch.offset[d] = range->offset[d];
		launch.global[d] = range->groups[d] * range->local[d];
		launch.local[d] = range->local[d];
	}
	return launch;
}

unsigned ndrange_launches(const struct ndrange *range, enum ndrange_way way, size_t from, size_t n,
                          struct ndrange_launch launches[NDRANGE_MAXBOXES])
{
	struct ndrange_box boxes[NDRANGE_MAXBOXES];
	unsigned nboxes;

	if (n && way == NDRANGE_FLAT) {
		launches[0] = flat_launch(range, from, n);
		return 1;
	}
	if (n && (way == NDRANGE_EXIT || way == NDRANGE_WHOLE)) {
		launches[0] = full_launch(range);
		return 1;
	}
	nboxes = ndrange_boxes(range, from, n, boxes);
	for (unsigned b = 0; b < nboxes; b++) {
		launches[b].dimensions = 3;
		for (unsigned d = 0; d < 3; d++) {
			launches[b].offset[d] = boxes[b].first[d] * range->local[d];
			launches[b].global[d] = boxes[b].n[d] * range->local[d];
			launches[b].local[d] = range->local[d];
		}
	}
	return nboxes;
}

/* ---- the early exit: finding the kernel in its source ---- */

/* Behind a comment, a text in quotes or a line of the preprocessor that begins here;
 * `at` itself where none does. */
static const char *skip_opaque(const char *at, bool line_begins)
{
	const char *end;

	if (at[0] == '/' && at[1] == '/')
		return at + strcspn(at, "\n");
	if (at[0] == '/' && at[1] == '*') {
		end = strstr(at + 2, "*/");
		return end ? end + 2 : at + strlen(at);
	}
	if (*at == '#' && line_begins) {
		while (*at && *at != '\n')
			at += at[0] == '\\' && at[1] ? 2 : 1;
		return at;
	}
	if (*at == '"' || *at == '\'') {
		char quote = *at++;

		while (*at && *at != quote)
			at += at[0] == '\\' && at[1] ? 2 : 1;
		return *at ? at + 1 : at;
	}
	return at;
}

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Behind blanks and what is opaque. */
static const char *skip_blanks(const char *at)
{
	const char *end;

	while (*at) {
		end = isspace((unsigned char)*at) ? at + 1 : skip_opaque(at, false);
		if (end == at)
			break;
		at = end;
	}
	return at;
}

/* The bracket that closes the one at `at`; NULL: none does. */
static const char *closing(const char *at)
{
	int depth = 0;

	while (*at) {
		const char *end = skip_opaque(at, false);

		if (end != at) {
			at = end;
			continue;
		}
		depth += (*at == '(') - (*at == ')');
		if (!depth)
			return at;
		at++;
	}
	return NULL;
}

/* The next place outside of functions where the name is followed by a bracket; NULL: none.
 * @param[in,out] depth of braces at `at` */
static const char *name_find(const char *at, const char *name, int *depth)
{
	size_t length = strlen(name);
	bool line_begins = true;

	while (*at) {
		const char *end = skip_opaque(at, line_begins);

		if (end != at) {
			at = end;
			continue;
		}
		if (in_word(*at)) {
			for (end = at; in_word(*end); end++)
				;
			if (!*depth && (size_t)(end - at) == length && !strncmp(at, name, length) &&
			    *skip_blanks(end) == '(')
				return at;
			at = end;
			line_begins = false;
			continue;
		}
		*depth += (*at == '{') - (*at == '}');
		line_begins = *at == '\n' || (line_begins && isspace((unsigned char)*at));
		at++;
	}
	return NULL;
}

/* ---- the early exit: changing the kernel ---- */

static void copy(FILE *out, const char *from, const char *end)
{
	fwrite(from, 1, end - from, out);
}

static bool no_parameters(const char *open, const char *close)
{
	const char *first = skip_blanks(open + 1);

	return first == close || (!strncmp(first, "void", 4) && skip_blanks(first + 4) == close);
}

/* A declaration or definition, from its name on.
 * @param[out] body whether it was a definition
 * @return where the text goes on; NULL: it makes no sense */
static const char *kernel_print(FILE *out, const char *at, bool *body)
{
	const char *open = strchr(at, '('), *close = closing(open), *brace;

	if (!close)
		return NULL;
	if (no_parameters(open, close)) {
		copy(out, at, open + 1);
		fputs("ulong heddle_first, ulong heddle_last", out);
	} else {
		copy(out, at, close);
		fputs(", ulong heddle_first, ulong heddle_last", out);
	}
	brace = skip_blanks(close + 1);
	*body = *brace == '{';
	if (!*body) {
		fputc(')', out);
		return close + 1;
	}
	copy(out, close, brace + 1);
	fputs(" if (heddle_skips(heddle_first, heddle_last)) return;", out);
	return brace + 1;
}

char *ndrange_exit_source(const char *source, const char *name)
{
	char *text = NULL;
	size_t size;
	FILE *out;
	unsigned bodies = 0;
	int depth = 0;
	const char *at = source, *found;

	/* PoCL 3.1 compiles a wait behind a barrier and an early return to code that crashes. */
	if (strstr(source, "wait_group_events"))
		return NULL;
	out = open_memstream(&text, &size);
	while (out && at && (found = name_find(at, name, &depth))) {
		bool body = false;

		copy(out, at, found);
		at = kernel_print(out, found, &body);
		bodies += body;
		depth += body;
	}
	if (at && out)
		fputs(at, out);
	if (!out || fclose(out) || !at || !bodies) {
		free(text);
		return NULL;
	}
	return text;
}
