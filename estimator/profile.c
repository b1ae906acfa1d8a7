/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "estimator/profile.h"
#include "estimator/robust.h"
#include "support/message.h"
#include "support/number.h"

/* Characters of a remark at the most. */
#define REMARK 200

void heddle_profile_free(struct heddle_profile *profile)
{
	for (size_t r = 0; r < profile->n; r++)
		free(profile->records[r]);
	free(profile->records);
	for (unsigned r = 0; r < profile->nremarks; r++)
		free(profile->remarks[r]);
	memset(profile, 0, sizeof(*profile));
}

/* ---- one record ---- */

/* What a word in quotes may hold. */
static bool text_char(unsigned char c)
{
	return c >= ' ' && c != 127 && c != '"' && c != '\\';
}

void heddle_profile_record_init(struct heddle_profile_record *record, const char *kind)
{
	memset(record, 0, sizeof(*record));
	snprintf(record->kind, sizeof(record->kind), "%s", kind);
	record->nwhat = HEDDLE_PROFILE_FIELDS;
}

void heddle_profile_record_results(struct heddle_profile_record *record)
{
	record->nwhat = record->nfields;
}

const struct heddle_profile_field *
heddle_profile_record_field(const struct heddle_profile_record *record, const char *key)
{
	for (unsigned f = 0; f < record->nfields; f++)
		if (!strcmp(record->fields[f].key, key))
			return &record->fields[f];
	return NULL;
}

bool heddle_profile_key_valid(const char *name)
{
	size_t length = strlen(name);

	if (!length || length >= HEDDLE_PROFILE_KEY || isdigit((unsigned char)*name))
		return false;
	for (; *name; name++)
		if (!isascii((unsigned char)*name) ||
		    (!isalnum((unsigned char)*name) && *name != '_'))
			return false;
	return true;
}

double heddle_profile_field_median(const struct heddle_profile_field *field)
{
	double numbers[HEDDLE_PROFILE_NUMBERS];

	if (!field || !field->n)
		return 0;
	memcpy(numbers, field->numbers, sizeof(numbers));
	return heddle_robust_median(numbers, field->n);
}

static int field_add(struct heddle_profile_record *record, const char *key,
                     struct heddle_profile_field **field)
{
	if (!heddle_profile_key_valid(key) || heddle_profile_record_field(record, key))
		return -EINVAL;
	if (record->nfields == HEDDLE_PROFILE_FIELDS)
		return -ENOSPC;
	*field = &record->fields[record->nfields++];
	strcpy((*field)->key, key);
	return 0;
}

int heddle_profile_record_text(struct heddle_profile_record *record, const char *key,
                               const char *text)
{
	struct heddle_profile_field *field;
	int error = field_add(record, key, &field);
	size_t i = 0;

	if (error)
		return error;
	field->n = 0;
	for (; text[i] && i < HEDDLE_PROFILE_TEXT - 1; i++)
		field->text[i] = text_char(text[i]) ? text[i] : ' ';
	field->text[i] = 0;
	return 0;
}

int heddle_profile_record_number(struct heddle_profile_record *record, const char *key,
                                 double number)
{
	struct heddle_profile_field *field;
	int error = isfinite(number) ? field_add(record, key, &field) : -EINVAL;

	if (error)
		return error;
	field->n = 1;
	field->numbers[0] = number;
	return 0;
}

static int field_compare(const struct heddle_profile_field *a, const struct heddle_profile_field *b)
{
	int order = strcmp(a->key, b->key);

	if (order)
		return order;
	if (!a->n || !b->n)
		return a->n || b->n ? (int)a->n - (int)b->n : strcmp(a->text, b->text);
	for (unsigned i = 0; i < a->n && i < b->n; i++)
		if (a->numbers[i] != b->numbers[i])
			return a->numbers[i] < b->numbers[i] ? -1 : 1;
	return (int)a->n - (int)b->n;
}

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct heddle_profile_field *)a)->key,
	              ((const struct heddle_profile_field *)b)->key);
}

/* So that the order in which they were written does not matter. */
static void fields_sort(struct heddle_profile_record *record)
{
	if (record->nwhat > record->nfields)
		record->nwhat = record->nfields;
	qsort(record->fields, record->nwhat, sizeof(*record->fields), by_key);
	qsort(record->fields + record->nwhat, record->nfields - record->nwhat,
	      sizeof(*record->fields), by_key);
}

