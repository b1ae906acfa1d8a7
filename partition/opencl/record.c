/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What became of each kernel's launches, which tells where to compute the next one, and is said at
 * the end of the process.
 */
#include "config.h"

#include "partition/opencl/layer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/variables.h"

enum { LINES = 50 }; /* of the report */
/* So many of a kernel's first launches at home are measured, and later one of so many, or of more
 * where they are short: it costs up to 18 us, and no short one is split. */
enum { SAMPLES = 16, SHORT_SAMPLES = 128 };
/* A split itself takes that long. */
static const double SHORT_NS = 200e3;

/* How long a preparation takes, before one was done, and what part of that it takes from home:
 * much where that is a CPU, for which compilers compete. With GPUs StarPU first measures how fast
 * data moves: two H200 took 3 s, and home computed a fifth slower meanwhile. */
static const double PREPARE_SHARED_NS = 500e6, PREPARE_SHARED = 0.5;
static const double PREPARE_APART_NS = 3e9, PREPARE_APART = 0.2;

/* Bytes that cross in a nanosecond, before any have. Less than so many bytes take as long as the
 * transfer's beginning, and tell nothing of more. */
static const double USUAL_RATE = 8;
enum { CROSSING_BYTES = 1 << 20 };

static double home_ns;    /* of all kernels */
static double prepare_ns; /* of all preparations */
static double copied_ns;  /* while home waited for copies of data */
static unsigned nprepared;
static double crossing_rate; /* ns a byte, from home to the host; 0: not known */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct record *records, **records_end = &records;

static void record_free(struct record *record)
{
	free(record->name);
	free(record->text);
	free(record->options);
	free(record);
}

static struct record *record_make(const char *name, const char *text, const char *options)
{
	struct record *record = calloc(1, sizeof(*record));

	if (!record)
		return NULL;
	record->name = strdup(name);
	record->text = strdup(text);
	record->options = strdup(options);
	if (record->name && record->text && record->options)
		return record;
	record_free(record);
	return NULL;
}

struct record *record_find(const char *name, const char *text, const char *options)
{
	struct record *record;

	pthread_mutex_lock(&mutex);
	for (record = records; record; record = record->next)
		if (!strcmp(record->name, name) && !strcmp(record->options, options) &&
		    !strcmp(record->text, text))
			break;
	if (!record && (record = record_make(name, text, options))) {
		*records_end = record;
		records_end = &record->next;
	}
	pthread_mutex_unlock(&mutex);
	return record;
}

/* The latest launches count more. */
static void rate_add(double *rate, size_t items, cl_ulong ns)
{
	double latest = (double)ns / items;

	*rate = *rate > 0 ? 0.75 * *rate + 0.25 * latest : latest;
}

void record_split(struct record *record, size_t items, cl_ulong ns, cl_ulong crossing_ns)
{
	double home = record->home_rate * items;

	/* The first launches compile and try. */
	if (record->split++ >= SPLIT_TRIALS)
		rate_add(&record->split_rate, items, ns - crossing_ns);
	record->loss_ns = (double)(ns - crossing_ns) - home;
	record_loss(record, ns - home);
}

bool record_split_pays(const struct record *record, size_t items, double crossing_ns, double share)
{
	double home = record->home_rate * items;
	double loss = record->split ? record->loss_ns : home;

	if (record->split_rate > 0 && record->split_rate * items + crossing_ns < home)
		return true;
	return record->lost_ns + loss + crossing_ns <= share * record->home_ns;
}

void record_crossed(size_t bytes, cl_ulong ns)
{
	if (bytes >= CROSSING_BYTES)
		rate_add(&crossing_rate, bytes, ns);
}

double record_crossing_ns(size_t bytes)
{
	return bytes * (crossing_rate > 0 ? crossing_rate : 1 / USUAL_RATE);
}

void record_loss(struct record *record, double ns)
{
	record->lost_ns += ns;
	if (record->lost_ns < 0)
		record->lost_ns = 0;
}

bool record_short(const struct record *record, size_t items)
{
	return record->home_rate * items < SHORT_NS;
}

bool record_sample(struct record *record, bool brief)
{
	unsigned long n = record->sent++;

	return n < SAMPLES || n % (brief ? SHORT_SAMPLES : SAMPLES) == 0;
}

void record_whole(struct record *record, const char *reason, size_t items, cl_ulong ns)
{
	const unsigned last = sizeof(record->reasons) / sizeof(*record->reasons) - 1;
	double took = ns ? ns : record->home_rate * items;
	unsigned r = 0;

	record->home_ns += took;
	home_ns += took;
	if (record->whole++ && ns)
		rate_add(&record->home_rate, items, ns);
	while (r < last && record->reasons[r].text && record->reasons[r].text != reason)
		r++;
	record->reasons[r].text = r < last ? reason : "other reasons";
	record->reasons[r].launches++;
}

void record_prepared(struct record *record, cl_ulong ns)
{
	pthread_mutex_lock(&mutex);
	prepare_ns += ns;
	nprepared++;
	pthread_mutex_unlock(&mutex);
	record->prepared = true;
	atomic_store(&record->preparing, false);
}

double record_home_ns(void)
{
	return home_ns;
}

void record_copied(cl_ulong ns)
{
	copied_ns += ns;
}

double record_prepare_ns(bool shared, double crossing_ns)
{
	double all;

	pthread_mutex_lock(&mutex);
	all = prepare_ns + (nprepared ? prepare_ns / nprepared
	                    : shared  ? PREPARE_SHARED_NS
	                              : PREPARE_APART_NS);
	pthread_mutex_unlock(&mutex);
	return all * (shared ? PREPARE_SHARED : PREPARE_APART) + copied_ns + crossing_ns;
}

/* ---- the report ---- */

static void record_print(const struct record *record)
{
	const struct reason *reason = record->reasons;
	const struct reason *end = reason + sizeof(record->reasons) / sizeof(*record->reasons);

	fprintf(stderr, "heddle: kernel %s: ", record->name);
	if (record->split)
		fprintf(stderr, "%lu split", record->split);
	for (; reason < end && reason->text; reason++)
		fprintf(stderr, "%s%lu on one device (%s)",
		        record->split || reason > record->reasons ? ", " : "", reason->launches,
		        reason->text);
	fputc('\n', stderr);
}

void report_print(void)
{
	unsigned long split = 0, whole = 0, n = 0, lines = 0;

	if (heddle_variable_number(HEDDLE_VARIABLE_VERBOSE) < 1)
		return;
	pthread_mutex_lock(&mutex);
	for (struct record *record = records; record; record = record->next) {
		n += record->split || record->whole;
		split += record->split;
		whole += record->whole;
	}
	if (n)
		fprintf(stderr,
		        "heddle: OpenCL: %lu kernels, %lu launches: %lu split, %lu on one device\n",
		        n, split + whole, split, whole);
	for (struct record *record = records; record && lines < LINES; record = record->next)
		if (record->split || record->whole) {
			record_print(record);
			lines++;
		}
	if (n > lines)
		fprintf(stderr, "heddle: and %lu other kernels\n", n - lines);
	pthread_mutex_unlock(&mutex);
}
