/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Warm start (HEDDLE_WARM): a loop begins with the rates in its codelet's profile, and adds its
 * own. Later loops of this process find them, and, written when it ends, those of other processes.
 */
#include "config.h"

#include <stdatomic.h>
#include <time.h>

#include "loop_private.h"
#include "estimator/estimate_starpu.h"
#include "support/message.h"
#include "estimator/profile_store.h"
#include "rates.h"

static const char *profile_name(const struct heddle_loop_request *loop)
{
	return loop->loop.codelet->name ? loop->loop.codelet->name : loop->name;
}

static size_t iteration_bytes(const struct heddle_loop_request *loop)
{
	return loop_views_footprint(loop->views, loop->loop.naccesses).per_iteration;
}

struct recall {
	const struct heddle_loop_request *loop;
	struct heddle_strategy_worker *workers;
	size_t bytes;
	unsigned classes[STARPU_NMAXWORKERS]; /* of the loop's workers */
};

static void workers_set(const struct heddle_profile *known, const char *path, void *arg)
{
	static atomic_flag warned = ATOMIC_FLAG_INIT;
	const struct recall *recall = arg;
	const struct heddle_loop_request *loop = recall->loop;

	if (!*path && !atomic_flag_test_and_set(&warned))
		heddle_warn("loop %s: no folder for its rates (HEDDLE_PROFILE_DIR); this process "
		            "alone will know them",
		            loop->name);
	for (unsigned l = 0; l < loop->nworkers; l++) {
		const char *device = heddle_device_class_name(recall->classes[l]);
		struct loop_rate rate;

		if (loop_rates_find(known, device, recall->bytes, path, &rate))
			continue;
		recall->workers[l].rate = 1 / rate.pace;
		recall->workers[l].start_us = rate.start_us;
	}
}

void loop_rates_recall(const struct heddle_loop_request *loop,
                       struct heddle_strategy_worker *workers)
{
	struct recall recall = {loop, workers, iteration_bytes(loop), {0}};

	for (unsigned l = 0; l < loop->nworkers; l++)
		recall.classes[l] = heddle_device_class(loop->workers[l].stats.id);
	/* Without memory nothing is known. */
	profile_store_ask(profile_name(loop), workers_set, &recall);
	for (unsigned l = 0; l < loop->nworkers; l++)
		if (workers[l].rate > 0)
			heddle_explain("loop %s: %s did %g iterations/us before, and %g us a block",
			               loop->name, loop->workers[l].stats.name, workers[l].rate,
			               workers[l].start_us);
}

/* What the workers of a class have done. */
static void class_keep(const struct heddle_loop_request *loop, unsigned class)
{
	struct heddle_block_time times[STARPU_NMAXWORKERS];
	struct heddle_profile_record record;
	unsigned n = 0, blocks;
	struct loop_rate rate;

	for (unsigned l = 0; l < loop->nworkers; l++)
		if (heddle_device_class(loop->workers[l].stats.id) == class)
			times[n++] = loop->workers[l].time;
	if (loop_rates_mean(times, n, &rate, &blocks) ||
	    loop_rates_record(heddle_device_class_name(class), iteration_bytes(loop), &rate, blocks,
	                      time(NULL), &record))
		return;
	profile_store_add(profile_name(loop), &record);
	heddle_explain("loop %s: \"%s\" does %g iterations/us, and %g us a block: kept", loop->name,
	               heddle_device_class_name(class), 1 / rate.pace, rate.start_us);
}

void loop_rates_keep(const struct heddle_loop_request *loop)
{
	for (unsigned class = 0; class < heddle_device_classes(); class ++)
		class_keep(loop, class);
}
