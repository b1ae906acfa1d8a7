/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "support/message.h"
#include "apps/common/file.h"
#include "apps/common/random.h"
#include "apps/eclat/baskets.h"

void baskets_free(struct baskets *baskets)
{
	free(baskets->starts);
	free(baskets->items);
	*baskets = (struct baskets){0};
}

static int out_of_memory(void)
{
	return heddle_refuse(-ENOMEM, "no memory for the transactions");
}

/* Room for `n` elements at least, doubling. */
static int room_make(void **elements, size_t *room, size_t n, size_t size)
{
	size_t more = 2 * *room > n ? 2 * *room : n + 255;
	void *bigger;

	if (n <= *room)
		return 0;
	bigger = reallocarray(*elements, more, size);
	if (!bigger)
		return out_of_memory();
	*elements = bigger;
	*room = more;
	return 0;
}

static int number_compare(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

/* Adds a transaction, whose items are put into order. */
static int basket_add(struct baskets *baskets, int32_t *items, size_t n)
{
	size_t at = baskets->n ? baskets->starts[baskets->n] : 0;
	int error = room_make((void **)&baskets->starts, &baskets->starts_room, baskets->n + 2,
	                      sizeof(*baskets->starts));

	if (!error)
		error = room_make((void **)&baskets->items, &baskets->items_room, at + n,
		                  sizeof(*baskets->items));
	if (error)
		return error;
	qsort(items, n, sizeof(*items), number_compare);
	baskets->starts[baskets->n++] = at;
	for (size_t i = 0; i < n; i++)
		if (!i || items[i] != items[i - 1])
			baskets->items[at++] = items[i];
	baskets->starts[baskets->n] = at;
	return 0;
}

/* ---- files ---- */

/* A line that is being read. */
struct line {
	const char *path;
	size_t number, n, room;
	int32_t *items;
};

/* One word of a line. @param[in,out] at its first character; the one after it */
static int item_read(struct line *line, const char **at)
{
	int length = strcspn(*at, " \t\r\n"), error;
	unsigned long long number = 0;
	char *end = NULL;

	if (**at >= '0' && **at <= '9' && length < 12)
		number = strtoull(*at, &end, 10);
	if (end != *at + length || number > INT32_MAX)
		return heddle_refuse(-EINVAL, "%s:%zu: '%.*s' is not a whole number from 0 to %d",
		                     line->path, line->number, length > 40 ? 40 : length, *at,
		                     INT32_MAX);
	error = room_make((void **)&line->items, &line->room, line->n + 1, sizeof(*line->items));
	if (error)
		return error;
	line->items[line->n++] = number;
	*at = end;
	return 0;
}

static int lines_read(struct line *line, const char *at, struct baskets *baskets)
{
	int error = 0;

	while (*at && !error) {
		line->n = 0;
		line->number++;
		for (at += strspn(at, " \t\r"); *at && *at != '\n' && !error;
		     at += strspn(at, " \t\r"))
			error = item_read(line, &at);
		if (!error && line->n)
			error = basket_add(baskets, line->items, line->n);
		at += *at == '\n';
	}
	return error;
}

int baskets_read(const char *path, struct baskets *baskets)
{
	struct line line = {.path = path};
	char *text;
	size_t bytes;
	int error = file_load_text(path, &text, &bytes);

	if (error)
		return error;
	if (strlen(text) != bytes)
		error = heddle_refuse(-EINVAL, "%s: a zero byte", path);
	if (!error)
		error = lines_read(&line, text, baskets);
	if (!error && !baskets->n)
		error = heddle_refuse(-EINVAL, "%s: no transactions in the file", path);
	if (!error && baskets->n > UINT32_MAX)
		error = heddle_refuse(-EINVAL, "%s: too many transactions", path);
	free(line.items);
	free(text);
	return error;
}

int baskets_write(const char *path, const struct baskets *baskets)
{
	FILE *stream;
	int error = file_create(path, &stream);

	if (error)
		return error;
	for (size_t t = 0; t < baskets->n; t++)
		for (size_t i = baskets->starts[t]; i < baskets->starts[t + 1]; i++)
			fprintf(stream, "%d%c", baskets->items[i],
			        i + 1 < baskets->starts[t + 1] ? ' ' : '\n');
	return file_finish(path, stream);
}

/* ---- frequent items ---- */

struct occurrence {
	int32_t number;
	uint32_t support;
};

static int rarer(const void *a, const void *b)
{
	const struct occurrence *x = a, *y = b;

	if (x->support != y->support)
		return (x->support > y->support) - (x->support < y->support);
	return (x->number > y->number) - (x->number < y->number);
}

/* All numbers that are frequent. @return how many; they are at the beginning of the array */
static size_t occurrences_count(int32_t *all, size_t n, uint32_t support, struct occurrence *found)
{
	size_t count = 0;

	qsort(all, n, sizeof(*all), number_compare);
	for (size_t i = 0, next; i < n; i = next) {
		for (next = i; next < n && all[next] == all[i]; next++)
			;
		if (next - i >= support)
			found[count++] = (struct occurrence){all[i], next - i};
	}
	return count;
}

static int frequent_fill(struct frequent *frequent, struct occurrence *found, size_t n)
{
	size_t room = n + 1;

	frequent->numbers = calloc(room, sizeof(*frequent->numbers));
	frequent->supports = calloc(room, sizeof(*frequent->supports));
	frequent->sorted = calloc(room, sizeof(*frequent->sorted));
	if (!frequent->numbers || !frequent->supports || !frequent->sorted)
		return out_of_memory();
	frequent->n = n;
	for (size_t i = 0; i < n; i++)
		frequent->numbers[i] = found[i].number;
	qsort(found, n, sizeof(*found), rarer);
	/* The rank of each number, while the numbers are in order. */
	for (size_t rank = 0; rank < n; rank++) {
		const int32_t *place = bsearch(&found[rank].number, frequent->numbers, n,
		                               sizeof(*frequent->numbers), number_compare);

		frequent->sorted[place - frequent->numbers] = rank;
	}
	for (size_t rank = 0; rank < n; rank++) {
		frequent->numbers[rank] = found[rank].number;
		frequent->supports[rank] = found[rank].support;
	}
	return 0;
}

int frequent_find(const struct baskets *baskets, uint32_t support, struct frequent *frequent)
{
	size_t n = baskets->n ? baskets->starts[baskets->n] : 0;
	int32_t *all = malloc((n + 1) * sizeof(*all));
	struct occurrence *found = malloc((n + 1) * sizeof(*found));
	int error = 0;

	if (!all || !found) {
		error = out_of_memory();
	} else {
		if (n)
			memcpy(all, baskets->items, n * sizeof(*all));
		error = frequent_fill(frequent, found, occurrences_count(all, n, support, found));
	}
	free(found);
	free(all);
	return error;
}

int32_t frequent_rank(const struct frequent *frequent, int32_t number)
{
	size_t low = 0, high = frequent->n;

	while (low < high) {
		size_t middle = (low + high) / 2;
		int32_t rank = frequent->sorted[middle];

		if (frequent->numbers[rank] == number)
			return rank;
		if (frequent->numbers[rank] < number)
			low = middle + 1;
		else
			high = middle;
	}
	return -1;
}

void frequent_free(struct frequent *frequent)
{
	free(frequent->numbers);
	free(frequent->supports);
	free(frequent->sorted);
	*frequent = (struct frequent){0};
}

void baskets_bits(const struct baskets *baskets, const struct frequent *frequent, uint64_t *bits)
{
	size_t words = baskets_words(baskets);

	memset(bits, 0, frequent->n * words * sizeof(*bits));
	for (size_t t = 0; t < baskets->n; t++)
		for (size_t i = baskets->starts[t]; i < baskets->starts[t + 1]; i++) {
			int32_t rank = frequent_rank(frequent, baskets->items[i]);

			if (rank >= 0)
				bits[rank * words + t / 64] |= UINT64_C(1) << t % 64;
		}
}

/* ---- random transactions ---- */

struct dice {
	uint64_t seed, index;
};

/* From 0 to 1, without 1. */
static double uniform(struct dice *dice)
{
	return (app_random(dice->seed, dice->index++) >> 11) * 0x1p-53;
}

static double exponential(struct dice *dice)
{
	return -log1p(-uniform(dice));
}

/* Events in a time in which `mean` are expected. */
static unsigned poisson(struct dice *dice, double mean)
{
	unsigned events = 0;

	for (double time = exponential(dice); time < mean; time += exponential(dice))
		events++;
	return events;
}

/* Normal with this mean and a variance of 0.1, cut to what probabilities may be. */
static double probability(struct dice *dice, double mean)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += uniform(dice);
	return fmax(0, fmin(mean + sqrt(0.1) * sum, 1));
}

