/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Evaluating descriptions of kernels. index_text.c reads them.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "partition/kernel/affine.h"
#include "partition/kernel/guards.h"
#include "partition/kernel/index_ops.h"
#include "partition/kernel/index_private.h"

/* Of the largest type of OpenCL C, where nothing else is known. */
enum { INDEX_ALIGNMENT = 128 };

static struct affine value_of(const struct evaluation *e, const struct index_node *node, int i)
{
	return e->values[node->operands[i]];
}

/* ---- loops ---- */

/* Whether going on is decided by "less" (1) or "greater" (-1), and if equality counts. */
static bool direction(const struct index_node *node, int *sign, bool *equal, bool *is_unsigned)
{
	switch (node->predicate) {
	case INDEX_SLT:
		*sign = 1, *equal = false, *is_unsigned = false;
		return true;
	case INDEX_SLE:
		*sign = 1, *equal = true, *is_unsigned = false;
		return true;
	case INDEX_SGT:
		*sign = -1, *equal = false, *is_unsigned = false;
		return true;
	case INDEX_SGE:
		*sign = -1, *equal = true, *is_unsigned = false;
		return true;
	case INDEX_ULT:
		*sign = 1, *equal = false, *is_unsigned = true;
		return true;
	case INDEX_ULE:
		*sign = 1, *equal = true, *is_unsigned = true;
		return true;
	case INDEX_UGT:
		*sign = -1, *equal = false, *is_unsigned = true;
		return true;
	case INDEX_UGE:
		*sign = -1, *equal = true, *is_unsigned = true;
		return true;
	default:
		return false;
	}
}

/* How often at most a loop goes back, from 0, as a range. It counts from `initial` by
 * `step` and goes on while the count, before or after its step, compares to `bound`. */
static struct affine trips(const struct evaluation *e, const struct index_node *node)
{
	struct affine initial = value_of(e, node, 0), step = value_of(e, node, 1);
	struct affine bound = value_of(e, node, 2), distance;
	bool equal = false, is_unsigned = false;
	wide lo, hi, most, least, ignored, count;
	int64_t by;
	int sign;

	if (!affine_single(&step) || !step.c)
		return affine_unknown();
	sign = step.c > 0 ? 1 : -1;
	by = step.c * sign;
	distance = affine_scale(affine_add(bound, initial, -1), sign);
	if (!affine_bounds(&e->space, &distance, &lo, &hi))
		return affine_unknown();
	if (node->predicate == INDEX_NE) {
		/* Counting that steps over its bound has no end that is known. */
		if (lo < (node->after ? 1 : 0) || (by != 1 && (lo != hi || hi % by)))
			return affine_unknown();
	} else {
		int asked;

		if (!direction(node, &asked, &equal, &is_unsigned) || asked != sign)
			return affine_unknown();
	}
	if (is_unsigned && (!affine_bounds(&e->space, &initial, &least, &ignored) || least < 0 ||
	                    !affine_bounds(&e->space, &bound, &least, &ignored) || least < 0))
		return affine_unknown();
	/* Largest j with j * by < distance, or <=; that many times it goes back. */
	most = equal ? hi : hi - 1;
	count = most < 0 ? 0 : most / by + (node->after ? 0 : 1);
	return affine_range(0, count);
}

/* A value with what its items add made part of its interval. */
static struct affine items_fold(const struct evaluation *e, struct affine a)
{
	for (int i = 3; i < 6; i++) {
		wide first = (wide)a.k[i] * e->space.least[i];
		wide last = (wide)a.k[i] * e->space.most[i];
		struct affine term =
		    affine_range(first < last ? first : last, first < last ? last : first);

		a.k[i] = 0;
		a = affine_add(a, term, 1);
	}
	return a;
}

/* Whether a group's items, stepping on together from where each begins, come by every value
 * from the least one's beginning to the last for which the test goes on. */
