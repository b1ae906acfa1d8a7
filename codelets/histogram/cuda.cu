/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Every warp counts in its own table in shared memory; a block adds its tables to the counters
 * once.
 */
#include <errno.h>
#include <stdint.h>
#include <cuda_runtime.h>

#include "codelets/cuda_pool.h"
#include "codelets/histogram/histogram.h"

#define THREADS 256
#define WARPS (THREADS / 32)
/* Enough to fill today's devices; more would add more tables to the counters.
 * Also keeps the bytes of a block below the 32 bits of its tables for 4 TB. */
#define MAX_BLOCKS 1024

/* Counts the four bytes of a word; in one step when they are equal, since increments of one address
 * wait for each other. */
static __device__ __forceinline__ void count_word(uint32_t *table, uint32_t word)
{
	if (word == (word & 0xff) * 0x01010101u) {
		atomicAdd(&table[word & 0xff], 4);
		return;
	}
	atomicAdd(&table[word & 0xff], 1);
	atomicAdd(&table[word >> 8 & 0xff], 1);
	atomicAdd(&table[word >> 16 & 0xff], 1);
	atomicAdd(&table[word >> 24], 1);
}

/* Words of 16 bytes, then the few bytes before and after them. */
static __global__ void count(size_t quads, const uint4 *__restrict__ words, size_t nhead,
                             const unsigned char *head, size_t ntail, const unsigned char *tail,
                             unsigned long long *counters)
{
	__shared__ uint32_t tables[WARPS * HISTOGRAM_BINS];
	uint32_t *table = tables + threadIdx.x / 32 * HISTOGRAM_BINS;
	size_t first = (size_t)blockIdx.x * THREADS + threadIdx.x;

	for (unsigned b = threadIdx.x; b < WARPS * HISTOGRAM_BINS; b += THREADS)
		tables[b] = 0;
	__syncthreads();
	for (size_t i = first; i < quads; i += (size_t)gridDim.x * THREADS) {
		uint4 word = __ldcs(words + i);

		count_word(table, word.x);
		count_word(table, word.y);
		count_word(table, word.z);
		count_word(table, word.w);
	}
	if (first < nhead)
		atomicAdd(&table[head[first]], 1);
	if (first < ntail)
		atomicAdd(&table[tail[first]], 1);
	__syncthreads();
	for (unsigned b = threadIdx.x; b < HISTOGRAM_BINS; b += THREADS) {
		uint32_t sum = 0;

		for (unsigned w = 0; w < WARPS; w++)
			sum += tables[w * HISTOGRAM_BINS + b];
		if (sum)
			atomicAdd(&counters[b], (unsigned long long)sum);
	}
}

extern "C" int histogram_cuda(void *stream, size_t n, const unsigned char *bytes,
                              uint64_t counters[HISTOGRAM_BINS])
{
	size_t nhead = -(uintptr_t)bytes & 15;
	size_t quads, ntail, blocks;

	if (!n)
		return 0;
	if (nhead > n)
		nhead = n;
	quads = (n - nhead) / 16;
	ntail = n - nhead - quads * 16;
	blocks = (quads + 4 * THREADS - 1) / (4 * THREADS);
	if (blocks < 1)
		blocks = 1;
	if (blocks > MAX_BLOCKS)
		blocks = MAX_BLOCKS;
	count<<<(unsigned)blocks, THREADS, 0, (cudaStream_t)stream>>>(
	    quads, (const uint4 *)(bytes + nhead), nhead, bytes, ntail, bytes + n - ntail,
	    (unsigned long long *)counters);
	return cudaGetLastError() == cudaSuccess ? 0 : -EIO;
}

CODELET_CUDA_LOAD(histogram, (const void *)count)
