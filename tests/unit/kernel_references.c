/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the kernels' app compares its results with, by known answers.
 */
#include "config.h"

#include <string.h>

#include "apps/kernels/aes.h"
#include "apps/kernels/sobol.h"
#include "tests/unit/test.h"

struct answer {
	uint8_t key[AES_BLOCK], plain[AES_BLOCK], cipher[AES_BLOCK];
};

/* FIPS 197, appendices B and C.1. */
static const struct answer answers[] = {{{0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6, 0xab,
                                          0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f, 0x3c},
                                         {0x32, 0x43, 0xf6, 0xa8, 0x88, 0x5a, 0x30, 0x8d, 0x31,
                                          0x31, 0x98, 0xa2, 0xe0, 0x37, 0x07, 0x34},
                                         {0x39, 0x25, 0x84, 0x1d, 0x02, 0xdc, 0x09, 0xfb, 0xdc,
                                          0x11, 0x85, 0x97, 0x19, 0x6a, 0x0b, 0x32}},
                                        {{0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
                                          0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f},
                                         {0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88,
                                          0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff},
                                         {0x69, 0xc4, 0xe0, 0xd8, 0x6a, 0x7b, 0x04, 0x30, 0xd8,
                                          0xcd, 0xb7, 0x80, 0x70, 0xb4, 0xc5, 0x5a}}};

static void aes_answers(void **state)
{
	for (int i = 0; i < 2; i++) {
		uint8_t out[AES_BLOCK];
		struct aes aes;

		aes_init(&aes, answers[i].key);
		aes_encrypt(&aes, answers[i].plain, out);
		assert_memory_equal(out, answers[i].cipher, AES_BLOCK);
		aes_decrypt(&aes, out, out);
		assert_memory_equal(out, answers[i].plain, AES_BLOCK);
	}
}

/* The last round key of appendix A.1, and entries of the S-box of figure 7. */
static void aes_tables(void **state)
{
	static const uint8_t last[] = {0xd0, 0x14, 0xf9, 0xa8, 0xc9, 0xee, 0x25, 0x89,
	                               0xe1, 0x3f, 0x0c, 0xc8, 0xb6, 0x63, 0x0c, 0xa6};
	struct aes aes;

	aes_init(&aes, answers[0].key);
	assert_memory_equal(aes.keys[AES_ROUNDS], last, AES_BLOCK);
	assert_int_equal(aes.substitutes[0x53], 0xed);
	assert_int_equal(aes.substitutes[0], 0x63);
	assert_int_equal(aes.substitutes[0xff], 0x16);
	for (int i = 0; i < 256; i++)
		assert_int_equal(aes.originals[aes.substitutes[i]], i);
}

/* phi(2^d - 1) / d of each degree d. */
static void primitive_polynomials(void **state)
{
	static const int counts[] = {1, 1, 2, 2, 6, 6, 18, 16, 48, 60};

	for (int degree = 1; degree <= 10; degree++) {
		int count = 0;

		for (uint32_t p = 1u << degree; p < 2u << degree; p++)
			count += sobol_primitive(p);
		assert_int_equal(count, counts[degree - 1]);
	}
}

/* Of the first 2^k points, each interval of length 2^-k has one, in every dimension. */
static void sobol_is_even(void **state)
{
	enum { DIMENSIONS = 64, K = 10 };
	static uint32_t directions[DIMENSIONS * SOBOL_BITS];
	static uint8_t seen[1 << K];

	sobol_directions(DIMENSIONS, 7, directions);
	for (int d = 0; d < DIMENSIONS; d++) {
		memset(seen, 0, sizeof(seen));
		for (uint32_t i = 0; i < 1 << K; i++) {
			uint32_t bits = 0;

			for (int k = 0; k < K; k++)
				bits ^= i >> k & 1 ? directions[d * SOBOL_BITS + k] : 0;
			assert_false(seen[bits >> (32 - K)]);
			seen[bits >> (32 - K)] = 1;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(aes_answers),
	    cmocka_unit_test(aes_tables),
	    cmocka_unit_test(primitive_polynomials),
	    cmocka_unit_test(sobol_is_even),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