static bool takes_all(const struct evaluation *e, const struct index_node *tested, wide values)
{
	struct affine initial = value_of(e, tested, 0), bound = value_of(e, tested, 2);
	struct affine step = value_of(e, tested, 1);
	struct guards_terms items = {.n = 0};
	wide width = 1, pitch, rows;

	if (!tested->after || initial.lo != initial.hi || bound.lo != bound.hi || bound.k[3] ||
	    bound.k[4] || bound.k[5])
		return false;
	for (int i = 3; i < 6; i++)
		items.terms[items.n++] =
		    (struct guards_term){initial.k[i], e->space.least[i], e->space.most[i]};
	return guards_rows(&items, &width, &pitch, &rows) && !pitch &&
	       (width >= step.c || width >= values);
}

/* A count that goes by its loop's own test, of one step upwards, lies between where it
 * starts and the last value for which the test goes on: items that start later do fewer
 * steps. */
static struct affine counter(const struct evaluation *e, const struct index_node *tested,
                             struct affine value)
{
	struct affine initial = items_fold(e, value_of(e, tested, 0));
	struct affine bound = items_fold(e, value_of(e, tested, 2)), between;
	struct affine step = value_of(e, tested, 1), folded = items_fold(e, value);
	bool equal, is_unsigned, all;
	wide lo, hi;
	int sign;

	if (!direction(tested, &sign, &equal, &is_unsigned) || sign < 0 || !initial.known ||
	    !bound.known || !folded.known || memcmp(initial.k, bound.k, sizeof(bound.k)))
		return value;
	lo = (wide)initial.c + initial.lo;
	hi = (wide)bound.c + bound.hi - (equal ? 0 : 1) + (tested->after ? 0 : step.c);
	/* Nobody starts behind the end, and whoever starts makes all steps to it. */
	all = (wide)initial.c + initial.hi <= hi && takes_all(e, tested, hi - lo + 1);
	if ((wide)initial.c + initial.hi > hi)
		hi = (wide)initial.c + initial.hi;
	between = affine_range(lo, hi);
	if (memcmp(folded.k, initial.k, sizeof(initial.k)) || !between.known ||
	    hi > (wide)folded.c + folded.hi || (!all && hi == (wide)folded.c + folded.hi))
		return value;
	memcpy(between.k, initial.k, sizeof(between.k));
	between.solid = all;
	return between;
}

static struct affine loop(const struct evaluation *e, const struct index_node *node)
{
	const struct index_node *trips = &e->kernel->nodes[node->operands[2]];
	struct affine initial = value_of(e, node, 0), step = value_of(e, node, 1);
	struct affine count = value_of(e, node, 2), value;

	if (!affine_single(&step))
		return affine_unknown();
	value = affine_add(initial, affine_scale(count, step.c), 1);
	if (value.known && trips->op == INDEX_TRIPS && step.c > 0 &&
	    trips->operands[0] == node->operands[0] && trips->operands[1] == node->operands[1])
		value = counter(e, trips, value);
	return affine_fit(&e->space, value, node->bits, false);
}

/* ---- bits ---- */

static bool power_of_two(int64_t number)
{
	return number > 0 && !(number & (number - 1));
}

static struct affine mask(const struct evaluation *e, struct affine a, struct affine b)
{
	wide lo, hi;

	if (affine_single(&a)) {
		struct affine swapped = a;

		a = b;
		b = swapped;
	}
	if (!affine_single(&b))
		return affine_unknown();
	if (!affine_bounds(&e->space, &a, &lo, &hi) || lo < 0)
		return b.c >= 0 ? affine_range(0, b.c) : affine_unknown();
	if (b.c >= 0 && power_of_two(b.c + 1))
		return affine_remainder(&e->space, a, b.c + 1);
	if (b.c < 0 && power_of_two(-b.c))
		return affine_add(a, affine_remainder(&e->space, a, -b.c), -1);
	return affine_range(0, b.c >= 0 && b.c < hi ? b.c : hi);
}

/* Or, and exclusive or, of what is not negative. */
static struct affine unite(const struct evaluation *e, struct affine a, struct affine b)
{
	wide al, ah, bl, bh, most = 1;

