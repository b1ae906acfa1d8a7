/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <string.h>

#include "apps/common/random.h"
#include "apps/kernels/aes.h"
#include "apps/kernels/benchmark.h"

static const char source[] =
#include "apps/kernels/cl/aes.clh"
    ;

enum { IN, OUT, KEYS, SUBSTITUTES };

static void prepare(struct job *job)
{
	size_t side = job->size;
	uint64_t key[2] = {app_random(job->seed, 1), app_random(job->seed, 2)};
	struct aes aes;
	void *keys, *box;

	aes_init(&aes, (const uint8_t *)key);
	job_random(job, "in", STARPU_R, UINT, side * side / 4);
	job_buffer(job, "out", STARPU_W, UINT, side * side / 4);
	keys = job_buffer(job, "keys", STARPU_R, UINT, sizeof(aes.keys) / 4);
	box = job_buffer(job, "substitutes", STARPU_R, UCHAR, sizeof(aes.substitutes));
	job_int(job, "width", side / 4);
	job_int(job, "rounds", AES_ROUNDS);
	job_range(job, side / 4, 64, side, 4);
	job->items = side * side / AES_BLOCK;
	job->least = 1024;
	if (job->status)
		return;
	memcpy(keys, aes.keys, sizeof(aes.keys));
	memcpy(box, job->inverse ? aes.originals : aes.substitutes, sizeof(aes.substitutes));
}

static double reference(void *arg, size_t begin, size_t end)
{
	const struct job *job = arg;
	const uint8_t *in = job_data(job, IN);
	uint8_t *out = job_expected(job, OUT);
	struct aes aes;

	aes_init(&aes, job_data(job, KEYS)); /* the first round's is the key */
	for (size_t i = begin * AES_BLOCK; i < end * AES_BLOCK; i += AES_BLOCK)
		if (job->inverse)
			aes_decrypt(&aes, in + i, out + i);
		else
			aes_encrypt(&aes, in + i, out + i);
	return 0;
}

#define AES                                                                                        \
	.unit = "byte a side", .size = 2048, .multiple = 256, .most = 32768, .square = true,       \
	.groups = 4096, .source = source, .prepare = prepare, .reference = reference

const struct benchmark benchmark_aes_encrypt = {.name = "AESEncrypt", .kernel = "aes_encrypt", AES};
const struct benchmark benchmark_aes_decrypt = {
    .name = "AESDecrypt", .kernel = "aes_decrypt", .inverse = true, AES};
