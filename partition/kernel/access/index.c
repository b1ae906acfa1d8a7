/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The windows of a range of groups: those of its accesses, put together. index_text.c reads
 * descriptions, index_values.c computes addresses.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "partition/kernel/access/affine.h"
#include "partition/kernel/access/guards.h"
#include "partition/kernel/access/index_values.h"
#include "partition/kernel/access/windows.h"

/* Alignment of the largest type of OpenCL C, where nothing else is known. */
enum { INDEX_ALIGNMENT = 128 };

/* ---- windows ---- */

size_t index_window_rows(const struct index_window *window)
{
	if (!window->pitch)
		return window->end > window->first;
	return (window->end - window->first - window->width) / window->pitch + 1;
}

void index_window_scale(struct index_window *window, size_t bytes)
{
	window->first *= bytes;
	window->end *= bytes;
	window->pitch *= bytes;
	window->width *= bytes;
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

	if (!a || !a->known)
		return whole(bytes);
	guards_bounds(terms, &lo, &hi);
	if (lo + AFFINE_WRAP < (wide)bytes)
		return whole(bytes); /* the wrapped address may lie within */
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

/* Makes rows of two pieces of the same size with a gap between. @return whether they are such */
static bool rows_begin(struct index_window *to, const struct index_window *window)
{
	const struct index_window *low = to->first <= window->first ? to : window;
	const struct index_window *high = low == to ? window : to;
	size_t width = low->end - low->first;

	if (to->pitch || window->pitch || high->end - high->first != width ||
	    high->first <= low->end)
		return false;
	*to = (struct index_window){.first = low->first,
	                            .end = high->end,
	                            .pitch = high->first - low->first,
	                            .width = width,
	                            .known = to->known && window->known,
	                            .dense = to->dense && window->dense};
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

/* Extends a window by another one. The result is dense where one dense window covers all, or two
 * dense ones touch. */
static void window_add(struct index_window *to, struct index_window window)
{
	struct index_window both = {.known = to->known && window.known};

	if (index_window_empty(&window))
		return;
	if (index_window_empty(to)) {
		*to = window;
		return;
	}
	if ((to->pitch && window.pitch && to->pitch == window.pitch && rows_widen(to, &window)) ||
	    ((to->pitch || window.pitch) &&
	     (!to->pitch || !window.pitch || to->pitch == window.pitch) &&
	     rows_append(to, &window)) ||
	    rows_begin(to, &window))
		return;
	both.first = to->first < window.first ? to->first : window.first;
	both.end = to->end > window.end ? to->end : window.end;
	/* The bytes between rows are perhaps not touched. */
	both.dense = (!to->pitch && to->dense && to->first == both.first && to->end == both.end) ||
	             (!window.pitch && window.dense && window.first == both.first &&
	              window.end == both.end) ||
	             (!to->pitch && !window.pitch && to->dense && window.dense &&
	              window.first <= to->end && to->first <= window.end);
	*to = both;
}

static void space_of_box(const struct ndrange *range, const struct ndrange_box *box,
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

/* The window of an access in a box. */
struct piece {
	const struct index_access *access;
	int argument; /* whose it is */
	struct index_window window;
};

/* By arguments, then along the buffer: so pieces that touch are neighbours, and rows in order. */
static int pieces_compare(const void *a, const void *b)
{
	const struct piece *one = a, *other = b;

	if (one->argument != other->argument)
		return one->argument - other->argument;
	return (one->window.first > other->window.first) -
	       (one->window.first < other->window.first);
}

/* The window of an access behind its guards; values are those behind them. */
static void piece_make(const struct evaluation *e, const struct index_access *access,
                       const struct guards_space *behind, struct piece *piece)
{
	const int *same = e->launch->same;
	struct guards_terms terms = {.n = 0};
	bool exact = access->always;

	if (access->node >= 0 && e->values[access->node].known)
		exact = guards_terms(&e->values[access->node], &e->space, behind, access->every,
		                     &terms) &&
		        exact;
	*piece = (struct piece){access, same ? same[access->argument] : access->argument,
	                        access_window(e, access, &terms, exact)};
}

static void piece_add(const struct piece *piece, struct index_use *uses)
{
	struct index_use *use = &uses[piece->argument];

	if (piece->access->read)
		window_add(&use->read, piece->window);
	if (piece->access->write)
		window_add(&use->write, piece->window);
}

/* The guards that the evaluation's space is behind. */
struct guarded {
	struct affine_space box;
	const struct index_access *last; /* whose guards they are; NULL: none were applied */
	struct guards_space behind;
	bool passed;
};

/* Goes behind an access's guards. What loops and divisions give may be less there.
 * @return whether anybody passes them */
static bool guards_pass(struct evaluation *e, const struct index_access *access,
                        struct guarded *guarded)
{
	if (guarded->last && same_guards(access, guarded->last))
		return guarded->passed;
	space_use(e, &guarded->box);
	guarded->passed =
	    guards_apply(e->kernel, access, e->values, &guarded->box, &guarded->behind);
	if (guarded->passed)
		space_use(e, &guarded->behind.space);
	guarded->last = access;
	return guarded->passed;
}

/* The uses of one box, for which all is evaluated. The accesses of a box come together first, since
 * stores to neighbouring elements may be dense only together.
 * @param pieces room for all accesses */
static void box_uses(struct evaluation *e, struct piece *pieces, struct index_use *uses)
{
	unsigned npieces = 0;
	struct guarded guarded = {.box = e->space};

	for (unsigned i = 0; i < e->kernel->naccesses; i++) {
		const struct index_access *access = &e->kernel->accesses[i];

		if (!guards_pass(e, access, &guarded))
			continue;
		piece_make(e, access, &guarded.behind, &pieces[npieces]);
		if (pieces[npieces].window.known)
			npieces++;
		else
			piece_add(&pieces[npieces], uses); /* all of it, in any order */
	}
	qsort(pieces, npieces, sizeof(*pieces), pieces_compare);
	for (unsigned p = 0; p < npieces; p++)
		piece_add(&pieces[p], uses);
}

/* Layers of a box that are looked at one by one, if that evaluates so many nodes at most: that
 * takes some 3 ms. */
enum { MOSTLAYERS = 16, MOSTNODES = 1 << 15 };

/* Accesses with other guards than the one before are evaluated anew. */
static bool layers_cheap(const struct evaluation *e, size_t n)
{
	const struct index_access *accesses = e->kernel->accesses;
	size_t evaluations = 1;

	for (unsigned i = 1; i < e->kernel->naccesses; i++)
		evaluations += !same_guards(&accesses[i - 1], &accesses[i]);
	return n <= MOSTLAYERS && n * evaluations * e->kernel->nnodes <= MOSTNODES;
}

/* Whether groups of another number in a dimension may find other integers in a buffer. All of them
 * together are perhaps too many to be looked at. */
static bool layers_differ(const struct evaluation *e, unsigned dimension)
{
	for (unsigned n = 0; n < e->kernel->nnodes && e->looked; n++) {
		const struct index_node *node = &e->kernel->nodes[n];
		const struct affine *at;

		if (!index_is_looked(e, node))
			continue;
		at = &e->values[node->operands[0]];
		if (at->known && at->k[dimension] &&
		    !(e->values[n].known && affine_single(&e->values[n])))
			return true;
	}
	return false;
}

static void box_evaluate(struct evaluation *e, const struct ndrange_box *box)
{
	space_of_box(e->launch->range, box, &e->space);
	index_evaluate(e);
}

/* How thick the layers are in which a box is looked at: one group where these find other integers,
 * since each is known better than all together (images of a batch). Otherwise all.
 * @param d the dimension in which they lie on each other */
static size_t layer_find(const struct evaluation *e, const struct ndrange_box *box, unsigned d)
{
	return layers_differ(e, d) && layers_cheap(e, box->n[d]) ? 1 : box->n[d];
}

/* Adds the uses of one box to those of all.
 * @param room for those of a layer */
static void layers_uses(struct evaluation *e, const struct ndrange_box *box, struct piece *pieces,
                        struct index_use *room, struct index_use *uses)
{
	struct ndrange_box layer = *box;
	unsigned d = box->n[2] > 1 ? 2 : box->n[1] > 1 ? 1 : 0;
	size_t n;

	box_evaluate(e, box);
	n = layer_find(e, box, d);
	for (size_t i = 0; i < box->n[d]; i += n) {
		layer.first[d] = box->first[d] + i;
		layer.n[d] = n;
		memset(room, 0, e->kernel->narguments * sizeof(*room));
		if (n < box->n[d])
			box_evaluate(e, &layer);
		box_uses(e, pieces, room);
		for (unsigned a = 0; a < e->kernel->narguments; a++) {
			window_add(&uses[a].read, room[a].read);
			window_add(&uses[a].write, room[a].write);
		}
	}
}

/* @param[in,out] wanted of index_evaluation_begin() */
static int range_uses(const struct index_kernel *kernel, const struct index_launch *launch,
                      size_t from, size_t n, uint64_t *wanted, struct index_use *uses)
{
	struct ndrange_box boxes[NDRANGE_MAXBOXES];
	unsigned nboxes = ndrange_boxes(launch->range, from, n, boxes);
	struct evaluation e;
	size_t size = (kernel->narguments + 1) * sizeof(*uses);
	struct index_use *box = malloc(size);
	struct piece *pieces = malloc((kernel->naccesses + 1) * sizeof(*pieces));
	bool memory;

	memory = !index_evaluation_begin(kernel, launch, wanted, &e) && box && pieces;
	memset(uses, 0, kernel->narguments * sizeof(*uses));
	for (unsigned b = 0; memory && b < nboxes; b++)
		layers_uses(&e, &boxes[b], pieces, box, uses);
	index_evaluation_end(&e);
	free(pieces);
	free(box);
	return memory ? 0 : -ENOMEM;
}

/* What is asked of another range's use of a buffer. */
typedef bool gaps_question(const struct index_use *mine, const struct index_use *theirs);

struct gaps {
	const struct index_kernel *kernel;
	const struct index_launch *launch;
	const struct index_use *uses; /* of the range that may have gaps */
	struct index_use *others;     /* room for those of another one */
	uint64_t found;               /* arguments of which all answers so far are yes, as bits */
};

static uint64_t gaps_find(const struct index_use *uses, unsigned n)
{
	uint64_t found = 0;

	for (unsigned a = 0; a < n && a < 63; a++) /* bits that shifts reach */
		found |= (uint64_t)kernel_gaps_sent(&uses[a]) << a;
	return found;
}

/* Asks of groups `from` to `from + n - 1`. */
static int gaps_ask(struct gaps *gaps, size_t from, size_t n, gaps_question *question)
{
	int error;

	if (!gaps->found || !n)
		return 0;
	error = range_uses(gaps->kernel, gaps->launch, from, n, NULL, gaps->others);
	for (unsigned a = 0; gaps->found >> a && !error; a++)
		if (gaps->found >> a & 1 && !question(&gaps->uses[a], &gaps->others[a]))
			gaps->found &= ~((uint64_t)1 << a);
	return error;
}

/* Makes one piece of rows that need not be merged by rows (`v[i].xyz += ...`): what lies between
 * them is as after a write of it, since the device was sent it and nobody changes or wants it. */
static int gaps_fill(const struct index_kernel *kernel, const struct index_launch *launch,
                     size_t from, size_t n, struct index_use *uses)
{
	size_t total = ndrange_groups(launch->range), end = from + n;
	struct gaps gaps = {kernel, launch, uses, NULL, gaps_find(uses, kernel->narguments)};
	int error;

	if (!gaps.found)
		return 0;
	gaps.others = malloc(kernel->narguments * sizeof(*gaps.others));
	if (!gaps.others)
		return -ENOMEM;
	error = gaps_ask(&gaps, 0, total, kernel_gaps_unwritten);
	if (!error)
		error = gaps_ask(&gaps, 0, from, kernel_gaps_unshared);
	if (!error)
		error = gaps_ask(&gaps, end, total - end, kernel_gaps_unshared);
	for (unsigned a = 0; gaps.found >> a && !error; a++)
		if (gaps.found >> a & 1)
			uses[a].write.pitch = uses[a].write.width = 0;
	free(gaps.others);
	return error;
}

int index_uses(const struct index_kernel *kernel, const struct index_launch *launch, size_t from,
               size_t n, struct index_use *uses)
{
	int error = range_uses(kernel, launch, from, n, NULL, uses);

	return error ? error : gaps_fill(kernel, launch, from, n, uses);
}

uint64_t index_wants(const struct index_kernel *kernel, const struct index_launch *launch,
                     size_t from, size_t n)
{
	struct index_use *uses;
	uint64_t wanted = 0;
	bool any = false;

	for (unsigned a = 0; a < kernel->narguments && !any; a++)
		any = !(launch->contents && launch->contents[a]) &&
		      index_looks(kernel, launch->same, a);
	if (!any)
		return 0;
	uses = malloc((kernel->narguments + 1) * sizeof(*uses));
	if (uses && range_uses(kernel, launch, from, n, &wanted, uses))
		wanted = 0;
	free(uses);
	return wanted;
}

/* ---- outside of buffers ---- */

/* Whether an access leaves its buffer, if its least and greatest addresses are those of work-items
 * that get there for sure. */
static bool access_outside(const struct evaluation *e, const struct index_access *access,
                           const struct guards_space *behind, struct index_outside *outside)
{
	size_t bytes = e->launch->bytes[access->argument];
	struct guards_terms terms = {.n = 0};
	wide lo, hi;

	if (!e->values[access->node].known ||
	    !guards_terms(&e->values[access->node], &e->space, behind, access->every, &terms) ||
	    terms.lo != terms.hi)
		return false;
	guards_bounds(&terms, &lo, &hi);
	if (lo + AFFINE_WRAP < (wide)bytes || (lo >= 0 && hi + access->bytes <= (wide)bytes))
		return false;
	*outside = (struct index_outside){access->argument, access->write, lo < 0 ? lo : hi,
	                                  access->bytes};
	return true;
}

static bool box_outside(struct evaluation *e, struct index_outside *outside)
{
	struct guarded guarded = {.box = e->space};

	index_evaluate(e);
	for (unsigned i = 0; i < e->kernel->naccesses; i++) {
		const struct index_access *access = &e->kernel->accesses[i];

		if (access->always && access->node >= 0 &&
		    e->kernel->arguments[access->argument].kind == INDEX_BUFFER &&
		    guards_pass(e, access, &guarded) &&
		    access_outside(e, access, &guarded.behind, outside))
			return true;
	}
	return false;
}

int index_leaves(const struct index_kernel *kernel, const struct index_launch *launch,
                 struct index_outside *outside)
{
	struct ndrange_box boxes[NDRANGE_MAXBOXES];
	unsigned nboxes = ndrange_boxes(launch->range, 0, ndrange_groups(launch->range), boxes);
	struct evaluation e;
	bool found = false;
	int error = index_evaluation_begin(kernel, launch, NULL, &e);

	for (unsigned b = 0; b < nboxes && !found && !error; b++) {
		space_of_box(launch->range, &boxes[b], &e.space);
		found = box_outside(&e, outside);
	}
	index_evaluation_end(&e);
	return error ? error : found;
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

bool index_reads(const struct index_kernel *kernel, unsigned argument)
{
	for (unsigned i = 0; i < kernel->naccesses; i++)
		if (kernel->accesses[i].argument == (int)argument && kernel->accesses[i].read)
			return true;
	return false;
}

bool index_writes(const struct index_kernel *kernel, unsigned argument)
{
	return kernel->arguments[argument].written;
}

bool index_looks(const struct index_kernel *kernel, const int *same, unsigned argument)
{
	bool looks = kernel->arguments[argument].loaded;

	for (unsigned b = 0; b < kernel->narguments && looks; b++)
		looks = !kernel->arguments[b].written ||
		        (same ? same[b] != same[argument] : b != argument);
	return looks;
}

/* ---- classes: how the windows of different ranges lie to each other ---- */

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
