/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What an OpenCL device's compiler says of names.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition/kernel/launch/answers.h"
#include "tests/unit/test.h"

static cl_device_id device;

static void expect(const char *options, const char *names, const char *expected)
{
	char *answers;

	assert_int_equal(kernel_answers_ask(device, options, names, &answers), 0);
	assert_string_equal(answers, expected);
	free(answers);
}

static void definitions(void **state)
{
	char *answers;

	expect("", "OTHER\n__OTHER\n", "#undef OTHER\n#undef __OTHER\n");
	expect("-D__X=\"1 + 1\" -DY -DZ=", "__X\nOTHER\nY\nZ\n",
	       "#undef __X\n#define __X 1 + 1\n#undef OTHER\n#undef Y\n#define Y 1\n"
	       "#undef Z\n#define Z \n");
	expect("-D__X=__Y -D__Y=2", "__X\n", "#undef __X\n#define __X 2\n");
	/* As clang says; others may not know the question. */
	expect("",
	       "__has_builtin(__builtin_expect)\n__has_builtin(__builtin_none)\n__has_builtin\n",
	       ANSWERS_HAS "#define heddle_has___builtin_expect 1\n" ANSWERS_HAS
	                   "#define heddle_has___builtin_none 0\n" ANSWERS_HAS);
	/* Its parameters are not known. */
	assert_int_equal(kernel_answers_ask(device, "-DF(x)=x", "F\n", &answers), -ENOTSUP);
	/* What the compiler does not take. */
	assert_int_equal(kernel_answers_ask(device, "-DC=1,2", "C\n", &answers), -EIO);
	assert_int_equal(kernel_answers_ask(device, "-no-such-option", "C\n", &answers), -EIO);
}

/* As the specification says. */
static void extensions(void **state)
{
	char text[16384] = "", expected[80];

	assert_int_equal(clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof(text), text, NULL),
	                 CL_SUCCESS);
	snprintf(expected, sizeof(expected), "#undef cl_khr_fp64\n%s",
	         strstr(text, "cl_khr_fp64") ? "#define cl_khr_fp64 1\n" : "");
	expect("", "cl_khr_fp64\n", expected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(definitions),
	    cmocka_unit_test(extensions),
	};
	cl_platform_id platform;

	if (clGetPlatformIDs(1, &platform, NULL) ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)) {
		fputs("no OpenCL device\n", stderr);
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
