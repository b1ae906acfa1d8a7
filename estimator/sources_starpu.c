/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where estimates come from before a task has been measured: which sources HEDDLE_ESTIMATE allows,
 * the profiles of earlier runs, and StarPU's own performance models.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/message.h"
#include "support/starpu_compat.h"
#include "support/variables.h"
#include "estimator/profile_store.h"
#include "estimator/table_starpu.h"

/* Measurements of a size below which StarPU's mean is not trusted. */
#define LEAST_SAMPLES 2
/* Accelerators of a class differ in a type if all times of one are longer than all of the other by
 * more than one part in so many, and they have run so many together. */
#define EVEN 16
#define TELLING 3
/* Times that a function tells are equal within one part in so many of an octave. */
#define OCTAVE 8

/* ---- which sources may be used ---- */

static const char *const source_names[] = {
    [HEDDLE_ESTIMATE_NOTHING] = "nothing", [HEDDLE_ESTIMATE_NEIGHBOURS] = "neighbours",
    [HEDDLE_ESTIMATE_MODEL] = "model",     [HEDDLE_ESTIMATE_PROFILE] = "profile",
    [HEDDLE_ESTIMATE_ONLINE] = "online",
};

#define NSOURCES (sizeof(source_names) / sizeof(source_names[0]))

const char *heddle_estimate_source_name(enum heddle_estimate_source source)
{
	return source_names[source];
}

static struct {
	pthread_once_t once;
	unsigned allowed; /* bit s: source s */
	struct heddle_history_rule rule;
} sources = {.once = PTHREAD_ONCE_INIT};

static void source_allow(const char *name, size_t length)
{
	for (unsigned s = 0; s < NSOURCES; s++)
		if (strlen(source_names[s]) == length && !strncmp(source_names[s], name, length)) {
			sources.allowed |= 1u << s;
			return;
		}
	if (length)
		heddle_warn("HEDDLE_ESTIMATE: \"%.*s\" is no source of estimates (online, profile, "
		            "model, neighbours, nothing)",
		            (int)length, name);
}

static void rule_read(void)
{
	const char *text = heddle_variable_text(HEDDLE_VARIABLE_NEIGHBOURS);

	sources.rule = HEDDLE_HISTORY_QUICK;
	if (!strcmp(text, "mean"))
		sources.rule = HEDDLE_HISTORY_PUBLISHED;
	else if (strcmp(text, "fit"))
		heddle_warn("HEDDLE_NEIGHBOURS=%s is neither \"fit\" nor \"mean\"", text);
}

static void sources_read(void)
{
	const char *text = heddle_variable_text(HEDDLE_VARIABLE_ESTIMATE);

	rule_read();
	for (size_t length; *text; text += length + (text[length] == ',')) {
		length = strcspn(text, ",");
		source_allow(text, length);
	}
}

bool estimate_source_allowed(enum heddle_estimate_source source)
{
	pthread_once(&sources.once, sources_read);
	return sources.allowed >> source & 1;
}

struct heddle_history_rule estimate_rule(void)
{
	pthread_once(&sources.once, sources_read);
	return sources.rule;
}

/* ---- profiles ---- */

static int class_wanted(const char *device, void *arg)
{
	const struct estimate_codelet *codelet = arg;
	int class = estimate_class_find(device);

	return class >= (int)codelet->loaded ? class : -1;
}

/* What earlier runs measured on single accelerators. What there is no memory for is not known. */
static void devices_load(struct estimate_codelet *codelet, const struct heddle_profile *profile)
{
	for (size_t r = 0; r < profile->n; r++) {
		const struct heddle_profile_record *record = profile->records[r];
		const struct heddle_profile_field *device, *type, *number, *us;
		struct estimate_known_device *grown;
		int class;

		if (strcmp(record->kind, "device"))
			continue;
		device = heddle_profile_record_field(record, "device");
		type = heddle_profile_record_field(record, "type");
		number = heddle_profile_record_field(record, "number");
		us = heddle_profile_record_field(record, "us");
		if (!device || device->n || !type || type->n || !number || !number->n)
			continue;
		class = class_wanted(device->text, codelet);
		if (class < 0 || !(heddle_profile_field_median(us) > 0))
			continue;
		grown = realloc(codelet->known, (codelet->nknown + 1) * sizeof(*grown));
		if (!grown)
			return;
		codelet->known = grown;
		codelet->known[codelet->nknown++] =
		    (struct estimate_known_device){.type = strtoull(type->text, NULL, 16),
		                                   .class = class,
		                                   .number = number->numbers[0],
		                                   .us = heddle_profile_field_median(us)};
	}
}