	if (affine_single(&a)) {
		struct affine swapped = a;

		a = b;
		b = swapped;
	}
	if (!affine_bounds(&e->space, &a, &al, &ah) || !affine_bounds(&e->space, &b, &bl, &bh) ||
	    al < 0 || bl < 0)
		return affine_unknown();
	while (most <= ah || most <= bh)
		most <<= 1;
	if (affine_single(&b)) {
		int64_t above = 1;
		struct affine low;

		while (above <= b.c)
			above <<= 1;
		low = affine_remainder(&e->space, a, above);
		if (affine_single(&low) && !low.c)
			return affine_add(a, b, 1); /* no bit in common */
	}
	return affine_range(0, most - 1);
}

static struct affine shift(const struct evaluation *e, const struct index_node *node)
{
	struct affine a = value_of(e, node, 0), b = value_of(e, node, 1);

	if (!affine_single(&b) || b.c < 0 || b.c > 60)
		return affine_unknown();
	return node->op == INDEX_SHL ? affine_scale(a, (int64_t)1 << b.c)
	                             : affine_divide(&e->space, a, (int64_t)1 << b.c);
}

static struct affine divided(const struct evaluation *e, const struct index_node *node)
{
	struct affine a = value_of(e, node, 0), b = value_of(e, node, 1);

	if (!affine_single(&b))
		return affine_unknown();
	return node->op == INDEX_DIV ? affine_divide(&e->space, a, b.c)
	                             : affine_remainder(&e->space, a, b.c);
}

/* Reading as unsigned. In an address (INDEX_IN_BOUNDS) a negative number of 32 bits would
 * be an offset of gigabytes, beyond the end of the buffers for which this is used. */
static struct affine extended(const struct evaluation *e, const struct index_node *node)
{
	struct affine a = value_of(e, node, 0);

	if (node->op == INDEX_IN_BOUNDS && a.known)
		return a;
	a = affine_fit(&e->space, a, node->bits, true);
	if (!a.known && node->bits <= 32)
		return affine_range(0, ((wide)1 << node->bits) - 1);
	return a;
}

/* ---- nodes ---- */

static struct affine number(unsigned which)
{
	struct affine a = affine_constant(0);

	a.k[which] = 1;
	return a;
}

static struct affine leaf(const struct evaluation *e, const struct index_node *node)
{
	const struct ndrange *range = e->launch->range;

	switch (node->op) {
	case INDEX_CONSTANT:
		return affine_constant(node->value);
	case INDEX_ARGUMENT:
		return affine_constant(e->launch->integers[node->value]);
	case INDEX_GROUP:
		return number(node->value);
	case INDEX_ITEM:
		return number(3 + node->value);
	case INDEX_GROUPS:
		return affine_constant(range->groups[node->value]);
	case INDEX_ITEMS:
		return affine_constant(range->local[node->value]);
	case INDEX_DIMENSIONS:
		return affine_constant(range->dimensions);
	case INDEX_RANGE:
		return affine_range(node->value, node->most);
	default:
		return affine_unknown();
	}
}

static struct affine operation(const struct evaluation *e, const struct index_node *node)
{
	struct affine a = node->operands[0] >= 0 ? value_of(e, node, 0) : affine_unknown();
	struct affine b = node->operands[1] >= 0 ? value_of(e, node, 1) : affine_unknown();

	switch (node->op) {
	case INDEX_ADD:
	case INDEX_SUB:
		return affine_add(a, b, node->op == INDEX_ADD ? 1 : -1);
	case INDEX_MUL:
		return affine_multiply(&e->space, a, b);
	case INDEX_SHL:
	case INDEX_SHR:
		return shift(e, node);
	case INDEX_DIV:
	case INDEX_REM:
		return divided(e, node);
	case INDEX_AND:
		return mask(e, a, b);
	case INDEX_OR:
	case INDEX_XOR:
		return unite(e, a, b);
	case INDEX_MIN:
	case INDEX_MAX:
		return affine_least(&e->space, a, b, node->op == INDEX_MIN ? 1 : -1);
	case INDEX_SELECT:
		return affine_join(&e->space, a, b);
	case INDEX_EITHER:
		return !a.known ? b : !b.known ? a : affine_least(&e->space, a, b, 1);
	case INDEX_FIT:
		return a;
	case INDEX_EXTEND:
	case INDEX_IN_BOUNDS:
		return extended(e, node);
	case INDEX_TRIPS:
		return trips(e, node);
	case INDEX_LOOP:
		return loop(e, node);
	default:
		return leaf(e, node);
	}
}

