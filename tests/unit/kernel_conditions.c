/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which sources and options of a kernel say something else to each compiler.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "partition/kernel/access/conditions.h"
#include "partition/kernel/access/includes.h"
#include "partition/kernel/access/options.h"
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
	    "#if B > 1 // large\nint x;\n#endif /* large */\n",
	    "x = y; // see #ifdef OTHER, and __OTHER\n",
	    "// \\\n#ifdef OTHER\n/*\n#ifdef OTHER /*\n#include \"x.h\"\n*/ int y;\n",
	    "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n#line 1\n#error it's __never\n",
	    "#define UNROLL _Pragma(\"unroll\")\n_Pragma ( \"unroll 4\" ) int y;\n",
	    "__constant char t[] = \"/* __X \\\" __X\"; char c = '\"'; int y; /* */\n",
	    "#if 0x1FUL == 31 && 1__X\n#endif\n",
	    "int _own = 1, x__ = 2; __attribute__((__aligned__(8))) int z;\n",
	    "barrier(CLK_LOCAL_MEM_FENCE); x = M_PI_F;\n",
	    /* what an option has decided */
	    "#ifdef A\nint x;\n#elif OTHER\nint y = __X;\n#include \"x.h\"\n#else\n#if X\n#endif\n"
	    "int __z;\n#endif\n",
	    "#ifndef A\n#ifdef OTHER\n__X\n#else\n__Y\n#endif\n#else\nint x;\n#endif\n",
	    "#if !defined(A) // no\n__X\n#elif defined B\nint x;\n#elif OTHER\n#endif\n",
	    "#if 0\n__X\n#elif 1\n#else\n__Y\n#endif\n",
	    /* or the source itself */
	    "#define OWN\n#ifndef OWN\n#include <x.h>\n#endif\nint x;\n",
	    "#if 0\n#endif\n#define OWN 0\n#if B\n#if !defined(OWN)\n__X\n#elif 1\n#endif\n"
	    "#endif\n",
	    "#if defined(OTHER) && !defined A && defined(OTHER2)\n__X\n#endif\n",
	    "#define OWN\n#if defined OWN && defined(A)\n#else\n__X\n#endif\n",
	    /* of no matter */
	    "#define WHERE(x) f(x, __LINE__, __X)\nint y;\n",
	    "#define TEXT2(x) #x\n#define TEXT(x) TEXT2(x)\n"
	    "#define WHERE \"line \" TEXT(__LINE__)\nint y;\n",
	    "#define TEXT2(x) #x\n#define TEXT(x) TEXT2(x)\n#define SHOW(x) show(TEXT(x))\n"
	    "#define JOIN(x, y) x##y\nint JOIN(a, b);\n",
	    /* Comments, as all compilers see them. */
	    "#error it's a /* \\\n*/\n#warning a /* b */ // /*\n#undef X /*\n__X */\nint y;\n",
	    "/* $ \\u00e9 %: \303\251 */ char c[] = \"$ \\x %: \303\251\";\n",
	    "// \\\n\r__X\n// \\\r\n__X\n// \\ \t\r__X\n",
	    "/* _Pragma(\"unroll\") */\n#define X(x) #x\n",
	    /* Values of macros, with none of compilers in them. */
	    "#define TILE(x, y) ((x) * SIDE + defined(A))\n#define SIDE (B + LAST)\n"
	    "#define LAST TILE(1, 2)\n#if TILE(3, 4)\nint x;\n#endif\n",
	    "#define ID get_global_id(0)\n#if defined(ID) || defined ID\n#elif 0\n#endif\n",
	    "#ifdef cl_khr_fp64\n  #pragma OPENCL EXTENSION cl_khr_fp64 : enable // wide\n\n"
	    "#elif defined(cl_amd_fp64)\n#pragma OPENCL EXTENSION cl_amd_fp64 : enable\n#else\n"
	    "#if OTHER\n#error \"no double\"\n#endif\n#endif\nint x;\n",
	};
	char why[128], *asked;

	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		if (kernel_conditions_ask(sources[i], given, &asked, why, sizeof(why)))
			fail_msg("%s: %s", sources[i], why);
		if (*asked)
			fail_msg("%s: asks for %s", sources[i], asked);
		free(asked);
	}
}

