/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A run of a flow, from the labels of its start until nothing is under way.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "flow_private.h"
#include "partition/common/workers_starpu.h"
#include "support/message.h"

struct thread {
	starpu_pthread_t thread;
	bool started;
};

static unsigned threads_count(const struct heddle_flow *flow)
{
	unsigned n = 0;

	for (unsigned f = 0; f < flow->nfilters; f++)
		n += flow->filters[f].given.threads;
	return n;
}

static int threads_start(struct heddle_flow *flow, struct thread *threads)
{
	unsigned n = 0;

	for (unsigned f = 0; f < flow->nfilters; f++)
		for (unsigned t = 0; t < flow->filters[f].given.threads; t++, n++) {
			if (starpu_pthread_create(&threads[n].thread, NULL, flow_thread,
			                          &flow->filters[f]))
				return heddle_refuse(-EAGAIN, "filter %s: no thread",
				                     flow->filters[f].name);
			threads[n].started = true;
		}
	return 0;
}

static void threads_end(struct heddle_flow *flow, const struct thread *threads)
{
	starpu_pthread_mutex_lock(&flow->mutex);
	flow->over = true;
	for (unsigned f = 0; f < flow->nfilters; f++)
		starpu_pthread_cond_broadcast(&flow->filters[f].work);
	starpu_pthread_mutex_unlock(&flow->mutex);
	for (unsigned t = 0; t < threads_count(flow); t++)
		if (threads[t].started)
			starpu_pthread_join(threads[t].thread, NULL);
}

static int stuck(const struct heddle_flow *flow)
{
	const struct flow_stream *stream = &flow->streams[queues_stuck(flow->queues)];

	return heddle_refuse(-EDEADLK,
	                     "stream %s: all its %u buffers are in use in a cycle, and each filter "
	                     "waits for another one; give it more buffers, or send labels back",
	                     flow_stream_name(stream), stream->buffers);
}

static void run_begin(struct heddle_flow *flow)
{
	queues_begin(flow->queues);
	memset(flow->workers, 0, sizeof(flow->workers));
	flow->starting = true;
	flow->over = false;
	flow->status = 0;
	flow->calls = flow->most_under_way = 0;
	flow->begin_us = starpu_timing_now();
	if (flow->net)
		flow->net->begin(flow->net->arg);
}

static void wait_for_end(struct heddle_flow *flow)
{
	starpu_pthread_mutex_lock(&flow->mutex);
	while (!flow_is_over(flow))
		starpu_pthread_cond_wait(&flow->end, &flow->mutex);
	/* What cannot go on here may be another rank's to say. */
	if (!flow->net && !flow->status && queues_state(flow->queues) == QUEUES_STUCK)
		flow->status = stuck(flow);
	starpu_pthread_mutex_unlock(&flow->mutex);
}

static void stats_fill(const struct heddle_flow *flow, struct heddle_flow_stats *stats)
{
	stats->calls = flow->calls;
	stats->most_under_way = flow->most_under_way;
	stats->nworkers = starpu_worker_get_count();
	for (unsigned w = 0; w < stats->nworkers; w++) {
		const struct flow_worker *worker = &flow->workers[w];
		struct heddle_worker_stats *to = &stats->workers[w];

		*to = work_worker_stats(w);
		to->iterations = to->blocks = worker->tasks;
		to->busy_us = worker->busy_us;
		to->finish_us = fmax(0, worker->finish_us - flow->begin_us);
		stats->tasks += worker->tasks;
	}
}

int flow_run_net(struct heddle_flow *flow, const struct flow_net *net,
                 struct heddle_flow_stats *stats)
{
	struct thread *threads;
	double submitted_us;
	int status;

	if (atomic_exchange(&flow->running, true))
		return heddle_refuse(-EBUSY, "a flow that runs already is run again");
	threads = calloc(threads_count(flow) + 1, sizeof(*threads));
	if (!threads) {
		atomic_store(&flow->running, false);
		return heddle_refuse(-ENOMEM, "no memory for a flow's threads");
	}
	flow->net = net;
	run_begin(flow);
	status = threads_start(flow, threads);
	if (status)
		flow_stop(flow, status);
	else if (!net)
		flow_start(flow);
	submitted_us = starpu_timing_now();
	if (net)
		net->run(net->arg);
	wait_for_end(flow);
	if (stats) {
		*stats = (struct heddle_flow_stats){.us = starpu_timing_now() - flow->begin_us,
		                                    .submit_us = submitted_us - flow->begin_us};
		stats_fill(flow, stats);
	}
	threads_end(flow, threads);
	free(threads);
	status = flow->status;
	atomic_store(&flow->running, false);
	return status;
}

int heddle_flow_run(struct heddle_flow *flow, struct heddle_flow_stats *stats)
{
	for (unsigned f = 0; f < flow->nfilters; f++)
		if (flow->filters[f].given.elsewhere)
			return heddle_refuse(-EINVAL, "filter %s: there are no other ranks",
			                     flow->filters[f].name);
	return flow_run_net(flow, NULL, stats);
}
