/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "codelets/stream.h"

bool codelet_stream_pays(size_t bytes)
{
#ifdef _SC_LEVEL3_CACHE_SIZE
	static long cache; /* 0: not asked yet; threads that ask at once agree */

	if (!cache)
		cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
	return cache > 0 && bytes > (size_t)cache;
#else
	return false;
#endif
}

void codelet_stream(void *restrict to, const void *restrict from, size_t bytes)
{
	char *target = to;
	const char *source = from;

#ifdef __SSE2__
	size_t head = -(uintptr_t)target & 15;

	if (head > bytes)
		head = bytes;
	memcpy(target, source, head);
	target += head;
	source += head;
	bytes -= head;
	for (; bytes >= 16; bytes -= 16, target += 16, source += 16)
		_mm_stream_si128((__m128i *)target, _mm_loadu_si128((const __m128i *)source));
#endif
	memcpy(target, source, bytes);
}

void codelet_stream_end(void)
{
#ifdef __SSE2__
	_mm_sfence();
#endif
}
