/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A kernel compiled for one device, in two forms: one launches ranges of groups, the other all
 * groups by the source as it is.
 */
#include "config.h"

#ifdef HEDDLE_USE_OPENCL

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition/kernel/launch/device_starpu.h"
#include "support/message.h"

static int log_refuse(const struct part *part, const struct device_form *form)
{
	cl_device_id device = part->device->memory->device;
	size_t size = 0;
	char *log;

	clGetProgramBuildInfo(form->program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
	log = calloc(1, size + 1);
	if (log)
		clGetProgramBuildInfo(form->program, device, CL_PROGRAM_BUILD_LOG, size, log, NULL);
	heddle_refuse(-EIO, "kernel %s does not compile:\n%s", part->request->kernel->name,
	              log ? log : "");
	free(log);
	return -EIO;
}

static void form_free(struct device_form *form)
{
	if (form->kernel)
		clReleaseKernel(form->kernel);
	if (form->program)
		clReleaseProgram(form->program);
	*form = (struct device_form){0};
}

void kernel_forms_free(struct device_memory *memory)
{
	form_free(&memory->ranges);
	form_free(&memory->whole);
}

/* Compiles the source for one way of launching.
 * @return 0; -ENOENT where the source has no such form; -EIO, without a message where it
 * does not compile; other errors after one */
static int form_compile(struct part *part, struct device_form *form, enum ndrange_way way)
{
	const struct kernel *kernel = part->request->kernel;
	const struct device_memory *memory = part->device->memory;
	char *prologue = ndrange_prologue(&part->request->range, way);
	char *source = way == NDRANGE_EXIT ? ndrange_exit_source(kernel->source, kernel->name)
	                                   : strdup(kernel->source);
	int status = !prologue ? -ENOMEM : !source ? -ENOENT : 0;
	cl_int error = CL_SUCCESS;

	form->way = way;
	memcpy(form->offset, part->request->range.offset, sizeof(form->offset));
	if (!status)
		form->program = clCreateProgramWithSource(
		    memory->context, 2, (const char *[]){prologue, source}, NULL, &error);
	free(prologue);
	free(source);
	if (error)
		return kernel_refuse(part, "its program", error);
	if (!status &&
	    clBuildProgram(form->program, 1, &memory->device, kernel->options, NULL, NULL))
		status = -EIO;
	return status;
}

/* Compiles the form with an early exit instead of the one with a prologue, which did not compile.
 * Where both fail, the log of the first counts. */
static int form_compile_exit(struct part *part, struct device_form *form)
{
	struct device_form other = {0};
	int status = form_compile(part, &other, NDRANGE_EXIT);

	heddle_explain("kernel %s does not compile for launches of ranges%s",
	               part->request->kernel->name, status ? "" : "; it gets an early exit");
	if (status) {
		form_free(&other);
		return status;
	}
	form_free(form);
	*form = other;
	return 0;
}

static int form_make(struct part *part, struct device_form *form, enum ndrange_way way)
{
	int status = form_compile(part, form, way);
	cl_int error = CL_SUCCESS;

	if (status == -EIO && form->program && (way == NDRANGE_FLAT || way == NDRANGE_BOXES))
		status = form_compile_exit(part, form) ? -EIO : 0;
	/* A kernel that runs on one device needs no such form. Its dry run launches all groups
	 * then. */
	if ((status == -EIO || status == -ENOENT) && way == NDRANGE_EXIT &&
	    part->request->kernel->index.refusal) {
		form_free(form);
		status = form_compile(part, form, NDRANGE_WHOLE);
	}
	if (status == -EIO && form->program)
		status = log_refuse(part, form);
	if (!status)
		form->kernel = clCreateKernel(form->program, part->request->kernel->name, &error);
	if (error)
		status = kernel_refuse(part,
		                       error == CL_INVALID_KERNEL_NAME
		                           ? "its source has no kernel of this name"
		                           : "making it",
		                       error);
	if (status)
		form_free(form);
	return status;
}

/* The form for so many groups. An exploration does not wait for a compiler. */
static struct device_form *form_of(const struct heddle_kernel_request *request,
                                   struct device_memory *memory, size_t n)
{
	if (n < request->stats.groups ||
	    (!request->kernel->index.refusal && !ndrange_offset_small(&request->range)))
		return &memory->ranges;
	return memory->whole.kernel || !memory->ranges.kernel || !request->explores
	           ? &memory->whole
	           : &memory->ranges;
}

/* Whether a form is compiled, for the NDRange's offset where that matters. */
static bool form_serves(const struct device_form *form, const struct ndrange *range)
{
	return form->kernel && (ndrange_offset_free(range, form->way) ||
	                        !memcmp(form->offset, range->offset, sizeof(form->offset)));
}

bool kernel_form_ready(const struct heddle_kernel_request *request, struct device_memory *memory,
                       size_t n)
{
	return form_serves(form_of(request, memory, n), &request->range);
}

int kernel_form_use(struct part *part)
{
	struct device_memory *memory = part->device->memory;
	double start_us;
	int status;
	bool whole;

	memory->form = part->dry || part->chunks > 1 ? &memory->ranges
	                                             : form_of(part->request, memory, part->n);
	whole = memory->form == &memory->whole;
	if (form_serves(memory->form, &part->request->range))
		return 0;
	if (!memory->ranges.kernel && !memory->whole.kernel)
		heddle_wait_explain("compiling the kernel %s for %s", part->request->kernel->name,
		                    part->device->title);
	form_free(memory->form);
	start_us = starpu_timing_now();
	part->compiled = true;
	status = form_make(part, memory->form, whole ? NDRANGE_WHOLE : part->request->kernel->way);
	kernel_waited(part->request->kernel, &part->request->kernel->waits.compilers_us, start_us);
	return status;
}

/* ---- launches ---- */

static int argument_set(struct part *part, unsigned a)
{
	const struct heddle_kernel_request *request = part->request;
	const struct heddle_kernel_argument *argument = &request->given.arguments[a];
	struct device_memory *memory = part->device->memory;
	cl_mem buffer = kernel_buffer(memory, request->same[a]);
	char what[64];
	cl_int error;

	if (kernel_is_buffer(argument)) {
		error = clSetKernelArg(memory->form->kernel, a, sizeof(cl_mem), &buffer);
	} else if (argument->type == HEDDLE_KERNEL_SAMPLER) {
		error = kernel_sampler_find(memory, a, argument->pointer);
		if (!error)
			error = clSetKernelArg(memory->form->kernel, a, sizeof(cl_sampler),
			                       &memory->samplers[a]);
	} else {
		error = clSetKernelArg(memory->form->kernel, a, argument->bytes, argument->pointer);
	}
	if (!error)
		return 0;
	if (error == CL_INVALID_ARG_SIZE && !kernel_is_buffer(argument))
		return heddle_refuse(
		    -EINVAL, "kernel %s: argument %u has %zu bytes; the kernel takes another size",
		    request->given.name, a + 1, argument->bytes);
	snprintf(what, sizeof(what), "argument %u (%zu bytes)", a + 1,
	         kernel_is_buffer(argument) ? sizeof(cl_mem) : argument->bytes);
	return kernel_refuse(part, what, error);
}

/* The range, for the early exit. */
static int range_set(struct part *part)
{
	struct device_memory *memory = part->device->memory;
	unsigned n = part->request->given.narguments;
	cl_ulong first = part->from, last = part->from + part->n - 1;
	cl_int error = clSetKernelArg(memory->form->kernel, n, sizeof(first), &first);

	if (!error)
		error = clSetKernelArg(memory->form->kernel, n + 1, sizeof(last), &last);
	return error ? kernel_refuse(part, "the range", error) : 0;
}

int kernel_form_arguments(struct part *part)
{
	int status = 0;

	for (unsigned a = 0; a < part->request->given.narguments && !status; a++)
		status = argument_set(part, a);
	if (!status && part->device->memory->form->way == NDRANGE_EXIT)
		status = range_set(part);
	return status;
}

cl_int kernel_form_enqueue(struct part *part, size_t from, size_t n, cl_command_queue queue,
                           const cl_event *after)
{
	const struct device_form *form = part->device->memory->form;
	struct ndrange_launch launches[NDRANGE_MAXBOXES];
	unsigned nlaunches = ndrange_launches(&part->request->range, form->way, from, n, launches);
	cl_int error = CL_SUCCESS;

	for (unsigned l = 0; l < nlaunches && !error; l++)
		error = clEnqueueNDRangeKernel(queue, form->kernel, launches[l].dimensions,
		                               launches[l].offset, launches[l].global,
		                               launches[l].local, !!after, after,
		                               kernel_event(part, EVENT_COMPUTED));
	return error;
}

#endif
