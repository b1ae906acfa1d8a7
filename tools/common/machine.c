/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "support/message.h"
#include "tools/common/json_file.h"
#include "tools/common/machine.h"

#define MAXWORKERS 65536
/* Bytes of a name that is given to several workers: a number comes after it. */
#define LONGEST_NUMBERED 24

/* A number of a worker: its field, type and range. */
struct key {
	const char *name;
	size_t offset;
	enum { REAL, SIZE, UNSIGNED } type;
	double least, most;
	const char *doc;
};

#define KEY(name, field, type, least, most, doc)                                                   \
	{                                                                                          \
		name, offsetof(struct replay_worker, field), type, least, most, doc                \
	}
static const struct key keys[] = {
    KEY("rate", rate, REAL, 1e-300, 1e300, "iterations per microsecond; required"),
    KEY("overhead_us", overhead_us, REAL, 0, 1e18, "constant time of every block"),
    KEY("once_us", once_us, REAL, 0, 1e18, "time of its first block beside that"),
    KEY("a", a, REAL, 0, 1e300, "with b: the rate is min(rate, a ln n + b)"),
    KEY("b", b, REAL, -1e300, 1e300, "see a"),
    KEY("depth", depth, UNSIGNED, 1, 16, "blocks at a time; above 1: a pipeline"),
    KEY("transfer", transfer, REAL, 0, 1,
        "part of a block's time that overlaps with the block before, at a depth above 1"),
    KEY("noise", noise, REAL, 0, 10, "relative standard deviation of a block's time"),
    KEY("spike_block", spike_block, UNSIGNED, 0, 1e9, "this block of the worker, from 1 ..."),
    KEY("spike_factor", spike_factor, REAL, 0, 1e9, "... takes this many times as long"),
    KEY("stop_us", stop_us, REAL, 0, 1e300, "the worker fails at this time; 0: never"),
    KEY("change_us", change_us, REAL, 0, 1e300, "at this time (0: never) ..."),
    KEY("change_factor", change_factor, REAL, 1e-9, 1e9, "... its speed is multiplied by this"),
    KEY("crowded", crowded, REAL, 0, 0.99,
        "part of its speed that it loses while all cores have blocks"),
    KEY("minimum", given.minimum, SIZE, 0, 1e18, "smallest useful block"),
    KEY("maximum", given.maximum, SIZE, 0, 1e18, "largest block; 0: no bound"),
    KEY("alignment", given.alignment, SIZE, 0, 1e18, "blocks are multiples of this"),
    KEY("prior", given.rate, REAL, 0, 1e18, "rate that the strategy knows beforehand"),
    KEY("prior_start_us", given.start_us, REAL, 0, 1e18, "with prior: constant time of a block"),
};
#undef KEY

#define NKEYS (sizeof(keys) / sizeof(keys[0]))

void machine_keys(FILE *out)
{
	fprintf(out, "  %-14s %s\n", "name", "name of the worker; default: its kind and number");
	fprintf(out, "  %-14s %s\n", "kind", "cpu, cuda, opencl or fpga; default: cpu");
	fprintf(out, "  %-14s %s\n", "count", "number of such workers; default: 1");
	for (size_t k = 0; k < NKEYS; k++)
		fprintf(out, "  %-14s %s\n", keys[k].name, keys[k].doc);
}

/* The position in the description, for messages. */
struct reader {
	const char *path;
	size_t entry; /* of "workers" */
};

static int number_get(const struct reader *reader, const char *where, const json_t *value,
                      bool whole, double least, double most, double *number)
{
	double read = json_number_value(value);

	if (!json_is_number(value) || (whole && !json_is_integer(value)))
		return heddle_refuse(-EINVAL, "%s: %s: not a%s number", reader->path, where,
		                     whole ? " whole" : "");
	if (read < least || read > most)
		return heddle_refuse(-EINVAL, "%s: %s: %g is out of range (%g to %g)", reader->path,
		                     where, read, least, most);
	*number = read;
	return 0;
}

static const struct key *key_find(const char *name)
{
	for (size_t k = 0; k < NKEYS; k++)
		if (!strcmp(keys[k].name, name))
			return &keys[k];
	return NULL;
}

static int key_read(const struct reader *reader, const struct key *key, const json_t *value,
                    struct replay_worker *worker)
{
	char *at = (char *)worker + key->offset, where[96];
	double number = 0;
	int error;

	snprintf(where, sizeof(where), "workers[%zu].%s", reader->entry, key->name);
	error = number_get(reader, where, value, key->type != REAL, key->least, key->most, &number);
	if (error)
		return error;
	if (key->type == REAL)
		*(double *)at = number;
	else if (key->type == SIZE)
		*(size_t *)at = (size_t)json_integer_value(value);
	else
		*(unsigned *)at = (unsigned)number;
	return 0;
}

static int text_read(const struct reader *reader, const char *key, const json_t *value,
                     struct replay_worker *worker)
{
	const char *text = json_string_value(value);

	if (!text)
		return heddle_refuse(-EINVAL, "%s: workers[%zu].%s: not a string", reader->path,
		                     reader->entry, key);
	if (!strcmp(key, "name")) {
		if (!*text || strlen(text) >= sizeof(worker->name))
			return heddle_refuse(-EINVAL,
			                     "%s: workers[%zu].name: 1 to %zu characters, please",
			                     reader->path, reader->entry, sizeof(worker->name) - 1);
		strcpy(worker->name, text);
		return 0;
	}
	if (heddle_kind_parse(text, &worker->given.kind))
		return heddle_refuse(
		    -EINVAL, "%s: workers[%zu].kind: \"%s\" is not cpu, cuda, opencl or fpga",
		    reader->path, reader->entry, text);
	return 0;
}

