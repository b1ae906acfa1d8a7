/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Names that a source makes of parts.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "partition/kernel/access/pasted.h"
#include "tests/unit/test.h"

/* A group of one condition, which is empty. */
#define SHOWN(directive) "#" directive "\n#else\n#endif\n"

static void texts(void **state)
{
	static const char undefined[] = "#undef __has_builtin\n";
	char *answered;
	static const char *const pairs[][2] = {
	    {"", ""},
	    {"a##b\n", "a##b\n"},
	    /* What a macro in front of it is not given as its arguments. */
	    {"F\n#if A\n#endif\n", "F\n;heddle_condition( A);\n" SHOWN("if A") "#if A\n#endif\n"},
	    /* Macros in pragmas count. */
	    {"#pragma pack(A)\n#pragma unroll A\n#pragma clang fp contract(A)\n#pragma once\n",
	     ";((A));\n;( contract(A));\n;();\n"},
	    /* Conditions of a group stand in front of it, where those before them say no. */
	    {"#if A(x) // \"\n1\n#elif B\n2\n#else\n3\n#endif\n",
	     ";heddle_condition( A(x)  );\n#if A(x)  \n#else\n;heddle_condition( B);\n"
	     "#if B\n#else\n#endif\n#endif\n#if A(x)  \n1\n#elif B\n2\n#else\n3\n#endif\n"},
	    {"#ifdef A\n#if B\n#endif\n#elif C\n#elif D\n#endif\n#if E",
	     "#ifdef A\n#else\n;heddle_condition( C);\n#if C\n#else\n;heddle_condition( D);\n#if "
	     "D\n#else\n"
	     "#endif\n#endif\n#endif\n#ifdef A\n;heddle_condition( B);\n" SHOWN(
	         "if B") "#if B\n#endif\n#elif C\n#elif D\n#endif\n;heddle_condition( "
	                 "E);\n" SHOWN("if E") "#if E"},
	    /* No text is made of code. */
	    {"#define S( x, y) a # x\n# define T ## a\n#define  U(x, ...) (b ## # x) /* # */\nT",
	     "#define S( x, y) a  heddle_text \n# define T ## a\n"
	     "#define  U(x, ...) (b ##  heddle_text )  \nT"},
	    {"#define S(x,y)a#x###y, y\n#define T # y\n",
	     "#define S(x,y)a heddle_text ## heddle_text , y\n#define T  heddle_text y\n"},
	    /* Pragmas about names fail. */
	    {"#pragma GCC x \"y\"\nz\n#pragma push_macro(\"Z\")\n",
	     ";(  );\nz\n#pragma push_macro( )\n"},
	    /* The compilation ends there, if at all. */
	    {"#if A\n# error \"b\"\n#endif\n",
	     ";heddle_condition( A);\n" SHOWN("if A") "#if A\n#endif\n"},
	    /* What is asked by its whole name was asked before. */
	    {"#if defined A || !defined ( B ) && C(defined) || defined(D\n#endif\n",
	     ";heddle_condition( 1 || !1 && C(defined) || defined(D);\n" SHOWN(
	         "if defined A || !defined ( B ) && C(defined) || defined(D") "#if defined A || "
	                                                                      "!defined ( B ) && "
	                                                                      "C(defined) || "
	                                                                      "defined(D\n#"
	                                                                      "endif\n"},
	    /* Answers are no conditions. */
	    {"#undef A\n#if B\n#endif\n#line 1\n#if C\n#endif\n",
	     "#undef A\n#if B\n#endif\n#line 1\n;heddle_condition( C);\n" SHOWN(
	         "if C") "#if C\n#endif\n"},
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		char *text = kernel_pasted_text(pairs[i][0]), *at;

		assert_non_null(text);
		/* The answers may ask for it, nobody else may. */
		at = strstr(text, undefined);
		assert_true(at && (at == text || !strncmp(at + strlen(undefined), "#line 1\n", 8)));
		memmove(at, at + strlen(undefined), strlen(at + strlen(undefined)) + 1);
		if (strcmp(text, pairs[i][1]))
			fail_msg("%s: %s", pairs[i][0], text);
		free(text);
	}
	answered = kernel_pasted_text("#define __has_builtin(x) 1\n#line 1\n");
	assert_string_equal(answered, "#define __has_builtin(x) 1\n#line 1\n");
	free(answered);
	assert_true(kernel_pastes("a ## b"));
	assert_true(kernel_pastes("a %:%: b"));
	assert_true(kernel_pastes("a #\\\n# b"));
	assert_true(kernel_pastes("a %\\\n:%\\\n: b"));
	assert_false(kernel_pastes("a # b"));
}