/* Patterns: pattern p has the items from starts[p] to starts[p + 1]. */
struct patterns {
	struct baskets items;
	double *until;  /* by pattern: sum of the weights up to it */
	double *losing; /* by pattern: how probable it is that another item is left out */
};

static bool contains(const int32_t *items, size_t n, int32_t item)
{
	while (n)
		if (items[--n] == item)
			return true;
	return false;
}

/* A part of a pattern is the one before it again. */
static size_t pattern_draw(const struct baskets_shape *shape, struct dice *dice,
                           const int32_t *before, size_t nbefore, int32_t *items)
{
	size_t n = 0, length = 1 + poisson(dice, shape->pattern_length - 1);
	double again = fmin(exponential(dice) / 2, 1);
	size_t from = uniform(dice) * nbefore;

	if (length > shape->items)
		length = shape->items;
	for (size_t i = 0; i < nbefore && n < again * length; i++)
		items[n++] = before[(from + i) % nbefore];
	while (n < length) {
		int32_t item = uniform(dice) * shape->items;

		if (!contains(items, n, item))
			items[n++] = item;
	}
	return n;
}

static int patterns_make(const struct baskets_shape *shape, struct patterns *patterns)
{
	struct dice dice = {.seed = shape->seed};
	int32_t *items = malloc(shape->items * sizeof(*items));
	double sum = 0;
	int error = 0;

	patterns->until = calloc(shape->patterns, sizeof(double));
	patterns->losing = calloc(shape->patterns, sizeof(double));
	if (!items || !patterns->until || !patterns->losing)
		error = out_of_memory();
	for (unsigned p = 0; p < shape->patterns && !error; p++) {
		const struct baskets *before = &patterns->items;
		size_t start = p ? before->starts[p - 1] : 0, end = p ? before->starts[p] : 0;
		size_t n = pattern_draw(shape, &dice, p ? before->items + start : NULL, end - start,
		                        items);

		error = basket_add(&patterns->items, items, n);
		patterns->until[p] = sum += exponential(&dice);
		patterns->losing[p] = probability(&dice, 0.5);
	}
	free(items);
	return error;
}

