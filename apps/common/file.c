/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
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

int file_create(const char *path, FILE **stream)
{
	FILE *opened = fopen(path, "we");

	if (!opened)
		return file_refuse(path, errno);
	*stream = opened;
	return 0;
}

int file_finish(const char *path, FILE *stream)
{
	int failed = ferror(stream);

	if (!failed)
		errno = 0;
	if ((stream == stdout ? fflush(stream) : fclose(stream)) || failed)
		return file_refuse(path, errno);
	return 0;
}
