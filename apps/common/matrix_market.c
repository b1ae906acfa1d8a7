/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "support/message.h"
#include "apps/common/file.h"
#include "apps/common/matrix_market.h"

/* A message with file and line. */
#define REFUSE(file, format, ...)                                                                  \
	heddle_refuse(-EINVAL, "%s:%zu: " format, (file)->path, (file)->line, ##__VA_ARGS__)

static void skip_blanks(struct matrix_market *file)
{
	while (*file->at == ' ' || *file->at == '\t')
		file->at++;
}

static bool at_line_end(const struct matrix_market *file)
{
	return file->at == file->end || *file->at == '\n' ||
	       (*file->at == '\r' && file->at[1] == '\n');
}

static void next_line(struct matrix_market *file)
{
	const char *newline = memchr(file->at, '\n', file->end - file->at);

	file->at = newline ? newline + 1 : file->end;
	file->line++;
}

/* To the next line with something in it; comments begin with %. */
static int find_line(struct matrix_market *file, const char *wanted)
{
	while (file->at < file->end) {
		skip_blanks(file);
		if (!at_line_end(file) && *file->at != '%')
			return 0;
		next_line(file);
	}
	return REFUSE(file, "the file ends where %s is wanted", wanted);
}

/* How long the word is that begins here; for messages. */
static int word_length(const struct matrix_market *file)
{
	size_t length = strcspn(file->at, " \t\r\n");

	return length > 40 ? 40 : length;
}

static bool word_ends(const struct matrix_market *file, const char *after)
{
	return after == file->end || strchr(" \t\r\n", *after);
}

static int read_count(struct matrix_market *file, const char *name, size_t most, size_t *count)
{
	unsigned long long value = 0;
	char *after = (char *)file->at;

	skip_blanks(file);
	if (at_line_end(file))
		return REFUSE(file, "the %s is missing", name);
	errno = 0;
	if (*file->at >= '0' && *file->at <= '9')
		value = strtoull(file->at, &after, 10);
	if (after == file->at || !word_ends(file, after) || errno || !value || value > most)
		return REFUSE(file, "%s: '%.*s' is not a whole number from 1 to %zu", name,
		              word_length(file), file->at, most);
	file->at = after;
	*count = value;
	return 0;
}

static int read_value(struct matrix_market *file, double *value)
{
	char *after;

	skip_blanks(file);
	if (at_line_end(file))
		return REFUSE(file, "the number is missing");
	*value = strtod(file->at, &after);
	if (after == file->at || !word_ends(file, after) || !isfinite(*value))
		return REFUSE(file, "'%.*s' is not a finite number", word_length(file), file->at);
	if (file->single && !isfinite((float)*value))
		return REFUSE(file, "'%.*s' is too large for single precision: see --double",
		              word_length(file), file->at);
	file->at = after;
	return 0;
}

static int end_line(struct matrix_market *file)
{
	skip_blanks(file);
	if (!at_line_end(file))
		return REFUSE(file, "'%.*s' is too much in this line", word_length(file), file->at);
	next_line(file);
	return 0;
}

/* ---- the head ---- */

/* Reads a word of the first line that is one of some, of which the last may be NULL. @return its
 * number; -EINVAL */
static int read_word(struct matrix_market *file, const char *first, const char *second,
                     const char *third)
{
	const char *words[] = {first, second, third};

	skip_blanks(file);
	for (int w = 0; w < (third ? 3 : 2); w++) {
		size_t length = strlen(words[w]);

		if (strncasecmp(file->at, words[w], length) || !word_ends(file, file->at + length))
			continue;
		file->at += length;
		return w;
	}
	return REFUSE(file, "'%.*s' where %s%s%s or %s is wanted", word_length(file), file->at,
	              first, third ? ", " : "", third ? second : "", third ? third : second);
}

static int read_banner(struct matrix_market *file)
{
	static const char banner[] = "%%MatrixMarket";
	int word;

	if (strncasecmp(file->at, banner, sizeof(banner) - 1))
		return REFUSE(file, "the file does not begin with %s", banner);
	file->at += sizeof(banner) - 1;
	word = read_word(file, "matrix", "matrix", NULL);
	if (word < 0)
		return word;
	word = read_word(file, "array", "coordinate", NULL);
	if (word < 0)
		return word;
	file->coordinate = word == 1;
	word = file->coordinate ? read_word(file, "real", "integer", "pattern")
	                        : read_word(file, "real", "integer", NULL);
	if (word < 0)
		return word;
	file->pattern = word == 2;
	word = read_word(file, "general", "symmetric", NULL);
	if (word < 0)
		return word;
	file->symmetric = word == 1;
	return end_line(file);
}

static int read_sizes(struct matrix_market *file)
{
	int error = find_line(file, "the line with rows and columns");

	if (!error)
		error = read_count(file, "number of rows", UINT32_MAX, &file->rows);
	if (!error)
		error = read_count(file, "number of columns", UINT32_MAX, &file->columns);
	if (!error && file->symmetric && file->rows != file->columns)
		return REFUSE(file, "a symmetric matrix of %zu rows and %zu columns", file->rows,
		              file->columns);
	if (error)
		return error;
	file->entries =
	    file->symmetric ? file->rows * (file->rows + 1) / 2 : file->rows * file->columns;
	if (file->coordinate)
		error = read_count(file, "number of entries", file->entries, &file->entries);
	return error ? error : end_line(file);
}

int matrix_market_open(const char *path, struct matrix_market *file)
{
	struct matrix_market opened = {.path = path, .line = 1};
	size_t bytes;
	int error = file_load_text(path, &opened.text, &bytes);

	if (error)
		return error;
	opened.at = opened.text;
	opened.end = opened.text + bytes;
	error = read_banner(&opened);
	if (!error)
		error = read_sizes(&opened);
	/* Before anybody takes memory for them. */
	if (!error && opened.entries > bytes / 2)
		error = REFUSE(&opened, "the file is too short for %zu numbers", opened.entries);
	if (error)
		free(opened.text);
	else
		*file = opened;
	return error;
}

void matrix_market_close(struct matrix_market *file)
{
	free(file->text);
	*file = (struct matrix_market){0};
}

/* ---- numbers ---- */

static int read_place(struct matrix_market *file, size_t *row, size_t *column)
{
	int error = read_count(file, "row", file->rows, row);

	if (!error)
		error = read_count(file, "column", file->columns, column);
	if (!error && file->symmetric && *row < *column)
		return REFUSE(file,
		              "row %zu, column %zu is above the diagonal of a symmetric matrix",
		              *row, *column);
	if (error)
		return error;
	--*row;
	--*column;
	return 0;
}

/* The place of the next number of an array, column by column. */
static void next_place(const struct matrix_market *file, size_t *row, size_t *column)
{
	if (++*row < file->rows)
		return;
	++*column;
	*row = file->symmetric ? *column : 0;
}

int matrix_market_read(struct matrix_market *file, matrix_market_take *take, void *arg)
{
	size_t row = 0, column = 0;
	double value = 1;

	for (size_t e = 0; e < file->entries; e++) {
		int error = find_line(file, "another number");

		if (!error && file->coordinate)
			error = read_place(file, &row, &column);
		if (!error && !file->pattern)
			error = read_value(file, &value);
		if (!error && !take(arg, row, column, value))
			error =
			    REFUSE(file, "row %zu, column %zu is given twice", row + 1, column + 1);
		if (!error)
			error = end_line(file);
		if (error)
			return error;
		if (!file->coordinate)
			next_place(file, &row, &column);
	}
	for (; file->at < file->end; next_line(file)) {
		skip_blanks(file);
		if (!at_line_end(file) && *file->at != '%')
			return REFUSE(file, "more than %zu numbers", file->entries);
	}
	return 0;
}

int matrix_market_write(const char *path, size_t rows, size_t columns, bool symmetric, int digits,
                        double (*get)(void *arg, size_t row, size_t column), void *arg)
{
	FILE *stream;
	int error = file_create(path, &stream);

	if (error)
		return error;
	fprintf(stream, "%%%%MatrixMarket matrix array real %s\n%zu %zu\n",
	        symmetric ? "symmetric" : "general", rows, columns);
	for (size_t j = 0; j < columns; j++)
		for (size_t i = symmetric ? j : 0; i < rows; i++)
			fprintf(stream, "%.*g\n", digits, get(arg, i, j));
	return file_finish(path, stream);
}
