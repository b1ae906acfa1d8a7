/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/home.h"
#include "support/message.h"
#include "estimator/profile_file.h"
#include "support/variables.h"

/* All records there can be take less. */
#define LARGEST ((size_t)16 << 20)
/* Of a file's name, before ".profile". */
#define LONGEST 200

static const char header[] = "# Heddle: times of tasks that were measured, in microseconds.\n";

/* The folder of all profiles. */
static int folder_find(char *path, size_t size)
{
	const char *place = heddle_variable_text(HEDDLE_VARIABLE_PROFILE_DIR);
	char models[PATH_MAX];
	int error;

	if (*place)
		return (size_t)snprintf(path, size, "%s", place) < size ? 0 : -ENAMETOOLONG;
	error = heddle_home_find(models, sizeof(models), NULL);
	if (error)
		return error;
	return (size_t)snprintf(path, size, "%s/heddle", models) < size ? 0 : -ENAMETOOLONG;
}

static bool harmless(unsigned char c, bool first)
{
	return (isascii(c) && isalnum(c)) || strchr("_-+=,@", c) || (c == '.' && !first);
}

int heddle_profile_path(const char *codelet, char *path, size_t size)
{
	char folder[PATH_MAX], name[LONGEST + 4];
	size_t length = 0;
	int error;

	if (!*codelet)
		return -EINVAL;
	for (const char *c = codelet; *c && length <= LONGEST; c++)
		if (harmless(*c, c == codelet))
			name[length++] = *c;
		else
			length += sprintf(name + length, "%%%02X", (unsigned char)*c);
	if (length > LONGEST)
		return -ENAMETOOLONG;
	name[length] = 0;
	error = folder_find(folder, sizeof(folder));
	if (error)
		return error;
	return (size_t)snprintf(path, size, "%s/%s.profile", folder, name) < size ? 0
	                                                                          : -ENAMETOOLONG;
}

static int complain(const char *path)
{
	int error = errno;

	return heddle_refuse(-error, "%s: %s", path, strerror(error));
}

/* All of an open file, and a zero byte. */
static int file_load(FILE *file, const char *path, char **text, size_t *length)
{
	struct stat status;
	size_t size;
	char *all;

	if (fstat(fileno(file), &status))
		return complain(path);
	if (!S_ISREG(status.st_mode))
		return heddle_refuse(-EINVAL, "%s: not a regular file", path);
	if ((size_t)status.st_size > LARGEST)
		return heddle_refuse(-EFBIG, "%s: %lld bytes are too many for a profile", path,
		                     (long long)status.st_size);
	size = status.st_size;
	all = malloc(size + 1);
	if (!all)
		return heddle_refuse(-ENOMEM, "%s: no memory for %zu bytes", path, size);
	*length = fread(all, 1, size, file);
	if (ferror(file)) {
		free(all);
		return complain(path);
	}
	all[*length] = 0;
	*text = all;
	return 0;
}

int heddle_profile_read(const char *path, struct heddle_profile *profile)
{
	/* Not to wait for a writer where somebody put a pipe. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), error;
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	size_t length = 0;
	char *text = NULL;

	if (fd < 0)
		return errno == ENOENT ? 0 : complain(path);
	if (!file) {
		error = complain(path);
		close(fd);
		return error;
	}
	error = file_load(file, path, &text, &length);
	fclose(file);
	if (error)
		return error;
	error = heddle_profile_parse(profile, text, length, path, NULL);
	free(text);
	return error ? heddle_refuse(error, "%s: no memory", path) : 0;
}

/* Makes the folders that a path goes through. */
static int folders_make(const char *path)
{
	char copy[PATH_MAX];

	if ((size_t)snprintf(copy, sizeof(copy), "%s", path) >= sizeof(copy))
		return heddle_refuse(-ENAMETOOLONG, "%s: too long a path", path);
	for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		if (mkdir(copy, 0777) && errno != EEXIST)
			return complain(copy);
		*slash = '/';
	}
	return 0;
}

/* Takes the lock of a file's folder. Where locks do not work (some network file
 * systems) files still stay whole, but of two processes that end at once one may
 * be forgotten.
 * @param[out] fd -1: no lock */
static void folder_lock(const char *path, int *fd)
{
	char lock[PATH_MAX];
	int length = strrchr(path, '/') ? (int)(strrchr(path, '/') - path) + 1 : 0;

	*fd = -1;
	if ((size_t)snprintf(lock, sizeof(lock), "%.*s.lock", length, path) >= sizeof(lock))
		return;
	*fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	while (*fd >= 0 && flock(*fd, LOCK_EX) && errno == EINTR)
		;
}

/* Writes a file beside its place, then puts it there. */
static int file_replace(const char *path, const struct heddle_profile *profile)
{
	char beside[PATH_MAX];
	int fd, error = 0;
	FILE *file;

	if ((size_t)snprintf(beside, sizeof(beside), "%s.%ld", path, (long)getpid()) >=
	    sizeof(beside))
		return heddle_refuse(-ENAMETOOLONG, "%s: too long a path", path);
	/* One that is there was left by a process that died. */
	fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd < 0)
		return complain(beside);
	file = fdopen(fd, "w");
	if (!file) {
		error = complain(beside);
		close(fd);
		unlink(beside);
		return error;
	}
	fputs(header, file);
	heddle_profile_print(profile, file);
	/* What went wrong while printing is said; errno may be of something else by now. */
	error = ferror(file) ? EIO : 0;
	if (fclose(file) || error || rename(beside, path)) {
		errno = error ? error : errno;
		error = complain(path);
		unlink(beside);
	}
	return error;
}

int heddle_profile_update(const char *path, const struct heddle_profile *news)
{
	struct heddle_profile profile = {0};
	int lock, error = folders_make(path);

	if (error)
		return error;
	folder_lock(path, &lock);
	error = heddle_profile_read(path, &profile);
	if (!error && heddle_profile_merge(&profile, news))
		error = heddle_refuse(-ENOMEM, "%s: no memory", path);
	if (!error)
		error = file_replace(path, &profile);
	if (lock >= 0)
		close(lock);
	heddle_profile_free(&profile);
	return error;
}
