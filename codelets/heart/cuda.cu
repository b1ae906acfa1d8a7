/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A cell for each thread, one time step in a launch.
 */
#include <errno.h>
#include <cuda_runtime.h>

#include "codelets/cuda_pool.h"
#include "codelets/heart/heart.h"

#define ACROSS 64
#define DOWN 4

/* Rows of a state, of which the first one is number `first` of the input. */
struct place {
	float *u, *w;
	size_t u_stride, w_stride, first;
};

static __device__ __forceinline__ float flow(float own, float c, float here, float u)
{
	return fminf(own, c) * (u - here);
}

static __global__ void step_rows(struct heart_problem problem, size_t width, size_t input_rows,
                                 size_t first, size_t n, struct place from,
                                 const float *__restrict__ c, size_t c_stride, struct place to)
{
	size_t x = (size_t)blockIdx.x * ACROSS + threadIdx.x;
	size_t i = (size_t)blockIdx.y * DOWN + threadIdx.y;

	if (x >= width || i >= n)
		return;
	i += first;

	size_t up = i ? i - 1 : 0, down = i + 1 < input_rows ? i + 1 : i;
	size_t left = x ? x - 1 : 0, right = x + 1 < width ? x + 1 : x;
	const float *row = from.u + (i - from.first) * from.u_stride, *c_row = c + i * c_stride;
	float here = row[x], own = c_row[x], dt = problem.dt / problem.substeps;
	float sum =
	    flow(own, c[up * c_stride + x], here, from.u[(up - from.first) * from.u_stride + x]) +
	    flow(own, c[down * c_stride + x], here,
	         from.u[(down - from.first) * from.u_stride + x]) +
	    flow(own, c_row[left], here, row[left]) + flow(own, c_row[right], here, row[right]);
	float u = here + problem.coupling * sum, w = from.w[(i - from.first) * from.w_stride + x];

	for (unsigned s = 0; s < problem.substeps; s++) {
		float du, dw;

		heart_react(problem.model, u, w, &du, &dw);
		u += dt * du;
		w += dt * dw;
	}
	to.u[(i - to.first) * to.u_stride + x] = u;
	to.w[(i - to.first) * to.w_stride + x] = w;
}

/* The most blocks that a grid has down, times their height. */
#define MAX_ROWS ((size_t)65535 * DOWN)

static void step_launch(cudaStream_t stream, const struct heart_band *band, unsigned step,
                        const struct place *from, const float *conductivity, const struct place *to)
{
	size_t first, n;

	heart_rows(band, step, &first, &n);
	for (size_t done = 0; done < n; done += MAX_ROWS) {
		size_t rows = n - done < MAX_ROWS ? n - done : MAX_ROWS;
		dim3 blocks((unsigned)((band->width + ACROSS - 1) / ACROSS),
		            (unsigned)((rows + DOWN - 1) / DOWN));

		step_rows<<<blocks, dim3(ACROSS, DOWN), 0, stream>>>(
		    band->problem, band->width, band->input_rows, first + done, rows, *from,
		    conductivity, band->conductivity_stride, *to);
	}
}

/* Two states between the steps, in turn. */
static struct place between(const struct heart_band *band, float *scratch, unsigned step)
{
	size_t size = band->input_rows * band->width;
	float *memory = scratch + (step % 2 ? 0 : 2 * size);
	struct place place = {memory, memory + size, band->width, band->width, 0};

	return place;
}

extern "C" int heart_cuda(void *stream, const struct heart_band *band,
                          const struct heart_state *state)
{
	struct place from = {(float *)state->u, (float *)state->w, band->u_stride, band->w_stride,
	                     0};
	struct place out = {state->u_out, state->w_out, band->u_out_stride, band->w_out_stride,
	                    band->above};
	unsigned steps = band->problem.steps;
	cudaStream_t on = (cudaStream_t)stream;
	void *scratch = NULL;

	if (!band->rows || !band->width)
		return 0;
	if (steps > 1 &&
	    codelet_cuda_allocate(&scratch, 4 * band->input_rows * band->width * sizeof(float),
	                          on) != cudaSuccess)
		return -ENOMEM;
	for (unsigned s = 1; s <= steps; s++) {
		struct place to = s < steps ? between(band, (float *)scratch, s) : out;

		step_launch(on, band, s, &from, state->conductivity, &to);
		from = to;
	}
	if (scratch)
		cudaFreeAsync(scratch, on);
	return cudaGetLastError() == cudaSuccess ? 0 : -EIO;
}

extern "C" int heart_cuda_load(void)
{
	struct cudaFuncAttributes attributes;
	void *piece = NULL;
	cudaError_t error = cudaFuncGetAttributes(&attributes, (const void *)step_rows);

	/* Also makes the pool. */
	if (error == cudaSuccess)
		error = codelet_cuda_allocate(&piece, 1 << 20, 0);
	if (piece)
		cudaFreeAsync(piece, 0);
	return error == cudaSuccess ? 0 : -EIO;
}