void index_evaluate(struct evaluation *e)
{
	for (unsigned i = 0; i < e->kernel->nnodes; i++) {
		const struct index_node *node = &e->kernel->nodes[i];
		struct affine value = operation(e, node);

		/* Arithmetic of some bits is right as long as nothing overflows. */
		if (node->bits && node->op != INDEX_EXTEND && node->op != INDEX_IN_BOUNDS &&
		    node->op != INDEX_TRIPS)
			value = affine_fit(&e->space, value, node->bits, false);
		e->values[i] = value;
	}
}

/* ---- windows ---- */

size_t index_window_rows(const struct index_window *window)
{
	if (!window->pitch)
		return window->end > window->first;
	return (window->end - window->first - window->width) / window->pitch + 1;
}

size_t index_window_bytes(const struct index_window *window)
{
	return window->pitch ? index_window_rows(window) * window->width
	                     : window->end - window->first;
}

static struct index_window whole(size_t bytes)
{
	return (struct index_window){0, bytes, 0, 0, false, false};
}

/* The window of an address, clipped to its buffer: what lies outside is not touched by
 * a kernel that is right.
 * @param exact whether each work-item of the box is known to get there */
static struct index_window access_window(const struct evaluation *e,
                                         const struct index_access *access,
                                         const struct guards_terms *terms, bool exact)
{
	size_t bytes = e->launch->bytes[access->argument];
	const struct affine *a = access->node >= 0 ? &e->values[access->node] : NULL;
	struct index_window window = {.known = true};
	wide lo, hi, width, pitch, rows;
	bool inside, regular;

	if (!a || bytes > UINT32_MAX || !a->known)
		return whole(bytes);
	guards_bounds(terms, &lo, &hi);
	hi += access->bytes;
	inside = lo >= 0 && hi <= (wide)bytes;
	width = access->bytes + terms->hi - terms->lo;
	regular = guards_rows(terms, &width, &pitch, &rows);
	window.dense = exact && inside && regular && terms->lo == terms->hi;
	if (hi <= 0 || lo >= (wide)bytes)
		return window; /* nothing */
	window.first = lo > 0 ? lo : 0;
	window.end = hi < (wide)bytes ? hi : bytes;
	if (regular && inside && pitch) {
		window.pitch = pitch;
		window.width = width;
	}
	return window;
}

/* ---- windows together ---- */

static bool is_empty(const struct index_window *window)
{
	return window->first == window->end;
}

/* Adds rows of the same width that begin in the same column and go on, or overlap.
 * @return whether they do */
static bool rows_append(struct index_window *to, const struct index_window *window)
{
	const struct index_window *low = to->first <= window->first ? to : window;
	const struct index_window *high = low == to ? window : to;
	size_t pitch = to->pitch ? to->pitch : window->pitch;
	size_t width = to->pitch ? to->width : window->width;
	struct index_window both = *low;

	/* A single row is one piece. */
	if ((low->pitch ? low->width : low->end - low->first) != width ||
	    (high->pitch ? high->width : high->end - high->first) != width ||
	    (high->first - low->first) % pitch || high->first > low->end - width + pitch)
		return false;
	both.pitch = pitch;
	both.width = width;
	both.end = low->end > high->end ? low->end : high->end;
	both.known = to->known && window->known;
	both.dense = to->dense && window->dense;
	*to = both;
	return true;
}

/* Widens rows by what lies in the same rows. @return whether it does */
static bool rows_widen(struct index_window *to, const struct index_window *window)
{
	const struct index_window *low = to->first <= window->first ? to : window;
	const struct index_window *high = low == to ? window : to;
	size_t begin = high->first - low->first, width;
	struct index_window both = *low;

	if (low->pitch != high->pitch || index_window_rows(low) != index_window_rows(high) ||
	    begin + high->width > low->pitch)
		return false;
	width = begin + high->width > low->width ? begin + high->width : low->width;
	both.dense = (to->dense && window->dense && begin <= low->width) ||
	             (low->dense && width == low->width) || (high->dense && width == high->width);
	both.known = to->known && window->known;
	both.end += width - low->width;
	both.width = width;
	if (width == low->pitch)
		both.pitch = both.width = 0;
	*to = both;
	return true;
}

