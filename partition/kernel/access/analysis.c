/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "partition/kernel/access/analysis.h"
#include "partition/kernel/access/conditions.h"
#include "partition/kernel/access/includes.h"
#include "partition/kernel/access/index.h"
#include "partition/kernel/access/options.h"
#include "support/message.h"
#include "estimator/profile_file.h"
#include "support/variables.h"

extern char **environ;

/* The size of a description at most. Descriptions of large kernels have a hundredth of it. */
enum { MOST_BYTES = 16 << 20 };

/* ---- where descriptions are kept ---- */

/* Two FNV-1a sums of 64 bits; the ends of the texts count. */
void kernel_hash(uint64_t seed, const char *const *texts, unsigned n, char hash[KERNEL_HASH_TEXT])
{
	uint64_t sums[2] = {UINT64_C(0xcbf29ce484222325), seed};

	for (unsigned t = 0; t < n; t++) {
		const unsigned char *at = (const unsigned char *)texts[t];

		do {
			sums[0] = (sums[0] ^ *at) * UINT64_C(0x100000001b3);
			sums[1] = (sums[1] ^ *at) * UINT64_C(0x880355f21e6d1965);
		} while (*at++);
	}
	snprintf(hash, KERNEL_HASH_TEXT, "%016" PRIx64 "%016" PRIx64, sums[0], sums[1]);
}

