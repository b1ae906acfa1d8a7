/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "support/message.h"
#include "apps/common/file.h"
#include "apps/eclat/sets.h"

/* So many sets take some seconds, and others that are as long multiply them. */
#define MANY (1 << 20)

static int out_of_memory(void)
{
	return heddle_refuse(-ENOMEM, "no memory for the item sets: is --support too low?");
}

int sets_add(struct sets *sets, struct set set, uint32_t *number)
{
	if (sets->n == sets->room) {
		size_t more = sets->room ? 2 * sets->room : 4096;
		struct set *bigger = reallocarray(sets->sets, more, sizeof(*bigger));

		if (!bigger || sets->n >= SETS_NONE)
			return out_of_memory();
		sets->sets = bigger;
		sets->room = more;
	}
	*number = sets->n;
	sets->sets[sets->n++] = set;
	if (sets->n == MANY && !sets->warned) {
		heddle_warn("%d frequent sets so far: a larger --support has fewer, and so has "
		            "--longest",
		            MANY);
		sets->warned = true;
	}
	return 0;
}

double sets_of_items(size_t items, unsigned longest)
{
	double sum = 0, of_length = 1;

	for (size_t l = 1; l <= items && (!longest || l <= longest) && sum < SETS_NONE; l++) {
		of_length *= (double)(items - l + 1) / l;
		sum += of_length;
	}
	return sum;
}

int sets_bound(const struct baskets *baskets, uint32_t support, unsigned longest)
{
	size_t most = 0, at = 0;

	/* With a larger support nobody knows before. */
	if (support > 1)
		return 0;
	for (size_t t = 0; t < baskets->n; t++) {
		size_t items = baskets->starts[t + 1] - baskets->starts[t];

		at = items > most ? t : at;
		most = items > most ? items : most;
	}
	if (sets_of_items(most, longest) < SETS_NONE)
		return 0;
	return heddle_refuse(-E2BIG,
	                     "--support %u: transaction %zu alone has %zu items, and so %u "
	                     "frequent sets or more; a larger --support or a --longest has fewer",
	                     support, at + 1, most, SETS_NONE);
}

void sets_free(struct sets *sets)
{
	free(sets->sets);
	*sets = (struct sets){0};
}

unsigned sets_length(const struct sets *sets, uint32_t number)
{
	unsigned length = 0;

	for (; number != SETS_NONE; number = sets->sets[number].before)
		length++;
	return length;
}

/* ---- writing ---- */

struct row {
	unsigned n;
	uint32_t support;
	int32_t *numbers; /* ascending */
};

static int number_compare(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

static int row_compare(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	for (unsigned i = 0; i < x->n && i < y->n; i++)
		if (x->numbers[i] != y->numbers[i])
			return x->numbers[i] < y->numbers[i] ? -1 : 1;
	return (x->n > y->n) - (x->n < y->n);
}

static int row_make(const struct sets *sets, const struct frequent *frequent, uint32_t number,
                    struct row *row)
{
	unsigned i = 0;

	row->n = sets_length(sets, number);
	row->support = sets->sets[number].support;
	row->numbers = malloc(row->n * sizeof(*row->numbers));
	if (!row->numbers)
		return out_of_memory();
	for (; number != SETS_NONE; number = sets->sets[number].before)
		row->numbers[i++] = frequent->numbers[sets->sets[number].rank];
	qsort(row->numbers, row->n, sizeof(*row->numbers), number_compare);
	return 0;
}

static int rows_write(const char *path, const struct row *rows, size_t n)
{
	FILE *stream;
	int error = file_create(path, &stream);

	if (error)
		return error;
	for (size_t r = 0; r < n; r++) {
		for (unsigned i = 0; i < rows[r].n; i++)
			fprintf(stream, "%d ", rows[r].numbers[i]);
		fprintf(stream, "(%u)\n", rows[r].support);
	}
	return file_finish(path, stream);
}

int sets_write(const char *path, const struct sets *sets, const struct frequent *frequent)
{
	struct row *rows = calloc(sets->n + 1, sizeof(*rows));
	int error = rows ? 0 : out_of_memory();

	for (size_t s = 0; s < sets->n && !error; s++)
		error = row_make(sets, frequent, s, &rows[s]);
	if (!error) {
		qsort(rows, sets->n, sizeof(*rows), row_compare);
		error = rows_write(path, rows, sets->n);
	}
	for (size_t s = 0; s < sets->n && rows; s++)
		free(rows[s].numbers);
	free(rows);
	return error;
}

/* ---- a plain search ---- */

/* The transactions as lists of ascending ranks, and the sets in order. */
struct search {
	const struct sets *sets;
	uint32_t *order; /* of sets, by the set before and the last item */
	uint32_t support;
	unsigned longest, nitems;
	struct baskets lists;
	size_t right; /* sets found that are frequent */
	long errors;
};

static int set_compare(const void *a, const void *b, void *arg)
{
	const struct set *sets = arg, *x = &sets[*(const uint32_t *)a],
	                 *y = &sets[*(const uint32_t *)b];

	if (x->before != y->before)
		return x->before < y->before ? -1 : 1;
	return (x->rank > y->rank) - (x->rank < y->rank);
}

/* @return SETS_NONE: it is missing */
static uint32_t set_find(const struct search *search, uint32_t before, int32_t rank)
{
	size_t low = 0, high = search->sets->n;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct set *set = &search->sets->sets[search->order[middle]];

		if (set->before == before && set->rank == rank)
			return search->order[middle];
		if (set->before < before || (set->before == before && set->rank < rank))
			low = middle + 1;
		else
			high = middle;
	}
	return SETS_NONE;
}

