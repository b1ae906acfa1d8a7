/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Is the StarPU of this process the one we were built against? Builds of one
 * version share a SONAME, while the limits chosen at their configuration change
 * the layout of the public structures.
 */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <starpu.h>

#include <heddle/heddle.h>

#include "support/message.h"

/* How many bytes the loaded library takes a struct starpu_conf to have:
 * starpu_conf_init() clears the whole of its own. Seen from two fill patterns,
 * so that a byte that happens to be equal to one of them counts too. */
static size_t conf_size_loaded(void)
{
	static const unsigned char patterns[] = {0x5a, 0xa5};
	size_t size = 0;

	for (size_t p = 0; p < sizeof(patterns); p++) {
		union {
			struct starpu_conf conf;
			unsigned char bytes[1 << 16];
		} probe;
		size_t last = sizeof(probe.bytes);

		memset(probe.bytes, patterns[p], sizeof(probe.bytes));
		starpu_conf_init(&probe.conf);
		while (last && probe.bytes[last - 1] == patterns[p])
			last--;
		if (last > size)
			size = last;
	}
	return size;
}

static bool layout_matches(void)
{
	size_t loaded = conf_size_loaded();

	/* The last field may be followed by padding that nobody writes. */
	return loaded <= sizeof(struct starpu_conf) &&
	       loaded + sizeof(double) > sizeof(struct starpu_conf);
}

int heddle_starpu_check(void)
{
	static int checked = 1; /* 1: not yet; else the answer */
	int major, minor, release;
	Dl_info where;

	if (checked <= 0)
		return checked;
	starpu_get_version(&major, &minor, &release);
	if (major == STARPU_MAJOR_VERSION && minor == STARPU_MINOR_VERSION && layout_matches())
		return checked = 0;
	if (!dladdr((void *)starpu_get_version, &where))
		where.dli_fname = "?";
	return checked =
	           heddle_refuse(-ENOEXEC, HEDDLE_OTHER_STARPU, HEDDLE_STARPU_VERSION,
	                         HEDDLE_STARPU_LIBDIR, major, minor, release, where.dli_fname);
}
