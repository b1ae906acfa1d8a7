/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition/kernel/access/index.h"
#include "support/message.h"

static const struct {
	const char *text, *numbers;
} operations[INDEX_NOPS] = {
#define OPERATION(id, text, numbers) {text, numbers},
    INDEX_OPERATIONS(OPERATION)
#undef OPERATION
};

const char *index_op_text(enum index_op op)
{
	return operations[op].text;
}

/* Room for one more entry; NULL without memory. Arrays double. */
static void *entry_add(void **array, unsigned *n, size_t size)
{
	if (!(*n & (*n - 1))) {
		void *grown = realloc(*array, (*n ? 2 * *n : 1) * size);

		if (!grown)
			return NULL;
		*array = grown;
	}
	memset((char *)*array + *n * size, 0, size);
	return (char *)*array + (*n)++ * size;
}

#define ENTRY_ADD(array, n) entry_add((void **)&(array), &(n), sizeof(*(array)))

static int argument_read(struct index_kernel *kernel, const char *text)
{
	struct index_argument *argument = ENTRY_ADD(kernel->arguments, kernel->narguments);
	char kind[16];

	if (!argument)
		return -ENOMEM;
	if (sscanf(text, "%15s %u %u", kind, &argument->bits, &argument->formats) < 1 ||
	    argument->bits > 64)
		return -EINVAL;
	if (!strcmp(kind, "buffer"))
		argument->kind = INDEX_BUFFER;
	else if (!strcmp(kind, "integer") && argument->bits)
		argument->kind = INDEX_INTEGER;
	else if (!strcmp(kind, "local"))
		argument->kind = INDEX_LOCAL;
	else if (!strcmp(kind, "image"))
		argument->kind = INDEX_IMAGE, argument->shape = argument->bits;
	else if (!strcmp(kind, "sampler"))
		argument->kind = INDEX_SAMPLER;
	else if (!strcmp(kind, "other"))
		argument->kind = INDEX_OTHER;
	else
		return -EINVAL;
	return 0;
}

static bool has_fields(const struct index_argument *argument)
{
	return argument->kind == INDEX_OTHER || argument->kind == INDEX_IMAGE;
}

static bool has_accesses(const struct index_argument *argument)
{
	return argument->kind == INDEX_BUFFER || argument->kind == INDEX_IMAGE;
}

static int field_read(struct index_kernel *kernel, const char *text)
{
	struct index_field *field = ENTRY_ADD(kernel->fields, kernel->nfields);

	if (!field)
		return -ENOMEM;
	if (sscanf(text, "%u %u %u", &field->argument, &field->offset, &field->bytes) != 3 ||
	    kernel->nfields > INDEX_MAXFIELDS || field->argument >= kernel->narguments ||
	    !has_fields(&kernel->arguments[field->argument]) || field->offset > 65536 ||
	    (field->bytes != 1 && field->bytes != 2 && field->bytes != 4 && field->bytes != 8))
		return -EINVAL;
	return 0;
}

int64_t index_field_value(const struct index_field *field, const void *value)
{
	const char *at = (const char *)value + field->offset;
	int64_t whole;
	int32_t word;
	int16_t half;

	switch (field->bytes) {
	case 8:
		memcpy(&whole, at, sizeof(whole));
		return whole;
	case 4:
		memcpy(&word, at, sizeof(word));
		return word;
	case 2:
		memcpy(&half, at, sizeof(half));
		return half;
	default:
		return *(const signed char *)at;
	}
}

static bool value_valid(const struct index_kernel *kernel, const struct index_node *node)
{
	switch (node->op) {
	case INDEX_ARGUMENT:
		return node->value >= 0 && node->value < kernel->narguments &&
		       kernel->arguments[node->value].kind == INDEX_INTEGER;
	case INDEX_FIELD:
		return node->value >= 0 && node->value < kernel->nfields;
	case INDEX_LOAD:
		return node->value >= 0 && node->value < kernel->narguments &&
		       kernel->arguments[node->value].kind == INDEX_BUFFER &&
		       (node->bits == 8 || node->bits == 16 || node->bits == 32 ||
		        node->bits == 64);
	case INDEX_GROUP:
	case INDEX_ITEM:
	case INDEX_GROUPS:
	case INDEX_ITEMS:
	case INDEX_OFFSET:
		return node->value >= 0 && node->value < 3;
	case INDEX_RANGE:
		return node->value <= node->most;
	case INDEX_CHOOSE:
	case INDEX_EXTEND:
	case INDEX_IN_BOUNDS:
	case INDEX_TRIPS:
		return node->bits > 0;
	default:
		return true;
	}
}