static int record_compare(const struct heddle_profile_record *a,
                          const struct heddle_profile_record *b)
{
	int order = strcmp(a->kind, b->kind);

	for (unsigned f = 0; !order && f < a->nwhat && f < b->nwhat; f++)
		order = field_compare(&a->fields[f], &b->fields[f]);
	return order ? order : (int)a->nwhat - (int)b->nwhat;
}

/* ---- parsing ---- */

/* Copies a key and moves behind it. */
static bool take_key(const char **at, const char *end, char key[HEDDLE_PROFILE_KEY])
{
	size_t length = 0;

	while (*at + length < end && !strchr(" \t=:\"", (*at)[length]))
		length++;
	if (!length || length >= HEDDLE_PROFILE_KEY)
		return false;
	memcpy(key, *at, length);
	key[length] = 0;
	*at += length;
	return heddle_profile_key_valid(key);
}

static bool take_text(const char **at, const char *end, struct heddle_profile_field *field)
{
	size_t length = 0;

	++*at; /* the quote */
	while (*at + length < end && text_char((*at)[length]))
		length++;
	if (*at + length == end || (*at)[length] != '"' || length >= HEDDLE_PROFILE_TEXT)
		return false;
	field->n = 0;
	memcpy(field->text, *at, length);
	field->text[length] = 0;
	*at += length + 1;
	return true;
}

/* The line is not a string: a copy of the number is. */
static bool take_number(const char **at, const char *end, double *number)
{
	char copy[40], *stop;
	size_t length = 0;

	while (*at + length < end && !strchr(" \t,:", (*at)[length]))
		length++;
	if (!length || length >= sizeof(copy))
		return false;
	memcpy(copy, *at, length);
	copy[length] = 0;
	*number = heddle_number_parse(copy, &stop) + 0.0;
	*at += length;
	return !*stop && isfinite(*number);
}

static bool take_numbers(const char **at, const char *end, struct heddle_profile_field *field)
{
	field->n = 0;
	do {
		if (field->n)
			++*at; /* the comma */
		if (field->n == HEDDLE_PROFILE_NUMBERS ||
		    !take_number(at, end, &field->numbers[field->n]))
			return false;
		field->n++;
	} while (*at < end && **at == ',');
	return true;
}

static const char *take_field(const char **at, const char *end,
                              struct heddle_profile_record *record)
{
	struct heddle_profile_field *field;
	char key[HEDDLE_PROFILE_KEY];
	bool good;

	if (!take_key(at, end, key))
		return "not the name of a field";
	if (*at == end || **at != '=')
		return "a name without a value";
	++*at;
	switch (field_add(record, key, &field)) {
	case 0:
		break;
	case -ENOSPC:
		return "too many fields";
	default:
		return "a field twice";
	}
	good = *at < end && **at == '"' ? take_text(at, end, field) : take_numbers(at, end, field);
	if (!good || (*at < end && !strchr(" \t:", **at)))
		return "neither numbers nor a word in quotes";
	return NULL;
}

static void skip_blanks(const char **at, const char *end)
{
	while (*at < end && (**at == ' ' || **at == '\t' || **at == '\r'))
		++*at;
}

static const char *record_take(const char *at, const char *end,
                               struct heddle_profile_record *record)
{
	bool results = false;
	const char *why;

	heddle_profile_record_init(record, "");
	skip_blanks(&at, end);
	if (!take_key(&at, end, record->kind))
		return "not the name of a kind of record";
	for (skip_blanks(&at, end); at < end; skip_blanks(&at, end)) {
		if (*at == ':' && !results) {
			results = true;
			at++;
			heddle_profile_record_results(record);
			continue;
		}
		why = take_field(&at, end, record);
		if (why)
			return why;
	}
	if (!results || record->nfields == record->nwhat)
		return "no results";
	fields_sort(record);
	return NULL;
}

int heddle_profile_record_parse(const char *line, size_t length,
                                struct heddle_profile_record *record, const char **why)
{
	const char *wrong =
	    memchr(line, 0, length) ? "a zero byte" : record_take(line, line + length, record);

	if (!wrong)
		return 0;
	*why = wrong;
	return -EINVAL;
}

/* ---- many records ---- */