static void history_load(const struct heddle_profile *known, const char *path, void *arg)
{
	struct estimate_codelet *codelet = arg;
	unsigned classes = heddle_device_classes();

	(void)path;
	pthread_mutex_lock(&codelet->mutex);
	/* Another thread may have loaded it meanwhile. */
	if (codelet->loaded < classes) {
		if (known) {
			heddle_history_load(&codelet->history, known, class_wanted, codelet);
			devices_load(codelet, known);
			/* From what was measured meanwhile, too. */
			if (estimate_rule().fit)
				heddle_history_learn(&codelet->history);
		}
		codelet->loaded = classes;
		atomic_fetch_add(&codelet->news, 1);
	}
	pthread_mutex_unlock(&codelet->mutex);
}

static unsigned loaded_classes(struct estimate_codelet *codelet)
{
	unsigned loaded;

	pthread_mutex_lock(&codelet->mutex);
	loaded = codelet->loaded;
	pthread_mutex_unlock(&codelet->mutex);
	return loaded;
}

void estimate_profile_load(struct estimate_codelet *codelet)
{
	unsigned loaded;

	if (!starpu_is_initialized())
		return;
	loaded = loaded_classes(codelet);
	for (unsigned w = 0; !loaded && w < starpu_worker_get_count(); w++)
		heddle_device_class(w);
	if (loaded >= heddle_device_classes())
		return;
	if (!codelet->name || !profile_store_wanted() ||
	    !estimate_source_allowed(HEDDLE_ESTIMATE_PROFILE) ||
	    profile_store_ask(codelet->name, history_load, codelet))
		history_load(NULL, NULL, codelet);
}

/* The parameters of a slot, by name. The codelet's mutex is held. */
static void params_put(const struct estimate_slot *slot, struct heddle_profile_record *record)
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

/* What is known of an accelerator; below 0: of any of its class. The codelet's mutex is held.
 * @return 0: nothing */
static double known_us(const struct estimate_codelet *codelet, uint64_t type, unsigned class,
                       int number)
{
	for (size_t i = 0; i < codelet->nknown; i++)
		if (codelet->known[i].type == type && codelet->known[i].class == class &&
		    (number < 0 || codelet->known[i].number == (unsigned)number))
			return codelet->known[i].us;
	return 0;
}

double estimate_profile_us(struct estimate_slot *slot, int worker)
{
	struct estimate_codelet *codelet = slot->codelet;
	uint64_t type;
	double us;

	if (!atomic_load(&codelet->nknown))
		return 0;
	type = estimate_slot_name(slot);
	pthread_mutex_lock(&codelet->mutex);
	us = known_us(codelet, type, heddle_device_class(worker), starpu_worker_get_devid(worker));
	pthread_mutex_unlock(&codelet->mutex);
	return us;
}

/* First tasks may load something. They count as others if those of no accelerator took longer than
 * its later ones. */
static void firsts_count(struct estimate_slot *slot, unsigned class)
{
	bool plain = false;

	for (unsigned i = 0; i < slot->ndevices; i++) {
		const struct estimate_device *device = &slot->devices[i];

		if (device->class != class || device->first_us <= 0 || !device->samples)
			continue;
		if (device->first_us > device->most_us * (1 + 1. / EVEN))
			return;
		plain = true;
	}
	for (unsigned i = 0; plain && i < slot->ndevices; i++) {
		struct estimate_device *device = &slot->devices[i];

		if (device->class == class && device->first_us > 0)
			estimate_device_add(device, device->first_us);
		if (device->class == class)
			device->first_us = 0;
	}
}

/* Whether accelerators of a class differ. */
static bool devices_differ(const struct estimate_slot *slot, unsigned class)
{
	for (unsigned i = 0; i < slot->ndevices; i++)
		for (unsigned j = 0; j < slot->ndevices; j++) {
			const struct estimate_device *fast = &slot->devices[i];
			const struct estimate_device *slow = &slot->devices[j];

			if (fast->class == class && slow->class == class && fast->samples &&
			    slow->samples && fast->samples + slow->samples >= TELLING &&
			    slow->least_us > fast->most_us * (1 + 1. / EVEN))
				return true;
		}
	return false;
}

/* Adds what single accelerators of a class took, where they differ, or did in earlier runs. */
static void devices_add(struct estimate_slot *slot, unsigned class)
{
	uint64_t type = estimate_slot_name(slot);
	bool differ;
	char text[20];

	firsts_count(slot, class);
	differ = devices_differ(slot, class);
	pthread_mutex_lock(&slot->codelet->mutex);
	differ |= known_us(slot->codelet, type, class, -1) > 0;
	pthread_mutex_unlock(&slot->codelet->mutex);
	snprintf(text, sizeof(text), "%016" PRIx64, type);
	for (unsigned i = 0; differ && i < slot->ndevices; i++) {
		struct estimate_device *device = &slot->devices[i];
		struct heddle_profile_record record;

		if (device->class != class || device->samples == device->saved)
			continue;
		heddle_profile_record_init(&record, "device");
		heddle_profile_record_text(&record, "device", heddle_device_class_name(class));
		heddle_profile_record_number(&record, "number", device->number);
		heddle_profile_record_text(&record, "type", text);
		heddle_profile_record_results(&record);
		heddle_profile_record_number(&record, "us",
		                             to_six_digits(device->sum_us / device->samples));
		heddle_profile_record_number(&record, "samples", device->samples - device->saved);
		heddle_profile_record_number(&record, "at", time(NULL));
		if (!profile_store_add(slot->codelet->name, &record))
			device->saved = device->samples;
	}
}

