/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The table of codelets and slots, and which slot a task belongs to: by the parameters that it
 * states, or by the sizes of its data.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "estimator/table_starpu.h"
#include "support/message.h"
#include "estimator/profile_store.h"

_Static_assert(HEDDLE_DEVICE_CLASSES <= HEDDLE_HISTORY_CLASSES, "no place for all classes");
_Static_assert(HEDDLE_PARAMS_MAX <= HEDDLE_HISTORY_DIMENSIONS, "no place for all parameters");

#define MAX_SLOTS 16384
#define MAX_CODELETS 1024
#define BUCKETS 16384
/* From so many slots of a codelet on, parameters are rounded to 1/16 octave. */
#define MANY_SLOTS 1024

/* Which codelet a StarPU codelet is; several may share a name. */
struct alias {
	struct alias *_Atomic next;
	const struct starpu_codelet *cl;
	struct estimate_codelet *codelet;
};

static struct {
	pthread_once_t once;
	pthread_mutex_t mutex; /* of whoever adds something */
	struct estimate_slot *slots;
	atomic_size_t nslots;
	struct estimate_slot *_Atomic buckets[BUCKETS];
	struct alias *_Atomic aliases[256];
	struct estimate_codelet *codelets[MAX_CODELETS];
	unsigned ncodelets;
} table = {.once = PTHREAD_ONCE_INIT, .mutex = PTHREAD_MUTEX_INITIALIZER};

