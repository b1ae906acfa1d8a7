/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What earlier runs measured, and what later ones will know of this one.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "estimator/slots.h"
#include "support/message.h"
#include "estimator/profile_file.h"
#include "support/variables.h"

static bool profiles_wanted(void)
{
#ifdef HEDDLE_USE_SIMGRID
	/* Simulated times are nobody's experience unless somebody says so. */
	if (!heddle_variable_is_set(HEDDLE_VARIABLE_PROFILE))
		return false;
#endif
	return heddle_variable_number(HEDDLE_VARIABLE_PROFILE);
}

/* ---- loading ---- */

static int class_wanted(const char *device, void *arg)
{
	const struct codelet *codelet = arg;
	int class = device_class_find(device);

	return class >= (int)codelet->loaded ? class : -1;
}

void profile_load(struct codelet *codelet)
{
	struct heddle_profile profile = {0};
	char path[PATH_MAX];
	unsigned classes;

	if (!starpu_is_initialized())
		return;
	for (unsigned w = 0; !codelet->loaded && w < starpu_worker_get_count(); w++)
		heddle_device_class(w);
	classes = heddle_device_classes();
	if (codelet->loaded >= classes)
		return;
	if (codelet->name && profiles_wanted() && source_allowed(HEDDLE_ESTIMATE_PROFILE) &&
	    !heddle_profile_path(codelet->name, path, sizeof(path)) &&
	    !heddle_profile_read(path, &profile))
		heddle_history_load(&codelet->history, &profile, class_wanted, codelet);
	heddle_profile_free(&profile);
	codelet->loaded = classes;
	atomic_fetch_add(&codelet->news, 1);
}

/* ---- saving ---- */

struct saving {
	struct codelet *codelet;
	struct heddle_profile news;
	double now;
};

/* The parameters of a slot, by name. The codelet's mutex is held. */
static void params_put(const struct slot *slot, struct heddle_profile_record *record)
{
	const struct heddle_history *history = &slot->codelet->history;
	const double *values = history->points[slot->point].values;

	for (unsigned d = 0; d < history->ndimensions; d++)
		if (isnan(values[d]))
			continue;
		else if (history->dimensions[d].categorical)
			heddle_profile_record_text(record, history->names[d],
			                           history->words[(size_t)values[d]]);
		else
			heddle_profile_record_number(record, history->names[d], values[d]);
}

/* Nobody measures more digits. */
static double to_six_digits(double us)
{
	char text[40];

	snprintf(text, sizeof(text), "%.6g", us);
	return strtod(text, NULL);
}

static void cell_save(struct slot *slot, unsigned class, struct saving *saving)
{
	struct cell *cell = &slot->cells[class];
	unsigned samples = atomic_load(&cell->samples);
	struct heddle_profile_record record;

	if (samples == cell->saved)
		return;
	heddle_profile_record_init(&record, "task");
	heddle_profile_record_text(&record, "device", heddle_device_class_name(class));
	pthread_mutex_lock(&slot->codelet->mutex);
	params_put(slot, &record);
	pthread_mutex_unlock(&slot->codelet->mutex);
	heddle_profile_record_results(&record);
	heddle_profile_record_number(&record, "us",
	                             to_six_digits(heddle_robust_us(&cell->measured)));
	heddle_profile_record_number(&record, "samples", samples - cell->saved);
	heddle_profile_record_number(&record, "at", saving->now);
	if (!heddle_profile_add(&saving->news, &record))
		cell->saved = samples;
}

static void slot_save(struct slot *slot, void *arg)
{
	struct saving *saving = arg;

	if (slot->codelet != saving->codelet ||
	    atomic_flag_test_and_set_explicit(&slot->busy, memory_order_acquire))
		return;
	for (unsigned c = 0; c < HEDDLE_DEVICE_CLASSES; c++)
		cell_save(slot, c, saving);
	atomic_flag_clear_explicit(&slot->busy, memory_order_release);
}

static void codelet_save(struct codelet *codelet, void *arg)
{
	struct saving saving = {.codelet = codelet, .now = time(NULL)};
	char path[PATH_MAX];
	int *status = arg, error;

	if (!codelet->name)
		return;
	slots_each(slot_save, &saving);
	if (saving.news.n) {
		error = heddle_profile_path(codelet->name, path, sizeof(path));
		if (error)
			heddle_refuse(error, "no place for the profile of %.80s", codelet->name);
		else
			error = heddle_profile_update(path, &saving.news);
		if (error)
			*status = error;
	}
	heddle_profile_free(&saving.news);
}

int heddle_estimate_save(void)
{
	int status = 0;

	if (profiles_wanted())
		codelets_each(codelet_save, &status);
	return status;
}
