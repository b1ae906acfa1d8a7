/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * heddle-analyse KERNEL SOURCE.cl [OPTION...]: describes which bytes of its buffers the
 * work-groups of an OpenCL kernel access (partition/kernel/access/index.h has the format). clang
 * compiles the source to LLVM's intermediate language. What no kernel calls is removed, and clang
 * inlines the rest; tools/analyse follows the addresses of loads and stores. This is a program of
 * its own because LLVM must not be in a process that may load an OpenCL driver built on another
 * LLVM.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <llvm-c/BitReader.h>
#include <llvm-c/BitWriter.h>

#include "partition/kernel/access/index.h"
#include "partition/kernel/access/ndrange.h"
#include "partition/kernel/access/pasted.h"
#include "support/variables.h"
#include "tools/analyse/analyse.h"

extern char **environ;

/* ---- compiling ---- */

/* Stands before the source: functions about the NDRange are those that the prologue of launches
 * defines. Others give wrong answers in a range of the work-groups. */
static const char questions[] = "size_t __attribute__((const)) heddle_group_id(uint d);\n"
                                "size_t __attribute__((const)) heddle_num_groups(uint d);\n"
                                "size_t __attribute__((const)) heddle_global_id(uint d);\n"
                                "size_t __attribute__((const)) heddle_global_size(uint d);\n"
                                "size_t __attribute__((const)) heddle_global_offset(uint d);\n"
                                "uint __attribute__((const)) heddle_dimensions(void);\n"
                                "#define HEDDLE_DIMENSIONS heddle_dimensions()\n" NDRANGE_ANSWERS;

/* A temporary file without a name: it is removed however this program ends. */
static FILE *file_make(const char *text)
{
	FILE *file = tmpfile();

	if (!file || fputs(text, file) == EOF || fflush(file)) {
		perror("heddle-analyse: a temporary file");
		exit(1);
	}
	return file;
}

/* Starts the compiler.
 * @param quiet its messages are left out
 * @return 0, or an error number */
