/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#ifdef HEDDLE_USE_OPENCL

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition/kernel/launch/answers.h"

/* All definitions together, at most. */
enum { MOST_BYTES = 1 << 16 };

static bool is_about_builtins(const char *name)
{
	return !strncmp(name, "__has_builtin", strlen("__has_builtin"));
}

/* Prints texts for `__has_builtin` and `__has_builtin(NAME)`: "0" where a compiler does not know
 * the question, else "1", in front of the answer. */
static void builtin_print(FILE *out, const char *name, int length, unsigned n)
{
	fputs("#ifdef __has_builtin\n", out);
	if (name[length - 1] == ')')
		fprintf(out,
		        "#if %.*s\n__constant char heddle_%u[] = \"11\";\n"
		        "#else\n__constant char heddle_%u[] = \"10\";\n#endif\n",
		        length, name, n, n);
	else
		fprintf(out, "__constant char heddle_%u[] = \"1\";\n", n);
	fprintf(out, "#else\n__constant char heddle_%u[] = \"0\";\n#endif\n", n);
}

/* Answers with a text to `__has_builtin` and `__has_builtin(NAME)`. */
static void builtin_answer(FILE *out, const char *name, int length, const char *text)
{
	const char *asked = name + strlen("__has_builtin(");

	if (*text == '0')
		fputs("#undef __has_builtin\n", out);
	if (*text == '1')
		fputs(ANSWERS_HAS, out);
	if (*text == '1' && name[length - 1] == ')')
		fprintf(out, "#define heddle_has_%.*s %s\n", (int)(name + length - 1 - asked),
		        asked, text + 1);
}

/* A kernel that writes a text for each name: "1" and what the name stands for, or "0". */
static char *source_make(const char *names)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	unsigned n = 0;

	if (!out)
		return NULL;
	fputs("#define HEDDLE_TEXT(x) #x\n#define HEDDLE_VALUE(x) HEDDLE_TEXT(x)\n", out);
	for (const char *at = names; *at; at = strchr(at, '\n') + 1, n++)
		if (is_about_builtins(at))
			builtin_print(out, at, strcspn(at, "\n"), n);
		else
			fprintf(
			    out,
			    "#ifdef %.*s\n__constant char heddle_%u[] = \"1\" HEDDLE_VALUE(%.*s);\n"
			    "#else\n__constant char heddle_%u[] = \"0\";\n#endif\n",
			    (int)strcspn(at, "\n"), at, n, (int)strcspn(at, "\n"), at, n);
	fputs("__kernel void heddle_answers(__global char *out)\n{\n\tuint at = 0;\n", out);
	for (unsigned i = 0; i < n; i++)
		fprintf(out,
		        "\tfor (uint i = 0; i < sizeof(heddle_%u) && at < %d; i++)\n"
		        "\t\tout[at++] = heddle_%u[i];\n",
		        i, MOST_BYTES - 1, i);
	fputs("}\n", out);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

/* Turns texts into directives. */
static int directives_make(const char *texts, const char *names, char **answers)
{
	const char *end = texts + MOST_BYTES - 1;
	size_t size;
	FILE *out = open_memstream(answers, &size);
	int status = out ? 0 : -ENOMEM;

	for (const char *at = names; !status && *at; at = strchr(at, '\n') + 1) {
		int length = strcspn(at, "\n");

		bool builtin = is_about_builtins(at);

		if (builtin)
			builtin_answer(out, at, length, texts);
		else
			fprintf(out, "#undef %.*s\n", length, at);
		if (*texts == '1' && !builtin)
			fprintf(out, "#define %.*s %s\n", length, at, texts + 1);
		else if (*texts != '0' && *texts != '1')
			status = -ENOTSUP; /* no room for it */
		/* Without its parameters, such a macro stands for its name. */
		if (!strncmp(texts + 1, at, length) && !texts[1 + length])
			status = -ENOTSUP;
		texts += strlen(texts) + 1;
		if (texts > end)
			status = -ENOTSUP;
	}
	if (out && fclose(out) && !status)
		status = -ENOMEM;
	if (out && status)
		free(*answers);
	return status;
}

/* Runs the kernel.
 * @param[out] texts MOST_BYTES, the last of them 0 */
static cl_int kernel_run(cl_context context, cl_device_id device, const char *options,
                         const char *source, char *texts)
{
	cl_int error, ignored;
	cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
	cl_command_queue queue = clCreateCommandQueue(context, device, 0, &ignored);
	cl_mem buffer = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, MOST_BYTES, texts, &ignored);
	cl_kernel kernel = NULL;
	size_t one = 1;

	if (!error)
		error = clBuildProgram(program, 1, &device, options, NULL, NULL);
	if (!error)
		kernel = clCreateKernel(program, "heddle_answers", &error);
	if (!error)
		error = clSetKernelArg(kernel, 0, sizeof(buffer), &buffer);
	if (!error)
		error = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL);
	if (!error)
		error = clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, MOST_BYTES, texts, 0, NULL,
		                            NULL);
	if (kernel)
		clReleaseKernel(kernel);
	if (buffer)
		clReleaseMemObject(buffer);
	if (queue)
		clReleaseCommandQueue(queue);
	if (program)
		clReleaseProgram(program);
	return error;
}

int kernel_answers_ask(cl_device_id device, const char *options, const char *names, char **answers)
{
	char *source = source_make(names), *texts = calloc(1, MOST_BYTES);
	cl_context context = NULL;
	cl_int error = CL_SUCCESS;
	int status = source && texts ? 0 : -ENOMEM;

	if (!status)
		context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	if (!status && !error)
		error = kernel_run(context, device, options, source, texts);
	if (context)
		clReleaseContext(context);
	if (!status)
		status = error ? -EIO : directives_make(texts, names, answers);
	free(source);
	free(texts);
	return status;
}

#endif
