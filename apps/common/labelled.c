/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "support/message.h"
#include "support/number.h"
#include "apps/common/file.h"
#include "apps/common/labelled.h"

/* ---- classes ---- */

/* Owned by the tree. */
struct known_class {
	int32_t number;
	char name[];
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct known_class *)a)->name, ((const struct known_class *)b)->name);
}

/* In the tree: the same one, or the one of this name that was there. */
static struct known_class *class_find(struct class_names *classes, struct known_class *class)
{
	struct known_class **found = tsearch(class, &classes->known, by_name);

	return found ? *found : NULL;
}

/* Room for the name of one class more: there is room for a power of 2 of them. */
static bool names_grow(struct class_names *classes)
{
	size_t n = classes->n;
	const char **more;

	if (n & (n - 1))
		return true;
	more = reallocarray(classes->names, n ? 2 * n : 1, sizeof(*more));
	if (more)
		classes->names = more;
	return more && n < INT32_MAX;
}

int32_t class_number(struct class_names *classes, const char *name, size_t length)
{
	struct known_class *class = malloc(sizeof(*class) + length + 1), *found;

	if (!class || !names_grow(classes)) {
		free(class);
		return -1;
	}
	class->number = classes->n;
	memcpy(class->name, name, length);
	class->name[length] = 0;
	found = class_find(classes, class);
	if (found == class)
		classes->names[classes->n++] = class->name;
	else
		free(class);
	return found ? found->number : -1;
}

void class_names_free(struct class_names *classes)
{
	tdestroy(classes->known, free);
	free(classes->names);
	*classes = (struct class_names){0};
}

/* ---- reading ---- */

struct reader {
	const char *path;
	const char *at; /* of the text, which ends with a NUL */
	size_t line, room;
	unsigned most;
	bool classified;
	int has_classes; /* -1: not known yet */
	bool warned;
	struct class_names *classes;
	struct labelled points;
};

/* The field that begins here, without blanks around it, and what ends it. */
struct field {
	const char *text;
	size_t length;
	bool last; /* of its line */
};

static struct field field_take(struct reader *reader)
{
	struct field field;

	reader->at += strspn(reader->at, " \t");
	field.text = reader->at;
	field.length = strcspn(reader->at, ",\r\n");
	reader->at += field.length;
	field.last = *reader->at != ',';
	if (!field.last)
		reader->at++;
	while (field.length && strchr(" \t", field.text[field.length - 1]))
		field.length--;
	return field;
}

static void line_end(struct reader *reader)
{
	reader->at += strcspn(reader->at, "\n");
	if (*reader->at)
		reader->at++;
	reader->line++;
}

static bool is_number(const struct field *field, float *number)
{
	char *end;
	double value = heddle_number_parse(field->text, &end);

	*number = value;
	return field->length && end == field->text + field->length;
}

static int refuse(const struct reader *reader, const struct field *field, const char *why)
{
	return heddle_refuse(-EINVAL, "%s:%zu: '%.*s' %s", reader->path, reader->line,
	                     field->length > 40 ? 40 : (int)field->length, field->text, why);
}

static int room_make(struct reader *reader)
{
	struct labelled *points = &reader->points;
	size_t room = reader->room ? 2 * reader->room : 256;
	void *numbers, *labels;

	if (points->rows < reader->room)
		return 0;
	numbers = reallocarray(points->numbers, room, points->dimensions * sizeof(float));
	if (numbers)
		points->numbers = numbers;
	labels = reallocarray(points->labels, room, sizeof(int32_t));
	if (labels)
		points->labels = labels;
	if (!numbers || !labels)
		return heddle_refuse(-ENOMEM, "%s: no memory for %zu points", reader->path, room);
	reader->room = room;
	return 0;
}

/* How many numbers the first point has; 0: none. */
static unsigned numbers_count(struct reader reader)
{
	unsigned n = 0;
	struct field field;
	float number;

	do {
		field = field_take(&reader);
		if (!is_number(&field, &number))
			return n;
		n++;
	} while (!field.last);
	/* The class may be a number, too. */
	return reader.classified ? n - 1 : n;
}

/* Steps over names of columns, and finds the number of coordinates. */
static int first_look(struct reader *reader)
{
	struct reader ahead = *reader;
	struct field field = field_take(&ahead);
	float number;
	unsigned n;

	if (!is_number(&field, &number))
		line_end(reader);
	n = numbers_count(*reader);
	if (!n || n > reader->most)
		return heddle_refuse(-EINVAL, "%s:%zu: a point has 1 to %u coordinates%s",
		                     reader->path, reader->line, reader->most,
		                     reader->classified ? ", then a class" : "");
	reader->points.dimensions = n;
	return 0;
}