/* Both windows together; dense where one is that has all, or both are and meet. */
static void window_add(struct index_window *to, struct index_window window)
{
	struct index_window both = {.known = to->known && window.known};

	if (is_empty(&window))
		return;
	if (is_empty(to)) {
		*to = window;
		return;
	}
	if ((to->pitch && window.pitch && to->pitch == window.pitch && rows_widen(to, &window)) ||
	    ((to->pitch || window.pitch) &&
	     (!to->pitch || !window.pitch || to->pitch == window.pitch) &&
	     rows_append(to, &window)))
		return;
	both.first = to->first < window.first ? to->first : window.first;
	both.end = to->end > window.end ? to->end : window.end;
	/* Of rows the gaps between are not for sure. */
	both.dense = (!to->pitch && to->dense && to->first == both.first && to->end == both.end) ||
	             (!window.pitch && window.dense && window.first == both.first &&
	              window.end == both.end) ||
	             (!to->pitch && !window.pitch && to->dense && window.dense &&
	              window.first <= to->end && to->first <= window.end);
	*to = both;
}

void index_space(const struct ndrange *range, const struct ndrange_box *box,
                 struct affine_space *space)
{
	for (unsigned d = 0; d < 3; d++) {
		space->least[d] = box->first[d];
		space->most[d] = box->first[d] + box->n[d] - 1;
		space->least[3 + d] = 0;
		space->most[3 + d] = range->local[d] - 1;
	}
}

/* Evaluates for a part of the box, unless that is done. */
static void space_use(struct evaluation *e, const struct affine_space *space)
{
	if (!memcmp(&e->space, space, sizeof(*space)))
		return;
	e->space = *space;
	index_evaluate(e);
}

static bool same_guards(const struct index_access *a, const struct index_access *b)
{
	return a->nguards == b->nguards &&
	       !memcmp(a->guards, b->guards, a->nguards * sizeof(a->guards[0]));
}

/* The window of an access behind its guards; values are those behind them. */
static void access_add(const struct evaluation *e, const struct index_access *access,
                       const struct guards_space *behind, struct index_use *use)
{
	struct guards_terms terms = {.n = 0};
	struct index_window window;
	bool exact = access->always;

	if (access->node >= 0 && e->values[access->node].known)
		exact = guards_terms(&e->values[access->node], &e->space, behind, access->every,
		                     &terms) &&
		        exact;
	window = access_window(e, access, &terms, exact);
	if (access->read)
		window_add(&use->read, window);
	if (access->write)
		window_add(&use->write, window);
}

/* Adds the uses of one box. The accesses of a box come together first, since stores to
 * neighbouring elements may be dense only together. */
static void box_uses(struct evaluation *e, struct index_use *uses)
{
	const struct index_access *last = NULL;
	struct affine_space box = e->space;
	struct guards_space behind;
	bool passed = true;

	index_evaluate(e);
	for (unsigned i = 0; i < e->kernel->naccesses; i++) {
		const struct index_access *access = &e->kernel->accesses[i];

		if (!last || !same_guards(access, last)) {
			space_use(e, &box);
			passed = guards_apply(e->kernel, access, e->values, &box, &behind);
			/* What loops and divisions give may be less behind them. */
			if (passed)
				space_use(e, &behind.space);
			last = access;
		}
		if (passed)
			access_add(e, access, &behind, &uses[access->argument]);
	}
}

