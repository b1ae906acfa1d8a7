/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Files that users name: opened, read and written with messages that name the
 * file and the reason. No StarPU. -errno is as file_refuse() has it.
 */
#ifndef APPS_COMMON_FILE_H
#define APPS_COMMON_FILE_H

#include <stddef.h>
#include <stdio.h>

/** Says that something is wrong with a file.
 * @param error as errno has it; 0: not all could be written
 * @return -error; -EINVAL for errors that mean another thing of a task or a device: no app
 * takes a disk that fails for a wrong result (EIO), nor a file for a machine that it cannot
 * run on (ENODEV, ENOEXEC) */
int file_refuse(const char *path, int error);

/** Opens a file for reading that has something in it.
 * @param[out] fd to be closed by the caller
 * @param[out] bytes its size
 * @return 0; -EISDIR, -EINVAL for what is no regular file, -ENODATA for an empty one,
 * -errno. */
int file_open(const char *path, int *fd, size_t *bytes);

/** Reads exactly that much, from byte `at` on.
 * @return 0; -EINVAL when the file is shorter by now, -errno. */
int file_read(const char *path, int fd, size_t at, void *data, size_t bytes);

/** file_open() and file_read() into memory that the caller frees; a NUL character
 * that `bytes` does not count follows the data. */
int file_load(const char *path, char **data, size_t *bytes);

/** file_load() for a text: warns where its last line has no end, as of a file that was cut. */
int file_load_text(const char *path, char **text, size_t *bytes);

/** Opens a file for writing. What was there stays until file_finish(): a program that ends before
 * leaves no half file, but one beside it, PATH.PID-N. Written directly is what another file cannot
 * replace: pipes, devices, files with several names or an access-control list, of an owner that
 * the new one cannot get, or in folders that must not change. Not from several threads at once.
 * @return 0; -errno. */
int file_create(const char *path, FILE **stream);

/** Closes it and puts it in its place, or, if it is standard output, flushes it.
 * @return 0; -errno when anything could not be written: then there is what was there, unless the
 * file is written directly; -EINVAL when the whole file lies beside its place, as the message
 * says. */
int file_finish(const char *path, FILE *stream);

/** Instead of file_finish(): what is written is of no use. */
void file_drop(const char *path, FILE *stream);

#endif
