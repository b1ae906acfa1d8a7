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
#include "partition/kernel/access/source_text.h"
#include "support/message.h"
#include "support/place.h"
#include "estimator/profile_file.h"
#include "support/variables.h"

extern char **environ;

/* The size of a description at most, and of those of all kernels of a source. Descriptions of large
 * kernels have a hundredth of it. */
enum { MOST_BYTES = 16 << 20 };

/* So much longer than a kernel may take is waited for what says that it took too long, s. */
enum { GRACE_S = 5 };

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

#define PROGRAM "/heddle-analyse"

static char found[PATH_MAX] = HEDDLE_PKGLIBEXECDIR PROGRAM;

/* Takes a program, if it is there. */
static void found_set(char *path)
{
	if (path && strlen(path) < sizeof(found) && !access(path, X_OK))
		strcpy(found, path);
	free(path);
}

/* Where the library is, the program is: an installed program may have another version than a
 * library in a build tree (in .libs), and `make install prefix=DIR` may have put both elsewhere
 * than configure said. */
static void program_find(void)
{
	char path[PATH_MAX];
	Dl_info self;

	if (!dladdr(found, &self) || !realpath(self.dli_fname, path))
		return;
	*strrchr(path, '/') = '\0';
	found_set(heddle_place_moved(path, "", "/.libs", "/bin" PROGRAM));
	found_set(
	    heddle_place_moved(path, HEDDLE_PREFIX, HEDDLE_LIBDIR, HEDDLE_PKGLIBEXECDIR PROGRAM));
}

static const char *program(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const char *given = heddle_variable_text(HEDDLE_VARIABLE_ANALYSE);

	pthread_once(&once, program_find);
	return *given ? given : found;
}

static bool errors_shown;

void kernel_analyse_show_errors(void)
{
	errors_shown = true;
}

/* Starts a program in a process group of its own; its standard output goes to `output`. What its
 * compiler finds wrong, that of a device says, too. */
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
	if (!error && !errors_shown && heddle_variable_number(HEDDLE_VARIABLE_VERBOSE) < 2)
		error = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null",
		                                         O_WRONLY, 0);
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

static int exit_error(int status)
{
	switch (status) {
	case 0:
		return 0;
	case INDEX_TOO_LARGE:
		return -E2BIG;
	case INDEX_TOO_SLOW:
		return -ETIMEDOUT;
	case INDEX_MAKES_NAME:
		return -ENOTSUP;
	default:
		return -EINVAL;
	}
}

