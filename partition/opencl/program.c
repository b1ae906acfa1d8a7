/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Programs. The real ones are home's. Of those that come as source, the text that was built is
 * kept, with all files that it includes, for the other devices.
 */
#include "config.h"

#include "partition/opencl/layer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "partition/kernel/access/includes.h"

typedef void(CL_CALLBACK *notify_function)(cl_program, void *);

/* ---- creation ---- */

static void program_free(struct program *program)
{
	if (program->home)
		real->clReleaseProgram(program->home);
	context_release(program->context);
	free(program->source);
	free(program->text);
	free(program->options);
	free(program);
}

void program_release(struct program *program)
{
	if (object_release(program))
		program_free(program);
}

static struct program *program_make(struct context *context)
{
	struct program *program = object_make(PROGRAM, sizeof(*program));

	if (!program)
		return NULL;
	object_retain(context);
	program->context = context;
	return program;
}

static cl_program program_finish(struct program *program, cl_int error, cl_int *to)
{
	error_give(error, to);
	if (!error)
		return (cl_program)program;
	program_free(program);
	return NULL;
}

/* All pieces of a source as one text. @return NULL: no memory */
static char *pieces_join(cl_uint n, const char **texts, const size_t *lengths, bool *odd)
{
	size_t all = 0;
	char *text, *end;

	for (cl_uint t = 0; t < n; t++)
		all += lengths && lengths[t] ? lengths[t] : strlen(texts[t]);
	end = text = malloc(all + 1);
	for (cl_uint t = 0; text && t < n; t++) {
		size_t length = lengths && lengths[t] ? lengths[t] : strlen(texts[t]);

		memcpy(end, texts[t], length);
		end += length;
	}
	if (!text)
		return NULL;
	while (end > text && !end[-1])
		end--;
	*end = 0;
	/* Compilers differ in what they make of it. */
	*odd = text + strlen(text) != end;
	return text;
}

static cl_program CL_API_CALL program_of_source(cl_context id, cl_uint n, const char **texts,
                                                const size_t *lengths, cl_int *to)
{
	struct context *context = layer_object(id, CONTEXT);
	struct program *program;
	cl_int error = CL_SUCCESS;

	if (!context)
		return real->clCreateProgramWithSource(id, n, texts, lengths, to);
	if (!n || !texts)
		return error_give(CL_INVALID_VALUE, to);
	for (cl_uint t = 0; t < n; t++)
		if (!texts[t])
			return error_give(CL_INVALID_VALUE, to);
	program = program_make(context);
	if (!program)
		return error_give(CL_OUT_OF_HOST_MEMORY, to);
	program->source = pieces_join(n, texts, lengths, &program->odd);
	if (program->source)
		program->home =
		    real->clCreateProgramWithSource(context->home, n, texts, lengths, &error);
	return program_finish(program, program->source ? error : CL_OUT_OF_HOST_MEMORY, to);
}

static bool devices_right(cl_uint n, const cl_device_id *ids)
{
	for (cl_uint d = 0; d < n; d++)
		if (!layer_object(ids[d], DEVICE))
			return false;
	return true;
}

static cl_program CL_API_CALL program_of_binary(cl_context id, cl_uint n, const cl_device_id *ids,
                                                const size_t *lengths,
                                                const unsigned char **binaries, cl_int *states,
                                                cl_int *to)
{
	struct context *context = layer_object(id, CONTEXT);
	struct program *program;
	const unsigned char *binary;
	size_t skip, length;
	cl_int error;

	if (!context)
		return real->clCreateProgramWithBinary(id, n, ids, lengths, binaries, states, to);
	if (!n || !ids || !lengths || !binaries)
		return error_give(CL_INVALID_VALUE, to);
	/* There is one device, so of two one is named twice. */
	if (n > 1 || !devices_right(n, ids))
		return error_give(CL_INVALID_DEVICE, to);
	program = program_make(context);
	if (!program)
		return error_give(CL_OUT_OF_HOST_MEMORY, to);
	skip = binary_take(program, binaries[0], lengths[0]);
	if (!program->text || !program->options)
		program->refusal = "its program comes as a binary";
	binary = binaries[0] ? binaries[0] + skip : NULL;
	length = lengths[0] - skip;
	program->home = real->clCreateProgramWithBinary(context->home, 1, layer_devices()->ids,
	                                                &length, &binary, states, &error);
	return program_finish(program, error, to);
}

