/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "tools/common/cross_validation.h"
#include "tools/estimate/estimate.h"

/* Of a device; nothing: empty. */
static json_t *errors_json(const struct heddle_cross_validation *cv)
{
	return json_pack("{s:i, s:f, s:f, s:f}", "jobs", (int)cv->jobs, "speedup_error",
	                 cv->speedup, "time_error", cv->time, "reference_time_error",
	                 cv->reference);
}

static void errors_print(const struct heddle_cross_validation *cv, const char *device,
                         const char *what)
{
	char inside[16] = "-";

	if (!isnan(cv->inside))
		snprintf(inside, sizeof(inside), "%.0f%%", 100 * cv->inside);
	printf("%6zu %14.2f%% %14.2f%% %18.2f%% %9s  %s%s\n", cv->jobs, 100 * cv->speedup,
	       100 * cv->time, 100 * cv->reference, inside, device, what);
}

static void device_print(const struct arguments *arguments, const struct estimates *e,
                         unsigned class, const struct heddle_cross_validation *cv, json_t *list)
{
	struct heddle_cross_validation again;
	bool sampled =
	    !heddle_cross_validation_again(&e->history, &e->again, class, e->reference, &again);
	json_t *json = errors_json(cv);

	json_object_set_new(json, "device", json_string(e->classes[class]));
	json_object_set_new(json, "reference", json_string(e->classes[e->reference]));
	json_object_set_new(json, "inside",
	                    isnan(cv->inside) ? json_null() : json_real(cv->inside));
	json_object_set_new(json, "again", sampled ? errors_json(&again) : json_null());
	json_array_append_new(list, json);
	if (arguments->json)
		return;
	errors_print(cv, e->classes[class], "");
	if (sampled) {
		again.inside = NAN;
		errors_print(&again, e->classes[class], ", sampled again");
	}
}

static void title_print(const struct arguments *arguments, const struct estimates *e)
{
	printf("%u folds, %s%.0u; reference: %s\n\n%6s %15s %15s %19s %9s  device\n",
	       arguments->folds, arguments->rule.fit ? "fit" : "mean of ",
	       arguments->rule.fit ? 0 : arguments->rule.k, e->classes[e->reference], "jobs",
	       "speed-up error", "time error", "reference's time", "inside");
}

int estimate_cv(const struct arguments *arguments, struct estimates *e)
{
	json_t *list = json_array();
	unsigned done = 0;
	int error = 0;

	for (unsigned c = 0; c < e->nclasses && !error; c++) {
		struct heddle_cross_validation result;

		if (c == e->reference)
			continue;
		error = heddle_cross_validation_run(&e->history, c, e->reference, arguments->folds,
		                                    arguments->rule, arguments->seed, &result);
		if (!error && !done && !arguments->json)
			title_print(arguments, e);
		if (!error)
			device_print(arguments, e, c, &result, list);
		done += !error;
		error = error == -ENODATA ? 0 : error;
	}
	if (!done)
		fprintf(stderr, "heddle: no two devices have times of the same two tasks\n");
	if (arguments->json)
		error = estimate_json(list) || error;
	else
		json_decref(list);
	return error || !done;
}
