/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include <jansson.h>

#include "support/message.h"
#include "tools/common/json_file.h"
#include "tools/common/split_table.h"

void split_table_keys(FILE *out)
{
	fputs(
	    "  groups           work-groups of the launch; required\n"
	    "  contiguous       false: every device needs all of the input, and its results lie\n"
	    "                   scattered over all of the output; default: true\n"
	    "  published_contiguous  the same for the method published alone; default: contiguous\n"
	    "  in_bytes         input of a work-group; default: 0\n"
	    "  out_bytes        output of a work-group; default: 0\n"
	    "  in_fixed_bytes   input that every device needs with any share; default: 0\n"
	    "  merge_bandwidth  MB/s of merging scattered output; required if one of them is\n"
	    "                   false\n"
	    "  buses            [{...}, ...], for each:\n"
	    "    name           name that devices refer to; required\n"
	    "    bandwidth      MB/s; required\n"
	    "    out_bandwidth  MB/s of results; default: bandwidth\n"
	    "    latency_us     microseconds per transfer; default: 0\n"
	    "    duplex         true: results and inputs transfer at the same time; default: "
	    "false\n"
	    "  devices          [{...}, ...], for each:\n"
	    "    name           required\n"
	    "    bus            bus of its data; default: none, it uses the host's memory\n"
	    "    times          [[groups, microseconds], ...], 1 to 16, ascending; required\n"
	    "    part_us        delay of its begin if others have a share too; default: 0\n"
	    "    slowdown       factor on its time then; default: 1\n",
	    out);
}

/* An object that is read. Unknown keys are refused. */
struct reader {
	const char *path, *what;
	size_t entry;
	json_t *object;
	size_t used;
};

static int refuse(const struct reader *reader, const char *key, const char *why)
{
	if (!reader->what)
		return heddle_refuse(-EINVAL, "%s: %s: %s", reader->path, key, why);
	return heddle_refuse(-EINVAL, "%s: %s[%zu].%s: %s", reader->path, reader->what,
	                     reader->entry, key, why);
}

/* A missing key leaves the number as it is; a missing key that is `needed` is refused. */
static int number_read(struct reader *reader, const char *key, bool needed, double *number)
{
	json_t *value = json_object_get(reader->object, key);

	if (!value)
		return needed ? refuse(reader, key, "is missing") : 0;
	reader->used++;
	if (!json_is_number(value) || json_number_value(value) < 0)
		return refuse(reader, key, "not a number of 0 or more");
	*number = json_number_value(value);
	return 0;
}

static int flag_read(struct reader *reader, const char *key, bool *flag)
{
	json_t *value = json_object_get(reader->object, key);

	if (!value)
		return 0;
	reader->used++;
	if (!json_is_boolean(value))
		return refuse(reader, key, "neither true nor false");
	*flag = json_is_true(value);
	return 0;
}

static int name_read(struct reader *reader, const char *key, bool needed, char *name, size_t size)
{
	json_t *value = json_object_get(reader->object, key);
	const char *text = json_string_value(value);

	*name = '\0';
	if (!value)
		return needed ? refuse(reader, key, "is missing") : 0;
	reader->used++;
	if (!text || !*text || strlen(text) >= size)
		return refuse(reader, key, "not a text of 1 to 63 characters");
	strcpy(name, text);
	return 0;
}

static int all_used(const struct reader *reader, const char *const *keys)
{
	const char *name;
	json_t *value;

	if (json_object_size(reader->object) == reader->used)
		return 0;
	json_object_foreach(reader->object, name, value)
	{
		const char *const *key = keys;

		while (*key && strcmp(*key, name))
			key++;
		if (!*key)
			return refuse(reader, name, "unknown key");
	}
	return 0;
}

static int bus_read(struct reader *reader, struct split_bus *bus)
{
	static const char *const keys[] = {"name",       "bandwidth", "out_bandwidth",
	                                   "latency_us", "duplex",    NULL};
	int error = name_read(reader, "name", true, bus->name, sizeof(bus->name));

	if (!error)
		error = number_read(reader, "bandwidth", true, &bus->in);
	bus->out = bus->in;
	if (!error)
		error = number_read(reader, "out_bandwidth", false, &bus->out);
	if (!error)
		error = number_read(reader, "latency_us", false, &bus->latency_us);
	if (!error)
		error = flag_read(reader, "duplex", &bus->duplex);
	return error ? error : all_used(reader, keys);
}

static int times_read(struct reader *reader, struct kernel_table *table)
{
	json_t *times = json_object_get(reader->object, "times"), *pair;
	size_t p;

	reader->used++;
	if (!json_array_size(times) || json_array_size(times) > KERNEL_TABLE_POINTS)
		return refuse(reader, "times", "not an array of 1 to 16 times");
	json_array_foreach(times, p, pair)
	{
		json_t *groups = json_array_get(pair, 0), *us = json_array_get(pair, 1);

		if (json_array_size(pair) != 2 || !json_is_number(groups) || !json_is_number(us))
			return refuse(reader, "times", "not pairs [groups, microseconds]");
		table->points[p] =
		    (struct kernel_point){json_number_value(groups), json_number_value(us)};
	}
	table->npoints = json_array_size(times);
	return 0;
}

/* A name must tell the entries of one list apart. `name` is that of the last of n; the names lie
 * `stride` bytes apart. */
static int name_check(const struct reader *reader, const char *names, size_t stride, unsigned n)
{
	const char *name = names + (n - 1) * stride;
	char why[64];

	for (unsigned e = 0; e + 1 < n; e++)
		if (!strcmp(name, names + e * stride)) {
			snprintf(why, sizeof(why), "%s[%u] has that name, too", reader->what, e);
			return refuse(reader, "name", why);
		}
	return 0;
}