/* ---- building ---- */

/* Whether a build names devices of ours, or none. */
static cl_int build_check(cl_uint n, const cl_device_id *ids, notify_function notify,
                          const void *data)
{
	if (!n != !ids || (!notify && data))
		return CL_INVALID_VALUE;
	return devices_right(n, ids) ? CL_SUCCESS : CL_INVALID_DEVICE;
}

/* Keeps what was built, for the other devices. Files that it includes may change later. */
static void text_keep(struct program *program, const char *options)
{
	char why[256];
	int error;

	free(program->text);
	free(program->options);
	program->text = NULL;
	program->refusal = NULL;
	program->options = strdup(options ? options : "");
	if (!program->options)
		return;
	if (program->odd) {
		program->refusal = "its source is no text";
		return;
	}
	error = kernel_includes_expand(program->source, program->options, &program->text, why,
	                               sizeof(why));
	if (error) {
		program->text = NULL;
		program->refusal =
		    "its program includes files that compilers may find elsewhere, or has "
		    "a backslash that joins no lines";
	}
}

static cl_int CL_API_CALL program_build(cl_program id, cl_uint n, const cl_device_id *ids,
                                        const char *options, notify_function notify, void *data)
{
	struct program *program = layer_object(id, PROGRAM);
	cl_int error;

	if (!program)
		return real->clBuildProgram(id, n, ids, options, notify, data);
	error = build_check(n, ids, notify, data);
	if (error)
		return error;
	error = real->clBuildProgram(program->home, 1, layer_devices()->ids, options, NULL, NULL);
	if (!error && program->source)
		text_keep(program, options);
	if (notify)
		notify(id, data);
	return error;
}

/* Programs as home's. @return NULL: one is not of ours, or no memory */
static cl_program *programs_at_home(cl_uint n, const cl_program *programs, cl_int *error)
{
	cl_program *home = calloc(n + 1, sizeof(*home));

	*error = home ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
	for (cl_uint p = 0; home && p < n; p++) {
		struct program *program = programs ? layer_object(programs[p], PROGRAM) : NULL;

		if (!program)
			*error = CL_INVALID_PROGRAM;
		else
			home[p] = program->home;
	}
	if (!*error)
		return home;
	free(home);
	return NULL;
}

static cl_int CL_API_CALL program_compile(cl_program id, cl_uint n, const cl_device_id *ids,
                                          const char *options, cl_uint nheaders,
                                          const cl_program *headers, const char **names,
                                          notify_function notify, void *data)
{
	struct program *program = layer_object(id, PROGRAM);
	cl_program *home;
	cl_int error;

	if (!program)
		return real->clCompileProgram(id, n, ids, options, nheaders, headers, names, notify,
		                              data);
	error = build_check(n, ids, notify, data);
	if (error)
		return error;
	if (!nheaders != !headers || !nheaders != !names)
		return CL_INVALID_VALUE;
	home = programs_at_home(nheaders, headers, &error);
	if (error)
		return error;
	error = real->clCompileProgram(program->home, 1, layer_devices()->ids, options, nheaders,
	                               nheaders ? home : NULL, names, NULL, NULL);
	free(home);
	if (notify)
		notify(id, data);
	return error;
}

static cl_program CL_API_CALL program_link(cl_context id, cl_uint n, const cl_device_id *ids,
                                           const char *options, cl_uint nprograms,
                                           const cl_program *programs, notify_function notify,
                                           void *data, cl_int *to)
{
	struct context *context = layer_object(id, CONTEXT);
	struct program *program;
	cl_program *home;
	cl_int error;

	if (!context)
		return real->clLinkProgram(id, n, ids, options, nprograms, programs, notify, data,
		                           to);
	error = build_check(n, ids, notify, data);
	if (!error && (!nprograms || !programs))
		error = CL_INVALID_VALUE;
	if (error)
		return error_give(error, to);
	home = programs_at_home(nprograms, programs, &error);
	if (error)
		return error_give(error, to);
	program = program_make(context);
	if (!program) {
		free(home);
		return error_give(CL_OUT_OF_HOST_MEMORY, to);
	}
	program->refusal = "its program was compiled and linked apart";
	program->home = real->clLinkProgram(context->home, 1, layer_devices()->ids, options,
	                                    nprograms, home, NULL, NULL, &error);
	free(home);
	error_give(error, to);
	/* One that does not link is there nevertheless, to be asked why. */
	if (!program->home) {
		program_free(program);
		return NULL;
	}
	if (notify)
		notify((cl_program)program, data);
	return (cl_program)program;
}