/* Reserved once; pages come as slots are used. */
static void table_init(void)
{
	void *area = mmap(NULL, MAX_SLOTS * sizeof(struct estimate_slot), PROT_READ | PROT_WRITE,
	                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	table.slots = area == MAP_FAILED ? NULL : area;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 32;
}

/* ---- codelets ---- */

static const char *codelet_name(const struct starpu_codelet *cl)
{
	return cl->name ? cl->name : cl->model ? cl->model->symbol : NULL;
}

static bool codelet_is(const struct estimate_codelet *codelet, const struct starpu_codelet *cl)
{
	const char *name = codelet_name(cl);

	if (!name || !codelet->name)
		return !name && codelet->cl == cl;
	return !strcmp(name, codelet->name);
}

/* The mutex is held. */
static struct estimate_codelet *codelet_create(const struct starpu_codelet *cl)
{
	const char *name = codelet_name(cl);
	struct estimate_codelet *codelet;

	if (table.ncodelets == MAX_CODELETS)
		return NULL;
	codelet = calloc(1, sizeof(*codelet));
	if (!codelet)
		return NULL;
	codelet->cl = cl;
	codelet->name = name ? strdup(name) : NULL;
	if (name && !codelet->name) {
		free(codelet);
		return NULL;
	}
	pthread_mutex_init(&codelet->mutex, NULL);
	HELGRIND_ATOMIC(codelet->nslots);
	HELGRIND_ATOMIC(codelet->news);
	HELGRIND_ATOMIC(codelet->nknown);
	HELGRIND_ATOMIC(codelet->sampled);
	HELGRIND_ATOMIC(codelet->told);
	HELGRIND_ATOMIC(codelet->ran);
	HELGRIND_ATOMIC(codelet->surprised);
	HELGRIND_ATOMIC(codelet->first);
	HELGRIND_ATOMIC(codelet->model_state);
	atomic_init(&codelet->news, 1);
	return table.codelets[table.ncodelets++] = codelet;
}

static struct estimate_codelet *codelet_add(const struct starpu_codelet *cl,
                                            struct alias *_Atomic *bucket)
{
	struct estimate_codelet *codelet = NULL;
	struct alias *alias;

	pthread_once(&table.once, table_init);
	pthread_mutex_lock(&table.mutex);
	for (unsigned c = 0; !codelet && c < table.ncodelets; c++)
		if (codelet_is(table.codelets[c], cl))
			codelet = table.codelets[c];
	if (!codelet)
		codelet = codelet_create(cl);
	alias = codelet ? malloc(sizeof(*alias)) : NULL;
	if (alias) {
		alias->cl = cl;
		alias->codelet = codelet;
		HELGRIND_ATOMIC(alias->next);
		HELGRIND_ATOMIC(*bucket);
		atomic_init(&alias->next, atomic_load(bucket));
		HELGRIND_HAND_OVER(alias);
		atomic_store(bucket, alias);
	}
	pthread_mutex_unlock(&table.mutex);
	return codelet;
}

static struct alias *alias_at(struct alias *_Atomic *link)
{
	struct alias *alias = atomic_load_explicit(link, memory_order_acquire);

	HELGRIND_TAKE_OVER(alias);
	return alias;
}

/* The codelet of a codelet of StarPU, made if there is none; NULL without memory. A codelet that
 * was freed may leave its address to another: the name decides. */
static struct estimate_codelet *codelet_find(const struct starpu_codelet *cl)
{
	struct alias *_Atomic *bucket = &table.aliases[mix(1, (uintptr_t)cl) & 255];
	struct alias *alias = alias_at(bucket);

	while (alias && (alias->cl != cl || !codelet_is(alias->codelet, cl)))
		alias = alias_at(&alias->next);
	return alias ? alias->codelet : codelet_add(cl, bucket);
}

/* How many numbers a codelet's model states of each task: its parameters, or the size that it takes
 * for that of the task's data. */
static unsigned model_numbers(const struct starpu_perfmodel *model)
{
	if (!model)
		return 0;
	return model->parameters ? model->nparameters : model->size_base ? 1 : 0;
}

/* The name of one of them; NULL: none. */
static const char *model_number_name(const struct starpu_perfmodel *model, unsigned i)
{
	if (!model->parameters)
		return "size";
	return model->parameters_names ? model->parameters_names[i] : NULL;
}

/* The codelet's mutex is held. */
static bool dimensions_find(struct estimate_codelet *codelet, const struct starpu_perfmodel *model)
{
	const char *what = codelet->name ? codelet->name : "codelet without a name";

	for (unsigned i = 0; i < model_numbers(model); i++) {
		const char *name = model_number_name(model, i);
		char number[16];
		unsigned d;

		snprintf(number, sizeof(number), "p%u", i);
		if (i == HEDDLE_PARAMS_MAX ||
		    heddle_history_dimension(&codelet->history, name ? name : number, false, &d)) {
			heddle_warn("%s: its model's parameters cannot be used: more than %d, or "
			            "\"%s\" is no name",
			            what, HEDDLE_PARAMS_MAX, name ? name : number);
			return false;
		}
		codelet->model_dimensions[i] = d;
	}
	return true;
}

/* Finds the dimensions of the parameters that a codelet's model states, once.
 * @return whether they can be used */
static bool model_dimensions_find(struct estimate_codelet *codelet,
                                  const struct starpu_perfmodel *model)
{
	enum { UNKNOWN, USED, UNUSABLE };
	unsigned state = atomic_load_explicit(&codelet->model_state, memory_order_acquire);

	HELGRIND_TAKE_OVER(&codelet->model_state);
	if (state != UNKNOWN)
		return state == USED;
	pthread_mutex_lock(&codelet->mutex);
	state = atomic_load(&codelet->model_state);
	if (state == UNKNOWN) {
		state = dimensions_find(codelet, model) ? USED : UNUSABLE;
		HELGRIND_HAND_OVER(&codelet->model_state);
		atomic_store_explicit(&codelet->model_state, state, memory_order_release);
	}
	pthread_mutex_unlock(&codelet->mutex);
	return state == USED;
}

/* ---- slots ---- */

/* Sizes of data are called after the data's place. */
static int default_dimensions(struct estimate_codelet *codelet, const struct estimate_slot *slot,
                              double *values)
{
	for (unsigned i = 0; i < slot->n; i++) {
		char name[] = {'b', 'y', 't', 'e', 's', '0' + i, 0};
		unsigned d;
		int error = heddle_history_dimension(&codelet->history, name, false, &d);

		if (error)
			return error;
		values[d] = slot->values[i];
	}
	return 0;
}

/* Whether a point of a codelet has a slot. The table's mutex is held. */
static bool point_is_taken(const struct estimate_codelet *codelet, size_t point)
{
	size_t n = atomic_load(&table.nslots);

	for (size_t i = 0; i < n; i++)
		if (table.slots[i].codelet == codelet && table.slots[i].point == point)
			return true;
	return false;
}

/* The point of values and a kind; without one yet, the number of points, and the values to add. The
 * first kind has a point without its word, as if there was no other one. The mutexes of the table
 * and the codelet are held. */
static size_t kind_find(struct estimate_codelet *codelet, uint32_t kind, double *values)
{
	struct heddle_history *history = &codelet->history;
	size_t plain = heddle_history_find(history, values), point;
	char word[16];
	unsigned d;

	if (!kind || plain == history->npoints)
		return plain;
	snprintf(word, sizeof(word), "%08x", kind);
	/* Where there is no room for it, kinds share a point. */
	if (heddle_history_dimension(history, "kind", true, &d) ||
	    heddle_history_word(history, word, &values[d]))
		return plain;
	point = heddle_history_find(history, values);
	return point == history->npoints && !point_is_taken(codelet, plain) ? plain : point;
}

/* The point of a new slot, which a profile may have brought. A task that states
 * nothing is known by the sizes of its data as far as there are dimensions left. The table's mutex
 * is held. */
static int point_find(struct estimate_codelet *codelet, struct estimate_slot *slot)
{
	struct heddle_history *history = &codelet->history;
	double values[HEDDLE_HISTORY_DIMENSIONS];
	int error = 0;

	for (unsigned d = 0; d < HEDDLE_HISTORY_DIMENSIONS; d++)
		values[d] = NAN;
	pthread_mutex_lock(&codelet->mutex);
	if (slot->stated)
		memcpy(values, slot->values, sizeof(values));
	else
		default_dimensions(codelet, slot, values);
	slot->point = kind_find(codelet, slot->kind, values);
	if (slot->point == history->npoints)
		error = heddle_history_add(history, values, &slot->point);
	pthread_mutex_unlock(&codelet->mutex);
	return error;
}

static bool slot_is(const struct estimate_slot *slot, const struct estimate_slot *wanted)
{
	return slot->hash == wanted->hash && slot->codelet == wanted->codelet &&
	       slot->stated == wanted->stated && slot->kind == wanted->kind &&
	       slot->n == wanted->n &&
	       !memcmp(slot->values, wanted->values, slot->n * sizeof(*slot->values));
}

static struct estimate_slot *slot_at(struct estimate_slot *_Atomic *link)
{
	struct estimate_slot *slot = atomic_load_explicit(link, memory_order_acquire);

	HELGRIND_TAKE_OVER(slot);
	return slot;
}

static struct estimate_slot *slot_look(const struct estimate_slot *wanted)
{
	struct estimate_slot *slot = slot_at(&table.buckets[wanted->hash % BUCKETS]);

	while (slot && !slot_is(slot, wanted))
		slot = slot_at(&slot->next);
	return slot;
}

/* Others see it from now on. */
static void slot_publish(struct estimate_slot *slot, struct estimate_slot *_Atomic *bucket)
{
	HELGRIND_ATOMIC(*bucket);
	HELGRIND_ATOMIC(table.nslots);
	HELGRIND_ATOMIC(slot->next);
	HELGRIND_ATOMIC(slot->busy);
	HELGRIND_ATOMIC(slot->sized);
	HELGRIND_ATOMIC(slot->news);
	HELGRIND_ATOMIC(slot->modelled);
	for (unsigned c = 0; c < HEDDLE_DEVICE_CLASSES; c++) {
		HELGRIND_ATOMIC(slot->cells[c].us);
		HELGRIND_ATOMIC(slot->cells[c].source);
		HELGRIND_ATOMIC(slot->cells[c].samples);
		HELGRIND_ATOMIC(slot->cells[c].first);
	}
	HELGRIND_HAND_OVER(slot);
	atomic_fetch_add(&table.nslots, 1);
	atomic_fetch_add(&slot->codelet->nslots, 1);
	if (!atomic_load(&slot->codelet->first))
		atomic_store(&slot->codelet->first, slot);
	atomic_store(&slot->next, atomic_load(bucket));
	atomic_store_explicit(bucket, slot, memory_order_release);
}

static struct estimate_slot *slot_add(const struct estimate_slot *wanted)
{
	struct estimate_slot *_Atomic *bucket = &table.buckets[wanted->hash % BUCKETS];
	size_t n;
	struct estimate_slot *slot;

	pthread_mutex_lock(&table.mutex);
	slot = slot_look(wanted);
	n = atomic_load(&table.nslots);
	if (!slot && table.slots && n < MAX_SLOTS) {
		slot = &table.slots[n];
		slot->codelet = wanted->codelet;
		slot->hash = wanted->hash;
		slot->stated = wanted->stated;
		slot->kind = wanted->kind;
		slot->n = wanted->n;
		slot->categorical = wanted->categorical;
		memcpy(slot->values, wanted->values, sizeof(slot->values));
		if (point_find(slot->codelet, slot))
			slot = NULL;
		else
			slot_publish(slot, bucket);
	}
	pthread_mutex_unlock(&table.mutex);
	return slot;
}

static uint64_t slot_hash(const struct estimate_slot *slot)
{
	uint64_t hash = mix(slot->stated + 2 * slot->n, (uintptr_t)slot->codelet + slot->kind);

	for (unsigned i = 0; i < slot->n; i++) {
		uint64_t bits;

		memcpy(&bits, &slot->values[i], sizeof(bits));
		hash = mix(hash, bits);
	}
	return hash;
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
	while (*text)
		hash = mix(hash, (unsigned char)*text++);
	return hash;
}

/* Words have other numbers in other processes, and parameters another order. */
static uint64_t value_name(const struct heddle_history *history, const struct estimate_slot *slot,
                           unsigned d)
{
	uint64_t name = mix_text(1, slot->stated ? history->names[d] : ""), bits;

	if (slot->stated && slot->categorical >> d & 1)
		return mix_text(name, history->words[(size_t)slot->values[d]]);
	memcpy(&bits, &slot->values[d], sizeof(bits));
	return mix(slot->stated ? name : d + 1, bits);
}

uint64_t estimate_slot_name(struct estimate_slot *slot)
{
	struct estimate_codelet *codelet = slot->codelet;
	uint64_t name =
	    mix_text(mix(2 + slot->stated, slot->kind), codelet->name ? codelet->name : "");

	pthread_mutex_lock(&codelet->mutex);
	for (unsigned d = 0; d < slot->n; d++)
		if (!isnan(slot->values[d]))
			name += value_name(&codelet->history, slot, d);
	pthread_mutex_unlock(&codelet->mutex);
	return name ? name : 1;
}

static double rounded(double value)
{
	double magnitude = fabs(value);

	if (!(magnitude > 0))
		return value;
	return copysign(exp2(round(16 * log2(magnitude)) / 16), value);
}

/* The slot of a codelet and values, made if there is none; the codelet's first when there is no
 * room, NULL when there is not even that. What is wanted is spoilt: a codelet with many slots takes
 * parameters that are nearly equal for equal, and new kinds for one. */
static struct estimate_slot *slot_find(struct estimate_slot *wanted)
{
	struct estimate_codelet *codelet = wanted->codelet;
	struct estimate_slot *slot;

	wanted->hash = slot_hash(wanted);
	slot = slot_look(wanted);
	if (slot)
		return slot;
	if (atomic_load(&codelet->nslots) >= MANY_SLOTS) {
		wanted->kind = 0;
		for (unsigned i = 0; i < wanted->n; i++)
			if (!(wanted->categorical >> i & 1))
				wanted->values[i] = rounded(wanted->values[i]);
		wanted->hash = slot_hash(wanted);
	}
	slot = slot_look(wanted);
	if (!slot) {
		/* Before any lock is taken: it may read a file. */
		estimate_profile_load(codelet);
		slot = slot_add(wanted);
	}
	return slot ? slot : slot_at(&codelet->first);
}

/* ---- the slot of a task ---- */

bool estimate_is_slot(const void *pointer)
{
	size_t n = atomic_load_explicit(&table.nslots, memory_order_acquire);
	uintptr_t offset = (uintptr_t)pointer - (uintptr_t)table.slots;

	return pointer && offset < n * sizeof(struct estimate_slot) &&
	       offset % sizeof(struct estimate_slot) == 0;
}

/* What the codelet's model says of the task, as for StarPU's regressions.
 * @return whether it says anything of use */
static bool model_values(struct starpu_task *task, struct estimate_slot *wanted)
{
	struct starpu_perfmodel *model = task->cl->model;
	unsigned n = model_numbers(model);
	double given[HEDDLE_PARAMS_MAX];

	if (!n || !model_dimensions_find(wanted->codelet, model))
		return false;
	if (model->parameters)
		model->parameters(task, given);
	else
		given[0] = model->size_base(task, 0);
	wanted->stated = true;
	wanted->n = HEDDLE_HISTORY_DIMENSIONS;
	for (unsigned d = 0; d < HEDDLE_HISTORY_DIMENSIONS; d++)
		wanted->values[d] = NAN;
	for (unsigned i = 0; i < n; i++) {
		if (!isfinite(given[i]))
			return false;
		wanted->values[wanted->codelet->model_dimensions[i]] = given[i] + 0.0;
	}
	return true;
}

/* The sizes of a task's data, the last one with all that have no place. */
static void data_values(struct starpu_task *task, struct estimate_slot *wanted)
{
	unsigned nbuffers = STARPU_TASK_GET_NBUFFERS(task);

	wanted->stated = false;
	wanted->n = nbuffers < HEDDLE_HISTORY_DIMENSIONS ? nbuffers : HEDDLE_HISTORY_DIMENSIONS;
	for (unsigned i = 0; i < nbuffers; i++) {
		double size = starpu_data_get_size(STARPU_TASK_GET_HANDLE(task, i));

		if (i < HEDDLE_HISTORY_DIMENSIONS)
			wanted->values[i] = size;
		else
			wanted->values[HEDDLE_HISTORY_DIMENSIONS - 1] += size;
	}
}

/* Of a task that states nothing itself. */
static struct estimate_slot *default_slot(struct starpu_task *task)
{
	struct estimate_slot wanted;

	wanted.codelet = codelet_find(task->cl);
	if (!wanted.codelet)
		return NULL;
	wanted.categorical = 0;
	wanted.kind = estimate_model_kind(task);
	if (!model_values(task, &wanted))
		data_values(task, &wanted);
	return slot_find(&wanted);
}

/* What a task carries whose times tell nothing. */
static const char timeless;

void heddle_estimate_never(struct starpu_task *task)
{
	task->sched_data = (void *)&timeless;
}

/* Threads that ask about a task at once come to the same answer. */
struct estimate_slot *estimate_slot_of(struct starpu_task *task)
{
	void *data = __atomic_load_n(&task->sched_data, __ATOMIC_RELAXED);
	struct estimate_slot *slot;

	if (!task->cl || data == &timeless)
		return NULL;
	if (estimate_is_slot(data))
		return data;
	slot = default_slot(task);
	if (slot && !data)
		__atomic_store_n(&task->sched_data, slot, __ATOMIC_RELAXED);
	return slot;
}

struct estimate_slot *estimate_slot_of_executed(struct starpu_task *task)
{
	if (!task->cl || task->sched_data == &timeless)
		return NULL;
	if (estimate_is_slot(task->sched_data))
		return task->sched_data;
	return STARPU_TASK_GET_NBUFFERS(task) ? NULL : default_slot(task);
}

static int param_value(struct estimate_codelet *codelet, const struct heddle_param *param,
                       struct estimate_slot *wanted)
{
	double *values = wanted->values;
	struct heddle_history *history = &codelet->history;
	const char *name = codelet->name ? codelet->name : "codelet without a name";
	unsigned d;
	int error = heddle_history_dimension(history, param->name, param->text, &d);

	if (error == -ENOSPC)
		return heddle_refuse(-EINVAL, "%s: parameter %s is one more than %d", name,
		                     param->name, HEDDLE_PARAMS_MAX);
	if (error)
		return heddle_refuse(error, "%s: \"%s\" is no name for a %s", name, param->name,
		                     param->text ? "category" : "number");
	if (!isnan(values[d]))
		return heddle_refuse(-EINVAL, "%s: parameter %s is stated twice", name,
		                     param->name);
	if (param->text) {
		wanted->categorical |= 1u << d;
		error = heddle_history_word(history, param->text, &values[d]);
		return error ? heddle_refuse(error, "%s: %s: \"%.80s\" is no word for a category",
		                             name, param->name, param->text)
		             : 0;
	}
	if (!isfinite(param->number))
		return heddle_refuse(-EINVAL, "%s: %s is not a finite number", name, param->name);
	/* There is one zero. */
	values[d] = param->number + 0.0;
	return 0;
}

static int params_values(const struct heddle_param *params, unsigned n,
                         struct estimate_slot *wanted)
{
	struct estimate_codelet *codelet = wanted->codelet;
	int error = 0;

	for (unsigned d = 0; d < HEDDLE_HISTORY_DIMENSIONS; d++)
		wanted->values[d] = NAN;
	pthread_mutex_lock(&codelet->mutex);
	for (unsigned i = 0; i < n && !error; i++)
		error = param_value(codelet, &params[i], wanted);
	pthread_mutex_unlock(&codelet->mutex);
	return error;
}

int estimate_slot_state(struct starpu_task *task, const struct heddle_param *params, unsigned n)
{
	struct estimate_slot wanted = {.stated = true, .n = HEDDLE_HISTORY_DIMENSIONS};
	struct estimate_slot *slot;
	int error;

	if (!task->cl)
		return heddle_refuse(-EINVAL, "heddle_task_params(): the task has no codelet yet");
	if (n > HEDDLE_PARAMS_MAX)
		return heddle_refuse(-EINVAL,
		                     "heddle_task_params(): %u parameters are more than %d", n,
		                     HEDDLE_PARAMS_MAX);
	if (task->sched_data && !estimate_is_slot(task->sched_data))
		return heddle_refuse(-EBUSY,
		                     "heddle_task_params(): the task's sched_data is in use");
	wanted.codelet = codelet_find(task->cl);
	if (!wanted.codelet)
		return heddle_refuse(-ENOMEM, "heddle_task_params(): no room for the codelet");
	error = params_values(params, n, &wanted);
	if (error)
		return error;
	slot = slot_find(&wanted);
	if (!slot)
		return heddle_refuse(-ENOMEM, "heddle_task_params(): no memory");
	task->sched_data = slot;
	return 0;
}

/* ---- saving ---- */

/* Adds the samples of all slots to the profiles. A worker that is at a slot keeps its samples for
 * the next time. */
static void samples_collect(void)
{
	size_t n = atomic_load(&table.nslots);

	for (size_t i = 0; profile_store_wanted() && i < n; i++) {
		struct estimate_slot *slot = &table.slots[i];

		if (!slot->codelet->name || !estimate_slot_seize(slot))
			continue;
		for (unsigned c = 0; c < HEDDLE_DEVICE_CLASSES; c++)
			estimate_profile_add(slot, c);
		estimate_slot_release(slot);
	}
}

void estimate_watch_exit(void)
{
	profile_store_collect(samples_collect);
}

int heddle_estimate_save(void)
{
	return profile_store_write();
}
