/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Is the StarPU of this process the one we were built against?
 */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <starpu.h>

#include <heddle/heddle.h>

#include "support/layout_starpu.h"
#include "support/message.h"

int heddle_starpu_check(void)
{
	static int checked = 1; /* 1: not yet; else the answer */
	int major, minor, release;
	Dl_info where;

	if (checked <= 0)
		return checked;
	starpu_get_version(&major, &minor, &release);
	if (major == STARPU_MAJOR_VERSION && minor == STARPU_MINOR_VERSION &&
	    heddle_layout_matches(starpu_conf_init))
		return checked = 0;
	if (!dladdr((void *)starpu_get_version, &where))
		where.dli_fname = "?";
	return checked =
	           heddle_refuse(-ENOEXEC, HEDDLE_OTHER_STARPU, HEDDLE_STARPU_VERSION,
	                         HEDDLE_STARPU_LIBDIR, major, minor, release, where.dli_fname);
}
