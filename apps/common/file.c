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
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "support/message.h"
#include "apps/common/file.h"

/* Reads of more than 2 GB come back short anyway. */
#define LARGEST_READ (1ul << 30)

int file_refuse(const char *path, int error)
{
	bool other = !error || error == EIO || error == ENODEV || error == ENOEXEC;

	return heddle_refuse(other ? -EINVAL : -error, "%s: %s",
	                     *path ? path : "a file without a name",
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

int file_load_text(const char *path, char **text, size_t *bytes)
{
	int error = file_load(path, text, bytes);

	if (!error && (*text)[*bytes - 1] != '\n' && (*text)[*bytes - 1] != '\r')
		heddle_warn("%s: its last line has no end: the file may have been cut", path);
	return error;
}

/* ---- files that are written ---- */

/* What is written lies beside its place until it is whole. */
static struct output {
	struct output *next;
	FILE *stream;
	char place[PATH_MAX], beside[PATH_MAX];
} * outputs;

static struct output *output_take(FILE *stream)
{
	struct output **at = &outputs, *output;

	while (*at && (*at)->stream != stream)
		at = &(*at)->next;
	output = *at;
	if (output)
		*at = output->next;
	return output;
}

static bool has_acl(const char *path)
{
	return getxattr(path, "system.posix_acl_access", NULL, 0) > 0;
}

/* Finds out what a path leads to. @return Whether another file can take its place: nobody has it
 * open already, as those in /dev and below, and it has no second name. */
static bool find_place(const char *path, char *place, struct stat *about, bool *there)
{
	*there = !lstat(path, about);
	if (!*there)
		return *path && errno == ENOENT && snprintf(place, PATH_MAX, "%s", path) < PATH_MAX;
	return strncmp(path, "/dev/", 5) && realpath(path, place) && !stat(place, about) &&
	       S_ISREG(about->st_mode) && about->st_nlink == 1 && !access(place, W_OK);
}

/* Opens a file beside the place, with the owner, group and mode of what is there.
 * @return below 0: that cannot be */
static int open_beside(const char *path, struct output *output)
{
	struct stat about, made;
	bool there;
	int fd = -1;

	if (!find_place(path, output->place, &about, &there))
		return -1;
	for (unsigned n = 0; fd < 0 && n < 100; n++) {
		if (snprintf(output->beside, PATH_MAX, "%s.%ld-%u", output->place, (long)getpid(),
		             n) >= PATH_MAX)
			return -1;
		fd = open(output->beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		          there ? about.st_mode & 0777 : 0666);
		if (fd < 0 && errno != EEXIST)
			return -1;
	}
	if (fd < 0 || !there)
		return fd;
	if (!fstat(fd, &made) &&
	    ((made.st_uid == about.st_uid && made.st_gid == about.st_gid) ||
	     !fchown(fd, about.st_uid, about.st_gid)) &&
	    !fchmod(fd, about.st_mode & 0777) && !has_acl(output->place) &&
	    !has_acl(output->beside))
		return fd;
	close(fd);
	unlink(output->beside);
	return -1;
}

/* With O_CREAT, Linux refuses files of others in folders like /tmp. */
static int open_in_place(const char *path)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	return fd;
}

int file_create(const char *path, FILE **stream)
{
	struct output *output = malloc(sizeof(*output));
	int fd = output ? open_beside(path, output) : -1;

	if (fd < 0) {
		free(output);
		output = NULL;
		fd = open_in_place(path);
	}
	*stream = fd < 0 ? NULL : fdopen(fd, "w");
	if (!*stream) {
		int error = file_refuse(path, errno);

		if (fd >= 0)
			close(fd);
		if (output)
			unlink(output->beside);
		free(output);
		return error;
	}
	if (output) {
		output->stream = *stream;
		output->next = outputs;
		outputs = output;
	}
	return 0;
}

static int copy(const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC), out = in < 0 ? -1 : open_in_place(to);
	int error = out < 0 ? errno : 0;
	ssize_t sent = 1;

	while (!error && sent) {
		sent = sendfile(out, in, NULL, LARGEST_READ);
		error = sent < 0 ? errno : 0;
	}
	if (out >= 0 && close(out) && !error)
		error = errno;
	if (in >= 0)
		close(in);
	return error;
}

/* A file that is mounted by itself, or one of somebody else in a folder like /tmp, stays where it
 * is: only what is in it can change. */
static int put_in_place(const char *path, const struct output *output)
{
	int error;

	if (!rename(output->beside, output->place))
		return 0;
	error = copy(output->beside, output->place);
	if (error)
		return heddle_refuse(-EINVAL, "%s: %s; all of it is in %s", path, strerror(error),
		                     output->beside);
	unlink(output->beside);
	return 0;
}

int file_finish(const char *path, FILE *stream)
{
	struct output *output = output_take(stream);
	int error = errno, failed = ferror(stream);

	errno = failed ? error : 0;
	if ((stream == stdout ? fflush(stream) : fclose(stream)) || failed) {
		error = file_refuse(path, errno);
		if (output)
			unlink(output->beside);
	} else {
		error = output ? put_in_place(path, output) : 0;
	}
	free(output);
	return error;
}

void file_drop(const char *path, FILE *stream)
{
	struct output *output = output_take(stream);

	if (stream != stdout)
		fclose(stream);
	if (output)
		unlink(output->beside);
	free(output);
}
