/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * heddle-analyse KERNEL SOURCE.cl [OPTION...]: describes which bytes of its buffers an
 * OpenCL kernel's work-groups touch (partition/kernel/index_ops.h has the format).
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
#include <sys/wait.h>
#include <unistd.h>

#include <llvm-c/BitReader.h>
#include <llvm/Config/llvm-config.h>

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

/* ---- compiling ---- */

static int compile(const char *source, char *const *options, int noptions, const char *output)
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
	const char **arguments = calloc(nfixed + noptions + 4, sizeof(*arguments));
	int status = -1, error;
	pid_t pid;

	if (!arguments)
		return 1;
	for (size_t i = 0; i < nfixed; i++)
		arguments[n++] = fixed[i];
	for (int i = 0; i < noptions; i++)
		arguments[n++] = options[i];
	arguments[n++] = "-o";
	arguments[n++] = output;
	arguments[n++] = source;
	error = posix_spawnp(&pid, CLANG, NULL, NULL, (char *const *)arguments, environ);
	free(arguments);
	if (error) {
		fprintf(stderr, "heddle-analyse: %s: %s\n", CLANG, strerror(error));
		return 1;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return !WIFEXITED(status) || WEXITSTATUS(status);
}

static LLVMModuleRef module_read(const char *path)
{
	LLVMMemoryBufferRef buffer;
	LLVMModuleRef module;
	char *message = NULL;
	bool failed;

	if (LLVMCreateMemoryBufferWithContentsOfFile(path, &buffer, &message)) {
		fprintf(stderr, "heddle-analyse: %s: %s\n", path, message);
		LLVMDisposeMessage(message);
		return NULL;
	}
	failed = LLVMParseBitcode2(buffer, &module);
	LLVMDisposeMemoryBuffer(buffer);
	if (failed) {
		fprintf(stderr, "heddle-analyse: %s: no bitcode\n", path);
		return NULL;
	}
	return module;
}

static int analyse(const char *path, const char *kernel)
{
	LLVMModuleRef module = module_read(path);

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
	accesses_print();
	LLVMDisposeTargetData(data_layout);
	LLVMDisposeModule(module);
	return fflush(stdout) || ferror(stdout);
}

int main(int argc, char **argv)
{
	char output[] = "/tmp/heddle-analyse.XXXXXX";
	int status, file;

	if (argc < 3 || argv[1][0] == '-') {
		fputs(
		    "Usage: heddle-analyse KERNEL SOURCE.cl [COMPILER OPTION...]\n\n"
		    "Prints which bytes of its buffers the work-groups of an OpenCL kernel touch,\n"
		    "in the form that Heddle reads.\n",
		    argc > 1 && !strcmp(argv[1], "--help") ? stdout : stderr);
		return argc > 1 && !strcmp(argv[1], "--help") ? 0 : 2;
	}
	file = mkstemp(output);
	if (file < 0) {
		fprintf(stderr, "heddle-analyse: %s: %s\n", output, strerror(errno));
		return 1;
	}
	close(file);
	status = compile(argv[2], argv + 3, argc - 3, output);
	if (!status)
		status = analyse(output, argv[1]);
	unlink(output);
	return status;
}
