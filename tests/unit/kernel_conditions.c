/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which conditions of a kernel's source depend on who compiles it.
 */
#include "config.h"

#include <stdio.h>

#include "partition/kernel/conditions.h"
#include "tests/unit/test.h"

static void own_names(void **state)
{
	static const char *const sources[] = {
	    "",
	    "__kernel void f(__global float *x) { x[0] = 1; }",
	    "#if 0\n#endif\n",
	    "#ifndef TILE\n#define TILE 16\n#endif\n#if TILE > 8 && defined(TILE)\n#endif\n",
	    "#if A + \\\n  B == 3\n#endif\n",
	    "#ifdef A /* */\n#elif defined B\n#endif",
	    "x = y; // see #ifdef OTHER\n",
	    "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n#line 1\n#error never\n",
	};
	char name[64];

	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
		assert_false(conditions_foreign(sources[i], "-DA -cl-mad-enable -D B=2", name,
		                                sizeof(name)));
}

static void foreign_names(void **state)
{
	static const char *const pairs[][2] = {
	    {"#ifdef __NV_CL_C_VERSION\n#endif", "__NV_CL_C_VERSION"},
	    {"int x;\n  #  if defined(cl_khr_fp64)\n#endif", "cl_khr_fp64"},
	    {"#if A && \\\n__ENDIAN_LITTLE__\n#endif", "__ENDIAN_LITTLE__"},
	    {"#if A\n#elif AB\n#endif", "AB"},
	    {"#ifndef B2\n#endif\n", "B2"},
	    {"#if __OPENCL_VERSION__ >= 120\n#endif", "__OPENCL_VERSION__"},
	    {"#define XY 1\n#ifdef X\n#endif", "X"},
	    {"#ifdef A\n#elifdef CD\n#endif", "CD"},
	    {"#ifdef A\n#elifndef EF\n#endif", "EF"},
	    {"/* a comment */ #ifdef GH\n#endif", "GH"},
	    {"/* of two\n   lines */\t# /* if */ \\\n  ifdef IJ\n#endif", "IJ"},
	};
	char name[64], cut[4];

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		assert_true(
		    conditions_foreign(pairs[i][0], "-DA -D B=2 -DABC", name, sizeof(name)));
		assert_string_equal(name, pairs[i][1]);
	}
	assert_true(conditions_foreign(pairs[0][0], "", cut, sizeof(cut)));
	assert_string_equal(cut, "__N");
}

static void includes(void **state)
{
	assert_true(conditions_includes("#include \"x.h\"\n", ""));
	assert_true(conditions_includes("int x;\n  /* */ #  include <x.h>", ""));
	assert_true(conditions_includes("#import \"x.h\"\n", ""));
	assert_true(conditions_includes("", "-DA -include x.h"));
	assert_true(conditions_includes("", "-imacros x.h"));
	assert_false(conditions_includes("x = y; // #include it", "-DA -I include"));
	assert_false(conditions_includes("#define include 1\n", ""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(own_names),
	    cmocka_unit_test(foreign_names),
	    cmocka_unit_test(includes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
