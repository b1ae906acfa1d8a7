/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <string.h>

#include "apps/kernels/aes.h"

/* ---- the field of 256 elements, section 4.2 ---- */

static uint8_t times(uint8_t a, uint8_t b)
{
	uint8_t product = 0;

	for (; b; b >>= 1) {
		if (b & 1)
			product ^= a;
		a = (uint8_t)(a << 1) ^ (a & 0x80 ? 0x1b : 0);
	}
	return product;
}

/* The 254th power: of all but 0 the 255th is 1. */
static uint8_t inverse(uint8_t a)
{
	uint8_t result = 1;

	for (int i = 0; i < 254; i++)
		result = times(result, a);
	return result;
}

static void tables_make(struct aes *aes)
{
	for (int i = 0; i < 256; i++) {
		uint8_t b = inverse(i), s = b ^ 0x63;

		for (int turn = 1; turn <= 4; turn++)
			s ^= (uint8_t)(b << turn | b >> (8 - turn));
		aes->substitutes[i] = s;
		aes->originals[s] = i;
	}
}

void aes_init(struct aes *aes, const uint8_t key[AES_BLOCK])
{
	uint8_t *bytes = aes->keys[0], constant = 1;

	tables_make(aes);
	memcpy(bytes, key, AES_BLOCK);
	for (int i = AES_BLOCK; i < AES_BLOCK * (AES_ROUNDS + 1); i += 4) {
		const uint8_t *last = bytes + i - 4;
		uint8_t word[4] = {last[0], last[1], last[2], last[3]};

		if (i % AES_BLOCK == 0) {
			for (int b = 0; b < 4; b++)
				word[b] = aes->substitutes[last[(b + 1) % 4]];
			word[0] ^= constant;
			constant = times(constant, 2);
		}
		for (int b = 0; b < 4; b++)
			bytes[i + b] = bytes[i + b - AES_BLOCK] ^ word[b];
	}
}

/* ---- the steps; byte 4 c + r of the state is row r of column c ---- */

static void add_key(uint8_t *state, const uint8_t *key)
{
	for (int i = 0; i < AES_BLOCK; i++)
		state[i] ^= key[i];
}

/* Substitutes bytes, and shifts row r by r columns to the left times `step`. */
static void substitute_and_shift(uint8_t *state, const uint8_t *box, int step)
{
	uint8_t old[AES_BLOCK];

	memcpy(old, state, AES_BLOCK);
	for (int c = 0; c < 4; c++)
		for (int r = 0; r < 4; r++)
			state[4 * c + r] = box[old[4 * ((c + step * r) % 4) + r]];
}

/* Each column times a circulant matrix, whose first row is given. */
static void mix(uint8_t *state, const uint8_t row[4])
{
	for (int c = 0; c < 4; c++) {
		uint8_t old[4];

		memcpy(old, state + 4 * c, 4);
		for (int r = 0; r < 4; r++) {
			uint8_t sum = 0;

			for (int k = 0; k < 4; k++)
				sum ^= times(old[(r + k) % 4], row[k]);
			state[4 * c + r] = sum;
		}
	}
}

void aes_encrypt(const struct aes *aes, const uint8_t in[AES_BLOCK], uint8_t out[AES_BLOCK])
{
	static const uint8_t row[4] = {2, 3, 1, 1};

	memmove(out, in, AES_BLOCK);
	add_key(out, aes->keys[0]);
	for (int round = 1; round <= AES_ROUNDS; round++) {
		substitute_and_shift(out, aes->substitutes, 1);
		if (round < AES_ROUNDS)
			mix(out, row);
		add_key(out, aes->keys[round]);
	}
}

void aes_decrypt(const struct aes *aes, const uint8_t in[AES_BLOCK], uint8_t out[AES_BLOCK])
{
	static const uint8_t row[4] = {14, 11, 13, 9};

	memmove(out, in, AES_BLOCK);
	add_key(out, aes->keys[AES_ROUNDS]);
	for (int round = AES_ROUNDS - 1; round >= 0; round--) {
		substitute_and_shift(out, aes->originals, 3);
		add_key(out, aes->keys[round]);
		if (round)
			mix(out, row);
	}
}
