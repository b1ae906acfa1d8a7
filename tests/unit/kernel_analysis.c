/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What is asked of heddle-analyse, for which a script stands here, and what is not.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "partition/kernel/access/analysis.h"
#include "partition/kernel/access/index.h"
#include "tests/unit/test.h"

#define TEXT(number) #number
#define TEXT_OF(number) TEXT(number)
#define INDEX_VERSION_TEXT TEXT_OF(INDEX_VERSION)

static char why[KERNEL_WHY];
static char folder[] = "/tmp/heddle-analysis-XXXXXX", script[64];

static int script_make(const char *commands)
{
	FILE *file = fopen(script, "w");

	if (!file)
		return 1;
	fprintf(file, "#!/bin/sh\n%s\n", commands);
	return fclose(file) || chmod(script, 0700);
}

/* One argument more where the last option is the one that matters; the file "options" has a
 * line for each. */
static int script_write(void **state)
{
	char commands[512];

	if (!mkdtemp(folder))
		return 1;
	snprintf(script, sizeof(script), "%s/analyse", folder);
	setenv("HEDDLE_ANALYSE", script, 1);
	setenv("HEDDLE_PROFILE_DIR", folder, 1);
	snprintf(commands, sizeof(commands),
	         "echo heddle-index %d\necho argument buffer\n"
	         "printf '%%s\\n' \"$@\" | tail -n +3 >\"${0%%/*}/options\"\n"
	         "for last; do :; done\n[ \"$last\" != -DLAST ] || echo argument integer 32",
	         INDEX_VERSION);
	return script_make(commands);
}

static int folder_remove(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return system(command);
}

/* Code that lacks a definition has other addresses. */
static void all_options(void **state)
{
	struct index_kernel kernel;
	char options[4096] = "";

	for (int i = 0; i < 200; i++) {
		size_t length = strlen(options);

		snprintf(options + length, sizeof(options) - length, "-DA%d=%d \t", i, i);
	}
	assert_int_equal(kernel_analyse("x", "f", options, NULL, &kernel, why), 0);
	assert_int_equal(kernel.narguments, 1);
	index_free(&kernel);
	strcat(options, "-DLAST");
	assert_int_equal(kernel_analyse("x", "f", options, NULL, &kernel, why), 0);
	assert_int_equal(kernel.narguments, 2);
	index_free(&kernel);
	assert_int_equal(kernel_analyse("y", "f", NULL, NULL, &kernel, why), 0);
	assert_int_equal(kernel.narguments, 1);
	index_free(&kernel);
}

/* The analysis does not get pragmas that ask for loops to be unrolled. Others stay. */
static void unrolling(void **state)
{
	static const char source[] = "#pragma unroll\n # \tpragma  unroll 4\n"
	                             "#pragma clang loop unroll(full)\n"
	                             "#pragma clang fp contract(off)\n#pragma unrolled\n"
	                             "_Pragma(\"unroll\") _Pragma ( \"unroll 4\" )\n";
	/* Not a pragma on a line of its own, nor another one. */
	static const char others[] = "x = \\\n#pragma unroll\n#pragma unroll pack(1)\n"
	                             "/* _Pragma(\"unroll */ y /* \") */\n"
	                             "\" _Pragma(\" unroll \") \";\n";
	struct index_kernel kernel;

	script_make("echo heddle-index " INDEX_VERSION_TEXT
	            "\ngrep -E '#[ \t]*pragma +(unroll|clang)|_Pragma' \"$2\" |"
	            "sed 's/.*/argument buffer/'");
	assert_int_equal(kernel_analyse(source, "f", "", NULL, &kernel, why), 0);
	assert_int_equal(kernel.narguments, 2);
	index_free(&kernel);
	script_make(
	    "echo heddle-index " INDEX_VERSION_TEXT
	    "\ngrep -F -e '= #pragma unroll' -e '_ pack(1)' -e '(\"unroll */' -e '(\" unroll' "
	    "\"$2\" | sed 's/.*/argument buffer/'");
	assert_int_equal(kernel_analyse(others, "f", "", NULL, &kernel, why), 0);
	assert_int_equal(kernel.narguments, 4);
	index_free(&kernel);
}