static int numbers_read(struct index_kernel *kernel, struct index_node *node, const char *text)
{
	int noperands = 0;

	for (const char *kind = operations[node->op].numbers; *kind; kind++) {
		char *end;
		int64_t number = strtoll(text, &end, 10);

		if (end == text)
			return -EINVAL;
		text = end;
		if (*kind == 'n' && (number < 0 || number >= kernel->nnodes - 1))
			return -EINVAL;
		if (*kind == 'g' && (number < 0 || number >= kernel->nguards))
			return -EINVAL;
		if (*kind == 'n')
			node->operands[noperands++] = number;
		else if (*kind == 'v' || *kind == 'g')
			node->value = number;
		else if (*kind == 'm')
			node->most = number;
		else if (*kind == 'p' && number >= 0 && number < INDEX_NPREDICATES)
			node->predicate = number;
		else if (*kind == 'a' && (number == 0 || number == 1))
			node->after = number;
		else
			return -EINVAL;
	}
	if (!value_valid(kernel, node))
		return -EINVAL;
	if (node->op == INDEX_LOAD)
		kernel->arguments[node->value].loaded = true;
	return 0;
}

static int node_read(struct index_kernel *kernel, const char *text)
{
	struct index_node *node = ENTRY_ADD(kernel->nodes, kernel->nnodes);
	unsigned bits, op = 0;
	char name[16];
	int used;

	if (!node)
		return -ENOMEM;
	if (sscanf(text, "%15s %u%n", name, &bits, &used) < 2 || bits > 64)
		return -EINVAL;
	while (op < INDEX_NOPS && strcmp(operations[op].text, name))
		op++;
	if (op == INDEX_NOPS)
		return -EINVAL;
	*node = (struct index_node){.op = op, .bits = bits, .operands = {-1, -1, -1}};
	return numbers_read(kernel, node, text + used);
}

static int guard_read(struct index_kernel *kernel, const char *text)
{
	struct index_guard *guard = ENTRY_ADD(kernel->guards, kernel->nguards);

	if (!guard)
		return -ENOMEM;
	if (sscanf(text, "%u %d %d", &guard->predicate, &guard->nodes[0], &guard->nodes[1]) != 3 ||
	    guard->predicate >= INDEX_NPREDICATES)
		return -EINVAL;
	for (int i = 0; i < 2; i++)
		if (guard->nodes[i] < 0 || guard->nodes[i] >= (int)kernel->nnodes)
			return -EINVAL;
	return 0;
}

static int guards_read(const struct index_kernel *kernel, struct index_access *access,
                       const char *text)
{
	char *end;

	for (;; text = end) {
		long guard = strtol(text, &end, 10);

		if (end == text)
			return text[strspn(text, " ")] ? -EINVAL : 0;
		if (guard < 0 || guard >= kernel->nguards || access->nguards == INDEX_MAXGUARDS)
			return -EINVAL;
		access->guards[access->nguards++] = guard;
	}
}

static int access_read(struct index_kernel *kernel, const char *text)
{
	struct index_access *access = ENTRY_ADD(kernel->accesses, kernel->naccesses);
	char mode[16], always[16];
	int used = 0;

	if (!access)
		return -ENOMEM;
	if (sscanf(text, "%d %d %u %15s %15s %u%n", &access->argument, &access->node,
	           &access->bytes, mode, always, &access->alignment, &used) != 6 ||
	    access->argument < 0 || (unsigned)access->argument >= kernel->narguments ||
	    !has_accesses(&kernel->arguments[access->argument]) || access->node < -1 ||
	    access->node >= (int)kernel->nnodes || access->bytes > 65536)
		return -EINVAL;
	access->read = !strcmp(mode, "read") || !strcmp(mode, "update");
	access->write = !strcmp(mode, "write") || !strcmp(mode, "update");
	access->every = !strcmp(always, "every");
	access->always = access->every || !strcmp(always, "always");
	kernel->arguments[access->argument].written |= access->write;
	return access->read || access->write ? guards_read(kernel, access, text + used) : -EINVAL;
}

