/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the library tells programs of itself. Not of the pure files, which tools and tests have a
 * second time.
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

const char *heddle_message_take(void)
{
	return heddle_refusal_take();
}

const struct heddle_abi *heddle_abi_get(void)
{
	static const struct heddle_abi abi = {
	    .abi_bytes = sizeof(abi),
	    .soname = HEDDLE_SONAME_NUMBER,
	    .maxhandles = HEDDLE_LOOP_MAXHANDLES,
	    .maxworkers = STARPU_NMAXWORKERS,
	    .block_bytes = sizeof(struct heddle_block),
	    .access_bytes = sizeof(struct heddle_access),
	    .loop_bytes = sizeof(struct heddle_loop),
	    .loop_stats_bytes = sizeof(struct heddle_loop_stats),
	    .kernel_argument_bytes = sizeof(struct heddle_kernel_argument),
	    .kernel_bytes = sizeof(struct heddle_kernel),
	    .kernel_stats_bytes = sizeof(struct heddle_kernel_stats),
	};

	return &abi;
}
