/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include "flow_types_starpu.h"
#include "estimator/estimate_starpu.h"
#include "estimator/platform_starpu.h"
#include "partition/common/workers_starpu.h"

/* So often it looks for new times. */
#define LOOK_US 1000

bool flow_types_select(void)
{
	return work_policy_is(0, "odds") || work_policy_is(0, "heddle");
}

unsigned flow_types_of(void *arg, unsigned stream, uint64_t label, uint32_t buffer)
{
	struct flow_types *types = arg;
	unsigned long key = flow_task_key(types->flow, stream, label, buffer);
	unsigned type = 1;

	if (!key)
		return 0;
	while (type < QUEUES_TYPES && types->keys[type] != key)
		type++;
	if (type < QUEUES_TYPES)
		return type;
	type = mpi_demand_type(types->demand, heddle_estimate_name(key));
	types->keys[type] = key;
	return type;
}

/* A kind is as fast as its fastest device here. What was run once may have loaded something. */
static void times_of(unsigned long key, double us[HEDDLE_NKINDS])
{
	struct heddle_estimate estimates[HEDDLE_DEVICE_CLASSES];

	heddle_estimate_known(key, HEDDLE_DEVICE_CLASSES, estimates);
	for (unsigned w = 0; w < starpu_worker_get_count(); w++) {
		const struct heddle_estimate *estimate = &estimates[heddle_device_class(w)];
		double *of = &us[heddle_worker_kind(w)];

		if (estimate->source > HEDDLE_ESTIMATE_NEIGHBOURS && !estimate->first &&
		    (*of <= 0 || estimate->us < *of))
			*of = estimate->us;
	}
}

void flow_types_tell(struct flow_types *types)
{
	double now_us = starpu_timing_now();

	if (now_us < types->looked_us + LOOK_US)
		return;
	types->looked_us = now_us;
	for (unsigned t = 1; t < QUEUES_TYPES; t++) {
		double us[HEDDLE_NKINDS] = {0};

		if (!types->keys[t])
			continue;
		times_of(types->keys[t], us);
		for (unsigned k = 0; k < HEDDLE_NKINDS; k++)
			if (us[k] > 0)
				mpi_demand_measured(types->demand, t, k, us[k]);
	}
}
