/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "partition/kernel/analysis.h"
#include "partition/kernel/conditions.h"
#include "partition/kernel/hash.h"
#include "partition/kernel/index_ops.h"
#include "private/message.h"
#include "private/profile_file.h"
#include "private/variables.h"

extern char **environ;

/* ---- where descriptions are kept ---- */

static int path_make(const char *source, const char *name, const char *options, char *path,
                     size_t size)
{
	struct kernel_hash hash = kernel_hash_begin(INDEX_VERSION);
	char codelet[64], *ending;
	int error;

	kernel_hash_add(&hash, PACKAGE_VERSION);
	kernel_hash_add(&hash, name);
	kernel_hash_add(&hash, options);
	kernel_hash_add(&hash, source);
	snprintf(codelet, sizeof(codelet), "kernel-%016" PRIx64 "%016" PRIx64, hash.sums[0],
	         hash.sums[1]);
	error = heddle_profile_path(codelet, path, size);
	if (error)
		return error;
	ending = strrchr(path, '.');
	strcpy(ending, ".index"); /* no profile, and shorter than ".profile" */
	return 0;
}

static void folders_make(char *path)
{
	for (char *at = path + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(path, 0777); /* what fails is seen when the file is made */
		*at = '/';
	}
}

static char *file_read(FILE *file)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	int c;

	if (!out)
		return NULL;
	while ((c = getc(file)) != EOF)
		putc(c, out);
	if (fclose(out) || ferror(file)) {
		free(text);
		return NULL;
	}
	return text;
}

static int kept_read(const char *path, struct index_kernel *kernel)
{
	FILE *file = fopen(path, "r");
	char *text;
	int error;

	if (!file)
		return -errno;
	text = file_read(file);
	fclose(file);
	error = text ? index_parse(text, kernel) : -EIO;
	free(text);
	return error;
}

/* Keeping is of use only; whatever fails is told and passes. */
static void keep(char *path, const char *text)
{
	char fresh[PATH_MAX + 8];
	FILE *file;
	int descriptor;
	bool failed;

	folders_make(path);
	snprintf(fresh, sizeof(fresh), "%s.XXXXXX", path);
	descriptor = mkstemp(fresh);
	file = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
	if (!file) {
		heddle_explain("%s: %s", fresh, strerror(errno));
		if (descriptor >= 0)
			close(descriptor);
		return;
	}
	fputs(text, file);
	failed = ferror(file);
	if (fclose(file) || failed || rename(fresh, path)) {
		heddle_explain("%s: %s", path, strerror(errno));
		unlink(fresh);
	}
}

/* ---- running heddle-analyse ---- */

static char found[PATH_MAX] = HEDDLE_PKGLIBEXECDIR "/heddle-analyse";

/* A library that lies in a build tree, in .libs, goes with the program of that tree: an
 * installed one may be of another version. */
static void program_find(void)
{
	static const char libs[] = "/.libs/", program[] = "/bin/heddle-analyse";
	char path[PATH_MAX + sizeof(program)];
	size_t length = sizeof(libs) - 1;
	Dl_info self;
	char *name;

	if (!dladdr(found, &self) || !realpath(self.dli_fname, path))
		return;
	name = strrchr(path, '/') + 1;
	if (name < path + length || strncmp(name - length, libs, length))
		return;
	strcpy(name - length, program);
	if (strlen(path) < sizeof(found) && !access(path, X_OK))
		strcpy(found, path);
}

static const char *program(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const char *given = heddle_variable_text(HEDDLE_VARIABLE_ANALYSE);

	pthread_once(&once, program_find);
	return *given ? given : found;
}