/* Transaction t, as of some place on. */
struct rest {
	size_t at, end;
};

static int extend(struct search *search, uint32_t before, unsigned length, const struct rest *rests,
                  size_t n, size_t begin, size_t end);

/* A set was counted: is it known, and which larger ones are frequent? */
static int set_check(struct search *search, uint32_t before, unsigned length, int32_t rank,
                     uint32_t count, const struct rest *rests, size_t n)
{
	uint32_t set = set_find(search, before, rank);
	struct rest *with;
	size_t m = 0;
	int error = 0;

	if (set == SETS_NONE || search->sets->sets[set].support != count) {
		search->errors++;
		search->right += set != SETS_NONE;
		return 0;
	}
	search->right++;
	if (length == search->longest)
		return 0;
	with = malloc((count + 1) * sizeof(*with));
	if (!with)
		return -ENOMEM;
	for (size_t r = 0; r < n; r++)
		for (size_t i = rests[r].at; i < rests[r].end; i++)
			if (search->lists.items[i] == rank)
				with[m++] = (struct rest){i + 1, rests[r].end};
	error = extend(search, set, length + 1, with, m, 0, search->nitems);
	free(with);
	return error;
}

/* All sets with one item more, of a rank from begin to end - 1. */
static int extend(struct search *search, uint32_t before, unsigned length, const struct rest *rests,
                  size_t n, size_t begin, size_t end)
{
	uint32_t *counts = calloc(search->nitems + 1, sizeof(*counts));
	int error = counts ? 0 : -ENOMEM;

	for (size_t r = 0; r < n && !error; r++)
		for (size_t i = rests[r].at; i < rests[r].end; i++)
			counts[search->lists.items[i]]++;
	for (size_t rank = begin; rank < end && !error; rank++)
		if (counts[rank] >= search->support)
			error = set_check(search, before, length, rank, counts[rank], rests, n);
	free(counts);
	return error;
}

/* The ranks of each transaction's frequent items. */
static int lists_make(const struct baskets *baskets, const struct frequent *frequent,
                      struct baskets *lists)
{
	size_t n = 0;

	lists->starts = calloc(baskets->n + 1, sizeof(*lists->starts));
	lists->items = calloc(baskets->n ? baskets->starts[baskets->n] : 1, sizeof(*lists->items));
	if (!lists->starts || !lists->items)
		return -ENOMEM;
	lists->n = baskets->n;
	for (size_t t = 0; t < baskets->n; t++) {
		for (size_t i = baskets->starts[t]; i < baskets->starts[t + 1]; i++) {
			int32_t rank = frequent_rank(frequent, baskets->items[i]);

			if (rank >= 0)
				lists->items[n++] = rank;
		}
		lists->starts[t + 1] = n;
		qsort(lists->items + lists->starts[t], n - lists->starts[t], sizeof(*lists->items),
		      number_compare);
	}
	return 0;
}

static int search_begin(struct search *search, const struct baskets *baskets,
                        const struct frequent *frequent)
{
	search->order = malloc((search->sets->n + 1) * sizeof(*search->order));
	if (!search->order)
		return -ENOMEM;
	for (size_t s = 0; s < search->sets->n; s++)
		search->order[s] = s;
	qsort_r(search->order, search->sets->n, sizeof(*search->order), set_compare,
	        search->sets->sets);
	return lists_make(baskets, frequent, &search->lists);
}

static int search_run(struct search *search, size_t begin, size_t end)
{
	struct rest *rests = malloc((search->lists.n + 1) * sizeof(*rests));
	int error = rests ? 0 : -ENOMEM;

	for (size_t t = 0; t < search->lists.n && !error; t++)
		rests[t] = (struct rest){search->lists.starts[t], search->lists.starts[t + 1]};
	if (!error)
		error = extend(search, SETS_NONE, 1, rests, search->lists.n, begin, end);
	free(rests);
	return error;
}

/* Sets whose first item is of a rank from begin to end - 1. */
static size_t sets_of(const struct sets *sets, size_t begin, size_t end)
{
	size_t n = 0;

	for (size_t s = 0; s < sets->n; s++) {
		uint32_t first = s;

		while (sets->sets[first].before != SETS_NONE)
			first = sets->sets[first].before;
		n +=
		    (size_t)sets->sets[first].rank >= begin && (size_t)sets->sets[first].rank < end;
	}
	return n;
}

long sets_errors(const struct sets *sets, const struct baskets *baskets,
                 const struct frequent *frequent, uint32_t support, unsigned longest, size_t begin,
                 size_t end)
{
	struct search search = {
	    .sets = sets, .support = support, .longest = longest, .nitems = frequent->n};
	int error = search_begin(&search, baskets, frequent);

	if (!error)
		error = search_run(&search, begin, end);
	/* Those that the search did not come to are not frequent, or there twice. */
	search.errors += sets_of(sets, begin, end) - search.right;
	baskets_free(&search.lists);
	free(search.order);
	return error ? error : search.errors;
}