static void patterns_free(struct patterns *patterns)
{
	baskets_free(&patterns->items);
	free(patterns->until);
	free(patterns->losing);
}

static unsigned pattern_choose(const struct baskets_shape *shape, const struct patterns *patterns,
                               struct dice *dice)
{
	double at = uniform(dice) * patterns->until[shape->patterns - 1];
	unsigned low = 0, high = shape->patterns - 1;

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (patterns->until[middle] <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Adds a pattern, but for some of its items. @return the number of items then */
static size_t pattern_buy(const struct patterns *patterns, unsigned p, struct dice *dice,
                          int32_t *items, size_t n)
{
	const int32_t *its = patterns->items.items + patterns->items.starts[p];
	size_t length = patterns->items.starts[p + 1] - patterns->items.starts[p], lost = 0;
	size_t from = uniform(dice) * length;

	while (lost < length && uniform(dice) < patterns->losing[p])
		lost++;
	for (size_t i = lost; i < length; i++) {
		int32_t item = its[(from + i) % length];

		if (!contains(items, n, item))
			items[n++] = item;
	}
	return n;
}

/* A transaction takes patterns until it has as many items as it wants; half of those that would
 * have too many then keep them. */
static size_t basket_draw(const struct baskets_shape *shape, const struct patterns *patterns,
                          struct dice *dice, int32_t *items)
{
	size_t n = 0, wanted = 1 + poisson(dice, shape->length - 1);

	wanted = wanted < shape->items ? wanted : shape->items;
	for (size_t tries = 0; n < wanted && tries < 4 * wanted; tries++) {
		unsigned p = pattern_choose(shape, patterns, dice);
		size_t more = pattern_buy(patterns, p, dice, items, n);

		if (more <= wanted || !n || uniform(dice) < 0.5)
			n = more;
		else
			break;
	}
	if (!n)
		items[n++] = uniform(dice) * shape->items;
	return n;
}

int baskets_random(const struct baskets_shape *shape, struct baskets *baskets)
{
	struct patterns patterns = {0};
	int32_t *items = malloc(shape->items * sizeof(*items));
	int error = items ? patterns_make(shape, &patterns) : out_of_memory();

	for (size_t t = 0; t < shape->n && !error; t++) {
		struct dice dice = {.seed = app_random(shape->seed, ~t)};

		error = basket_add(baskets, items, basket_draw(shape, &patterns, &dice, items));
	}
	patterns_free(&patterns);
	free(items);
	return error;
}