static int coordinates_read(struct reader *reader, struct field *field)
{
	struct labelled *points = &reader->points;
	float *numbers = points->numbers + points->rows * points->dimensions;

	for (unsigned d = 0; d < points->dimensions; d++) {
		if (d && field->last)
			return heddle_refuse(-EINVAL, "%s:%zu: %u coordinates, not %u",
			                     reader->path, reader->line, d, points->dimensions);
		*field = field_take(reader);
		if (!is_number(field, &numbers[d]) || !isfinite(numbers[d]))
			return refuse(reader, field, "is not a finite number");
		if (fabsf(numbers[d]) > LABELLED_LARGEST)
			return refuse(reader, field,
			              "is beyond 1e15: squares leave single precision");
	}
	return 0;
}

/* Whole numbers are classes in many files, others are coordinates in most. So is a query's class
 * that no known point has. */
static void class_doubt(struct reader *reader, const struct field *field, bool is_new)
{
	float number;
	bool doubtful =
	    reader->classified ? is_number(field, &number) && number != floorf(number) : is_new;

	if (reader->warned || !doubtful)
		return;
	reader->warned = true;
	heddle_warn("%s:%zu: '%.*s', the last of the line, is taken for a class%s", reader->path,
	            reader->line, field->length > 40 ? 40 : (int)field->length, field->text,
	            reader->classified ? ", not for a coordinate" : ", which no known point has");
}

static int class_read(struct reader *reader, const struct field *before)
{
	size_t known = reader->classes->n;
	struct field field;
	int32_t label = -1;

	if (reader->has_classes < 0)
		reader->has_classes = !before->last;
	if (before->last == reader->has_classes)
		return heddle_refuse(-EINVAL, "%s:%zu: %s", reader->path, reader->line,
		                     before->last ? "the class is missing"
		                                  : "a class, which points before have not");
	if (!before->last) {
		field = field_take(reader);
		if (!field.length || !field.last)
			return refuse(reader, &field,
			              field.last ? "is no class" : "is not the last of the line");
		label = class_number(reader->classes, field.text, field.length);
		if (label < 0)
			return heddle_refuse(-ENOMEM, "%s: no memory for classes", reader->path);
		class_doubt(reader, &field, (size_t)label == known);
	}
	reader->points.labels[reader->points.rows++] = label;
	return 0;
}

static bool at_blank_line(const struct reader *reader)
{
	return strchr("\n", reader->at[strspn(reader->at, " \t\r")]);
}

static int point_read(struct reader *reader)
{
	struct field last = {0};
	int error = room_make(reader);

	if (!error)
		error = coordinates_read(reader, &last);
	return error ? error : class_read(reader, &last);
}

static int points_read(struct reader *reader)
{
	int error = 0;

	for (; *reader->at && !error; line_end(reader))
		if (!at_blank_line(reader))
			error = point_read(reader);
	if (!error && !reader->points.rows)
		error = heddle_refuse(-EINVAL, "%s: no points in the file", reader->path);
	return error;
}

int labelled_read(const char *path, unsigned dimensions, unsigned most, bool classified,
                  struct class_names *classes, struct labelled *points)
{
	struct reader reader = {.path = path,
	                        .line = 1,
	                        .most = most,
	                        .classified = classified,
	                        .has_classes = classified ? 1 : -1,
	                        .classes = classes};
	char *text;
	size_t bytes;
	int error = file_load_text(path, &text, &bytes);

	if (error)
		return error;
	reader.at = text;
	if (strlen(text) != bytes)
		error = heddle_refuse(-EINVAL, "%s: a zero byte", path);
	if (!strncmp(text, "\xef\xbb\xbf", 3)) /* spreadsheets begin files so */
		reader.at += 3;
	while (*reader.at && at_blank_line(&reader))
		line_end(&reader);
	if (!error)
		error = first_look(&reader);
	if (dimensions)
		reader.points.dimensions = dimensions;
	if (!error)
		error = points_read(&reader);
	free(text);
	if (error)
		labelled_free(&reader.points);
	else
		*points = reader.points;
	return error;
}

void labelled_free(struct labelled *points)
{
	free(points->numbers);
	free(points->labels);
	*points = (struct labelled){0};
}

int labelled_write(const char *path, const struct labelled *points,
                   const struct class_names *classes)
{
	FILE *stream;
	int error = file_create(path, &stream);

	if (error)
		return error;
	for (unsigned d = 0; d < points->dimensions; d++)
		fprintf(stream, "x%u,", d + 1);
	fprintf(stream, "class\n");
	for (size_t r = 0; r < points->rows; r++) {
		for (unsigned d = 0; d < points->dimensions; d++)
			fprintf(stream, "%.9g,", points->numbers[r * points->dimensions + d]);
		fprintf(stream, "%s\n", classes->names[points->labels[r]]);
	}
	return file_finish(path, stream);
}