/* Sources, and the names that each asks for. */
static void asks_for(const char *const pairs[][2], size_t n)
{
	char why[128], *asked;

	for (size_t i = 0; i < n; i++) {
		if (kernel_conditions_ask(pairs[i][0], given, &asked, why, sizeof(why)))
			fail_msg("%s: %s", pairs[i][0], why);
		if (strcmp(asked, pairs[i][1]))
			fail_msg("%s: asks for %s", pairs[i][0], asked);
		free(asked);
	}
}

/* Devices answer for these. */
static void other_code(void **state)
{
	static const char *const pairs[][2] = {
	    {"#ifdef __NV_CL_C_VERSION\nint x;\n#endif", "__NV_CL_C_VERSION\n"},
	    {"int x;\n  #  if defined(cl_khr_fp64)\nint y;\n#endif", "cl_khr_fp64\n"},
	    {"#if A && \\\n__ENDIAN_LITTLE__\nx\n#endif", "__ENDIAN_LITTLE__\n"},
	    {"#if A && \\ \r\nCD\r\nx\n#endif", "CD\n"},
	    {"#if A\n#elif AB\nx\n#endif", "AB\n"},
	    {"#ifndef B2\nx\n#endif\n", "B2\n"},
	    {"#if __OPENCL_VERSION__ >= 120\nx\n#endif", "__OPENCL_VERSION__\n"},
	    {"#define XY 1\n#ifdef X\nx\n#endif", "X\n"},
	    {"#ifdef Q\n#define OWN\n#endif\n#ifndef OWN\n__X\n#endif", "Q\n__X\n"},
	    {"#ifndef OWN\n__X\n#endif\n#define OWN\n", "__X\n"},
	    {"#define OWN\n#undef OWN\n#ifndef OWN\n__X\n#endif\n", "__X\n"},
	    {"#define OWN2\n#ifndef OWN\n__X\n#endif\n", "OWN\n__X\n"},
	    {"#pragma push_macro(\"OWN\")\n#define OWN\n#pragma pop_macro(\"OWN\")\n"
	     "#ifndef OWN\n__X\n#endif\n",
	     "__X\n"},
	    {"#ifndef A\n#elif defined(CD)\nx\n#elif defined(A)\n#elif ZZ\nx\n#endif", "CD\n"},
	    {"#ifdef ABC\nx\n#endif", "ABC\n"}, /* a folder of that name */
	    {"/* a comment */ #ifdef GH\nx\n#endif", "GH\n"},
	    {"/* of two\n   lines */\t# /* if */ \\\n  ifdef IJ\nx\n#endif", "IJ\n"},
	    {"\"\n#ifdef MN\nx\n#endif", "MN\n"},
	    {"#ifdef A\n#undef A\n#endif\n#ifdef A\n#elif OP\nx\n#endif", "OP\n"},
	    {"#ifdef A(\n#elif QR\nx\n#endif", "QR\n"},
	    {"#if defined(A) && !defined(OWN)\n__X\n#endif\n#define OWN", "__X\n"},
	    {"#if !defined(A) && RS || defined(B)\n__X\n#endif", "RS\n__X\n"},
	    {"#if !defined(A) && defined(RS) || 1\n__X\n#endif", "RS\n__X\n"},
	    {"#if defined(A) && defined(RS)\n#else\n__X\n#endif", "RS\n__X\n"},
	    {"#if defined(A) || ST\n#elif UV\nx\n#endif", "ST\nUV\n"},
	    {"#ifdef Q\n#pragma OPENCL EXTENSION all : enable\nint x;\n#endif", "Q\n"},
	    {"#ifdef Q\n#pragma pack(1)\n#endif", "Q\n"},
	    {"#if W\nx\n#else\n#if V + W\ny\n#endif\n#endif", "W\nV\n"},
	    /* in values of macros */
	    {"#define HAVE defined(sin)\n#if HAVE\nx\n#endif\n", "sin\n"},
	    {"#if 2 > T\nx\n#endif\n#define T(x, ...) (x + U(true) + __VA_ARGS__)\n"
	     "#define U(y) (y + CD + T(1))\n",
	     "true\nCD\n"},
	    {"#ifndef M_PI\n#define M_PI EF\n#endif\n#if M_PI\nx\n#endif\n", "M_PI\nEF\n"},
	    {"#define T GH\n#undef T\n#define T IJ\n#ifdef T\n#elif T\nx\n#endif\n", "GH\nIJ\n"},
	    /* Texts in quotes and comments have no operators. */
	    {"x + 0 /* _Pragma(\"unroll */ + __X /* \") */;", "__X\n"},
	    {"x = \" _Pragma(\" + __X + \"unroll\") \";", "__X\n"},
	    /* Only what compilers join. */
	    {"// \\\r\r#ifdef KL\nx\n#endif\n", "KL\n"},
	    {"// \\\n\r/*\n#ifdef MN\nx\n#endif\n// */\n", "MN\n"},
	};

	asks_for(pairs, sizeof(pairs) / sizeof(pairs[0]));
}

