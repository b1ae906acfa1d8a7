/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Simulated machines: their description and how long a block takes on them.
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "support/message.h"
#include "support/number.h"
#include "estimator/platform.h"

#define DEFAULT_CORE_RATE 1.0
#define DEFAULT_SATURATION (1 << 20)
#define DEFAULT_MBPS 12000
#define DEFAULT_LATENCY_US 10
/* Plenty: StarPU's memory manager was seen to hang where a device is nearly full. */
#define DEFAULT_MEMORY_MB 64e3
/* It takes memory in pieces of 32 MiB, and waits for ever where there is not one. */
#define LEAST_MEMORY_MB 128

struct cursor {
	const char *spec;
	const char *at;
};

static int cursor_expected(const struct cursor *cursor, const char *what)
{
	return heddle_refuse(-EINVAL, "platform \"%s\": expected %s at character %d%s%s",
	                     cursor->spec, what, (int)(cursor->at - cursor->spec) + 1,
	                     *cursor->at ? ", before " : ", the end", cursor->at);
}

static bool cursor_take(struct cursor *cursor, const char *word)
{
	size_t length = strlen(word);

	if (strncmp(cursor->at, word, length))
		return false;
	cursor->at += length;
	return true;
}

/* A decimal number from min to max; the rest would also take blanks, signs,
 * hexadecimal numbers, infinities and an exponent that a unit was meant by. */
static int cursor_number(struct cursor *cursor, double min, double max, const char *what,
                         double *number)
{
	const char *start = cursor->at;
	const char *end = start + strspn(start, "0123456789.");
	char *parsed;
	double value;

	if (end > start && (*end == 'e' || *end == 'E')) {
		const char *exponent = end + 1 + (end[1] == '-' || end[1] == '+');

		if (isdigit((unsigned char)*exponent))
			end = exponent + strspn(exponent, "0123456789");
	}
	if (start == end)
		return cursor_expected(cursor, what);
	value = heddle_number_parse(start, &parsed);
	if (parsed != end || !(value >= min) || !(value <= max))
		return cursor_expected(cursor, what);
	cursor->at = end;
	*number = value;
	return 0;
}

static int cursor_count(struct cursor *cursor, unsigned min, unsigned max, const char *what,
                        unsigned *count)
{
	struct cursor ahead = *cursor;
	double number;
	int status = cursor_number(&ahead, min, max, what, &number);

	if (status)
		return status;
	if (number != floor(number))
		return cursor_expected(cursor, what);
	*cursor = ahead;
	*count = number;
	return 0;
}

static int parse_cores(struct cursor *cursor, struct heddle_platform *platform)
{
	int status = cursor_count(cursor, 0, HEDDLE_PLATFORM_MAXCPUS,
	                          "a number of cores (0 to 4096) and \"cpu\"", &platform->ncpus);

	if (status)
		return status;
	if (!cursor_take(cursor, "cpu"))
		return cursor_expected(cursor, "\"cpu\"");
	platform->core_rate = DEFAULT_CORE_RATE;
	if (!cursor_take(cursor, "="))
		return 0;
	return cursor_number(cursor, 1e-9, 1e9, "a core's rate in iterations per µs, above 0",
	                     &platform->core_rate);
}

static int parse_link(struct cursor *cursor, struct heddle_platform_accelerator *accelerator)
{
	int status =
	    cursor_number(cursor, 1e-3, 1e9, "a bandwidth in MB/s, above 0", &accelerator->mbps);

	if (status)
		return status;
	if (!cursor_take(cursor, ":"))
		return cursor_expected(cursor, "\":\" and a latency in µs");
	return cursor_number(cursor, 0, 1e9, "a latency in µs", &accelerator->latency_us);
}

