/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The CPU version, for small, medium and large windows.
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "codelets/boxfilter/boxfilter.h"

/* Windows of fewer than 2^14 pixels (radius up to 63): sums fit 22 bits. */
#define NAME(x) small_##x
#define SUM uint32_t
#define SIGNED int32_t /* converts to floating point in one instruction */
#define REAL float
#include "codelets/boxfilter/passes.h"
#undef NAME
#undef SIGNED
#undef REAL

/* Up to 2^24 pixels. */
#define NAME(x) medium_##x
#define SIGNED uint32_t
#define REAL double
#include "codelets/boxfilter/passes.h"
#undef NAME
#undef SUM
#undef SIGNED

#define NAME(x) large_##x
#define SUM uint64_t
#define SIGNED int64_t
#include "codelets/boxfilter/passes.h"

int boxfilter_cpu(enum codelet_isa isa, const struct boxfilter_band *band, const unsigned char *in,
                  unsigned char *out)
{
	if (boxfilter_largest(band) < 1 << 14)
		return small_run(isa, band, in, out);
	if (boxfilter_is_narrow(band))
		return medium_run(isa, band, in, out);
	return large_run(isa, band, in, out);
}