static struct heddle_profile_field *result(struct heddle_profile_record *record, const char *key)
{
	for (unsigned f = record->nwhat; f < record->nfields; f++)
		if (!strcmp(record->fields[f].key, key))
			return &record->fields[f];
	return NULL;
}

static double when(const struct heddle_profile_record *record)
{
	const struct heddle_profile_field *at = heddle_profile_record_field(record, "at");

	return at && at->n ? at->numbers[0] : 0;
}

/* Later numbers go to the end, and push the first ones out. */
static void numbers_append(struct heddle_profile_field *into,
                           const struct heddle_profile_field *later)
{
	unsigned keep = HEDDLE_PROFILE_NUMBERS - later->n;

	if (into->n < keep)
		keep = into->n;
	memmove(into->numbers, into->numbers + into->n - keep, keep * sizeof(*into->numbers));
	memcpy(into->numbers + keep, later->numbers, later->n * sizeof(*into->numbers));
	into->n = keep + later->n;
}

/* Infinity could not be read again. */
static double sum(double a, double b)
{
	return fmax(-DBL_MAX, fmin(a + b, DBL_MAX));
}

static void field_merge(struct heddle_profile_field *into, const struct heddle_profile_field *later)
{
	if (!into->n || !later->n || !strcmp(into->key, "at"))
		*into = *later;
	else if (!strcmp(into->key, "samples"))
		into->numbers[0] = sum(into->numbers[0], later->numbers[0]);
	else
		numbers_append(into, later);
}

static void record_merge(struct heddle_profile_record *into,
                         const struct heddle_profile_record *other)
{
	struct heddle_profile_record later = *other, earlier = *into;

	if (when(&later) < when(&earlier)) {
		later = *into;
		earlier = *other;
	}
	*into = earlier;
	for (unsigned f = later.nwhat; f < later.nfields; f++) {
		struct heddle_profile_field *field = result(into, later.fields[f].key);

		if (field)
			field_merge(field, &later.fields[f]);
		else if (into->nfields < HEDDLE_PROFILE_FIELDS)
			into->fields[into->nfields++] = later.fields[f];
	}
	fields_sort(into);
}