static int parse_slowdown(struct cursor *cursor, struct heddle_platform_accelerator *accelerator)
{
	int status = cursor_number(cursor, 1e-6, 1e6, "a factor of the speed, above 0",
	                           &accelerator->slow_factor);

	if (status)
		return status;
	if (!cursor_take(cursor, "/"))
		return cursor_expected(cursor, "\"/\" and a fraction of the run");
	return cursor_number(cursor, 0, 1, "a fraction of the run, 0 to 1", &accelerator->slow_at);
}

static int parse_accelerator(struct cursor *cursor, struct heddle_platform_accelerator *accelerator)
{
	int status;

	*accelerator = (struct heddle_platform_accelerator){.mbps = DEFAULT_MBPS,
	                                                    .latency_us = DEFAULT_LATENCY_US,
	                                                    .memory_mb = DEFAULT_MEMORY_MB,
	                                                    .slow_factor = 1};
	if (cursor_take(cursor, "gpu"))
		accelerator->kind = HEDDLE_KIND_CUDA;
	else if (cursor_take(cursor, "fpga"))
		accelerator->kind = HEDDLE_KIND_FPGA;
	else
		return cursor_expected(cursor, "\"gpu\" or \"fpga\"");
	status = cursor_number(cursor, 1e-6, 1e9, "a speed in cores, above 0", &accelerator->speed);
	if (!status && cursor_take(cursor, "~")) {
		accelerator->saturation = DEFAULT_SATURATION;
		if (isdigit((unsigned char)*cursor->at))
			status = cursor_number(cursor, 2, 1e15, "a block of 2 iterations or more",
			                       &accelerator->saturation);
	}
	if (!status && cursor_take(cursor, "@"))
		status = parse_link(cursor, accelerator);
	if (!status && cursor_take(cursor, "^"))
		status = cursor_number(cursor, LEAST_MEMORY_MB, 1e9, "a memory in MB, at least 128",
		                       &accelerator->memory_mb);
	if (!status && cursor_take(cursor, "%"))
		status = parse_slowdown(cursor, accelerator);
	return status;
}

static int parse_accelerators(struct cursor *cursor, struct heddle_platform *platform)
{
	struct cursor before = *cursor;
	struct heddle_platform_accelerator accelerator;
	unsigned count = 1;
	int status = 0;

	if (isdigit((unsigned char)*cursor->at))
		status = cursor_count(cursor, 1, HEDDLE_PLATFORM_MAXACCELERATORS,
		                      "a number of accelerators (1 to 16)", &count);
	if (!status)
		status = parse_accelerator(cursor, &accelerator);
	if (status)
		return status;
	if (count > HEDDLE_PLATFORM_MAXACCELERATORS - platform->naccelerators)
		return cursor_expected(&before, "at most 16 accelerators in all");
	while (count--)
		platform->accelerators[platform->naccelerators++] = accelerator;
	return 0;
}

/* A name of a file, which must not lead out of its folder. */
static int parse_host(struct cursor *cursor, struct heddle_platform *platform)
{
	size_t length = 0;

	while (isalnum((unsigned char)cursor->at[length]) ||
	       (length && cursor->at[length] && strchr("._-", cursor->at[length])))
		length++;
	if (!length || length >= sizeof(platform->host))
		return cursor_expected(cursor, "the name of a machine");
	memcpy(platform->host, cursor->at, length);
	cursor->at += length;
	return *cursor->at ? cursor_expected(cursor, "the end") : 0;
}

static int parse_description(struct cursor *cursor, struct heddle_platform *platform)
{
	int status = parse_cores(cursor, platform);

	while (!status && cursor_take(cursor, "+"))
		status = parse_accelerators(cursor, platform);
	if (status)
		return status;
	if (*cursor->at)
		return cursor_expected(cursor, "\"+\" or the end");
	if (!platform->ncpus && !platform->naccelerators)
		return heddle_refuse(-EINVAL, "platform \"%s\": there is no processor in it",
		                     cursor->spec);
	return 0;
}