/* Only compilers know these. */
static void names_of_compilers(void **state)
{
	static const char *const pairs[][2] = {
	    /* Names of compilers are never a source's own. */
	    {"#ifndef __OPENCL_VERSION__\n#define __OPENCL_VERSION__ 100\n#endif",
	     "__OPENCL_VERSION__\n"},
	    {"#define _K 1\n#ifdef _K\nx\n#endif", "_K\n"},
	    {"#ifndef cl_khr_fp64\n#define cl_khr_fp64\n#endif", "cl_khr_fp64\n"},
	    {"#ifndef CL_VERSION_2_0\n#define CL_VERSION_2_0 1\n#endif", "CL_VERSION_2_0\n"},
	    {"#ifndef M_PI\n#define M_PI 3\n#endif", "M_PI\n"},
	    {"#ifndef inline\n#define inline\n#endif", "inline\n"},
	    /* They say something else to each, also where no condition stands. */
	    {"int w = __OPENCL_VERSION__ >= 120 ? 4 : 1;", "__OPENCL_VERSION__\n"},
	    {"#define V __OPENCL_VERSION__\n#if V\nx\n#endif", "__OPENCL_VERSION__\n"},
	    {"int w = __OPENCL_\\\nVERSION__;", "__OPENCL_VERSION__\n"},
	    {"int w = cl_khr_fp64;", "cl_khr_fp64\n"},
	    /* Whether a compiler has a function of its own. */
	    {"#if A && __has_builtin ( __builtin_assume )\n__builtin_assume(x > 1);\n#endif",
	     "__has_builtin(__builtin_assume)\n"},
	    {"#ifndef __has_builtin\n#define __has_builtin(x) 0\n#endif\n"
	     "#if __has_builtin(__builtin_expect) || __X\nx = __builtin_expect(y, 1);\n#endif",
	     "__has_builtin\n__has_builtin(__builtin_expect)\n__X\n"},
	    /* Where answers leave the function out, it does not matter which one it is. */
	    {"#if __has_builtin(__builtin_x)\n__builtin_x();\n#elif X\n"
	     "#define Y(a) __builtin_y(a)\n#else\n__builtin_z;\n#endif\nY(1);",
	     "__has_builtin(__builtin_x)\n__builtin_x\nX\n__builtin_y\n__builtin_z\n"},
	    /* Parts of names as all others. */
	    {"#define V(t, n) t##n\n#define _W x\nV(_W, 4) y = INT##_MAX;\n", "_W\n_MAX\n"},
	    /* Code for other languages: devices are asked whether it is. */
	    {"#ifdef __cplusplus\n#include <x>\n__X\n#elif !defined(__OPENCL_VERSION__)\n__Y\n"
	     "#else\nint x;\n#endif\n",
	     "__cplusplus\n__OPENCL_VERSION__\n"},
	    {"#if defined(__CUDACC__) && defined(X)\n__X\n#endif\n", "__CUDACC__\n"},
	    {"#ifdef __cplusplus\n__X\n#endif\n#define __cplusplus\n", "__cplusplus\n__X\n"},
	    {"#if __cplusplus > 1\n__X\n#endif\n", "__cplusplus\n__X\n"},
	    /* Macros in a pragma. */
	    {"#pragma pack(__X)\n#pragma unroll __Y\n#pragma OPENCL __Z\n", "__X\n"},
	    /* Answers decide whether a file is included. */
	    {"#ifdef Q\n#if 1\n#include \"x.h\"\n#endif\n#else\n#include X\n#endif\n", "Q\n"},
	};
	char why[128], *asked;

	asks_for(pairs, sizeof(pairs) / sizeof(pairs[0]));
	assert_int_equal(kernel_conditions_ask("", "-DV=__X -w -D __Y", &asked, why, sizeof(why)),
	                 0);
	assert_string_equal(asked, "__X\n__Y\n");
	free(asked);
	assert_int_equal(
	    kernel_conditions_ask("#if U\nx\n#endif\n", "-DT=true -DU=T", &asked, why, sizeof(why)),
	    0);
	assert_string_equal(asked, "true\n");
	free(asked);
	assert_int_equal(kernel_conditions_ask("#ifdef CL_DTYPE_float\n#define T(t) t##4\n#endif\n",
	                                       "-DCL_DTYPE_float", &asked, why, sizeof(why)),
	                 0);
	assert_string_equal(asked, "CL_DTYPE_float\n");
	free(asked);
}

