/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Kinds and their names, Heddle's and those that StarPU has for types of worker.
 */
#include "config.h"

#include <errno.h>

#include "support/kind.h"
#include "tests/unit/test.h"

static void test_every_kind_has_a_name(void **state)
{
	enum heddle_kind kind;

	for (int k = 0; k < HEDDLE_NKINDS; k++) {
		assert_int_equal(heddle_kind_parse(heddle_kind_name(k), &kind), 0);
		assert_int_equal(kind, k);
	}
	assert_int_equal(heddle_kind_parse("gpu", &kind), -EINVAL);
	assert_int_equal(heddle_kind_parse("", &kind), -EINVAL);
}

static void test_types_of_starpu(void **state)
{
	static const struct {
		const char *type;
		enum heddle_kind kind;
	} types[] = {
	    /* 1.3 */
	    {"STARPU_CPU_WORKER", HEDDLE_KIND_CPU},
	    {"STARPU_CUDA_WORKER", HEDDLE_KIND_CUDA},
	    {"STARPU_OPENCL_WORKER", HEDDLE_KIND_OPENCL},
	    {"STARPU_MPI_MS_WORKER", HEDDLE_KIND_MPI_MS},
	    {"STARPU_MIC_WORKER", HEDDLE_KIND_OTHER},
	    {"STARPU_unknown_WORKER", HEDDLE_KIND_OTHER},
	    /* 1.4 */
	    {"CPU", HEDDLE_KIND_CPU},
	    {"CUDA", HEDDLE_KIND_CUDA},
	    {"OpenCL", HEDDLE_KIND_OPENCL},
	    {"HIP", HEDDLE_KIND_HIP},
	    {"FPGA", HEDDLE_KIND_MAX_FPGA},
	    {"MPI_MS", HEDDLE_KIND_MPI_MS},
	    {"TCPIP_MS", HEDDLE_KIND_TCPIP_MS},
	    /* of years to come */
	    {"Quantum", HEDDLE_KIND_OTHER},
	    {"A type whose name is longer than any room for it", HEDDLE_KIND_OTHER},
	    {"_WORKER", HEDDLE_KIND_OTHER},
	    {"", HEDDLE_KIND_OTHER},
	};

	for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++)
		assert_int_equal(kind_of_starpu(types[t].type), types[t].kind);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_every_kind_has_a_name),
	    cmocka_unit_test(test_types_of_starpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