static int line_read(struct index_kernel *kernel, char *line, unsigned number)
{
	char *rest = strchr(line, ' ');
	unsigned version;

	if (!rest)
		return -EINVAL;
	*rest++ = '\0';
	if (number == 1)
		return strcmp(line, "heddle-index") || sscanf(rest, "%u", &version) != 1 ||
		               version != INDEX_VERSION
		           ? -EINVAL
		           : 0;
	if (!strcmp(line, "refuse")) {
		if (!kernel->refusal) /* the first reason counts */
			kernel->refusal = strdup(rest);
		return kernel->refusal ? 0 : -ENOMEM;
	}
	if (!strcmp(line, "argument"))
		return argument_read(kernel, rest);
	if (!strcmp(line, "field"))
		return field_read(kernel, rest);
	if (!strcmp(line, "node"))
		return node_read(kernel, rest);
	if (!strcmp(line, "guard"))
		return guard_read(kernel, rest);
	if (!strcmp(line, "access"))
		return access_read(kernel, rest);
	return -EINVAL;
}

int index_parse(const char *text, struct index_kernel *kernel)
{
	struct index_kernel read = {0};
	char *copy = strdup(text), *rest = copy, *line;
	unsigned number = 0;
	int error = copy ? 0 : -ENOMEM;

	while (!error && (line = strsep(&rest, "\n")))
		if (*line)
			error = line_read(&read, line, ++number);
	if (!error && !number)
		error = -EINVAL;
	free(copy);
	if (error) {
		index_free(&read);
		return error == -EINVAL ? heddle_refuse(error,
		                                        "description of a kernel: line %u "
		                                        "makes no sense",
		                                        number)
		                        : error;
	}
	*kernel = read;
	return 0;
}

int index_unknown(unsigned narguments, const enum index_kind *kinds, struct index_kernel *kernel)
{
	struct index_kernel made = {0};

	for (unsigned a = 0; a < narguments; a++) {
		struct index_argument *argument = ENTRY_ADD(made.arguments, made.narguments);
		struct index_access *access = ENTRY_ADD(made.accesses, made.naccesses);

		if (!argument || !access) {
			index_free(&made);
			return -ENOMEM;
		}
		*argument = (struct index_argument){.kind = kinds[a], .bits = 64, .written = true};
		*access = (struct index_access){
		    .argument = a, .node = -1, .bytes = 1, .read = true, .write = true};
		if (!has_accesses(argument))
			made.naccesses--;
	}
	*kernel = made;
	return 0;
}

void index_free(struct index_kernel *kernel)
{
	free(kernel->refusal);
	free(kernel->arguments);
	free(kernel->fields);
	free(kernel->nodes);
	free(kernel->accesses);
	free(kernel->guards);
	*kernel = (struct index_kernel){0};
}

/* Entries have no gaps, and entry_add() clears them. */
static bool same_entries(const void *a, unsigned na, const void *b, unsigned nb, size_t size)
{
	return na == nb && (!na || !memcmp(a, b, na * size));
}

#define SAME_ENTRIES(a, b, entries, n)                                                             \
	same_entries((a)->entries, (a)->n, (b)->entries, (b)->n, sizeof(*(a)->entries))

bool index_same(const struct index_kernel *a, const struct index_kernel *b)
{
	const char *why = a->refusal ? a->refusal : "", *other = b->refusal ? b->refusal : "";

	return !strcmp(why, other) && SAME_ENTRIES(a, b, arguments, narguments) &&
	       SAME_ENTRIES(a, b, fields, nfields) && SAME_ENTRIES(a, b, nodes, nnodes) &&
	       SAME_ENTRIES(a, b, accesses, naccesses) && SAME_ENTRIES(a, b, guards, nguards);
}