/* No answer would help. */
static void unclear_code(void **state)
{
	static const char *const pairs[][2] = {
	    {"int w = __COUNTER__;", "its source has __COUNTER__,"},
	    {"#define WHERE(x) f(x, __LINE__)\nWHERE(1);\n", "its source has __LINE__,"},
	    {"#define WHERE(x) f(x, __LINE__)\n#define OTHER WH##ERE(2)\n", "__LINE__"},
	    {"_Pragma(\"push_macro(\\\"A\\\")\") int y;\n", "its source has _Pragma,"},
	    {"_Pragma(\"unrolled\") int y;\n", "its source has _Pragma,"},
	    {"_Pragma(\"unroll\\\"\") int y;\n", "its source has _Pragma,"},
	    {"_Pragma(UNROLL) int y;\n", "its source has _Pragma,"},
	    {"#define S(x) #x\nint y[sizeof(S(_Pragma(\"unroll\")))];\n", "a text of code"},
	    {"#define S(x) #x\n#define T(x) S(x)\nint y[sizeof(T(sin))];\n", "a text of code"},
	    {"#define S(x) #x\n#define T S(sin)\n#ifdef T\nint y;\n#endif\n", "a text of code"},
	    {"#define S(x) #x\n#define T S(T)\n#undef T\nint y;\n", "a text of code"},
	    {"#define S(x) #x T\n#define T S(T)\n#define U T\nint y;\n#pragma pack(U)\n", "a text"},
	    {"#define P(x) a##x\nint y = P(_Pragma(\"unroll\"));\n", "made of parts"},
	    {"#if __LINE__ > 10\nx\n#endif", "its source asks for __LINE__,"},
	    {"#if __has_builtin(x y)\nx\n#endif", "its source asks for __has_builtin,"},
	    {"#if __has_builtin(__builtin_x\nx\n#endif", "its source asks for __has_builtin,"},
	    {"#if __has_feature(x)\nx\n#endif", "its source asks for __has_feature,"},
	    {"#define HAS(x) __has_builtin(x)\n#if HAS(y)\nx\n#endif",
	     "its source has __has_builtin,"},
	    {"#if __has_builtin(__builtin_x)\n#endif\n__builtin_x();",
	     "its source has __builtin_x,"},
	    {"#if __has_builtin(__builtin_x)\n#elif 1\n#define __builtin_y(x) x\n#endif",
	     "its source has __builtin_y,"},
	    {"#if __has_builtin(__builtin_x)\n#elif 1\n#undef __builtin_x\n#endif",
	     "its source has __builtin_x,"},
	    {"#if __has_builtin(__builtin_x)\n__has_builtin(__builtin_x);\n#endif",
	     "its source has __has_builtin,"},
	    {"#ifdef get_global_id\nx\n#endif", "get_global_id"},
	    /* Launches of ranges put such names in front of a source. */
	    {"#define heddle_global_id(d) 0\n", "its source defines heddle_global_id,"},
	    {"x = HEDDLE_DIMENSIONS;", "its source has HEDDLE_DIMENSIONS,"},
	    {"int heddle_unclear___builtin_x;", "its source has heddle_unclear_"},
	    {"#define B printf\n#if __has_builtin(B)\nx\n#endif",
	     "its source asks for __has_builtin,"},
	    {"x = __builtin_readcyclecounter();", "__builtin_readcyclecounter"},
	    {"#if T\nx\n#endif\n#define T get_global_id\n", "its source asks for get_global_id,"},
	    {"?\?=ifdef X\n#endif", "trigraphs"},
	    {"?\\\n?=ifdef X\n#endif", "trigraphs"},
	    /* Some compilers leave such a branch out with the one in front of it. */
	    {"#if 0\n#elifdef KL\nx\n#else\ny\n#endif", "has #elifdef or"},
	    {"#if KL\nx\n# eli\\\nfndef A\ny\n#endif", "has #elifdef or"},
	    {"%:ifdef KL\nx\n#endif", "%:"},
	    {"%\\\n:ifdef KL\nx\n#endif", "%:"},
	    /* Names that are longer than they look. */
	    {"#define W$ 1\n#ifdef W\nx\n#else\n__X\n#endif\n", "it has $,"},
	    {"#define W\\u00e9 1\n#ifdef W\nx\n#else\n__X\n#endif\n", "a backslash"},
	    {"#define W\303\251 1\n#ifdef W\nx\n#else\n__X\n#endif\n", "beyond ASCII"},
	    /* Compilers read the rest of such a line as it is, or skip it. */
	    {"#warning a /*\n#ifdef X\nx\n#endif\n// */\n", "comment of several lines"},
	    {"/* */ # /* */ error /*\n#ifdef X\nx\n#endif\n// */\n", "comment of several lines"},
	    {"\n#pragma mark a /* b */ /*\n#ifdef X\nx\n#endif\n// */\n", "comment of several"},
	    {"int x;\n#if 0\n#war\\\nning a\"\" /*\n#endif\n// */\n", "comment of several lines"},
	    /* One more joining would hide the last line. */
	    {"// a \\\\\n \n#ifdef X\nx\n#endif\n", "a backslash that joins no lines"},
	    {"int x; // \\ \t", "a backslash that joins no lines"},
	    {"#include \"x.h\"\n", "includes"},
	    {"int x;\n  /* */ #  include <x.h>", "includes"},
	    {"#import \"x.h\"\n", "includes"},
	    {"#inc\\\nlude \"x.h\"\n", "includes"},
	    {"#ifdef Q\n#endif\n#include \"x.h\"\n", "includes"},
	    {"#ifdef A\n#include \"x.h\"\n#elif Q\n#endif\n", "includes"},
	};
	char why[128], cut[4], *asked;

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		assert_int_equal(
		    kernel_conditions_ask(pairs[i][0], given, &asked, why, sizeof(why)), -ENOTSUP);
		if (!strstr(why, pairs[i][1]))
			fail_msg("%s: %s", pairs[i][0], why);
	}
	assert_int_equal(kernel_conditions_ask(pairs[0][0], "", &asked, cut, sizeof(cut)),
	                 -ENOTSUP);
	assert_string_equal(cut, "dev");
}

