/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which sources and options of a kernel say something else to each compiler.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "partition/kernel/access/conditions.h"
#include "tests/unit/test.h"

static const char given[] = "-DA -cl-mad-enable -I \"-DABC d\" -D B=2 -DF(x)=x";

static void same_code(void **state)
{
	static const char *const sources[] = {
	    "",
	    "__kernel void f(__global float *restrict x) { x[0] = 1; }",
	    "#if 0\n#endif\n",
	    "#ifndef TILE\n#define TILE 16\n#endif\n#if TILE > 8 && defined(TILE)\n#endif\n",
	    "#if A + \\\n  B == 3\n#endif\n",
	    "#if A + \\ \r\n  B == 3\r\n#endif\r\n",
	    "#ifdef A /* */\n#elif defined B\n#elif F\n#endif",
	    "x = y; // see #ifdef OTHER, and __OTHER\n",
	    "// \\\n#ifdef OTHER\n/*\n#ifdef OTHER /*\n#include \"x.h\"\n*/ int y;\n",
	    "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n#line 1\n#error it's __never\n",
	    "__constant char t[] = \"/* __X \\\" __X\"; char c = '\"'; int y; /* */\n",
	    "#if 0x1FUL == 31 && 1__X\n#endif\n",
	    "int _own = 1, x__ = 2; __attribute__((__aligned__(8))) int z;\n",
	    "barrier(CLK_LOCAL_MEM_FENCE); x = M_PI_F;\n",
	};
	char why[128];

	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
		if (kernel_conditions_check(sources[i], given, why, sizeof(why)))
			fail_msg("%s: %s", sources[i], why);
}

static void other_code(void **state)
{
	static const char *const pairs[][2] = {
	    {"#ifdef __NV_CL_C_VERSION\n#endif", "whether __NV_CL_C_VERSION is"},
	    {"int x;\n  #  if defined(cl_khr_fp64)\n#endif", "whether cl_khr_fp64 is"},
	    {"#if A && \\\n__ENDIAN_LITTLE__\n#endif", "whether __ENDIAN_LITTLE__ is"},
	    {"#if A && \\ \r\nCD\r\n#endif", "whether CD is"},
	    {"#if A\n#elif AB\n#endif", "whether AB is"},
	    {"#ifndef B2\n#endif\n", "whether B2 is"},
	    {"#if __OPENCL_VERSION__ >= 120\n#endif", "whether __OPENCL_VERSION__ is"},
	    {"#define XY 1\n#ifdef X\n#endif", "whether X is"},
	    {"#ifdef A\n#elifdef CD\n#endif", "whether CD is"},
	    {"#ifdef A\n#elifndef EF\n#endif", "whether EF is"},
	    {"#ifdef ABC\n#endif", "whether ABC is"}, /* a folder of that name */
	    {"/* a comment */ #ifdef GH\n#endif", "whether GH is"},
	    {"/* of two\n   lines */\t# /* if */ \\\n  ifdef IJ\n#endif", "whether IJ is"},
	    {"%:ifdef KL\n#endif", "whether KL is"},
	    {"\"\n#ifdef MN\n#endif", "whether MN is"},
	    /* Names of compilers are never a source's own. */
	    {"#ifndef __OPENCL_VERSION__\n#define __OPENCL_VERSION__ 100\n#endif",
	     "whether __OPENCL_VERSION__ is"},
	    {"#define _K 1\n#ifdef _K\n#endif", "its source has _K,"},
	    {"#ifndef cl_khr_fp64\n#define cl_khr_fp64\n#endif", "whether cl_khr_fp64 is"},
	    {"#ifndef CL_VERSION_2_0\n#define CL_VERSION_2_0 1\n#endif", "CL_VERSION_2_0"},
	    {"#ifndef M_PI\n#define M_PI 3\n#endif", "M_PI"},
	    {"#ifndef inline\n#define inline\n#endif", "inline"},
	    /* They say something else to each, also where no condition stands. */
	    {"int w = __OPENCL_VERSION__ >= 120 ? 4 : 1;", "its source has __OPENCL_VERSION__,"},
	    {"#define V __OPENCL_VERSION__\n#if V\n#endif", "its source has __OPENCL_VERSION__,"},
	    {"int w = __COUNTER__;", "__COUNTER__"},
	    {"#define CAT(a, b) a##b\nint w = CAT(__OPENCL, _VERSION__);", "__OPENCL"},
	    {"int w = __OPENCL_\\\nVERSION__;", "__OPENCL_VERSION__"},
	    {"int w = cl_khr_fp64;", "cl_khr_fp64"},
	    {"x = __builtin_readcyclecounter();", "__builtin_readcyclecounter"},
	    {"?\?=ifdef X\n#endif", "trigraphs"},
	    {"#include \"x.h\"\n", "includes"},
	    {"int x;\n  /* */ #  include <x.h>", "includes"},
	    {"#import \"x.h\"\n", "includes"},
	    {"#inc\\\nlude \"x.h\"\n", "includes"},
	};
	char why[128], cut[4];

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		assert_int_equal(kernel_conditions_check(pairs[i][0], given, why, sizeof(why)),
		                 -ENOTSUP);
		if (!strstr(why, pairs[i][1]))
			fail_msg("%s: %s", pairs[i][0], why);
	}
	assert_int_equal(kernel_conditions_check("#define include 1\n", "", why, sizeof(why)), 0);
	assert_int_equal(kernel_conditions_check(pairs[0][0], "", cut, sizeof(cut)), -ENOTSUP);
	assert_string_equal(cut, "dev");
	assert_int_equal(kernel_conditions_check("", "-DV=__OPENCL_VERSION__", why, sizeof(why)),
	                 -ENOTSUP);
	assert_non_null(strstr(why, "__OPENCL_VERSION__"));
	assert_int_equal(kernel_conditions_check("", "-w -D __X", why, sizeof(why)), -ENOTSUP);
}

static void options(void **state)
{
	static const char *const known[] = {"", " -DA\t-D B=2 -I x -Iy -w -Werror ",
	                                    "-cl-std=CL3.0 -cl-mad-enable", "-I -include"};
	static const char *const unknown[] = {"-include x.h", "-imacros x.h",  "-DA -O9",
	                                      "x.h",          "-UA",           "-Wp,-DA",
	                                      "-Xclang",      "-cl-std=CLC++", "-cl-std=clc++2021"};
	char why[128], text[] = "-w -DA -I -DB -D C=1 -IDD \"-DE\"", *rest = text;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		assert_int_equal(kernel_options_check(known[i], why, sizeof(why)), 0);
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
		assert_int_equal(kernel_options_check(unknown[i], why, sizeof(why)), -ENOTSUP);
	assert_string_equal(kernel_option_definition_take(&rest), "A");
	assert_string_equal(kernel_option_definition_take(&rest), "C=1");
	assert_string_equal(kernel_option_definition_take(&rest), "E");
	assert_null(kernel_option_definition_take(&rest));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(same_code),
	    cmocka_unit_test(other_code),
	    cmocka_unit_test(options),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
