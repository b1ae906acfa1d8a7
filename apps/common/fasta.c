/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "support/message.h"
#include "apps/common/fasta.h"
#include "apps/common/file.h"

#define LINE 60 /* letters of a line that is written */

/* Where the reader stands. */
struct reader {
	const char *path;
	const char *at, *end; /* of the text; *end is NUL */
	size_t line;
	size_t longest;
	int (*number)(char letter);
};

/* The line that begins here, without blanks at its end; steps to the next one. */
static size_t take_line(struct reader *reader, const char **line)
{
	const char *newline = memchr(reader->at, '\n', reader->end - reader->at);
	size_t length;

	*line = reader->at;
	length = (newline ? newline : reader->end) - reader->at;
	reader->at = newline ? newline + 1 : reader->end;
	reader->line++;
	while (length && isspace((unsigned char)(*line)[length - 1]))
		length--;
	return length;
}

static int refuse_letter(const struct reader *reader, unsigned char letter, size_t column)
{
	if (isgraph(letter))
		return heddle_refuse(-EINVAL,
		                     "%s:%zu: column %zu: '%c' is no letter of the alphabet",
		                     reader->path, reader->line, column, letter);
	return heddle_refuse(-EINVAL, "%s:%zu: column %zu: byte %u is no letter of the alphabet",
	                     reader->path, reader->line, column, letter);
}

static int read_letters(struct reader *reader, const char *line, size_t length,
                        struct sequence *sequence)
{
	if (length > reader->longest - sequence->n)
		return heddle_refuse(-EINVAL, "%s:%zu: sequence '%s' has more than %zu letters",
		                     reader->path, reader->line, sequence->name, reader->longest);
	for (size_t i = 0; i < length; i++) {
		int number = reader->number(line[i]);

		if (number < 0)
			return refuse_letter(reader, line[i], i + 1);
		sequence->letters[sequence->n++] = number;
	}
	return 0;
}

static int begin_sequence(struct reader *reader, const char *line, size_t length,
                          struct sequence *sequence)
{
	size_t n = 1;

	while (n < length && !isspace((unsigned char)line[n]))
		n++;
	sequence->name = strndup(line + 1, n - 1);
	/* No more letters can follow than there are bytes. */
	sequence->letters = malloc(reader->end - reader->at + 1);
	if (!sequence->name || !sequence->letters)
		return heddle_refuse(-ENOMEM, "%s: no memory for its sequences", reader->path);
	return 0;
}

static int refuse_empty(const struct reader *reader, const struct sequence *sequence, size_t line)
{
	return heddle_refuse(-EINVAL, "%s:%zu: sequence '%s' has no letters", reader->path, line,
	                     sequence->name);
}

static int read_all(struct reader *reader, unsigned count, struct sequence *sequences)
{
	unsigned found = 0;
	size_t header = 0;
	int error = 0;

	while (!error && reader->at < reader->end) {
		const char *line;
		size_t length = take_line(reader, &line);

		if (!length)
			continue;
		if (*line != '>' && !found)
			return heddle_refuse(
			    -EINVAL,
			    "%s:%zu: not a FASTA file: no line that begins with '>' "
			    "comes first",
			    reader->path, reader->line);
		if (*line != '>') {
			error = read_letters(reader, line, length, &sequences[found - 1]);
			continue;
		}
		if (found && !sequences[found - 1].n)
			return refuse_empty(reader, &sequences[found - 1], header);
		if (found == count)
			return heddle_refuse(-EINVAL, "%s:%zu: more than %u sequence%s",
			                     reader->path, reader->line, count,
			                     count == 1 ? "" : "s");
		header = reader->line;
		error = begin_sequence(reader, line, length, &sequences[found++]);
	}
	if (error)
		return error;
	if (found && !sequences[found - 1].n)
		return refuse_empty(reader, &sequences[found - 1], header);
	if (found < count)
		return heddle_refuse(-EINVAL, "%s:%zu: the file ends after %u of %u sequences",
		                     reader->path, reader->line, found, count);
	return 0;
}

int fasta_read(const char *path, unsigned count, size_t longest, int (*number)(char letter),
               struct sequence *sequences)
{
	struct reader reader = {.path = path, .longest = longest, .number = number};
	size_t bytes;
	char *text;
	int error = file_load_text(path, &text, &bytes);

	if (error)
		return error;
	memset(sequences, 0, count * sizeof(*sequences));
	reader.at = text;
	reader.end = text + bytes;
	error = read_all(&reader, count, sequences);
	free(text);
	for (unsigned s = 0; error && s < count; s++)
		sequence_free(&sequences[s]);
	return error;
}

void fasta_write(FILE *stream, const struct sequence *sequence, char (*name)(uint8_t number))
{
	fprintf(stream, ">%s\n", sequence->name);
	for (size_t i = 0; i < sequence->n; i++) {
		fputc(name(sequence->letters[i]), stream);
		if (i % LINE == LINE - 1 || i + 1 == sequence->n)
			fputc('\n', stream);
	}
}

void sequence_free(struct sequence *sequence)
{
	free(sequence->name);
	free(sequence->letters);
	*sequence = (struct sequence){0};
}