static void unclear_options(void **state)
{
	static const char *const pairs[][2] = {
	    {"-DV=__LINE__", "options have __LINE__"},
	    /* What stands in front of a source means something else by these. */
	    {"-Dsize_t=uchar", "options define size_t,"},
	    {"-D get_local_id(d)=0", "options define get_local_id,"},
	    {"-Dheddle_flat(x)=1", "options define heddle_flat,"},
	    {"-DS(x)=#x", "its options have a macro that makes a text"},
	    {"-DA$=1", "its options have $"},
	    {"-D A\\u00e9=1", "its options have $"},
	    {"-DF(x)=%:x", "its options have $"},
	    {"-DA=?\?=", "its options have $"},
	};
	char why[128], *asked;

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		assert_int_equal(kernel_conditions_ask("", pairs[i][0], &asked, why, sizeof(why)),
		                 -ENOTSUP);
		if (!strstr(why, pairs[i][1]))
			fail_msg("%s: %s", pairs[i][0], why);
	}
}

/* ---- included files ---- */

static char folder[] = "/tmp/heddle-conditions-XXXXXX";

static void file_write(const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void expect(const char *source, const char *options, const char *expected)
{
	char why[256], *text;

	assert_int_equal(kernel_includes_expand(source, options, &text, why, sizeof(why)), 0);
	assert_string_equal(text, expected);
	free(text);
}

static void included(void **state)
{
	char options[256], why[256], path[160], *text, here[256];

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/in", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	file_write("a.h", "int a; // without an end");
	file_write("in/b.h", "#include \"c.h\"\nint b;\n");
	file_write("in/c.h", "int c;\n");
	file_write("c.h", "int other;\n");
	file_write("self.h", "#include \"self.h\"\n");
	file_write("open.h", "// \\");
	snprintf(options, sizeof(options), "-DX -I %s -I%s/in", folder, folder);
	expect("int x;\n#include \"a.h\"\nint y;\n", options,
	       "int x;\n\nint a; // without an end\n\nint y;\n");
	expect("/* */ # include <b.h> // b\n", options, "\n\nint c;\n\n\nint b;\n\n\n");
	expect("#include \"c.h\"\n", options, "\nint other;\n\n\n");
	expect("#inc\\\nlude \"c.h\"\n", options, "\nint other;\n\n\n");
	/* no directives */
	expect("// #include \"a.h\"\n/*\n#include \"a.h\"\n*/ x #include \"a.h\"\n", options,
	       "// #include \"a.h\"\n/*\n#include \"a.h\"\n*/ x #include \"a.h\"\n");
	expect("#include \"none.h\"\n#include X\n#include \"a.h\" x\n", options,
	       "#include \"none.h\"\n#include X\n#include \"a.h\" x\n");
	expect("#include \"a.h\"\n", "-DX", "#include \"a.h\"\n");
	/* Code stays as it is. */
	expect("#include \"none.h\"\nchar c = '%:';\n", options,
	       "#include \"none.h\"\nchar c = '%:';\n");
	/* What follows is not the file's. */
	assert_int_equal(
	    kernel_includes_expand("#include \"open.h\"\nx\n", options, &text, why, sizeof(why)),
	    -ENOTSUP);
	assert_non_null(strstr(why, "a backslash that joins no lines"));
	assert_int_equal(
	    kernel_includes_expand("// include \\\\\n\nx\n", options, &text, why, sizeof(why)),
	    -ENOTSUP);
	expect("#include \"self.h\"\n", options,
	       "\n\n\n#error self.h includes itself without an end\n\n\n\n\n\n");
	/* Some compilers look in the working folder. */
	assert_non_null(getcwd(here, sizeof(here)));
	assert_int_equal(chdir(path), 0);
	assert_int_equal(
	    kernel_includes_expand("#include \"c.h\"\n", options, &text, why, sizeof(why)),
	    -ENOTSUP);
	assert_non_null(strstr(why, "c.h, which is in the working folder, too"));
	expect("#include \"c.h\"\n", "-I .", "\nint c;\n\n\n");
	assert_int_equal(chdir(here), 0);
	snprintf(path, sizeof(path), "rm -rf '%s'", folder);
	assert_int_equal(system(path), 0);
}

static void forbidden(void **state)
{
	char text[] = "x # include <x.h>\n#include \"x.h\"\n /* */ # include_next X\n"
	              "# imp\\\nort <y>\r#embed z\n// \n#define include \"\n#include\n";

	kernel_includes_forbid(text);
	assert_string_equal(text, "x # include <x.h>\n#error   \"x.h\"\n /* */ # error        X\n"
	                          "# error  <y>\n#error z\n// \n#define include \"\n#error  \n");
}

/* What is presumed, the analysis sees. */
static void presumed(void **state)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	kernel_conditions_presume(out,
	                          "X\n__builtin_x\n__cplusplus\n__OPENCL_VERSION__\n__CUDACC__X\n");
	assert_int_equal(fclose(out), 0);
	assert_string_equal(text, "#ifndef __OPENCL_VERSION__\n#error\n#endif\n"
	                          "#ifdef __cplusplus\n#error\n#endif\n"
	                          "#define __builtin_x heddle_unclear___builtin_x\n");
	free(text);
}

