/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/message.h"
#include "apps/common/file.h"

/* Reads of more than 2 GB come back short anyway. */
#define LARGEST_READ (1ul << 30)

int file_refuse(const char *path, int error)
{
	bool other = !error || error == EIO || error == ENODEV || error == ENOEXEC;

	return heddle_refuse(other ? -EINVAL : -error, "%s: %s", path,
	                     error ? strerror(error) : "not all could be written");
}

/* The kernel's files hold more than they state. */
static int refuse_kind(const char *path, int fd, const struct stat *about)
{
	char byte;

	if (S_ISDIR(about->st_mode))
		return heddle_refuse(-EISDIR, "%s: is a directory", path);
	if (!S_ISREG(about->st_mode))
		return heddle_refuse(-EINVAL, "%s: is not a regular file", path);
	if (!about->st_size && read(fd, &byte, 1) == 1)
		return heddle_refuse(-EINVAL, "%s: states no size; copy it to a file", path);
	if (!about->st_size)
		return heddle_refuse(-ENODATA, "%s: is empty", path);
	return 0;
}

int file_open(const char *path, int *fd, size_t *bytes)
{
	struct stat about;
	int error, opened;

	/* Without O_NONBLOCK, opening a pipe would wait for somebody to write. */
	opened = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (opened < 0 || fstat(opened, &about)) {
		error = errno;
		if (opened >= 0)
			close(opened);
		return file_refuse(path, error);
	}
	error = refuse_kind(path, opened, &about);
	if (error) {
		close(opened);
		return error;
	}
	*fd = opened;
	*bytes = about.st_size;
	return 0;
}

int file_read(const char *path, int fd, size_t at, void *data, size_t bytes)
{
	char *to = data;

	while (bytes) {
		ssize_t got = pread(fd, to, bytes < LARGEST_READ ? bytes : LARGEST_READ, at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return file_refuse(path, errno);
		if (!got)
			return heddle_refuse(-EINVAL, "%s: became shorter while it was read", path);
		to += got;
		at += got;
		bytes -= got;
	}
	return 0;
}

int file_load(const char *path, char **data, size_t *bytes)
{
	char *memory;
	size_t size;
	int fd, error = file_open(path, &fd, &size);

	if (error)
		return error;
	memory = malloc(size + 1);
	error = memory ? file_read(path, fd, 0, memory, size)
	               : heddle_refuse(-ENOMEM, "%s: no memory for %zu bytes", path, size);
	close(fd);
	if (error) {
		free(memory);
		return error;
	}
	memory[size] = '\0';
	*data = memory;
	*bytes = size;
	return 0;
}

/* What is written lies beside its place until it is whole. Pipes, devices and files in folders that
 * must not change are written directly.
 * @param[out] place what `path` leads to */
static bool file_beside(const char *path, char *place, char *beside)
{
	struct stat about;
	int length;

	if (lstat(path, &about))
		length = errno == ENOENT ? snprintf(place, PATH_MAX, "%s", path) : PATH_MAX;
	else
		length = realpath(path, place) && !stat(place, &about) && S_ISREG(about.st_mode) &&
		                 !access(place, W_OK)
		             ? (int)strlen(place)
		             : PATH_MAX;
	return length < PATH_MAX &&
	       snprintf(beside, PATH_MAX, "%s.%ld", place, (long)getpid()) < PATH_MAX;
}

int file_create(const char *path, FILE **stream)
{
	char place[PATH_MAX], beside[PATH_MAX];
	FILE *opened = NULL;
	struct stat about;

	if (file_beside(path, place, beside)) {
		opened = fopen(beside, "we");
		if (opened && !stat(place, &about) &&
		    fchmod(fileno(opened), about.st_mode & 0777)) {
			fclose(opened);
			unlink(beside);
			opened = NULL;
		}
	}
	if (!opened)
		opened = fopen(path, "we");
	if (!opened)
		return file_refuse(path, errno);
	*stream = opened;
	return 0;
}

/* Whether the stream is the file beside its place. */
static bool is_beside(FILE *stream, const char *beside)
{
	struct stat there, here;

	return !stat(beside, &there) && !fstat(fileno(stream), &here) &&
	       there.st_dev == here.st_dev && there.st_ino == here.st_ino;
}

int file_finish(const char *path, FILE *stream)
{
	char place[PATH_MAX], beside[PATH_MAX];
	int error = errno, failed = ferror(stream);
	bool moves = file_beside(path, place, beside) && is_beside(stream, beside);

	errno = failed ? error : 0;
	if ((stream == stdout ? fflush(stream) : fclose(stream)) || failed ||
	    (moves && rename(beside, place))) {
		error = file_refuse(path, errno);
		if (moves)
			unlink(beside);
		return error;
	}
	return 0;
}

void file_drop(const char *path, FILE *stream)
{
	char place[PATH_MAX], beside[PATH_MAX];

	if (stream == stdout)
		return;
	if (file_beside(path, place, beside) && is_beside(stream, beside))
		unlink(beside);
	fclose(stream);
}