void estimate_profile_add(struct estimate_slot *slot, unsigned class)
{
	struct estimate_cell *cell = &slot->cells[class];
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
	heddle_profile_record_number(&record, "at", time(NULL));
	if (!profile_store_add(slot->codelet->name, &record))
		cell->saved = samples;
	devices_add(slot, class);
}

/* ---- StarPU's models ---- */

bool estimate_model_is_ours(const struct starpu_perfmodel *model)
{
	return model && model->arch_cost_function == heddle_estimate_cost;
}

bool estimate_model_counts(const struct starpu_perfmodel *model)
{
	return model && !estimate_model_is_ours(model) &&
	       estimate_source_allowed(HEDDLE_ESTIMATE_MODEL);
}

/* Asking StarPU about a history that lacks a size makes it warn and calibrate, so
 * the history is looked at here. */
static double history_us(struct starpu_perfmodel *model, struct starpu_task *task,
                         struct starpu_perfmodel_arch *arch, unsigned implementation)
{
	struct starpu_perfmodel_per_arch *per_arch =
	    starpu_perfmodel_get_model_per_arch(model, arch, implementation);
	uint32_t footprint = starpu_task_footprint(model, task, arch, implementation);

	for (struct starpu_perfmodel_history_list *l = per_arch ? per_arch->list : NULL; l;
	     l = l->next)
		if (l->entry->footprint == footprint)
			return l->entry->nsample >= LEAST_SAMPLES ? l->entry->mean : 0;
	return 0;
}

/* Whether StarPU has an answer to a question about a regression. */
static bool regression_valid(struct starpu_perfmodel *model, struct starpu_perfmodel_arch *arch,
                             unsigned implementation)
{
	struct starpu_perfmodel_per_arch *per_arch =
	    starpu_perfmodel_get_model_per_arch(model, arch, implementation);

	return per_arch && (per_arch->regression.valid || per_arch->regression.nl_valid ||
	                    per_arch->regression.multi_valid);
}

static double implementation_us(struct starpu_task *task, unsigned worker, unsigned implementation)
{
	struct starpu_perfmodel *model = task->cl->model;
	struct starpu_perfmodel_arch *arch =
	    starpu_worker_get_perf_archtype(worker, task->sched_ctx);

	switch (model->type) {
	case STARPU_HISTORY_BASED:
		return history_us(model, task, arch, implementation);
	case STARPU_REGRESSION_BASED:
	case STARPU_NL_REGRESSION_BASED:
	case STARPU_MULTIPLE_REGRESSION_BASED:
		if (!regression_valid(model, arch, implementation))
			return 0;
		break;
	default:
		break;
	}
	return heddle_compat_expected_length(task, worker, task->sched_ctx, implementation);
}

double estimate_model_us(struct starpu_task *task, int worker)
{
	struct starpu_perfmodel *model = task->cl->model;
	double best = 0;
	unsigned mask;

	/* Models are loaded when tasks are submitted. Of a function nothing is to be loaded. */
	if (worker < 0 || !model->symbol || (!model->is_loaded && !model->arch_cost_function) ||
	    !starpu_worker_can_execute_task_impl(worker, task, &mask))
		return 0;
	for (unsigned i = 0; mask >> i; i++) {
		double us = mask >> i & 1 ? implementation_us(task, worker, i) : 0;

		if (us > 0 && isfinite(us) && (!best || us < best))
			best = us;
	}
	return best;
}

/* Whether a model is a function that tells the time of each task, not what was measured. */
static bool is_function(const struct starpu_perfmodel *model)
{
	switch (model->type) {
	case STARPU_HISTORY_BASED:
	case STARPU_REGRESSION_BASED:
	case STARPU_NL_REGRESSION_BASED:
	case STARPU_MULTIPLE_REGRESSION_BASED:
		return false;
	default:
		return true;
	}
}

/* One number for the times on all classes. */
static uint32_t times_kind(struct starpu_task *task)
{
	uint32_t kind = 0;

	for (unsigned c = 0; c < heddle_device_classes(); c++) {
		double us = estimate_model_us(task, estimate_class_worker(c));

		kind = kind * 0x9e3779b1u + (us > 0 ? (uint32_t)lround(OCTAVE * log2(us)) : 0);
	}
	return kind;
}

uint32_t estimate_model_kind(struct starpu_task *task)
{
	struct starpu_perfmodel *model = task->cl->model;

	if (model && model->footprint)
		return model->footprint(task);
	if (model && model->parameters)
		return 0;
	if (estimate_model_counts(model) && is_function(model))
		return times_kind(task);
	return model && model->size_base ? 0 : starpu_task_data_footprint(task);
}