static void options(void **state)
{
	static const char *const known[] = {"", " -DA\t-D B=2 -I x -Iy -w -Werror ",
	                                    "-cl-std=CL3.0 -cl-mad-enable", "-I -include"};
	static const char *const unknown[] = {"-include x.h", "-imacros x.h",  "-DA -O9",
	                                      "x.h",          "-UA",           "-Wp,-DA",
	                                      "-Xclang",      "-cl-std=CLC++", "-cl-std=clc++2021"};
	char why[128], text[] = "-w -DA -I -DB -D C=1 -IDD \"-DE\"", *rest = text;
	char other[] = "-w -DA -I -DB -D C=1 -IDD \"-DE\"", *folders = other;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		assert_int_equal(kernel_options_check(known[i], why, sizeof(why)), 0);
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
		assert_int_equal(kernel_options_check(unknown[i], why, sizeof(why)), -ENOTSUP);
	assert_string_equal(kernel_option_definition_take(&rest), "A");
	assert_string_equal(kernel_option_definition_take(&rest), "C=1");
	assert_string_equal(kernel_option_definition_take(&rest), "E");
	assert_null(kernel_option_definition_take(&rest));
	assert_string_equal(kernel_option_folder_take(&folders), "-DB");
	assert_string_equal(kernel_option_folder_take(&folders), "DD");
	assert_null(kernel_option_folder_take(&folders));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(same_code),
	    cmocka_unit_test(other_code),
	    cmocka_unit_test(names_of_compilers),
	    cmocka_unit_test(unclear_code),
	    cmocka_unit_test(unclear_options),
	    cmocka_unit_test(included),
	    cmocka_unit_test(forbidden),
	    cmocka_unit_test(presumed),
	    cmocka_unit_test(options),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