static bool is_function(const char *name, size_t length)
{
	return length == 3 &&
	       (!strncmp(name, "sin", 3) || !strncmp(name, "cos", 3) || !strncmp(name, "tan", 3));
}

static void prologues(void **state)
{
	static const char macros[] = "#define __X 1\n#define __F(x) x\n";
	static const char source[] =
	    "#ifdef cos\n#define cos\n#endif\n#line 1\nF(sin, cos, xsin, tan)\n"
	    "# if defined(tan)\n#endif\n";
	char *text = kernel_pasted_prologue(macros, source, is_function);

	assert_non_null(text);
	assert_memory_equal(text, "#undef __X\n#undef __F\n", 22);
	assert_non_null(strstr(text, "#undef __LINE__\n"));
	assert_null(strstr(text, "#undef __has_builtin\n"));
	/* What is asked for has its answer. */
	assert_non_null(strstr(text, "\n#define sin heddle_paint_sin_heddle\n"));
	assert_null(strstr(text, "xsin"));
	assert_null(strstr(text, "cos"));
	assert_null(strstr(text, "tan"));
	free(text);
}

static void left(void **state)
{
	static const char source[] = "#undef __X\n#define __Y 1\n#line 1\n#define __Z\n";
	static const char *const none[] = {
	    "",
	    "int _x = x__ + 1__Z;",
	    "__X + __Y",
	    "\"__Z\" '__Z'",
	    "#pragma __Z\n__kernel",
	    "M_PI; ;heddle_condition((1) + (A)); true;",
	    "HEDDLE_OTHER",
	    "x = heddle_paint_sin_heddle(y);",
	};
	static const char *const some[] = {"x; __Z", "__X __Z __X", "#pragma\n__Z"};
	/* In conditions OpenCL's own names say something else to each. */
	static const char *const asks[] = {
	    ";heddle_condition( M_PI);",
	    ";heddle_condition((1) + (A) + true);",
	    ";heddle_condition(1 ( 2 );;heddle_condition(get_global_id);",
	    "HEDDLE_DIMENSIONS",
	};
	char name[8], cut[3], text[16];

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		if (kernel_pasted_unknown(none[i], source, name, sizeof(name)))
			fail_msg("%s: %s", none[i], name);
	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		assert_true(kernel_pasted_unknown(some[i], source, name, sizeof(name)));
		assert_string_equal(name, "__Z");
	}
	for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++)
		if (!kernel_pasted_unknown(asks[i], source, name, sizeof(name)))
			fail_msg("%s", asks[i]);
	assert_true(kernel_pasted_unknown("cl_khr_fp64", source, cut, sizeof(cut)));
	assert_string_equal(cut, "cl");
	assert_true(
	    kernel_pasted_unknown("__X", "int x;\n#line 1\n#undef __X\n", name, sizeof(name)));
	assert_true(kernel_pasted_unknown("heddle_has_x", source, name, sizeof(name)));
	assert_true(kernel_pasted_unknown("x = heddle_text;", source, text, sizeof(text)));
	assert_true(kernel_pasted_unknown("x = Lheddle_text;", source, text, sizeof(text)));
	assert_string_equal(text, "heddle_text");
}

/* Functions' names that became part of others. */
static void functions(void **state)
{
	static const char *const pairs[][2] = {
	    {"f(heddle_paint_sin_heddle_x)", "sin_x"},
	    {"x_heddle_paint_sin_heddle", "x_sin"},
	    {"heddle_paint_sin_heddleheddle_paint_sin_heddle", "sinsin"},
	    {"heddle_paint_sin_heddle; heddle_paint_sin_heddle4", "sin4"},
	};
	char name[64];

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		assert_true(kernel_pasted_unknown(pairs[i][0], "", name, sizeof(name)));
		assert_string_equal(name, pairs[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(texts),
	    cmocka_unit_test(prologues),
	    cmocka_unit_test(left),
	    cmocka_unit_test(functions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
