/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "support/message.h"
#include "apps/common/csv.h"
#include "apps/common/file.h"

/* Where the reader stands. */
struct reader {
	const char *path;
	const char *at, *end; /* of the text; *end is NUL */
	size_t line;
	unsigned ncolumns;
	const char *const *names;
	size_t room; /* rows that the columns have room for */
};

static void skip_blanks(struct reader *reader)
{
	while (*reader->at == ' ' || *reader->at == '\t')
		reader->at++;
}

/* At the end of a line, or of the text. */
static int at_line_end(const struct reader *reader)
{
	return reader->at == reader->end || *reader->at == '\n' ||
	       (*reader->at == '\r' && reader->at[1] == '\n');
}

static void next_line(struct reader *reader)
{
	if (*reader->at == '\r')
		reader->at++;
	if (reader->at < reader->end)
		reader->at++;
	reader->line++;
}

/* How long the field is that begins here. */
static int field_length(const struct reader *reader)
{
	size_t length = strcspn(reader->at, ",\r\n");

	return length > 40 ? 40 : length;
}

static int refuse(const struct reader *reader, unsigned column, const char *reason)
{
	return heddle_refuse(-EINVAL, "%s:%zu: %s: '%.*s' %s", reader->path, reader->line,
	                     reader->names[column], field_length(reader), reader->at, reason);
}

static int read_field(struct reader *reader, unsigned column, float *value)
{
	const char *start = reader->at;
	char *after;
	int last = column + 1 == reader->ncolumns;

	if (at_line_end(reader) || *start == ',')
		return heddle_refuse(-EINVAL, "%s:%zu: %s is missing: a row has %u numbers",
		                     reader->path, reader->line, reader->names[column],
		                     reader->ncolumns);
	*value = strtof(start, &after);
	reader->at = after;
	skip_blanks(reader);
	if (after == start || (*reader->at != ',' && !at_line_end(reader))) {
		reader->at = start;
		return refuse(reader, column, "is not a number");
	}
	if (!isfinite(*value) || !(*value > 0)) {
		reader->at = start;
		return refuse(reader, column, "is not a finite number above 0");
	}
	if (*reader->at != ',')
		return 0;
	if (last)
		return heddle_refuse(-EINVAL, "%s:%zu: a row has %u numbers, not more",
		                     reader->path, reader->line, reader->ncolumns);
	reader->at++;
	skip_blanks(reader);
	return 0;
}

static int read_row(struct reader *reader, struct csv *table)
{
	if (table->rows == reader->room) {
		size_t room = reader->room ? 2 * reader->room : 1024;

		for (unsigned c = 0; c < table->ncolumns; c++) {
			float *larger = realloc(table->columns[c], room * sizeof(float));

			if (!larger)
				return heddle_refuse(-ENOMEM, "%s: no memory for %zu rows",
				                     reader->path, room);
			table->columns[c] = larger;
		}
		reader->room = room;
	}
	for (unsigned c = 0; c < table->ncolumns; c++) {
		int error = read_field(reader, c, &table->columns[c][table->rows]);

		if (error)
			return error;
	}
	table->rows++;
	next_line(reader);
	return 0;
}

/* Spreadsheets begin a file with a byte-order mark. */
static void skip_mark(struct reader *reader)
{
	static const char mark[] = "\xef\xbb\xbf";

	if (!strncmp(reader->at, mark, strlen(mark)))
		reader->at += strlen(mark);
}

/* Steps over the first line when it names the columns. */
static void skip_header(struct reader *reader)
{
	const char *start = reader->at;

	for (unsigned c = 0; c < reader->ncolumns; c++) {
		size_t length = strlen(reader->names[c]);
		char after = c + 1 < reader->ncolumns ? ',' : '\0';

		skip_blanks(reader);
		if (strncasecmp(reader->at, reader->names[c], length))
			break;
		reader->at += length;
		skip_blanks(reader);
		if (!after && at_line_end(reader)) {
			next_line(reader);
			return;
		}
		if (!after || *reader->at++ != after)
			break;
	}
	reader->at = start;
}

static int read_table(struct reader *reader, struct csv *table)
{
	skip_mark(reader);
	skip_header(reader);
	while (reader->at < reader->end) {
		int error;

		skip_blanks(reader);
		if (at_line_end(reader)) {
			next_line(reader);
			continue;
		}
		error = read_row(reader, table);
		if (error)
			return error;
	}
	if (!table->rows)
		return heddle_refuse(-EINVAL, "%s:%zu: no row of numbers in the file", reader->path,
		                     reader->line);
	return 0;
}

int csv_read(const char *path, unsigned ncolumns, const char *const *columns, struct csv *table)
{
	struct csv read = {.ncolumns = ncolumns};
	struct reader reader = {.path = path, .line = 1, .ncolumns = ncolumns, .names = columns};
	char *text;
	size_t bytes;
	int error = file_load_text(path, &text, &bytes);

	if (error)
		return error;
	reader.at = text;
	reader.end = text + bytes;
	error = read_table(&reader, &read);
	free(text);
	if (error)
		csv_free(&read);
	else
		*table = read;
	return error;
}

void csv_free(struct csv *table)
{
	for (unsigned c = 0; c < table->ncolumns; c++)
		free(table->columns[c]);
	*table = (struct csv){0};
}

int csv_write(const char *path, unsigned ncolumns, const char *const *names,
              const float *const *columns, size_t rows)
{
	FILE *stream;
	int error = file_create(path, &stream);

	if (error)
		return error;
	for (unsigned c = 0; c < ncolumns; c++)
		fprintf(stream, "%s%c", names[c], c + 1 < ncolumns ? ',' : '\n');
	for (size_t r = 0; r < rows; r++)
		for (unsigned c = 0; c < ncolumns; c++)
			fprintf(stream, "%.9g%c", columns[c][r], c + 1 < ncolumns ? ',' : '\n');
	return file_finish(path, stream);
}
