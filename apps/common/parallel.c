/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>

#include "apps/common/app.h"

/* Below this, starting a thread costs more than it saves. */
#define SMALLEST_SHARE 16384
#define MAX_THREADS 1024

struct share {
	pthread_t thread;
	bool started;
	double (*body)(void *arg, size_t begin, size_t end);
	void *arg;
	size_t begin, end;
	double result;
};

static void *share_run(void *arg)
{
	struct share *share = arg;

	share->result = share->body(share->arg, share->begin, share->end);
	return NULL;
}

static unsigned threads_for(size_t n, size_t least)
{
	cpu_set_t processors;
	size_t threads = 1;

	if (!sched_getaffinity(0, sizeof(processors), &processors))
		threads = CPU_COUNT(&processors);
	if (threads > n / least + 1)
		threads = n / least + 1;
	return threads > MAX_THREADS ? MAX_THREADS : threads;
}

double app_parallel(size_t n, double (*body)(void *arg, size_t begin, size_t end), void *arg)
{
	return app_parallel_by(n, SMALLEST_SHARE, body, arg);
}

double app_parallel_by(size_t n, size_t least, double (*body)(void *arg, size_t begin, size_t end),
                       void *arg)
{
	unsigned threads = threads_for(n, least);
	struct share shares[MAX_THREADS];
	size_t begin = 0;
	double largest = 0;

	for (unsigned t = 0; t < threads; t++) {
		size_t length = n / threads + (t < n % threads);

		shares[t] =
		    (struct share){.body = body, .arg = arg, .begin = begin, .end = begin + length};
		begin += length;
		if (t + 1 < threads)
			shares[t].started =
			    !pthread_create(&shares[t].thread, NULL, share_run, &shares[t]);
		if (!shares[t].started)
			share_run(&shares[t]);
	}
	for (unsigned t = 0; t < threads; t++) {
		if (shares[t].started)
			pthread_join(shares[t].thread, NULL);
		if (isnan(shares[t].result))
			largest = INFINITY;
		else if (shares[t].result > largest)
			largest = shares[t].result;
	}
	return largest;
}