int index_uses(const struct index_kernel *kernel, const struct index_launch *launch, size_t from,
               size_t n, struct index_use *uses)
{
	struct ndrange_box boxes[NDRANGE_MAXBOXES];
	unsigned nboxes = ndrange_boxes(launch->range, from, n, boxes);
	struct evaluation e = {.kernel = kernel, .launch = launch};
	size_t size = (kernel->narguments + 1) * sizeof(*uses);
	struct index_use *box = malloc(size);

	e.values = calloc(kernel->nnodes + 1, sizeof(*e.values));
	memset(uses, 0, kernel->narguments * sizeof(*uses));
	for (unsigned b = 0; box && e.values && b < nboxes; b++) {
		memset(box, 0, size);
		index_space(launch->range, &boxes[b], &e.space);
		box_uses(&e, box);
		for (unsigned a = 0; a < kernel->narguments; a++) {
			window_add(&uses[a].read, box[a].read);
			window_add(&uses[a].write, box[a].write);
		}
	}
	free(e.values);
	free(box);
	return e.values && box ? 0 : -ENOMEM;
}

size_t index_alignment(const struct index_kernel *kernel, unsigned argument)
{
	size_t alignment = 1;

	for (unsigned i = 0; i < kernel->naccesses; i++) {
		const struct index_access *access = &kernel->accesses[i];

		if (access->argument != (int)argument)
			continue;
		if (access->alignment > alignment)
			alignment = access->alignment;
		if (access->node < 0)
			alignment = INDEX_ALIGNMENT;
	}
	return alignment;
}

/* ---- classes ---- */

static const char *const class_names[] = {"UNUSED", "CONTIGUOUS", "SLAB", "HALO",
                                          "RECT",   "BROADCAST",  "WHOLE"};

const char *index_class_name(enum index_class class)
{
	return (unsigned)class < sizeof(class_names) / sizeof(class_names[0]) ? class_names[class]
	                                                                      : NULL;
}

static bool same(const struct index_window *a, const struct index_window *b)
{
	return a->first == b->first && a->end == b->end;
}

/* Bytes in both windows. */
static size_t overlap(const struct index_window *a, const struct index_window *b)
{
	size_t first = a->first > b->first ? a->first : b->first;
	size_t end = a->end < b->end ? a->end : b->end;

	return first < end ? end - first : 0;
}

/* Samples of ranges of groups: everything, the first and the last group, and what lies
 * left and right of a cut after the first group, and after the first row (or plane). */
enum { ALL, FIRST, LAST, ROW, AFTER_FIRST, AFTER_ROW, NSAMPLES };

static enum index_class class_of(const struct index_window *windows, bool rows)
{
	size_t at_row = overlap(&windows[ROW], &windows[AFTER_ROW]);

	if (windows[ALL].first == windows[ALL].end)
		return INDEX_UNUSED;
	if (!windows[ALL].known)
		return INDEX_WHOLE;
	if (same(&windows[FIRST], &windows[ALL]) && same(&windows[LAST], &windows[ALL]))
		return INDEX_BROADCAST;
	if (!at_row && !overlap(&windows[FIRST], &windows[AFTER_FIRST]))
		return INDEX_CONTIGUOUS;
	if (!at_row && rows)
		return INDEX_SLAB;
	return 2 * at_row <= windows[ROW].end - windows[ROW].first ? INDEX_HALO : INDEX_RECT;
}

int index_classes(const struct index_kernel *kernel, const struct index_launch *launch,
                  unsigned argument, enum index_class *read, enum index_class *write)
{
	const struct ndrange *range = launch->range;
	size_t total = ndrange_groups(range), row = range->groups[0];
	struct index_use *uses = calloc(kernel->narguments + 1, sizeof(*uses));
	struct index_window reads[NSAMPLES], writes[NSAMPLES];
	bool rows;
	int error = uses ? 0 : -ENOMEM;

	if (range->groups[2] > 1 || row == 1)
		row *= range->groups[1];
	rows = row > 1 && row < total;
	row = rows ? row : 1;
	const size_t from[NSAMPLES] = {0, 0, total - 1, 0, 1, row};
	const size_t n[NSAMPLES] = {total, 1, 1, row, total - 1, total - row};

	for (int i = 0; !error && i < NSAMPLES; i++) {
		error = index_uses(kernel, launch, from[i], n[i], uses);
		reads[i] = uses[argument].read;
		writes[i] = uses[argument].write;
	}
	free(uses);
	if (error)
		return error;
	*read = class_of(reads, rows);
	*write = class_of(writes, rows);
	return 0;
}