static int wait_for(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? exit_error(WEXITSTATUS(status)) : -EINVAL;
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

static struct timespec end_in(int seconds)
{
	struct timespec end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += seconds;
	return end;
}

/* Copies from a pipe to its end, up to a time and a size.
 * @param each the time counts anew behind whatever comes
 * @return 0; -ETIMEDOUT; -EFBIG; errors of reading */
static int copy_until(int from, FILE *to, int seconds, bool each)
{
	struct timespec end = end_in(seconds);
	struct pollfd wanted = {.fd = from, .events = POLLIN};
	char bytes[4096];
	size_t size = 0;
	ssize_t n;

	for (;;) {
		int ready = poll(&wanted, 1, left_ms(&end));

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
		if (each)
			end = end_in(seconds);
	}
}

/* Reads the output of a program until it ends. A program that takes too long or writes too much
 * is killed with all that it has started. */
static int program_read(pid_t pid, int from, bool all, char **text)
{
	int limit = heddle_variable_number(HEDDLE_VARIABLE_ANALYSE_LIMIT);
	size_t size;
	FILE *to = open_memstream(text, &size);
	int error = to ? 0 : -ENOMEM, ended;

	/* Of all kernels, the program itself ends one that takes too long, and goes on. */
	if (!error)
		error = copy_until(from, to, limit + (all ? GRACE_S : 0), all);
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
		error = program_read(pid, ends[0], !strcmp(name, INDEX_ALL), text);
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

/* Says why the program gave nothing. */
static void failed(int error, char why[KERNEL_WHY])
{
	switch (error) {
	case -ENOENT:
		snprintf(why, KERNEL_WHY, "there is no %.200s", program());
		break;
	case -E2BIG:
		snprintf(why, KERNEL_WHY, "it is too large");
		break;
	case -EINVAL:
		snprintf(why, KERNEL_WHY, "it does not compile for heddle-analyse");
		break;
	case -ENOTSUP:
		snprintf(why, KERNEL_WHY,
		         "devices may compile different code, since its source makes a name of "
		         "parts that compilers may define, or a text of code");
		break;
	case -ETIMEDOUT:
		snprintf(why, KERNEL_WHY, "that takes longer than %d s (HEDDLE_ANALYSE_LIMIT)",
		         (int)heddle_variable_number(HEDDLE_VARIABLE_ANALYSE_LIMIT));
		break;
	default:
		snprintf(why, KERNEL_WHY, "%s", strerror(-error));
	}
}

/* Runs the program on a source, without any file kept. *text is to be freed in all cases. */
static int run_on(const char *source, const char *name, const char *options, char **text)
{
	*text = NULL;
	return access(program(), X_OK) ? -ENOENT : describe(source, name, options, text);
}

static int make(const char *source, const char *name, const char *options,
                struct index_kernel *kernel, char why[KERNEL_WHY])
{
	char path[PATH_MAX], *text;
	bool kept = !path_make(source, name, options, path, sizeof(path));
	int error;

	if (kept && !kept_read(path, kernel))
		return 0;
	error = run_on(source, name, options, &text);
	if (!error)
		error = index_parse(text, kernel);
	if (!error && kept)
		keep(path, text);
	free(text);
	if (error)
		failed(error, why);
	if (error == -ETIMEDOUT)
		heddle_warn("kernel %s is not analysed, so that it runs on one device: %s: %s",
		            name, program(), why);
	return error;
}

/* ---- what is analysed ---- */

/* The source with its included files, and the names that it asks compilers for. Both are to be
 * freed on success. */
static int prepare(const char *source, const char *options, char **expanded, char **asked,
                   char why[KERNEL_WHY])
{
	int error = kernel_options_check(options, why, KERNEL_WHY);

	if (!error)
		error = kernel_includes_expand(source, options, expanded, why, KERNEL_WHY);
	if (!error) {
		error = kernel_conditions_ask(*expanded, options, asked, why, KERNEL_WHY);
		if (error)
			free(*expanded);
	}
	if (error && error != -ENOTSUP)
		snprintf(why, KERNEL_WHY, "%s", strerror(-error));
	return error;
}

int kernel_analyse_asks(const char *source, const char *options, char **asked, char why[KERNEL_WHY])
{
	char *expanded;
	int error = prepare(source, options ? options : "", &expanded, asked, why);

	if (!error)
		free(expanded);
	return error;
}

/* Puts a source behind the answers to what it asks. */
static int answers_join(const char *asked, const char *answers, char *expanded, char **text)
{
	size_t size;
	FILE *out = open_memstream(text, &size);

	if (!out)
		return -ENOMEM;
	/* It must be compiled as it was read. */
	kernel_includes_forbid(expanded);
	/* Loops are easier to understand than many copies of what is in them. */
	source_unrolling_blank(expanded);
	if (*asked) {
		fputs(answers, out);
		kernel_conditions_presume(out, asked);
	}
	/* Where answers end, even if there are none: the source may have such a line, too. */
	fputs("#line 1\n", out);
	fputs(expanded, out);
	return fclose(out) ? -ENOMEM : 0;
}

/* The source behind the answers to what it asks. */
static int answered(const char *source, const char *options, const char *answers, char **text,
                    char why[KERNEL_WHY])
{
	char *expanded, *asked;
	int error = prepare(source, options, &expanded, &asked, why);

	if (error)
		return error;
	if (*asked && !answers) {
		snprintf(why, KERNEL_WHY,
		         "devices may compile different code, since its source asks whether %.*s "
		         "is defined",
		         (int)strcspn(asked, "\n"), asked);
		error = -ENOTSUP;
	} else {
		error = answers_join(asked, answers, expanded, text);
		if (error)
			snprintf(why, KERNEL_WHY, "%s", strerror(-error));
	}
	free(expanded);
	free(asked);
	return error;
}

int kernel_analyse_all(const char *source, const char *options, const char *answers, char **all,
                       char why[KERNEL_WHY])
{
	char *text;
	int error;

	options = options ? options : "";
	error = answered(source, options, answers, &text, why);
	if (error)
		return error;
	error = run_on(text, INDEX_ALL, options, all);
	free(text);
	if (error) {
		free(*all);
		failed(error, why);
	}
	return error;
}

char *kernel_analysed_take(char **all, struct index_kernel *kernel, int *error,
                           char why[KERNEL_WHY])
{
	char *name, *text = *all, *end;

	*error = 0;
	if (!text || !*text)
		return NULL;
	name = text + strlen(INDEX_KERNEL);
	if (strncmp(text, INDEX_KERNEL, strlen(INDEX_KERNEL)) || !(end = strchr(name, '\n'))) {
		snprintf(why, KERNEL_WHY, "what %.200s says is not understood: \"%.*s\"", program(),
		         (int)strcspn(text, "\n"), text);
		*error = -EINVAL;
		return NULL;
	}
	*all = strstr(text, "\n" INDEX_KERNEL);
	if (*all)
		*(*all)++ = '\0';
	text = end;
	*text++ = '\0';
	end = strstr(text, "\n" INDEX_FAILED);
	*error = end ? exit_error(atoi(end + 1 + strlen(INDEX_FAILED))) : index_parse(text, kernel);
	if (*error)
		failed(*error, why);
	return name;
}

int kernel_analyse(const char *source, const char *name, const char *options, const char *answers,
                   struct index_kernel *kernel, char why[KERNEL_WHY])
{
	char *text;
	int error;

	options = options ? options : "";
	error = answered(source, options, answers, &text, why);
	if (error)
		return error;
	error = make(text, name, options, kernel, why);
	free(text);
	return error;
}