static int clang_start(const char **arguments, bool quiet, FILE *output, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	int error = posix_spawn_file_actions_init(&actions);

	if (error)
		return error;
	error = posix_spawn_file_actions_adddup2(&actions, fileno(output), STDOUT_FILENO);
	if (!error && quiet)
		error = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null",
		                                         O_WRONLY, 0);
	if (!error)
		error = posix_spawnp(pid, CLANG, &actions, NULL, (char *const *)arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

/* What both runs of clang are told. */
static const char *const optimisation[] = {
    CLANG,
    "-c",
    "--target=spir64",
    "-O1",
    "-fno-unroll-loops",
    "-Xclang",
    "-finline-functions",
    "-mllvm",
    "-inline-threshold=1000000",
    /* Calls that are rare by LLVM's guess, too. */
    "-mllvm",
    "-inline-cold-callsite-threshold=1000000",
    /* No copies of loops behind comparisons of addresses. */
    "-mllvm",
    "-runtime-check-per-loop-load-elim=0",
    /* Loops stay loops: of a copy the number of bytes alone would be known. */
    "-mllvm",
    "-disable-loop-idiom-all",
    "-fno-vectorize",
    "-fno-slp-vectorize",
    "-emit-llvm",
    "-w",
    "-o",
    "-",
};

static const char *const translation[] = {
    "-x",
    "cl",
    "-Dinline=inline __attribute__((always_inline))",
    "-Xclang",
    "-disable-llvm-passes",
    "-cl-std=CL1.2",
};

enum { NOPTIMISATION = sizeof(optimisation) / sizeof(optimisation[0]) };
enum { NTRANSLATION = sizeof(translation) / sizeof(translation[0]) };

/* @param quiet as for clang_start()
 * @return 0; else it failed, after a message */
static int clang_run(const char **arguments, bool quiet, FILE *output)
{
	int status = -1, error;
	pid_t pid;

	error = clang_start(arguments, quiet, output, &pid);
	if (error) {
		fprintf(stderr, "heddle-analyse: %s: %s\n", CLANG, strerror(error));
		return 1;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return !WIFEXITED(status) || WEXITSTATUS(status);
}

/* All of a file. @return to be freed; NULL: it cannot be read */
static char *file_text(FILE *file)
{
	long size = !file || fseek(file, 0, SEEK_END) ? -1 : ftell(file);
	char *text = size >= 0 ? calloc(1, size + 1) : NULL;

	if (text) {
		rewind(file);
		if (fread(text, 1, size, file) == (size_t)size)
			return text;
		free(text);
	}
	return NULL;
}

/* Runs the preprocessor of OpenCL C alone, without any header.
 * @param prologue in front of the source; NULL: none
 * @param listed a list of the preprocessor's own macros is wanted, not the source
 * @return its output; NULL: it failed, without a word: lines are not those of the source */
static char *preprocess(FILE *prologue, FILE *source, bool listed, char *const *options,
                        int noptions)
{
	/* A macro need not use what its arguments say, directives among them included. */
	static const char *const fixed[] = {CLANG,
	                                    "-E",
	                                    "-P",
	                                    "-Wno-everything",
	                                    "-Werror=embedded-directive",
	                                    "--target=spir64",
	                                    "-x",
	                                    "cl",
	                                    "-cl-std=CL1.2",
	                                    "-cl-no-stdinc"};
	enum { NFIXED = sizeof(fixed) / sizeof(fixed[0]) };
	const char **arguments = calloc(NFIXED + noptions + 5, sizeof(*arguments));
	char paths[2][32], *text = NULL;
	size_t n = NFIXED;
	FILE *output;

	if (!arguments)
		return NULL;
	output = file_make("");
	memcpy(arguments, fixed, sizeof(fixed));
	/* Options of the language bring macros of the preprocessor, others those of the user. Those
	 * about warnings are left out. */
	for (int i = 0; i < noptions; i++)
		if (!strncmp(options[i], "-cl-", 4) ||
		    (!listed && strncasecmp(options[i], "-w", 2)))
			arguments[n++] = options[i];
	if (listed)
		arguments[n++] = "-dM";
	if (prologue) {
		snprintf(paths[0], sizeof(paths[0]), "/dev/fd/%d", fileno(prologue));
		arguments[n++] = "-include";
		arguments[n++] = paths[0];
	}
	snprintf(paths[1], sizeof(paths[1]), "/dev/fd/%d", fileno(source));
	arguments[n++] = paths[1];
	if (!clang_run(arguments, true, output))
		text = file_text(output);
	fclose(output);
	free(arguments);
	return text;
}

static bool options_paste(char *const *options, int noptions)
{
	for (int i = 0; i < noptions; i++)
		if (kernel_pastes(options[i]))
			return true;
	return false;
}

/* A source as kernel_pasted_text() shows it, preprocessed without the compiler's own macros.
 * @return to be freed; NULL: the preprocessor fails */
static char *shown_preprocess(const char *source, char *const *options, int noptions)
{
	FILE *nothing = file_make(""), *prologue = NULL, *shown = NULL;
	char *macros = preprocess(NULL, nothing, true, options, noptions), *text, *output = NULL;

	if (macros && (text = kernel_pasted_prologue(macros, source, value_function_named))) {
		prologue = file_make(text);
		free(text);
	}
	if (prologue && (text = kernel_pasted_text(source))) {
		shown = file_make(text);
		output = preprocess(prologue, shown, false, options, noptions);
		free(text);
	}
	free(macros);
	fclose(nothing);
	if (prologue)
		fclose(prologue);
	if (shown)
		fclose(shown);
	return output;
}

enum { UNCLEAR = -1 };

/* Whether a source makes a name of parts that compilers may define, and that nobody was asked for:
 * names that are not made are asked for before this program runs.
 * @return 0: no; an exit status, after a message; UNCLEAR: perhaps, if it compiles at all */
static int made_names_check(const char *path, char *const *options, int noptions)
{
	FILE *file = fopen(path, "r");
	char *source = file_text(file), *output = NULL, name[128];
	int status = 0;

	if (file)
		fclose(file);
	if (!source) {
		fprintf(stderr, "heddle-analyse: %s: %s\n", path, strerror(errno));
		return 1;
	}
	if (kernel_pastes(source) || options_paste(options, noptions)) {
		output = shown_preprocess(source, options, noptions);
		status = output ? 0 : UNCLEAR;
	}
	if (output && kernel_pasted_unknown(output, source, name, sizeof(name))) {
		if (!strcmp(name, PASTED_TEXT))
			fputs("heddle-analyse: it makes a text of code (#)\n", stderr);
		else
			fprintf(stderr, "heddle-analyse: it makes the name %s of parts\n", name);
		status = INDEX_MAKES_NAME;
	}
	free(source);
	free(output);
	return status;
}

/* Makes bitcode of a source, as it is. */
static int translate(const char *source, char *const *options, int noptions, FILE *output)
{
	const char **arguments =
	    calloc(NOPTIMISATION + NTRANSLATION + noptions + 4, sizeof(*arguments));
	FILE *header = file_make(questions);
	size_t n = NOPTIMISATION + NTRANSLATION;
	char path[32];
	int failed;

	if (!arguments)
		return 1;
	memcpy(arguments, optimisation, sizeof(optimisation));
	memcpy(arguments + NOPTIMISATION, translation, sizeof(translation));
	for (int i = 0; i < noptions; i++)
		arguments[n++] = options[i];
	snprintf(path, sizeof(path), "/dev/fd/%d", fileno(header));
	arguments[n++] = "-include";
	arguments[n++] = path;
	arguments[n++] = source;
	failed = clang_run(arguments, false, output);
	free(arguments);
	fclose(header);
	return failed;
}

/* Inlines and optimises bitcode. */
static int optimise(FILE *input, FILE *output)
{
	const char *arguments[NOPTIMISATION + 4] = {0};
	char path[32];

	memcpy(arguments, optimisation, sizeof(optimisation));
	snprintf(path, sizeof(path), "/dev/fd/%d", fileno(input));
	arguments[NOPTIMISATION] = "-x";
	arguments[NOPTIMISATION + 1] = "ir";
	arguments[NOPTIMISATION + 2] = path;
	return clang_run(arguments, false, output);
}

static LLVMModuleRef module_read(FILE *file)
{
	LLVMMemoryBufferRef buffer;
	LLVMModuleRef module;
	long size = fseek(file, 0, SEEK_END) ? 0 : ftell(file);
	char *bytes = size > 0 ? malloc(size) : NULL;
	bool failed;

	rewind(file);
	if (!bytes || fread(bytes, 1, size, file) != (size_t)size) {
		fputs("heddle-analyse: no bitcode\n", stderr);
		free(bytes);
		return NULL;
	}
	buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(bytes, size, "kernel");
	free(bytes);
	failed = LLVMParseBitcode2(buffer, &module);
	LLVMDisposeMemoryBuffer(buffer);
	if (failed) {
		fputs("heddle-analyse: no bitcode\n", stderr);
		return NULL;
	}
	return module;
}

static bool is_kernel(LLVMValueRef function)
{
	return !LLVMIsDeclaration(function) &&
	       LLVMGetFunctionCallConv(function) == 76 /* of kernels of SPIR */;
}

static bool is_wanted(LLVMValueRef function, const char *kernel)
{
	size_t length;

	return is_kernel(function) && (!strcmp(kernel, INDEX_ALL) ||
	                               !strcmp(LLVMGetValueName2(function, &length), kernel));
}

/* Removes the functions that a kernel does not call. There may be hundreds, which others call: it
 * takes minutes to optimise all of them. */
static void others_remove(LLVMModuleRef module, const char *kernel)
{
	LLVMValueRef function, next;
	bool removed = true;

	for (function = LLVMGetFirstFunction(module); function;
	     function = LLVMGetNextFunction(function))
		if (!LLVMIsDeclaration(function) && !is_wanted(function, kernel))
			LLVMSetLinkage(function, LLVMInternalLinkage);
	while (removed) {
		removed = false;
		for (function = LLVMGetFirstFunction(module); function; function = next) {
			next = LLVMGetNextFunction(function);
			if (LLVMGetLinkage(function) != LLVMInternalLinkage ||
			    LLVMGetFirstUse(function))
				continue;
			LLVMDeleteFunction(function);
			removed = true;
		}
	}
}

/* @param kernel its name; INDEX_ALL: all of them
 * @return bitcode in which all that a kernel calls is inlined; NULL: it does not compile */
static FILE *compile(const char *source, const char *kernel, char *const *options, int noptions)
{
	FILE *translated = file_make(""), *needed = file_make(""), *optimised = file_make("");
	LLVMModuleRef module =
	    translate(source, options, noptions, translated) ? NULL : module_read(translated);
	int failed = 1;

	fclose(translated);
	if (module) {
		others_remove(module, kernel);
		failed = LLVMWriteBitcodeToFD(module, fileno(needed), 0, 0);
		LLVMDisposeModule(module);
	}
	failed = failed || optimise(needed, optimised);
	fclose(needed);
	if (!failed)
		return optimised;
	fclose(optimised);
	return NULL;
}

static void describe(LLVMModuleRef module, LLVMValueRef kernel)
{
	analyse_kernel = kernel;
	analyse_layout = LLVMCreateTargetData(LLVMGetDataLayoutStr(module));
	access_describe(module);
	LLVMDisposeTargetData(analyse_layout);
}

static int failed_status(int status)
{
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	return WTERMSIG(status) == SIGALRM ? INDEX_TOO_SLOW : 1;
}

/* Describes a kernel in a process of its own, since a process describes one. */
static int describe_apart(LLVMModuleRef module, LLVMValueRef kernel)
{
	int status = -1;
	size_t length;
	pid_t pid;

	printf(INDEX_KERNEL "%s\n", LLVMGetValueName2(kernel, &length));
	fflush(stdout);
	pid = fork();
	if (!pid) {
		alarm(heddle_variable_number(HEDDLE_VARIABLE_ANALYSE_LIMIT));
		describe(module, kernel);
		_exit(fflush(stdout) || ferror(stdout));
	}
	if (pid < 0) {
		perror("heddle-analyse");
		return 1;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (status)
		printf("\n" INDEX_FAILED "%d\n", failed_status(status));
	return 0;
}

static int analyse_all(LLVMModuleRef module)
{
	int failed = 0;

	for (LLVMValueRef function = LLVMGetFirstFunction(module); function && !failed;
	     function = LLVMGetNextFunction(function))
		if (is_kernel(function))
			failed = describe_apart(module, function);
	return failed;
}

static int analyse_one(LLVMModuleRef module, const char *name)
{
	LLVMValueRef kernel = LLVMGetNamedFunction(module, name);

	if (!kernel || !is_kernel(kernel)) {
		fprintf(stderr, "heddle-analyse: there is no kernel \"%s\"\n", name);
		return 1;
	}
	describe(module, kernel);
	return 0;
}

static int analyse(FILE *bitcode, const char *kernel)
{
	LLVMModuleRef module = module_read(bitcode);
	int failed;

	if (!module)
		return 1;
	failed = strcmp(kernel, INDEX_ALL) ? analyse_one(module, kernel) : analyse_all(module);
	LLVMDisposeModule(module);
	return failed || fflush(stdout) || ferror(stdout);
}

/* Limits this program and the compiler: some sources would keep either busy forever. The time is
 * the largest value of HEDDLE_ANALYSE_LIMIT. */
static void limits_set(void)
{
	static const struct {
		int resource;
		rlim_t most;
	} limits[] = {{RLIMIT_CPU, 120},
	              {RLIMIT_FSIZE, (rlim_t)256 << 20},
	              {RLIMIT_CORE, 0},
#ifndef __SANITIZE_ADDRESS__ /* which takes terabytes, of addresses */
	              {RLIMIT_AS, (rlim_t)4 << 30}
#endif
	};

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct rlimit limit;

		if (getrlimit(limits[i].resource, &limit) || limit.rlim_cur <= limits[i].most)
			continue;
		limit.rlim_cur = limits[i].most;
		setrlimit(limits[i].resource, &limit);
	}
}

int main(int argc, char **argv)
{
	bool help = argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"));
	FILE *bitcode;
	int failed, made;

	if (argc < 3 || (argv[1][0] == '-' && argv[1][1])) {
		fputs("Usage: heddle-analyse KERNEL SOURCE.cl [COMPILER OPTION...]\n\n"
		      "Prints which bytes of its buffers the work-groups of an OpenCL kernel "
		      "access,\n"
		      "in the format that Heddle reads. KERNEL -: of all kernels.\n",
		      help ? stdout : stderr);
		return help ? 0 : 2;
	}
	limits_set();
	made = made_names_check(argv[2], argv + 3, argc - 3);
	if (made > 0)
		return made;
	bitcode = compile(argv[2], argv[1], argv + 3, argc - 3);
	if (bitcode && made == UNCLEAR) {
		fputs("heddle-analyse: it is not clear what names it makes of parts\n", stderr);
		failed = INDEX_MAKES_NAME;
	} else {
		failed = !bitcode || analyse(bitcode, argv[1]);
	}
	if (bitcode)
		fclose(bitcode);
	return failed;
}
