/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Binaries of programs: home's, and before it the source, for the other devices. So a program that
 * keeps binaries is split when it finds them again.
 */
#include "config.h"

#include "partition/opencl/layer.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct header {
	char magic[16];
	uint64_t options, text; /* lengths, with a last 0 each */
	uint64_t hash;          /* of both */
};

static const char magic[16] = "heddle-opencl-1";

static uint64_t hash_of(const void *bytes, size_t n, uint64_t hash)
{
	for (const unsigned char *at = bytes; n--; at++)
		hash = (hash ^ *at) * 1099511628211U;
	return hash;
}

static uint64_t texts_hash(const char *options, size_t noptions, const char *text, size_t ntext)
{
	return hash_of(text, ntext, hash_of(options, noptions, 14695981039346656037U));
}

size_t binary_prefix(const struct program *program, unsigned char *to)
{
	struct header header = {.hash = 0};

	if (!program->text || program->refusal)
		return 0;
	memcpy(header.magic, magic, sizeof(magic));
	header.options = strlen(program->options) + 1;
	header.text = strlen(program->text) + 1;
	header.hash = texts_hash(program->options, header.options, program->text, header.text);
	if (to) {
		memcpy(to, &header, sizeof(header));
		memcpy(to + sizeof(header), program->options, header.options);
		memcpy(to + sizeof(header) + header.options, program->text, header.text);
	}
	return sizeof(header) + header.options + header.text;
}

/* Whether the texts of a header are there, and nobody has changed them. */
static bool texts_right(const struct header *header, const char *options, size_t room)
{
	const char *text = options + header->options;

	return header->options && header->text && header->options <= room &&
	       header->text <= room - header->options && !options[header->options - 1] &&
	       !text[header->text - 1] &&
	       texts_hash(options, header->options, text, header->text) == header->hash;
}

size_t binary_take(struct program *program, const unsigned char *binary, size_t bytes)
{
	struct header header;
	const char *options = (const char *)binary + sizeof(header);

	if (!binary || bytes < sizeof(header))
		return 0;
	memcpy(&header, binary, sizeof(header));
	if (memcmp(header.magic, magic, sizeof(magic)))
		return 0;
	if (!texts_right(&header, options, bytes - sizeof(header)))
		return 0;
	program->options = strdup(options);
	program->text = strdup(options + header.options);
	return sizeof(header) + header.options + header.text;
}
