/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "partition/kernel/access/includes.h"
#include "partition/kernel/access/options.h"
#include "partition/kernel/access/source_text.h"

enum { MAXDEPTH = 32, MOST_BYTES = 16 << 20 };

struct expansion {
	const char *options;
	FILE *out;
	size_t bytes; /* read so far */
	char *why;
	size_t size;
};

/* ---- files ---- */

static bool is_file(const char *path)
{
	struct stat about;

	return !stat(path, &about) && S_ISREG(about.st_mode);
}

static bool path_make(const char *folder, const char *name, char path[PATH_MAX])
{
	bool absolute = *name == '/';
	int length =
	    snprintf(path, PATH_MAX, "%s%s%s", absolute ? "" : folder, absolute ? "" : "/", name);

	return length < PATH_MAX && is_file(path);
}

/* @return 1: found; 0: not; -ENOMEM */
static int file_find(const struct expansion *e, const char *beside, const char *name,
                     char path[PATH_MAX])
{
	char *copy = strdup(e->options), *rest = copy, *folder;
	bool found = beside && path_make(beside, name, path);

	while (copy && !found && (folder = kernel_option_folder_take(&rest)))
		found = path_make(folder, name, path);
	free(copy);
	return copy ? found : -ENOMEM;
}

/* Whether the working folder has another file of that name. */
static bool is_ambiguous(const char *name, const char *path)
{
	struct stat there, here;

	return *name != '/' && !stat(name, &here) && !stat(path, &there) &&
	       (here.st_dev != there.st_dev || here.st_ino != there.st_ino);
}

static int file_read(struct expansion *e, const char *path, char **text)
{
	FILE *file = fopen(path, "r");
	size_t size = 0, n;
	int status = 0;

	*text = NULL;
	if (!file)
		return -errno;
	if (fseek(file, 0, SEEK_END) || ftell(file) < 0)
		status = -EIO;
	else
		size = ftell(file);
	rewind(file);
	e->bytes += size;
	if (!status && e->bytes > MOST_BYTES)
		status = -EFBIG;
	if (!status && !(*text = malloc(size + 1)))
		status = -ENOMEM;
	if (!status) {
		n = fread(*text, 1, size, file);
		(*text)[n] = '\0';
		if (n != size || strlen(*text) != n)
			status = -EIO;
	}
	fclose(file);
	if (status)
		free(*text);
	return status;
}

/* ---- directives, in texts whose lines are joined ---- */

/* Behind blanks and comments of a line. */
static const char *skip_space(const char *at)
{
	for (;;) {
		const char *end = *at == '/' ? source_opaque_end(at) : source_skip_blanks(at);

		if (end == at)
			return at;
		at = end;
	}
}

/* Takes an inclusion apart.
 * @param[out] name
 * @param[out] quoted whether it is in quotes
 * @return behind it, at the end of its line; NULL: the line has none */
static const char *inclusion(const char *line, char name[PATH_MAX], bool *quoted)
{
	const char *at = skip_space(line), *end;

	if (*at != '#')
		return NULL;
	at = skip_space(at + 1);
	if (!source_is_word(at, source_name_length(at), "include"))
		return NULL;
	at = skip_space(at + strlen("include"));
	*quoted = *at == '"';
	if (*at != '"' && *at != '<')
		return NULL;
	end = at + 1 + strcspn(at + 1, *quoted ? "\"\n" : ">\n");
	if (*end != (*quoted ? '"' : '>') || end - at - 1 >= PATH_MAX || end == at + 1)
		return NULL;
	snprintf(name, PATH_MAX, "%.*s", (int)(end - at - 1), at + 1);
	at = skip_space(end + 1);
	return !*at || *at == '\n' ? at : NULL;
}

/* @return behind `#pragma once`, at the end of its line; NULL: the line is another one */
static const char *pragma_once(const char *line)
{
	const char *at = skip_space(line);

	if (*at != '#')
		return NULL;
	at = skip_space(at + 1);
	if (!source_is_word(at, source_name_length(at), "pragma"))
		return NULL;
	at = skip_space(at + strlen("pragma"));
	if (!source_is_word(at, source_name_length(at), "once"))
		return NULL;
	return at + strcspn(at, "\n");
}

/* A name that stands for a file. It is defined where the file says that it counts once, since that
 * may depend on conditions, as may inclusions. */
static void once_name(const char *path, char name[64])
{
	struct stat about = {0};

	stat(path, &about);
	snprintf(name, 64, "ONCE_%llx_%llx", (unsigned long long)about.st_dev,
	         (unsigned long long)about.st_ino);
}