static cl_int CL_API_CALL compiler_unload(void)
{
	return layer_devices()->n ? CL_SUCCESS : real->clUnloadCompiler();
}

/* ---- the rest ---- */

static cl_int CL_API_CALL program_retain(cl_program id)
{
	struct program *program = layer_object(id, PROGRAM);

	if (!program)
		return real->clRetainProgram(id);
	object_retain(program);
	return CL_SUCCESS;
}

static cl_int CL_API_CALL program_release_call(cl_program id)
{
	struct program *program = layer_object(id, PROGRAM);

	if (!program)
		return real->clReleaseProgram(id);
	program_release(program);
	return CL_SUCCESS;
}

static cl_int binary_size_give(const struct program *program, size_t room, void *value,
                               size_t *needed)
{
	size_t bytes = 0;
	cl_int error = real->clGetProgramInfo(program->home, CL_PROGRAM_BINARY_SIZES, sizeof(bytes),
	                                      &bytes, NULL);

	if (error)
		return error;
	bytes += bytes ? binary_prefix(program, NULL) : 0;
	return info_give_value(bytes, room, value, needed);
}

/* The value is a pointer to where the binary goes. */
static cl_int binary_give(const struct program *program, size_t room, void *value, size_t *needed)
{
	unsigned char *to;
	size_t bytes = 0;
	cl_int error;

	if (needed)
		*needed = sizeof(to);
	if (!value)
		return CL_SUCCESS;
	if (room < sizeof(to))
		return CL_INVALID_VALUE;
	memcpy(&to, value, sizeof(to));
	if (!to)
		return CL_SUCCESS;
	error = real->clGetProgramInfo(program->home, CL_PROGRAM_BINARY_SIZES, sizeof(bytes),
	                               &bytes, NULL);
	if (error || !bytes)
		return error;
	to += binary_prefix(program, to);
	return real->clGetProgramInfo(program->home, CL_PROGRAM_BINARIES, sizeof(to), &to, NULL);
}

static cl_int CL_API_CALL program_info(cl_program id, cl_program_info name, size_t room,
                                       void *value, size_t *needed)
{
	struct program *program = layer_object(id, PROGRAM);
	const cl_device_id device = layer_device();

	if (!program)
		return real->clGetProgramInfo(id, name, room, value, needed);
	switch (name) {
	case CL_PROGRAM_REFERENCE_COUNT:
		return info_give_value(program->object.references, room, value, needed);
	case CL_PROGRAM_CONTEXT:
		return info_give_value(program->context, room, value, needed);
	case CL_PROGRAM_DEVICES:
		return info_give_value(device, room, value, needed);
	case CL_PROGRAM_BINARY_SIZES:
		return binary_size_give(program, room, value, needed);
	case CL_PROGRAM_BINARIES:
		return binary_give(program, room, value, needed);
	default:
		return real->clGetProgramInfo(program->home, name, room, value, needed);
	}
}

static cl_int CL_API_CALL program_build_info(cl_program id, cl_device_id device,
                                             cl_program_build_info name, size_t room, void *value,
                                             size_t *needed)
{
	struct program *program = layer_object(id, PROGRAM);

	if (!program)
		return real->clGetProgramBuildInfo(id, device, name, room, value, needed);
	if (!layer_object(device, DEVICE))
		return CL_INVALID_DEVICE;
	return real->clGetProgramBuildInfo(program->home, layer_devices()->ids[0], name, room,
	                                   value, needed);
}

void program_functions(cl_icd_dispatch *table)
{
	table->clCreateProgramWithSource = program_of_source;
	table->clCreateProgramWithBinary = program_of_binary;
	table->clBuildProgram = program_build;
	table->clCompileProgram = program_compile;
	table->clLinkProgram = program_link;
	table->clUnloadCompiler = compiler_unload;
	table->clRetainProgram = program_retain;
	table->clReleaseProgram = program_release_call;
	table->clGetProgramInfo = program_info;
	table->clGetProgramBuildInfo = program_build_info;
}
