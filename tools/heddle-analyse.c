/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * heddle-analyse KERNEL SOURCE.cl [OPTION...]: describes which bytes of its buffers an
 * OpenCL kernel's work-groups touch (partition/kernel/access/index.h has the format).
 *
 * clang compiles the source, with everything inlined, to LLVM's intermediate language,
 * of which the addresses of loads and stores are followed back to ids, sizes and
 * arguments. This is a program of its own because LLVM must not be in a process that
 * may load an OpenCL driver built on another LLVM.
 */
#include "config.h"

#include <errno.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <llvm-c/BitReader.h>
#include <llvm/Config/llvm-config.h>

#include "partition/kernel/access/ndrange.h"
#include "tools/analyse/analyse.h"

extern char **environ;

LLVMValueRef analysed;
LLVMTargetDataRef data_layout;

/* ---- arguments ---- */

/* Images, samplers and such: to LLVM 14 pointers to types that nobody knows, later types of
 * their own. */
static bool is_opaque(LLVMTypeRef type)
{
#if LLVM_VERSION_MAJOR >= 16
	return LLVMGetTypeKind(type) == LLVMTargetExtTypeKind;
#else
	LLVMTypeRef to;

	if (LLVMGetTypeKind(type) != LLVMPointerTypeKind)
		return false;
	to = LLVMGetElementType(type);
	return LLVMGetTypeKind(to) == LLVMStructTypeKind && LLVMIsOpaqueStruct(to);
#endif
}

static void argument_print(unsigned argument)
{
	LLVMTypeRef type = LLVMTypeOf(LLVMGetParam(analysed, argument));
	LLVMTypeKind kind = LLVMGetTypeKind(type);

	if (argument_is_buffer(argument))
		puts("argument buffer");
	else if (kind == LLVMPointerTypeKind && LLVMGetPointerAddressSpace(type) == SPACE_LOCAL)
		puts("argument local");
	else if (kind == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) <= 64)
		printf("argument integer %u\n", LLVMGetIntTypeWidth(type));
	else
		puts("argument other");
	if (is_opaque(type))
		refuse_print("it has an image or another opaque argument");
}

static void arguments_print(void)
{
	for (unsigned i = 0; i < LLVMCountParams(analysed); i++)
		argument_print(i);
}

/* Memory that is written, and no buffer, is each device's own. */
static void globals_check(LLVMModuleRef module)
{
	for (LLVMValueRef global = LLVMGetFirstGlobal(module); global;
	     global = LLVMGetNextGlobal(global)) {
		unsigned space = LLVMGetPointerAddressSpace(LLVMTypeOf(global));

		if (space != SPACE_CONSTANT && space != SPACE_LOCAL &&
		    !LLVMIsGlobalConstant(global))
			refuse_print("its source has variables in global memory");
	}
}

/* ---- compiling ---- */

/* Before the source: questions about the NDRange go where the prologue of launches answers them;
 * one that does not cannot be answered for a range. */
static const char questions[] = "size_t __attribute__((const)) heddle_group_id(uint d);\n"
                                "size_t __attribute__((const)) heddle_num_groups(uint d);\n"
                                "size_t __attribute__((const)) heddle_global_id(uint d);\n"
                                "size_t __attribute__((const)) heddle_global_size(uint d);\n"
                                "uint __attribute__((const)) heddle_dimensions(void);\n"
                                "#define HEDDLE_DIMENSIONS heddle_dimensions()\n" NDRANGE_ANSWERS;

/* A file without a name, which is gone with this program however that ends. */
static FILE *file_make(const char *text)
{
	FILE *file = tmpfile();

	if (!file || fputs(text, file) == EOF || fflush(file)) {
		perror("heddle-analyse: a temporary file");
		exit(1);
	}
	return file;
}

/* Starts the compiler. @return 0, or an error number */
static int clang_start(const char **arguments, FILE *output, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	int error = posix_spawn_file_actions_init(&actions);

	if (error)
		return error;
	error = posix_spawn_file_actions_adddup2(&actions, fileno(output), STDOUT_FILENO);
	if (!error)
		error = posix_spawnp(pid, CLANG, &actions, NULL, (char *const *)arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

static int compile(const char *source, char *const *options, int noptions, FILE *output)
{
	static const char *const fixed[] = {
	    CLANG,
	    "-c",
	    "--target=spir64",
	    "-x",
	    "cl",
	    "-O1",
	    "-fno-unroll-loops",
	    "-Dinline=inline __attribute__((always_inline))",
	    "-Xclang",
	    "-finline-functions",
	    "-mllvm",
	    "-inline-threshold=1000000",
	    "-fno-vectorize",
	    "-fno-slp-vectorize",
	    "-emit-llvm",
	    "-w",
	    "-cl-std=CL1.2",
	};
	size_t nfixed = sizeof(fixed) / sizeof(fixed[0]), n = 0;
	const char **arguments = calloc(nfixed + noptions + 6, sizeof(*arguments));
	FILE *header = file_make(questions);
	char path[32];
	int status = -1, error;
	pid_t pid;

	if (!arguments)
		return 1;
	for (size_t i = 0; i < nfixed; i++)
		arguments[n++] = fixed[i];
	for (int i = 0; i < noptions; i++)
		arguments[n++] = options[i];
	snprintf(path, sizeof(path), "/dev/fd/%d", fileno(header));
	arguments[n++] = "-include";
	arguments[n++] = path;
	arguments[n++] = "-o";
	arguments[n++] = "-";
	arguments[n++] = source;
	error = clang_start(arguments, output, &pid);
	free(arguments);
	fclose(header);
	if (error) {
		fprintf(stderr, "heddle-analyse: %s: %s\n", CLANG, strerror(error));
		return 1;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return !WIFEXITED(status) || WEXITSTATUS(status);
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

static int analyse(FILE *bitcode, const char *kernel)
{
	LLVMModuleRef module = module_read(bitcode);

	if (!module)
		return 1;
	analysed = LLVMGetNamedFunction(module, kernel);
	if (!analysed || LLVMIsDeclaration(analysed) ||
	    LLVMGetFunctionCallConv(analysed) != 76 /* of kernels of SPIR */) {
		fprintf(stderr, "heddle-analyse: there is no kernel \"%s\"\n", kernel);
		return 1;
	}
	data_layout = LLVMCreateTargetData(LLVMGetDataLayoutStr(module));
	printf("heddle-index %d\n", INDEX_VERSION);
	arguments_print();
	globals_check(module);
	accesses_print();
	LLVMDisposeTargetData(data_layout);
	LLVMDisposeModule(module);
	return fflush(stdout) || ferror(stdout);
}

/* Of this program, and of the compiler likewise: sources exist that either would never be done
 * with. The time is the longest that HEDDLE_ANALYSE_LIMIT lets pass. */
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
	FILE *bitcode;

	if (argc < 3 || argv[1][0] == '-') {
		fputs("Usage: heddle-analyse KERNEL SOURCE.cl [COMPILER OPTION...]\n\n"
		      "Prints which bytes of its buffers the work-groups of an OpenCL kernel "
		      "access,\n"
		      "in the format that Heddle reads.\n",
		      argc > 1 && !strcmp(argv[1], "--help") ? stdout : stderr);
		return argc > 1 && !strcmp(argv[1], "--help") ? 0 : 2;
	}
	limits_set();
	bitcode = file_make("");
	return compile(argv[2], argv + 3, argc - 3, bitcode) || analyse(bitcode, argv[1]);
}