/* A file that is being put in its place. */
struct file {
	const struct file *outer; /* that includes it; NULL: the source does */
	char once[64];
	bool again; /* it is around itself */
	int depth;
};

/* A text whose lines are joined is read once more. */
static bool lines_join(struct expansion *e, char *text)
{
	bool joined = source_lines_join(text);

	if (!joined)
		snprintf(e->why, e->size, "it has a backslash that joins no lines");
	return joined;
}

/* @param in NULL: the source itself */
static int text_expand(struct expansion *e, char *text, const char *beside, const struct file *in);

static void file_open(const char *path, const struct file *outer, struct file *file)
{
	file->outer = outer;
	file->depth = outer ? outer->depth + 1 : 1;
	file->again = false;
	once_name(path, file->once);
	for (; outer; outer = outer->outer)
		file->again |= !strcmp(outer->once, file->once);
}

/* @return 1: the file is in its place; 0: there is none; errors */
static int file_expand(struct expansion *e, const char *name, const char *beside,
                       const struct file *outer)
{
	char path[PATH_MAX], *text, *slash;
	struct file file;
	bool guarded;
	int status = file_find(e, beside, name, path);

	if (status <= 0)
		return status;
	file_open(path, outer, &file);
	/* A file within itself is nothing, by its guard. Without one compilers come to this. */
	if (outer && outer->again) {
		fprintf(e->out, "\n#error %s includes itself without an end\n", name);
		return 1;
	}
	if (is_ambiguous(name, path) || file.depth > MAXDEPTH) {
		snprintf(e->why, e->size, "it includes %s, %s", name,
		         file.depth > MAXDEPTH ? "by too many other files"
		                               : "which is in the working folder, too");
		return -ENOTSUP;
	}
	status = file_read(e, path, &text);
	if (status)
		return status;
	slash = strrchr(path, '/');
	strcpy(slash ? slash : path, slash ? "" : ".");
	if (!lines_join(e, text)) {
		free(text);
		return -ENOTSUP;
	}
	guarded = strstr(text, "pragma") && strstr(text, "once");
	if (guarded)
		fprintf(e->out, "\n#ifndef %s", file.once);
	fputc('\n', e->out);
	status = text_expand(e, text, path, &file);
	fputs(guarded ? "\n#endif\n" : "\n", e->out);
	free(text);
	return status ? status : 1;
}

static int text_expand(struct expansion *e, char *text, const char *beside, const struct file *in)
{
	bool line_begins = true, quoted;
	char name[PATH_MAX];

	for (const char *at = text, *end; *at; at = end) {
		end = line_begins ? inclusion(at, name, &quoted) : NULL;
		if (end) {
			int status = file_expand(e, name, quoted ? beside : NULL, in);

			if (status < 0)
				return status;
			if (status)
				continue;
		}
		end = line_begins && in ? pragma_once(at) : NULL;
		if (end) {
			fprintf(e->out, "#define %s", in->once);
			continue;
		}
		end = source_opaque_end(at);
		/* A comment may stand in front of a directive. */
		line_begins = *at == '\n' ||
		              (line_begins && strchr(" \t\v\f/", *at) && (*at != '/' || end > at));
		end += end == at;
		fwrite(at, 1, end - at, e->out);
	}
	return 0;
}

int kernel_includes_expand(const char *source, const char *options, char **expanded, char *why,
                           size_t size)
{
	struct expansion e = {.options = options, .why = why, .size = size};
	char *copy = strdup(source), *text = NULL;
	size_t length;
	int status = 0;

	e.out = open_memstream(&text, &length);
	if (!copy || !e.out)
		status = -ENOMEM;
	if (!status) {
		status = lines_join(&e, copy) ? 0 : -ENOTSUP;
		if (!status && strstr(copy, "include"))
			status = text_expand(&e, copy, NULL, NULL);
		else
			fputs(source, e.out);
	}
	if (e.out && fclose(e.out) && !status)
		status = -ENOMEM;
	free(copy);
	if (status)
		free(text);
	else
		*expanded = text;
	return status;
}

void kernel_includes_forbid(char *text)
{
	static const char *const words[] = {"include", "import", "include_next", "embed", NULL};
	bool line_begins = true;
	size_t length;

	source_lines_join(text);
	for (char *at = text; *at;) {
		const char *end = source_opaque_end(at), *word;

		if (line_begins && *at == '#') {
			word = skip_space(at + 1);
			length = source_name_length(word);
			if (source_is_any(word, length, words))
				memcpy(text + (word - text), length == 5 ? "error" : "error       ",
				       length);
		}
		line_begins = *at == '\n' ||
		              (line_begins && strchr(" \t\v\f/", *at) && (*at != '/' || end > at));
		at += end > at ? end - at : 1;
	}
}