/* Where a record is, or belongs: they are kept in order. */
static size_t place_of(const struct heddle_profile *profile,
                       const struct heddle_profile_record *record, bool *there)
{
	size_t low = 0, high = profile->n;

	*there = false;
	while (low < high && !*there) {
		size_t middle = low + (high - low) / 2;
		int order = record_compare(profile->records[middle], record);

		*there = !order;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return high;
}

static int descending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* Forgets what was measured longest ago. */
static int prune(struct heddle_profile *profile)
{
	double *times, limit;
	size_t at_limit = 0, kept = 0;

	if (profile->n <= HEDDLE_PROFILE_RECORDS)
		return 0;
	times = calloc(profile->n, sizeof(*times));
	if (!times)
		return -ENOMEM;
	for (size_t r = 0; r < profile->n; r++)
		times[r] = when(profile->records[r]);
	qsort(times, profile->n, sizeof(*times), descending);
	limit = times[HEDDLE_PROFILE_RECORDS - 1];
	for (size_t r = 0; r < HEDDLE_PROFILE_RECORDS; r++)
		at_limit += times[r] == limit;
	free(times);
	for (size_t r = 0; r < profile->n; r++) {
		double at = when(profile->records[r]);

		if (at > limit || (at == limit && at_limit && at_limit--))
			profile->records[kept++] = profile->records[r];
		else
			free(profile->records[r]);
	}
	profile->n = kept;
	return 0;
}

/* Pruning now and then costs less than at every record. */
static int make_room(struct heddle_profile *profile)
{
	size_t room = profile->room ? 2 * profile->room : 64;
	void *bigger;

	if (profile->n == 2 * HEDDLE_PROFILE_RECORDS && prune(profile))
		return -ENOMEM;
	if (profile->n < profile->room)
		return 0;
	bigger = reallocarray(profile->records, room, sizeof(*profile->records));
	if (!bigger)
		return -ENOMEM;
	profile->records = bigger;
	profile->room = room;
	return 0;
}

int heddle_profile_add(struct heddle_profile *profile, const struct heddle_profile_record *record)
{
	struct heddle_profile_record *copy = malloc(sizeof(*copy));
	bool there;
	size_t place;

	if (!copy)
		return -ENOMEM;
	*copy = *record;
	fields_sort(copy);
	place = place_of(profile, copy, &there);
	if (there) {
		record_merge(profile->records[place], copy);
		free(copy);
		return 0;
	}
	if (make_room(profile)) {
		free(copy);
		return -ENOMEM;
	}
	place = place_of(profile, copy, &there);
	memmove(&profile->records[place + 1], &profile->records[place],
	        (profile->n - place) * sizeof(*profile->records));
	profile->records[place] = copy;
	profile->n++;
	return 0;
}

/* Keeps a line that was not understood, as far as it can be shown. */
static int remark_add(struct heddle_profile *profile, const char *line, size_t length)
{
	char *copy;

	if (profile->nremarks == HEDDLE_PROFILE_REMARKS)
		return 0;
	copy = strndup(line, length < REMARK ? length : REMARK);
	if (!copy)
		return -ENOMEM;
	for (char *c = copy; *c; c++)
		if (!text_char(*c) && *c != '"' && *c != '\\')
			*c = '?';
	profile->remarks[profile->nremarks++] = copy;
	return 0;
}

int heddle_profile_merge(struct heddle_profile *profile, const struct heddle_profile *other)
{
	int error = 0;

	for (size_t r = 0; r < other->n && !error; r++)
		error = heddle_profile_add(profile, other->records[r]);
	for (unsigned r = 0; r < other->nremarks && !error; r++)
		error = remark_add(profile, other->remarks[r], strlen(other->remarks[r]));
	return error ? error : prune(profile);
}

/* What was kept of a line as a remark begins so. */
static const char remark_mark[] = "#? ";

static int line_parse(struct heddle_profile *profile, const char *line, size_t length,
                      const char *name, unsigned number, unsigned *skipped)
{
	const char *first = line;
	struct heddle_profile_record record;
	const char *why;

	if (length && line[length - 1] == '\r')
		length--;
	if (length > 3 && !memcmp(line, remark_mark, 3))
		return remark_add(profile, line + 3, length - 3);
	skip_blanks(&first, line + length);
	if (first == line + length || *first == '#')
		return 0;
	if (!heddle_profile_record_parse(line, length, &record, &why))
		return heddle_profile_add(profile, &record);
	heddle_warn("%s:%u: skipped: %s", name, number, why);
	++*skipped;
	return remark_add(profile, line, length);
}

int heddle_profile_parse(struct heddle_profile *profile, const char *text, size_t length,
                         const char *name, unsigned *skipped)
{
	const char *end = text + length;
	unsigned bad = 0;
	int error = 0;

	/* Some editors put a byte-order mark before what they save. */
	if (length >= 3 && !memcmp(text, "\357\273\277", 3))
		text += 3;
	for (unsigned number = 1; text < end && !error; number++) {
		const char *stop = memchr(text, '\n', end - text);

		if (!stop)
			stop = end;
		error = line_parse(profile, text, stop - text, name, number, &bad);
		text = stop + 1;
	}
	if (!error)
		error = prune(profile);
	if (!error && skipped)
		*skipped = bad;
	return error;
}

/* ---- printing ---- */

/* As short as it can be without losing anything. */
static void number_print(double number, FILE *out)
{
	char text[40];

	for (int digits = 6; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, number);
		if (strtod(text, NULL) == number)
			break;
	}
	fputs(text, out);
}

static void record_print(const struct heddle_profile_record *record, FILE *out)
{
	fputs(record->kind, out);
	for (unsigned f = 0; f < record->nfields; f++) {
		const struct heddle_profile_field *field = &record->fields[f];

		fprintf(out, "%s %s=", f == record->nwhat ? " :" : "", field->key);
		if (!field->n)
			fprintf(out, "\"%s\"", field->text);
		for (unsigned i = 0; i < field->n; i++) {
			if (i)
				fputc(',', out);
			number_print(field->numbers[i], out);
		}
	}
	fputc('\n', out);
}

int heddle_profile_print(const struct heddle_profile *profile, FILE *out)
{
	struct heddle_numbers numbers;

	heddle_numbers_begin(&numbers);
	for (size_t r = 0; r < profile->n; r++)
		record_print(profile->records[r], out);
	for (unsigned r = 0; r < profile->nremarks; r++)
		fprintf(out, "%s%s\n", remark_mark, profile->remarks[r]);
	heddle_numbers_end(&numbers);
	return ferror(out) ? -EIO : 0;
}