/* A file that is included may change. */
static void includes(void **state)
{
	struct index_kernel kernel;
	char options[64], path[64];
	FILE *file;

	assert_int_equal(kernel_analyse("int x;\n #include \"x.h\"\n", "f", "", NULL, &kernel, why),
	                 -ENOTSUP);
	assert_int_equal(kernel_analyse("int x;\n", "f", "-DA -include x.h", NULL, &kernel, why),
	                 -ENOTSUP);
	assert_int_equal(kernel_analyse("int include;\n", "f", "-I include", NULL, &kernel, why),
	                 0);
	index_free(&kernel);
	snprintf(options, sizeof(options), "-I %s", folder);
	snprintf(path, sizeof(path), "%s/x.h", folder);
	script_make("echo heddle-index " INDEX_VERSION_TEXT "\ngrep 'argument' \"$2\"");
	for (int i = 1; i <= 2; i++) {
		file = fopen(path, "a");
		assert_non_null(file);
		fputs("argument buffer\n", file);
		assert_int_equal(fclose(file), 0);
		assert_int_equal(
		    kernel_analyse("#include \"x.h\"\n", "f", options, NULL, &kernel, why), 0);
		assert_int_equal(kernel.narguments, i);
		index_free(&kernel);
	}
}

/* A file may say that it counts once, where a compiler sees that it does. */
static void included_once(void **state)
{
	static const struct {
		const char *source;
		unsigned n;
	} cases[] = {
	    {"#include \"once.h\"\n#include \"again.h\"\n#include <once.h>\n", 2},
	    {"#if 0\n#include \"once.h\"\n#endif\n#include \"once.h\"\n", 1},
	    {"#define MANY\n#include \"once.h\"\n#include \"once.h\"\n", 2},
	};
	static const char *const files[][2] = {
	    {"once.h",
	     "#ifndef MANY\n # pragma /* here */ once // and so on\n#endif\nargument local\n"},
	    {"again.h", "#include \"once.h\"\nargument buffer\n"},
	};
	struct index_kernel kernel;
	char options[64], path[64];

	snprintf(options, sizeof(options), "-I %s", folder);
	for (int f = 0; f < 2; f++) {
		FILE *file;

		snprintf(path, sizeof(path), "%s/%s", folder, files[f][0]);
		file = fopen(path, "w");
		assert_non_null(file);
		fputs(files[f][1], file);
		assert_int_equal(fclose(file), 0);
	}
	script_make("echo heddle-index " INDEX_VERSION_TEXT
	            "\ncc -E -P -xc \"$2\" | grep 'argument'");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (kernel_analyse(cases[i].source, "f", options, "#undef MANY\n", &kernel, why))
			fail_msg("%s: %s", cases[i].source, why);
		assert_int_equal(kernel.narguments, cases[i].n);
		index_free(&kernel);
	}
}

/* Nobody guesses what a compiler defines; what it does is part of what is analysed. */
static void answers(void **state)
{
	static const char source[] = "#ifdef __X\nint x;\n#endif\n";
	struct index_kernel kernel;
	char *asked;

	assert_int_equal(kernel_analyse_asks(source, NULL, &asked, why), 0);
	assert_string_equal(asked, "__X\n");
	free(asked);
	assert_int_equal(kernel_analyse(source, "f", NULL, NULL, &kernel, why), -ENOTSUP);
	script_make("echo heddle-index " INDEX_VERSION_TEXT "\n"
	            "! grep -q '^#define __X 1$' \"$2\" || echo argument buffer");
	for (int i = 0; i < 2; i++) {
		assert_int_equal(kernel_analyse(source, "f", NULL,
		                                i ? "#undef __X\n#define __X 1\n" : "#undef __X\n",
		                                &kernel, why),
		                 0);
		assert_int_equal(kernel.narguments, i);
		index_free(&kernel);
	}
}