int heddle_platform_parse(const char *spec, struct heddle_platform *platform)
{
	struct cursor cursor = {.spec = spec, .at = spec};
	struct heddle_platform parsed = {0};
	int status;

	if (strlen(spec) >= sizeof(parsed.spec))
		return heddle_refuse(-EINVAL, "platform \"%.20s...\": longer than %zu characters",
		                     spec, sizeof(parsed.spec) - 1);
	memcpy(parsed.spec, spec, strlen(spec) + 1);
	status = cursor_take(&cursor, HEDDLE_PLATFORM_CALIBRATED)
	             ? parse_host(&cursor, &parsed)
	             : parse_description(&cursor, &parsed);
	if (!status)
		*platform = parsed;
	return status;
}

/* Rate of an accelerator for blocks of n iterations, slowdown aside. */
static double accelerator_rate(const struct heddle_platform *platform,
                               const struct heddle_platform_accelerator *accelerator, double n)
{
	double best = accelerator->speed * platform->core_rate;

	if (n >= accelerator->saturation)
		return best;
	return best * log1p(n) / log1p(accelerator->saturation);
}

/* Ideal time of the whole machine if no accelerator slowed down. */
static double undisturbed_us(const struct heddle_platform *platform, double n)
{
	double cores = platform->ncpus;

	for (unsigned a = 0; a < platform->naccelerators; a++)
		cores += platform->accelerators[a].speed;
	return n / (cores * platform->core_rate);
}

double heddle_platform_block_us(const struct heddle_platform *platform, int accelerator, size_t n,
                                size_t total, double elapsed_us)
{
	const struct heddle_platform_accelerator *a;
	double full_us, left_us;

	if (accelerator < 0)
		return n / platform->core_rate;
	a = &platform->accelerators[accelerator];
	full_us = n / accelerator_rate(platform, a, n);
	if (a->slow_factor == 1)
		return full_us;
	left_us = a->slow_at * undisturbed_us(platform, total) - elapsed_us;
	if (left_us >= full_us)
		return full_us;
	if (left_us <= 0)
		return full_us / a->slow_factor;
	return left_us + (full_us - left_us) / a->slow_factor;
}

/* Rate of those that take part at a moment, and when it changes next. */
static double rate_at(const struct heddle_platform *platform, int cores, unsigned accelerators,
                      double undisturbed, double now_us, double *change_us)
{
	double speed = cores ? platform->ncpus : 0;

	*change_us = INFINITY;
	for (unsigned i = 0; i < platform->naccelerators; i++) {
		const struct heddle_platform_accelerator *a = &platform->accelerators[i];
		double slow_us = a->slow_at * undisturbed;

		if (!(accelerators >> i & 1))
			continue;
		speed += slow_us <= now_us ? a->speed * a->slow_factor : a->speed;
		if (a->slow_factor != 1 && slow_us > now_us && slow_us < *change_us)
			*change_us = slow_us;
	}
	return speed * platform->core_rate;
}

double heddle_platform_ideal_us(const struct heddle_platform *platform, size_t n, int cores,
                                unsigned accelerators)
{
	double undisturbed = undisturbed_us(platform, n), left = n, now_us = 0;

	for (;;) {
		double change_us;
		double rate =
		    rate_at(platform, cores, accelerators, undisturbed, now_us, &change_us);

		if (left <= 0)
			return now_us;
		if (left <= rate * (change_us - now_us) || isinf(change_us))
			return now_us + left / rate;
		left -= rate * (change_us - now_us);
		now_us = change_us;
	}
}

double heddle_platform_ideal_share(const struct heddle_platform *platform, size_t n,
                                   int accelerator)
{
	double us = heddle_platform_ideal_us(platform, n, 1, ~0u), slow_us;
	const struct heddle_platform_accelerator *a;

	if (!n)
		return 0;
	if (accelerator < 0)
		return us * platform->core_rate / n;
	a = &platform->accelerators[accelerator];
	slow_us = us - a->slow_at * undisturbed_us(platform, n);
	if (a->slow_factor != 1 && slow_us > 0)
		us += slow_us * (a->slow_factor - 1);
	return us * a->speed * platform->core_rate / n;
}