/* Reads one entry of "workers": the worker and the number of such workers. */
static int entry_read(const struct reader *reader, json_t *entry, struct replay_worker *worker,
                      size_t *count)
{
	const char *name;
	json_t *value;
	double number = 1;

	*worker = (struct replay_worker){.change_factor = 1, .spike_factor = 1};
	if (!json_is_object(entry))
		return heddle_refuse(-EINVAL, "%s: workers[%zu]: not an object", reader->path,
		                     reader->entry);
	json_object_foreach(entry, name, value)
	{
		const struct key *key = key_find(name);
		int error;

		if (key)
			error = key_read(reader, key, value, worker);
		else if (!strcmp(name, "count"))
			error = number_get(reader, "count of workers", value, true, 1, MAXWORKERS,
			                   &number);
		else if (!strcmp(name, "name") || !strcmp(name, "kind"))
			error = text_read(reader, name, value, worker);
		else
			error = heddle_refuse(-EINVAL, "%s: workers[%zu]: unknown key \"%s\"",
			                      reader->path, reader->entry, name);
		if (error)
			return error;
	}
	if (worker->rate <= 0)
		return heddle_refuse(-EINVAL, "%s: workers[%zu].rate is missing", reader->path,
		                     reader->entry);
	*count = number;
	return 0;
}

/* Adds `count` copies of a worker, with numbers where there are several or they have no name. */
static int workers_add(const struct reader *reader, struct replay_machine *machine,
                       const struct replay_worker *worker, size_t count, json_t *names)
{
	size_t total = machine->nworkers + count;
	struct replay_worker *grown;
	unsigned number = machine->nworkers;

	if (total > MAXWORKERS)
		return heddle_refuse(-EINVAL, "more than %d workers", MAXWORKERS);
	if (count > 1 && strlen(worker->name) > LONGEST_NUMBERED)
		return heddle_refuse(-EINVAL,
		                     "%s: workers[%zu].name: longer than %d bytes, which a name "
		                     "with a number may have",
		                     reader->path, reader->entry, LONGEST_NUMBERED);
	grown = realloc(machine->workers, total * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	machine->workers = grown;
	for (size_t i = 0; i < count; i++) {
		struct replay_worker *copy = &machine->workers[machine->nworkers];

		*copy = *worker;
		if (!*worker->name) {
			do
				snprintf(copy->name, sizeof(copy->name), "%s%u",
				         heddle_kind_name(worker->given.kind), number++);
			while (json_object_get(names, copy->name));
		} else if (count > 1) {
			snprintf(copy->name, sizeof(copy->name), "%.*s%zu", LONGEST_NUMBERED,
			         worker->name, i);
		}
		if (json_object_get(names, copy->name))
			return heddle_refuse(
			    -EINVAL, "%s: workers[%zu].name: another worker is called \"%s\", too",
			    reader->path, reader->entry, copy->name);
		if (json_object_set_new(names, copy->name, json_true()))
			return -ENOMEM;
		machine->nworkers++;
	}
	return 0;
}

static int workers_read(struct reader *reader, json_t *workers, struct replay_machine *machine)
{
	json_t *entry, *names;
	int error = 0;

	if (!json_is_array(workers) || !json_array_size(workers))
		return heddle_refuse(-EINVAL, "%s: workers: not an array of at least one worker",
		                     reader->path);
	names = json_object();
	json_array_foreach(workers, reader->entry, entry)
	{
		struct replay_worker worker;
		size_t count = 0;

		error = entry_read(reader, entry, &worker, &count);
		if (!error)
			error = workers_add(reader, machine, &worker, count, names);
		if (error)
			break;
	}
	json_decref(names);
	return error;
}

static int root_read(struct reader *reader, json_t *root, struct replay_machine *machine)
{
	const char *name;
	json_t *value;
	double number = 0;
	int error = 0;

	if (!json_is_object(root))
		return heddle_refuse(-EINVAL, "%s: not an object", reader->path);
	json_object_foreach(root, name, value)
	{
		if (!strcmp(name, "n")) {
			error = number_get(reader, "n", value, true, 0, 1e18, &number);
			machine->n = (size_t)json_integer_value(value);
		} else if (!strcmp(name, "seed")) {
			error = number_get(reader, "seed", value, true, 0, 4e18, &number);
			machine->seed = (unsigned long)json_integer_value(value);
		} else if (strcmp(name, "workers") && strcmp(name, "comment")) {
			error =
			    heddle_refuse(-EINVAL, "%s: unknown key \"%s\"", reader->path, name);
		}
		if (error)
			return error;
	}
	if (!json_object_get(root, "n"))
		return heddle_refuse(-EINVAL, "%s: n is missing", reader->path);
	return workers_read(reader, json_object_get(root, "workers"), machine);
}

int machine_read(const char *path, struct replay_machine *machine)
{
	struct reader reader = {.path = path};
	struct replay_machine read = {0};
	json_t *root;
	int error = json_file_read(path, &root);

	if (error)
		return error;
	error = root_read(&reader, root, &read);
	json_decref(root);
	if (error)
		machine_free(&read);
	else
		*machine = read;
	return error;
}

void machine_free(struct replay_machine *machine)
{
	free(machine->workers);
	*machine = (struct replay_machine){0};
}
