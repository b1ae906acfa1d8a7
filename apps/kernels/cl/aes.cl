/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * AES (FIPS 197) of an image's rows, 16 bytes by 16. A work-item has a column of four
 * bytes, the first the lowest of its word; groups are 64 columns wide and 4 rows high.
 */

#define ITEMS 256

uint byte_of(uint word, int row)
{
	return word >> 8 * row & 0xff;
}

uint turn(uint word, int rows)
{
	return rotate(word, (uint)(32 - 8 * rows));
}

/* Each byte times x, in the field of 256 elements. */
uint times_x(uint word)
{
	return (word & 0x7f7f7f7fu) << 1 ^ (word >> 7 & 0x01010101u) * 0x1b;
}

uint mix_column(uint word)
{
	uint twice = times_x(word);

	return twice ^ turn(twice ^ word, 1) ^ turn(word, 2) ^ turn(word, 3);
}

uint mix_column_back(uint word)
{
	uint four = times_x(times_x(word));

	return mix_column(word ^ four ^ turn(four, 2));
}

/* Substitutes the bytes of column `column` after the rows were shifted by `step` columns
 * for each row. */
uint shift_and_substitute(__local const uint *block, __local const uchar *box, int column, int step)
{
	uint word = 0;

	for (int row = 0; row < 4; row++)
		word |= (uint)box[byte_of(block[column + step * row & 3], row)] << 8 * row;
	return word;
}

/* A round reads one state and writes the other. PoCL 6 compiles values that live across a barrier in
 * a loop wrong now and then: no word does. */
__kernel void aes_encrypt(__global const uint *in, __global uint *out, __global const uint *keys,
                          __global const uchar *substitutes, int width, int rounds)
{
	__local uint states[2][ITEMS];
	__local uchar box[ITEMS];
	int item = get_local_id(1) * get_local_size(0) + get_local_id(0);
	int column = item & 3, block = item & ~3;
	int at = get_global_id(1) * width + get_global_id(0);

	box[item] = substitutes[item];
	states[0][item] = in[at] ^ keys[column];
	for (int round = 1; round <= rounds; round++) {
		uint word;

		barrier(CLK_LOCAL_MEM_FENCE);
		word = shift_and_substitute(states[round - 1 & 1] + block, box, column, 1);
		if (round < rounds)
			word = mix_column(word);
		states[round & 1][item] = word ^ keys[4 * round + column];
	}
	out[at] = states[rounds & 1][item];
}

/* The straightforward inverse cipher, section 5.3. */
__kernel void aes_decrypt(__global const uint *in, __global uint *out, __global const uint *keys,
                          __global const uchar *substitutes, int width, int rounds)
{
	__local uint states[2][ITEMS];
	__local uchar box[ITEMS];
	int item = get_local_id(1) * get_local_size(0) + get_local_id(0);
	int column = item & 3, block = item & ~3;
	int at = get_global_id(1) * width + get_global_id(0);

	box[item] = substitutes[item];
	states[rounds & 1][item] = in[at] ^ keys[4 * rounds + column];
	for (int round = rounds - 1; round >= 0; round--) {
		uint word;

		barrier(CLK_LOCAL_MEM_FENCE);
		word = shift_and_substitute(states[round + 1 & 1] + block, box, column, 3) ^
		       keys[4 * round + column];
		states[round & 1][item] = round ? mix_column_back(word) : word;
	}
	out[at] = states[0][item];
}