/* An analysis without an end is ended, with all that it has started. */
static void limits(void **state)
{
	struct index_kernel kernel;
	char command[512];

	setenv("HEDDLE_ANALYSE_LIMIT", "1", 1);
	setenv("HEDDLE_VERBOSE", "0", 1);
	script_make("sleep 1000 & echo $! >\"${0%/*}/started\"; wait");
	assert_int_equal(kernel_analyse("sleeps", "f", NULL, NULL, &kernel, why), -ETIMEDOUT);
	snprintf(command, sizeof(command),
	         "for i in $(seq 100); do "
	         "grep -qs '^State:.[^ZX]' /proc/$(cat '%s/started')/status || exit 0; "
	         "sleep 0.1; done; exit 1",
	         folder);
	assert_int_equal(system(command), 0);
	setenv("HEDDLE_ANALYSE_LIMIT", "60", 1);
	script_make("yes 'argument buffer'");
	assert_int_equal(kernel_analyse("talks", "f", NULL, NULL, &kernel, why), -EFBIG);
	script_make("echo heddle-index; exit 3");
	assert_int_equal(kernel_analyse("fails", "f", NULL, NULL, &kernel, why), -EINVAL);
	unsetenv("HEDDLE_ANALYSE_LIMIT");
	unsetenv("HEDDLE_VERBOSE");
}

/* One run describes all kernels. One that is not whole leaves the others alone. */
static void all_kernels(void **state)
{
	static const struct {
		const char *name;
		int error;
		unsigned narguments;
	} expected[] = {{"a", 0, 1}, {"b", -E2BIG, 0},  {"s", -ETIMEDOUT, 0},
	                {"c", 0, 2}, {"d", -EINVAL, 0}, {"e", -EINVAL, 0}};
	const char *const first = "heddle-index " INDEX_VERSION_TEXT "\\nargument buffer";
	struct index_kernel kernel;
	char *all, *rest, commands[512];
	int error;

	snprintf(commands, sizeof(commands),
	         "[ \"$1\" = - ] || exit 1\n"
	         "printf 'kernel a\\n%s\\nkernel b\\n%s\\nnode\\nfailed %d\\n"
	         "kernel s\\n\\nfailed %d\\n"
	         "kernel c\\n%s\\nargument buffer\\nkernel d\\n\\nfailed 1\\n"
	         "kernel e\\n%s\\nargument nothing\\n'",
	         first, first, INDEX_TOO_LARGE, INDEX_TOO_SLOW, first, first);
	script_make(commands);
	setenv("HEDDLE_VERBOSE", "0", 1);
	assert_int_equal(kernel_analyse_all("all", NULL, NULL, &all, why), 0);
	rest = all;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		assert_string_equal(kernel_analysed_take(&rest, &kernel, &error, why),
		                    expected[i].name);
		assert_int_equal(error, expected[i].error);
		if (error)
			continue;
		assert_int_equal(kernel.narguments, expected[i].narguments);
		index_free(&kernel);
	}
	assert_null(kernel_analysed_take(&rest, &kernel, &error, why));
	assert_int_equal(error, 0);
	free(all);
	script_make("exit 1");
	assert_int_equal(kernel_analyse_all("all", NULL, NULL, &all, why), -EINVAL);
	unsetenv("HEDDLE_VERBOSE");
}

/* What is no description is no end of them either. */
static void all_not_understood(void **state)
{
	static const char *const commands[] = {"echo a; echo b", "printf 'kernel a'",
	                                       "echo; echo kernel a"};
	struct index_kernel kernel;
	char *all, *rest;
	int error;

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		script_make(commands[i]);
		assert_int_equal(kernel_analyse_all("all", NULL, NULL, &all, why), 0);
		rest = all;
		assert_null(kernel_analysed_take(&rest, &kernel, &error, why));
		assert_int_equal(error, -EINVAL);
		assert_non_null(strstr(why, "is not understood"));
		free(all);
	}
	script_make("exit 0");
	assert_int_equal(kernel_analyse_all("all", NULL, NULL, &all, why), 0);
	rest = all;
	assert_null(kernel_analysed_take(&rest, &kernel, &error, why));
	assert_int_equal(error, 0);
	free(all);
}