/* Starts a program; its standard output goes to `output`. */
static int spawn(char *const *arguments, int output, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	int error = posix_spawn_file_actions_init(&actions);

	if (error)
		return -error;
	error = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	if (!error)
		error = posix_spawn(pid, arguments[0], &actions, NULL, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	return -error;
}

#define BLANKS " \t\n"

/* Where an option ends: blanks in double quotes are its own. */
static const char *option_end(const char *option)
{
	bool quoted = false;

	for (; *option && (quoted || !strchr(BLANKS, *option)); option++)
		quoted ^= *option == '"';
	return option;
}

/* Whether there are quotes elsewhere than around the folder of -I. OpenCL knows none there;
 * compilers take them off, or for the beginning of a string. */
static bool quotes_unclear(const char *options)
{
	const char *end;
	bool folder = false;

	for (options += strspn(options, BLANKS); *options; options = end + strspn(end, BLANKS)) {
		end = option_end(options);
		if (memchr(options, '"', end - options) && !folder && strncmp(options, "-I", 2))
			return true;
		folder = end - options == 2 && !strncmp(options, "-I", 2);
	}
	return false;
}

/* The next option, without its quotes; NULL: there is none. */
static char *option_take(char **rest)
{
	char *option = *rest + strspn(*rest, BLANKS), *to = option;
	const char *end = option_end(option);

	if (!*option)
		return NULL;
	*rest += end - *rest + (*end != '\0');
	for (const char *from = option; from < end; from++)
		if (*from != '"')
			*to++ = *from;
	*to = '\0';
	return option;
}

/* Starts heddle-analyse on a source file. */
static int start(const char *path, const char *name, char *options, int output, pid_t *pid)
{
	/* Between two options there is a blank. */
	char **arguments = calloc(strlen(options) / 2 + 5, sizeof(*arguments)), *option;
	int n = 0, error;

	if (!arguments)
		return -ENOMEM;
	arguments[n++] = (char *)program();
	arguments[n++] = (char *)name;
	arguments[n++] = (char *)path;
	while ((option = option_take(&options)))
		arguments[n++] = option;
	error = spawn(arguments, output, pid);
	free(arguments);
	return error;
}

static int wait_for(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -EINVAL;
}

/* Runs it on an open source file; *text is to be freed. */
static int run(const char *path, const char *name, const char *options, char **text)
{
	char *copy = strdup(options);
	FILE *output = tmpfile();
	int error = copy && output ? 0 : -ENOMEM;
	pid_t pid;

	if (!error)
		error = start(path, name, copy, fileno(output), &pid);
	if (!error)
		error = wait_for(pid);
	if (!error) {
		rewind(output);
		*text = file_read(output);
		error = *text ? 0 : -EIO;
	}
	if (output)
		fclose(output);
	free(copy);
	return error;
}

static int describe(const char *source, const char *name, const char *options, char **text)
{
	char path[] = "/tmp/heddle-kernel.XXXXXX";
	int descriptor = mkstemp(path), error = 0;
	size_t length = strlen(source);

	if (descriptor < 0)
		return -errno;
	if (write(descriptor, source, length) != (ssize_t)length)
		error = -EIO;
	close(descriptor);
	if (!error)
		error = run(path, name, options, text);
	unlink(path);
	return error;
}

int analysis_make(const char *source, const char *name, const char *options,
                  struct index_kernel *kernel)
{
	char path[PATH_MAX], foreign[64], *text = NULL;
	bool kept;
	int error;

	options = options ? options : "";
	if (conditions_foreign(source, options, foreign, sizeof(foreign))) {
		heddle_explain("kernel %s is not analysed: devices may compile different code, "
		               "since its source asks whether %s is defined",
		               name, foreign);
		return -ENOTSUP;
	}
	if (conditions_includes(source, options)) {
		heddle_explain("kernel %s is not analysed: it includes files", name);
		return -ENOTSUP;
	}
	if (quotes_unclear(options)) {
		heddle_explain("kernel %s is not analysed: its options have quotes that are not "
		               "around a folder of -I, which compilers read in different ways",
		               name);
		return -ENOTSUP;
	}
	kept = !path_make(source, name, options, path, sizeof(path));
	if (kept && !kept_read(path, kernel))
		return 0;
	if (access(program(), X_OK)) {
		heddle_explain("kernel %s is not analysed: no %s", name, program());
		return -ENOENT;
	}
	error = describe(source, name, options, &text);
	if (!error)
		error = index_parse(text, kernel);
	if (!error && kept)
		keep(path, text);
	free(text);
	if (error)
		heddle_explain("kernel %s is not analysed: %s", name, strerror(-error));
	return error;
}
