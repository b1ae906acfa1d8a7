/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/message.h"
#include "support/variables.h"
#include "codelets/design.h"

static int read_stream(FILE *stream, const char *path, unsigned char **bytes, size_t *size)
{
	struct stat info;
	unsigned char *all;

	if (fstat(fileno(stream), &info) || !S_ISREG(info.st_mode) || !info.st_size)
		return heddle_refuse(-EINVAL, "%s: not a file with a design", path);
	all = malloc(info.st_size);
	if (!all)
		return -ENOMEM;
	if (fread(all, info.st_size, 1, stream) != 1) {
		free(all);
		return heddle_refuse(-EIO, "%s: cannot be read", path);
	}
	*bytes = all;
	*size = info.st_size;
	return 0;
}

/* A program of the installation has the installation's designs, whatever became of the
 * build. */
static const char *own_folder(void)
{
	static const char installed[] = INSTALLED_PROGRAMS "/";
	char self[PATH_MAX] = "";

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) > 0 &&
	    !strncmp(self, installed, strlen(installed)))
		return INSTALLED_DESIGNS;
	return DESIGNS;
}

static int design_path(const char *name, char *path, size_t size)
{
	const char *folder = heddle_variable_text(HEDDLE_VARIABLE_FPGA_DESIGNS);

	if (snprintf(path, size, "%s/%s.fpga", *folder ? folder : own_folder(), name) >= (int)size)
		return heddle_refuse(-ENAMETOOLONG, "HEDDLE_FPGA_DESIGNS: %s", folder);
	return 0;
}

int codelet_design_missing(const char *name)
{
	char path[PATH_MAX];
	int error = design_path(name, path, sizeof(path));

	if (error)
		return error;
	return heddle_refuse(
	    -ENODEV,
	    "no FPGA can run %s: there is no %s. Heddle has designs of "
	    "blackscholes and histogram: `make fpga' builds them, `make fpga "
	    "install' installs them; HEDDLE_FPGA_DESIGNS names a folder with others",
	    name, path);
}

int codelet_design_read(const char *name, unsigned char **bytes, size_t *size)
{
	char path[PATH_MAX];
	FILE *stream;
	int error = design_path(name, path, sizeof(path));

	if (error)
		return error;
	stream = fopen(path, "rb");
	if (!stream && errno == ENOENT)
		return -ENOENT;
	if (!stream)
		return heddle_refuse(-errno, "%s: %s", path, strerror(errno));
	error = read_stream(stream, path, bytes, size);
	fclose(stream);
	return error;
}