static int device_read(struct reader *reader, const struct split_problem *problem,
                       struct split_device *device)
{
	static const char *const keys[] = {"name", "bus", "times", "part_us", "slowdown", NULL};
	char bus[sizeof(problem->buses[0].name)];
	int error = name_read(reader, "name", true, device->name, sizeof(device->name));

	if (!error)
		error = name_read(reader, "bus", false, bus, sizeof(bus));
	if (!error)
		error = number_read(reader, "part_us", false, &device->part_us);
	device->slowdown = 1;
	if (!error)
		error = number_read(reader, "slowdown", false, &device->slowdown);
	if (!error && device->slowdown <= 0)
		error = refuse(reader, "slowdown", "not above 0");
	if (error)
		return error;
	device->bus = SPLIT_NO_BUS;
	for (unsigned b = 0; *bus && b < problem->nbuses; b++)
		if (!strcmp(bus, problem->buses[b].name))
			device->bus = b;
	if (*bus && device->bus == SPLIT_NO_BUS)
		return refuse(reader, "bus", "no bus has that name");
	error = times_read(reader, &device->table);
	return error ? error : all_used(reader, keys);
}

/* Reads an array of at most `most` entries. */
static int array_read(struct reader *root, const char *name, unsigned most,
                      struct split_problem *problem)
{
	json_t *array = json_object_get(root->object, name), *entry;
	struct reader reader = {.path = root->path, .what = name};
	bool buses = !strcmp(name, "buses");
	int error = 0;

	if (array)
		root->used++;
	if ((array || !buses) && (!json_is_array(array) || json_array_size(array) > most))
		return heddle_refuse(-EINVAL, "%s: %s: not an array of up to %u entries",
		                     root->path, name, most);
	json_array_foreach(array, reader.entry, entry)
	{
		reader.object = entry;
		reader.used = 0;
		if (!json_is_object(entry))
			return heddle_refuse(-EINVAL, "%s: %s[%zu]: not an object", root->path,
			                     name, reader.entry);
		error = buses
		            ? bus_read(&reader, &problem->buses[problem->nbuses++])
		            : device_read(&reader, problem, &problem->devices[problem->ndevices++]);
		if (!error)
			error = buses ? name_check(&reader, problem->buses[0].name,
			                           sizeof(problem->buses[0]), problem->nbuses)
			              : name_check(&reader, problem->devices[0].name,
			                           sizeof(problem->devices[0]), problem->ndevices);
		if (error)
			return error;
	}
	return 0;
}

/* A kernel that is not contiguous transfers all bytes to and from every device. */
static void scatter(struct split_problem *problem)
{
	split_scatter(problem, problem->in.fixed + problem->in.per_group * problem->groups,
	              problem->out.per_group * problem->groups);
}

static int root_read(struct reader *reader, struct split_problem *problem,
                     struct split_problem *published)
{
	static const char *const keys[] = {"groups",
	                                   "contiguous",
	                                   "published_contiguous",
	                                   "in_bytes",
	                                   "out_bytes",
	                                   "in_fixed_bytes",
	                                   "merge_bandwidth",
	                                   "buses",
	                                   "devices",
	                                   NULL};
	bool contiguous = true, theirs;
	double groups = 0;
	int error = number_read(reader, "groups", true, &groups);

	if (!error && (groups < 1 || groups > 9e15 || groups != (double)(size_t)groups))
		error = refuse(reader, "groups", "not a whole number of 1 or more");
	problem->groups = error ? 0 : groups;
	if (!error)
		error = flag_read(reader, "contiguous", &contiguous);
	theirs = contiguous;
	if (!error)
		error = flag_read(reader, "published_contiguous", &theirs);
	if (!error)
		error = number_read(reader, "in_bytes", false, &problem->in.per_group);
	if (!error)
		error = number_read(reader, "out_bytes", false, &problem->out.per_group);
	if (!error)
		error = number_read(reader, "in_fixed_bytes", false, &problem->in.fixed);
	if (!error)
		error = number_read(reader, "merge_bandwidth", !contiguous || !theirs,
		                    &problem->merge_bandwidth);
	if (!error && (!contiguous || !theirs) && problem->merge_bandwidth <= 0)
		error = refuse(reader, "merge_bandwidth", "not above 0");
	if (!error)
		error = array_read(reader, "buses", SPLIT_MAXBUSES, problem);
	if (!error)
		error = array_read(reader, "devices", SPLIT_MAXDEVICES, problem);
	if (!error)
		error = all_used(reader, keys);
	*published = *problem;
	if (!contiguous)
		scatter(problem);
	if (!theirs)
		scatter(published);
	return error;
}

int split_table_read(const char *path, struct split_problem *problem,
                     struct split_problem *published)
{
	struct reader reader = {.path = path};
	struct split_problem read = {0}, theirs = {0};
	json_t *root;
	int error = json_file_read(path, &root);

	if (error)
		return error;
	reader.object = root;
	error = json_is_object(root) ? root_read(&reader, &read, &theirs)
	                             : heddle_refuse(-EINVAL, "%s: not an object", path);
	json_decref(root);
	if (!error && !read.ndevices)
		error = heddle_refuse(-EINVAL, "%s: devices: 1 to %d devices, please", path,
		                      SPLIT_MAXDEVICES);
	if (!error)
		error = split_check(&read);
	if (error)
		return error;
	*problem = read;
	*published = theirs;
	return 0;
}
