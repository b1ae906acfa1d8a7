/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * heddle.hpp: each kind of access, requests, exceptions. cplusplus.sh compiles and runs it.
 */
#include <array>
#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <vector>
#include <heddle/heddle.hpp>
#ifdef WITH_OPENCL
#include <starpu_opencl.h>
#endif

static int failures;

static void expect(bool right, const char *what)
{
	if (right)
		return;
	std::printf("FAIL: %s\n", what);
	failures++;
}

/* Calls f and expects an exception of type E whose text contains `text`. */
template <class E, class F> static void expect_thrown(const char *text, F f)
{
	try {
		f();
		expect(false, text);
	} catch (const E &e) {
		expect(std::string(e.what()).find(text) != std::string::npos, e.what());
	}
}

static const std::size_t n = 10007;

static void slices_and_halo()
{
	heddle::buffer<double> x(n);
	std::vector<double> y(n);

	std::iota(x.begin(), x.end(), 1);
	{
		heddle::vector hx(x), hy(y);
		heddle::loop sums(
		    n,
		    [](const heddle_block &block, heddle::span<const double> from,
		       heddle::span<double> to) {
			    std::size_t before = heddle_block_before(&block, 1, 1);

			    for (std::size_t i = 0; i < to.size(); i++) {
				    std::size_t at = i + before;

				    to[i] = (at > 0 ? from[at - 1] : 0) + from[at] +
				            (at + 1 < from.size() ? from[at + 1] : 0);
			    }
		    },
		    heddle::in(hx).halo(1), heddle::out(hy));
		auto stats = sums.name("sums").strategy("css:chunk=100").run();

		expect(stats->blocks == 101, "blocks of 100");
		expect(stats->nworkers >= 1, "workers");
	}
	for (std::size_t i = 0; i < n; i++) {
		double here = static_cast<double>(i) + 1;

		if (y[i] != (i > 0 ? here - 1 : 0) + here + (i + 1 < n ? here + 1 : 0))
			return expect(false, "halo");
	}
}

static void whole_and_matrix()
{
	const std::size_t columns = 7, stride = 9;
	std::array<int, 7> table;
	std::vector<int> y(n * stride, -1);

	std::iota(table.begin(), table.end(), 1);
	{
		heddle::vector ht(table);
		heddle::matrix hy(y.data(), n, columns, stride);

		heddle::loop(
		    n,
		    [](const auto &block, auto factors, auto rows) {
			    for (std::size_t i = 0; i < rows.size(); i++)
				    for (std::size_t j = 0; j < rows.columns(); j++)
					    rows[i][j] =
					        factors[j] * static_cast<int>(block.start + i);
		    },
		    heddle::in(ht).whole(), heddle::out(hy))
		    .run();
	}
	for (std::size_t i = 0; i < n; i++)
		for (std::size_t j = 0; j < stride; j++)
			if (y[i * stride + j] != (j < columns ? static_cast<int>((j + 1) * i) : -1))
				return expect(false, "matrix");
}

static void sum_and_index()
{
	std::vector<std::uint32_t> index(n + 1);
	std::vector<long> total(1, 5);

	for (std::size_t i = 0; i < n; i++)
		index[i + 1] = index[i] + i % 3;
	std::vector<long> values(index[n], 2);
	{
		heddle::vector hv(values), ht(total);

		heddle::loop(
		    n,
		    [](auto numbers, auto sum) {
			    for (long number : numbers)
				    sum[0] += number;
		    },
		    heddle::in(hv).indexed(index.data()), heddle::sum(ht))
		    .run();
	}
	expect(total[0] == 5 + 2 * static_cast<long>(index[n]), "sum over an index");
}

static void requests()
{
	std::vector<int> y(2 * n);

	{
		heddle::vector hy(y);
		heddle::vector moved(std::move(hy));
		auto body = [](const heddle_block &block, heddle::span<int> to) {
			for (int &element : to)
				element += static_cast<int>(block.total);
			return 0;
		};
		heddle::loop add(n, body, heddle::inout(moved).per_iteration(2));
		/* The first is waited for when it ends, the second outlives its loop. */
		{
			auto first = add.submit();
		}
		auto second = heddle::loop(n, body, heddle::inout(moved).per_iteration(2)).submit();
		auto third = std::move(second);

		third.wait();
		expect_thrown<heddle::error>("heddle::request", [&] { third.wait(); });
	}
	for (int element : y)
		if (element != 2 * static_cast<int>(n))
			return expect(false, "requests");
}