static int path_make(const char *source, const char *name, const char *options, char *path,
                     size_t size)
{
	const char *const texts[] = {PACKAGE_VERSION, name, options, source};
	char codelet[64] = "kernel-", *ending;
	int error;

	kernel_hash(INDEX_VERSION, texts, 4, codelet + strlen(codelet));
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
		mkdir(path, 0777); /* errors show when the file is made */
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

/* Stores a description for later runs. Errors are reported and do no harm. */
static void keep(char *path, const char *text)
{
	char fresh[PATH_MAX + 8];
	FILE *file;
	int descriptor;
	bool failed;

	folders_make(path);
	snprintf(fresh, sizeof(fresh), "%s.XXXXXX", path);
	descriptor = mkostemp(fresh, O_CLOEXEC);
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

/* A library in a build tree (in .libs) uses the program of that tree: an installed program may
 * have another version. */
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

/* Starts a program in a process group of its own; its standard output goes to `output`. */
static int spawn(char *const *arguments, int output, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int error = posix_spawn_file_actions_init(&actions);

	if (error)
		return -error;
	error = posix_spawnattr_init(&attributes);
	if (error) {
		posix_spawn_file_actions_destroy(&actions);
		return -error;
	}
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
	error = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	if (!error)
		error = posix_spawn(pid, arguments[0], &actions, &attributes, arguments, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return -error;
}

/* Starts heddle-analyse on a source file. */
static int start(const char *path, const char *name, char *options, int output, pid_t *pid)
{
	/* Two options are at least one blank apart. */
	char **arguments = calloc(strlen(options) / 2 + 5, sizeof(*arguments)), *option;
	int n = 0, error;

	if (!arguments)
		return -ENOMEM;
	arguments[n++] = (char *)program();
	arguments[n++] = (char *)name;
	arguments[n++] = (char *)path;
	while ((option = kernel_option_take(&options)))
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

/* Milliseconds until a time on the monotonic clock; 0: it has passed. */
static int left_ms(const struct timespec *end)
{
	struct timespec now;
	int64_t left;

	clock_gettime(CLOCK_MONOTONIC, &now);
	left = (int64_t)(end->tv_sec - now.tv_sec) * 1000 + (end->tv_nsec - now.tv_nsec) / 1000000;
	return left > 0 ? left : 0;
}

/* Copies from a pipe to its end, up to a time and a size.
 * @return 0; -ETIMEDOUT; -EFBIG; errors of reading */
static int copy_until(int from, FILE *to, const struct timespec *end)
{
	struct pollfd wanted = {.fd = from, .events = POLLIN};
	char bytes[4096];
	size_t size = 0;
	ssize_t n;

	for (;;) {
		int ready = poll(&wanted, 1, left_ms(end));

		if (!ready)
			return -ETIMEDOUT;
		n = ready > 0 ? read(from, bytes, sizeof(bytes)) : -1;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (!n)
			return 0;
		if (n > 0)
			size += fwrite(bytes, 1, n, to);
		if (size > MOST_BYTES)
			return -EFBIG;
	}
}

/* Reads the output of a program until it ends. A program that takes too long or writes too much
 * is killed with all that it has started. */
static int program_read(pid_t pid, int from, char **text)
{
	struct timespec end;
	size_t size;
	FILE *to = open_memstream(text, &size);
	int error = to ? 0 : -ENOMEM, ended;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += heddle_variable_number(HEDDLE_VARIABLE_ANALYSE_LIMIT);
	if (!error)
		error = copy_until(from, to, &end);
	if (to && fclose(to) && !error)
		error = -ENOMEM;
	if (error)
		kill(-pid, SIGKILL);
	ended = wait_for(pid);
	return error ? error : ended;
}

/* Runs the program on a source file. *text is to be freed in all cases. */
static int run(const char *path, const char *name, const char *options, char **text)
{
	char *copy = strdup(options);
	int ends[2], error = copy ? 0 : -ENOMEM;
	pid_t pid;

	if (!error && pipe2(ends, O_CLOEXEC))
		error = -errno;
	if (error) {
		free(copy);
		return error;
	}
	error = start(path, name, copy, ends[1], &pid);
	close(ends[1]);
	if (!error)
		error = program_read(pid, ends[0], text);
	close(ends[0]);
	free(copy);
	return error;
}

static int describe(const char *source, const char *name, const char *options, char **text)
{
	char path[] = "/tmp/heddle-kernel.XXXXXX";
	int descriptor = mkostemp(path, O_CLOEXEC), error = 0;
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

static int make(const char *source, const char *name, const char *options,
                struct index_kernel *kernel)
{
	char path[PATH_MAX], *text = NULL;
	bool kept = !path_make(source, name, options, path, sizeof(path));
	int error;

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
	if (error == -ETIMEDOUT)
		heddle_warn("kernel %s is not analysed, so that it runs on one device: %s takes "
		            "longer than %d s (HEDDLE_ANALYSE_LIMIT)",
		            name, program(),
		            (int)heddle_variable_number(HEDDLE_VARIABLE_ANALYSE_LIMIT));
	else if (error)
		heddle_explain("kernel %s is not analysed: %s", name, strerror(-error));
	return error;
}

/* ---- what is analysed ---- */

/* The source with its included files, and the names that it asks compilers for. Both are to be
 * freed on success. */
static int prepare(const char *source, const char *name, const char *options, char **expanded,
                   char **asked)
{
	char why[256];
	int error = kernel_options_check(options, why, sizeof(why));

	if (!error)
		error = kernel_includes_expand(source, options, expanded, why, sizeof(why));
	if (!error) {
		error = kernel_conditions_ask(*expanded, options, asked, why, sizeof(why));
		if (error)
			free(*expanded);
	}
	if (error)
		heddle_explain("kernel %s is not analysed: %s", name,
		               error == -ENOTSUP ? why : strerror(-error));
	return error;
}

int kernel_analyse_asks(const char *source, const char *name, const char *options, char **asked)
{
	char *expanded;
	int error = prepare(source, name, options ? options : "", &expanded, asked);

	if (!error)
		free(expanded);
	return error;
}

int kernel_analyse(const char *source, const char *name, const char *options, const char *answers,
                   struct index_kernel *kernel)
{
	char *expanded, *asked, *text = NULL;
	int error;

	options = options ? options : "";
	error = prepare(source, name, options, &expanded, &asked);
	if (error)
		return error;
	if (*asked && !answers) {
		heddle_explain("kernel %s is not analysed: devices may compile different code, "
		               "since its source asks whether %.*s is defined",
		               name, (int)strcspn(asked, "\n"), asked);
		error = -ENOTSUP;
	} else if (asprintf(&text, "%s%s%s", *asked ? answers : "", *asked ? "#line 1\n" : "",
	                    expanded) < 0) {
		error = -ENOMEM;
	} else {
		error = make(text, name, options, kernel);
		free(text);
	}
	free(expanded);
	free(asked);
	return error;
}