/* A clock that goes on by a step at each wait, in place of the system's functions. */
static struct {
	bool used;
	int64_t ms;   /* it shows */
	int step_ms;  /* a wait takes */
	int waits;    /* that there were */
	int least_ms; /* that a wait was limited to */
} clock_made;

int clock_gettime(clockid_t id, struct timespec *now)
{
	if (!clock_made.used)
		return syscall(SYS_clock_gettime, id, now);
	*now = (struct timespec){clock_made.ms / 1000, clock_made.ms % 1000 * 1000000};
	return 0;
}

int poll(struct pollfd *wanted, nfds_t n, int ms)
{
	const struct timespec limit = {ms / 1000, ms % 1000 * 1000000};

	if (!clock_made.used)
		return ppoll(wanted, n, ms < 0 ? NULL : &limit, NULL);
	clock_made.ms += clock_made.step_ms;
	clock_made.waits++;
	if (ms < clock_made.least_ms)
		clock_made.least_ms = ms;
	return ppoll(wanted, n, NULL, NULL);
}

/* The limit is one of each kernel, 1 s and the 5 s for who ends them: after 4 s that one took, the
 * next one has all of it. */
static void all_limit(void **state)
{
	char *all;

	setenv("HEDDLE_ANALYSE_LIMIT", "1", 1);
	script_make("for i in 1 2 3; do echo kernel $i; done");
	clock_made.step_ms = 4000;
	clock_made.least_ms = INT_MAX;
	clock_made.used = true;
	assert_int_equal(kernel_analyse_all("all", NULL, NULL, &all, why), 0);
	clock_made.used = false;
	free(all);
	assert_true(clock_made.waits >= 2); /* for the text, and for its end */
	assert_int_equal(clock_made.least_ms, 6000);
	unsetenv("HEDDLE_ANALYSE_LIMIT");
}

/* The options that the script got are these, each followed by "|". */
static void expect_options(const char *options, const char *expected)
{
	struct index_kernel kernel;
	char path[128], line[128], got[256] = "";
	FILE *file;

	assert_int_equal(kernel_analyse("z", "f", options, NULL, &kernel, why), 0);
	index_free(&kernel);
	snprintf(path, sizeof(path), "%s/options", folder);
	file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '|';
		strcat(got, line);
	}
	fclose(file);
	assert_string_equal(got, expected);
}

/* OpenCL wants quotes around folders with blanks; what they are elsewhere it does not say. */
static void quotes(void **state)
{
	struct index_kernel kernel;

	expect_options("-DA  -DB=2\t-w ", "-DA|-DB=2|-w|");
	expect_options("-I \"a b\" -DA", "-I|a b|-DA|");
	expect_options("-I\"a b\"/c\" d\" -I \"e\"", "-Ia b/c d|-I|e|");
	expect_options("-DA -I \"a -DB", "-DA|-I|a -DB|");
	assert_int_equal(kernel_analyse("z", "f", "-DA=\"1 + 1\"", NULL, &kernel, why), -ENOTSUP);
	assert_int_equal(kernel_analyse("z", "f", "-I a \"-DA\"", NULL, &kernel, why), -ENOTSUP);
	assert_int_equal(kernel_analyse("z", "f", "-I \"a b\" -DA=\\\"b\\\"", NULL, &kernel, why),
	                 -ENOTSUP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(all_options), cmocka_unit_test(quotes),
	    cmocka_unit_test(includes),    cmocka_unit_test(included_once),
	    cmocka_unit_test(answers),     cmocka_unit_test(limits),
	    cmocka_unit_test(unrolling),   cmocka_unit_test(all_kernels),
	    cmocka_unit_test(all_limit),   cmocka_unit_test(all_not_understood),
	};

	return cmocka_run_group_tests(tests, script_write, folder_remove);
}
