/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/place.h"
#include "tools/common/place.h"

/* Folder of the running program; to be freed; NULL when it is unknown. */
static char *program_folder(void)
{
	char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash;

	if (length <= 0)
		return NULL;
	path[length] = 0;
	slash = strrchr(path, '/');
	*slash = 0;
	/* In a build tree, libtool keeps the programs in a folder below. */
	slash = strrchr(path, '/');
	if (slash && !strcmp(slash, "/.libs"))
		*slash = 0;
	return strdup(path);
}

/* The path that the format makes of folder and name, if the file exists. */
static char *existing(const char *format, const char *folder, const char *name, int mode)
{
	char path[8192];

	if (!folder)
		return NULL;
	snprintf(path, sizeof(path), format, folder, name, name);
	return access(path, mode) ? NULL : strdup(path);
}

/* A folder of the installation, told by where the running program is installed. To be freed; NULL
 * when the program is not in an installation. */
static char *moved(const char *folder)
{
	char *here = program_folder(), *path = NULL;

	if (here && !(path = heddle_place_moved(here, HEDDLE_PREFIX, HEDDLE_BINDIR, folder)))
		path = heddle_place_moved(here, HEDDLE_PREFIX, HEDDLE_PKGLIBEXECDIR, folder);
	free(here);
	return path;
}

/* The path of an installed file: beside what runs, else where configure said. */
static char *installed(const char *format, const char *folder, const char *name, int mode)
{
	char *here = moved(folder), *path = existing(format, here, name, mode);

	free(here);
	return path ? path : existing(format, folder, name, mode);
}

/* The path of a file beside the running program, else where it is installed. */
static char *find(const char *format, const char *installed_format, const char *installed_folder,
                  const char *name, int mode)
{
	char *folder = program_folder(), *path = existing(format, folder, name, mode);

	free(folder);
	return path ? path : installed(installed_format, installed_folder, name, mode);
}

/* A path, if it is a file's; else it is freed. */
static char *regular(char *path)
{
	struct stat status;

	if (path && !stat(path, &status) && S_ISREG(status.st_mode))
		return path;
	free(path);
	return NULL;
}

char *place_app(const char *name)
{
	if (strchr(name, '/'))
		return regular(existing("%s%s", "", name, X_OK));
	return regular(find("%s/../apps/%s/%s", "%s/apps/%s", HEDDLE_PKGLIBEXECDIR, name, X_OK));
}

static char *existing_program(const char *folder, const char *name)
{
	return regular(existing("%s/%s", folder, name, X_OK));
}

char *place_program(const char *name)
{
	/* tools/setup's, Debian's */
	static const char *const examples[] = {HEDDLE_STARPU_LIBDIR "/../examples",
	                                       HEDDLE_STARPU_LIBDIR "/starpu/examples"};
	char *folders = getenv("PATH"), *rest, *folder, *path = NULL;

	if (strchr(name, '/'))
		return existing_program(*name == '/' ? "" : ".", name);
	folders = rest = strdup(folders ? folders : "");
	while (!path && rest && (folder = strsep(&rest, ":")))
		path = existing_program(*folder ? folder : ".", name);
	free(folders);
	for (size_t e = 0; !path && e < sizeof(examples) / sizeof(*examples); e++)
		path = existing_program(examples[e], name);
	return path;
}

char *place_subcommand(const char *name)
{
	return find("%s/heddle-%s", "%s/heddle-%s", HEDDLE_PKGLIBEXECDIR, name, X_OK);
}

char *place_data_file(const char *name)
{
	return find("%s/%s", "%s/%s", HEDDLE_PKGDATADIR, name, R_OK);
}

/* What each app of Heddle's is. */
static const char *app_doc(const char *name)
{
	static const char *const docs[][2] = {
	    {"blackscholes", "prices of options: a loop"},
	    {"boxfilter", "an image, blurred: a loop over rows with a halo"},
	    {"cholesky", "a factorisation by tiles: a task graph"},
	    {"eclat", "items that transactions have in common: tasks that find tasks"},
	    {"floyd", "an image, dithered: a wavefront"},
	    {"heart", "electrical excitation of tissue: a loop over rows with a halo"},
	    {"heat2d", "heat in a plate, by Gauss-Seidel: a wavefront of many sweeps"},
	    {"histogram", "how often each byte occurs: a loop with a reduction"},
	    {"kernels", "OpenCL kernels, each split over all devices; also your own"},
	    {"knn", "points, classified by their nearest known ones: a loop"},
	    {"lu", "a factorisation by tiles: a task graph"},
	    {"mandelbrot", "an image of the Mandelbrot set: a loop of unequal iterations"},
	    {"nbia", "tissue on slides, tile by tile: a stream of tasks"},
	    {"nbody", "bodies that attract each other: a loop that reads all of them"},
	    {"spmv", "a sparse matrix times a vector: a loop with slices by an index"},
	    {"strmatch", "alignment of two sequences: a wavefront"},
	    {"vecinc", "a vector, incremented in chunks: transfers and tasks"},
	};

	for (size_t d = 0; d < sizeof(docs) / sizeof(*docs); d++)
		if (!strcmp(docs[d][0], name))
			return docs[d][1];
	return "";
}

/* Prints the entries of a folder that are, or contain, a program of their name. */
static int apps_print(const char *folder, FILE *out)
{
	struct dirent **entries;
	int n = scandir(folder, &entries, NULL, alphasort), printed = 0;

	for (int i = 0; i < n; i++) {
		char *path = entries[i]->d_name[0] == '.' ? NULL : place_app(entries[i]->d_name);

		if (path) {
			fprintf(out, "  %-13s %s\n", entries[i]->d_name,
			        app_doc(entries[i]->d_name));
			printed++;
		}
		free(path);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	return printed;
}

void place_apps_print(FILE *out)
{
	char *folder = program_folder(), apps[8192];

	snprintf(apps, sizeof(apps), "%s/../apps", folder ? folder : ".");
	free(folder);
	if (apps_print(apps, out))
		return;
	folder = moved(HEDDLE_PKGLIBEXECDIR "/apps");
	if (!folder || !apps_print(folder, out))
		apps_print(HEDDLE_PKGLIBEXECDIR "/apps", out);
	free(folder);
}

char *place_library_path(void)
{
	const char *inherited = getenv("LD_LIBRARY_PATH");
	char *folder = program_folder(), *path = NULL;
	char *library = existing("%s/../.libs/%s", folder, "libheddle.so", R_OK);

	free(folder);
	if (library) {
		*strrchr(library, '/') = 0;
		if (asprintf(&path, "%s%s%s", library, inherited ? ":" : "",
		             inherited ? inherited : "") < 0)
			path = NULL;
	}
	free(library);
	return path;
}

char *place_library(const char *name)
{
	char *folder = program_folder();
	char *path = existing("%s/../.libs/%s", folder, name, R_OK);

	if (!path)
		path = installed("%s/%s", HEDDLE_PKGLIBDIR, name, R_OK);
	if (!path)
		path = installed("%s/%s", HEDDLE_LIBDIR, name, R_OK);
	if (!path)
		fprintf(stderr, "heddle: cannot find %s around %s, in %s or in %s\n", name,
		        folder ? folder : "?", HEDDLE_PKGLIBDIR, HEDDLE_LIBDIR);
	free(folder);
	return path;
}

char *place_preload(void)
{
	const char *before = getenv("LD_PRELOAD");
	char *library = place_library("libheddle-preload.so"), *value;

	if (!library || !before || !*before)
		return library;
	if (asprintf(&value, "%s:%s", library, before) < 0)
		value = NULL;
	free(library);
	return value;
}