static void errors()
{
	std::vector<int> y(n);
	heddle::vector hy(y);
	heddle::loop thrown(
	    n, [](auto) { throw std::out_of_range("a test's"); }, heddle::inout(hy));
	heddle::loop status(
	    n, [](auto) { return -ERANGE; }, heddle::inout(hy));

	expect_thrown<std::out_of_range>("a test's", [&] { thrown.run(); });
	try {
		status.run();
		expect(false, "no status");
	} catch (const heddle::error &e) {
		expect(e.code() == std::errc::result_out_of_range, e.what());
	}
	expect_thrown<heddle::error>("heddle_loop_submit", [&] { thrown.strategy("no").run(); });
	expect_thrown<heddle::error>("2^32",
	                             [&] { heddle::vector(y.data(), std::size_t(1) << 32); });
	expect_thrown<heddle::error>("heddle_kernel_submit", [] {
		struct heddle_kernel kernel = {};

		heddle::submit(kernel);
	});
	expect_thrown<heddle::error>("heddle_wavefront_submit", [] {
		struct heddle_wavefront wavefront = {};

		heddle::submit(wavefront);
	});
}

#ifdef WITH_OPENCL
static struct starpu_opencl_program program;

static void number_opencl(void *buffers[], void *arg)
{
	auto *block = static_cast<struct heddle_block *>(arg);
	auto y = reinterpret_cast<cl_mem>(STARPU_VECTOR_GET_DEV_HANDLE(buffers[0]));
	cl_ulong offset = STARPU_VECTOR_GET_OFFSET(buffers[0]), start = block->start,
	         count = block->n;
	std::size_t size = block->n;
	cl_kernel kernel;
	cl_command_queue queue;

	block->status = -EIO;
	if (starpu_opencl_load_kernel(&kernel, &queue, &program, "number",
	                              starpu_worker_get_devid(starpu_worker_get_id())))
		return;
	clSetKernelArg(kernel, 0, sizeof(y), &y);
	clSetKernelArg(kernel, 1, sizeof(offset), &offset);
	clSetKernelArg(kernel, 2, sizeof(start), &start);
	clSetKernelArg(kernel, 3, sizeof(int), block->arg);
	if (count &&
	    !clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &size, nullptr, 0, nullptr, nullptr))
		block->status = 0;
	starpu_opencl_release_kernel(kernel);
}

/* A CPU core and an OpenCL device share a loop. */
static void accelerator()
{
	const int factor = 3;
	std::vector<int> y(n);

	if (!starpu_opencl_worker_get_count())
		return expect(false, "no OpenCL worker");
	starpu_opencl_load_opencl_from_string(
	    "__kernel void number(__global int *y, ulong offset, ulong start, int factor)\n"
	    "{ size_t i = get_global_id(0); y[offset / 4 + i] = (start + i) * factor; }",
	    &program, nullptr);
	{
		heddle::vector hy(y);
		heddle::loop number(
		    n,
		    [factor](const heddle_block &block, auto to) {
			    for (std::size_t i = 0; i < to.size(); i++)
				    to[i] = static_cast<int>(block.start + i) * factor;
		    },
		    heddle::out(hy));
#ifdef STARPU_HIP_ASYNC
		number.hip(number_opencl);
		expect(number.c.codelet->hip_funcs[0] == number_opencl &&
		           number.c.codelet->hip_flags[0] == STARPU_HIP_ASYNC,
		       "no function for HIP");
#endif
		auto stats = number.opencl(number_opencl).argument(factor).strategy("static").run();
		unsigned used = 0;

		for (unsigned w = 0; w < stats->nworkers; w++)
			used += stats->workers[w].iterations > 0;
		expect(used >= 2, "only one worker");
	}
	starpu_opencl_unload_opencl(&program);
	for (std::size_t i = 0; i < n; i++)
		if (y[i] != static_cast<int>(i) * factor)
			return expect(false, "accelerator");
}
#endif

int main()
{
	try {
		heddle::session session;

		slices_and_halo();
		whole_and_matrix();
		sum_and_index();
		requests();
		errors();
#ifdef WITH_OPENCL
		accelerator();
#endif
	} catch (const std::exception &e) {
		expect(false, e.what());
	}
	std::printf("%d failures\n", failures);
	return failures != 0;
}
