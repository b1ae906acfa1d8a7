/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fpga/icd/icd.h"
#include "support/message.h"
#include "support/variables.h"

/* ---- programs ---- */

static cl_program refuse_source(cl_context context, cl_uint n, const char **texts,
                                const size_t *sizes, cl_int *error)
{
	return object_result(
	    NULL, object_is(context, CONTEXT) ? CL_INVALID_OPERATION : CL_INVALID_CONTEXT, error);
}

static void program_destroy(void *opaque)
{
	cl_program self = opaque;

	if (self->instance)
		self->design->destroy(self->instance);
	if (self->library)
		dlclose(self->library);
	if (self->fd >= 0)
		close(self->fd);
	free(self->binary);
	object_release(self->context);
}

/* A binary is code of this process from here on. It is loaded from a file without a name.
 * The loader takes what has the path of an earlier library for that library: the
 * descriptor stays open, so that no later one gets its number. */
static int program_load(cl_program self)
{
	const struct fpga_design *design;
	char path[64];

	self->fd = memfd_create("heddle-fpga-design", MFD_CLOEXEC);
	if (self->fd < 0)
		return -errno;
	for (size_t done = 0; done < self->size;) {
		ssize_t written = write(self->fd, self->binary + done, self->size - done);

		if (written <= 0)
			return -EIO;
		done += written;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", self->fd);
	self->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!self->library)
		return heddle_refuse(-EINVAL, "an FPGA design cannot be loaded: %s", dlerror());
	design = dlsym(self->library, FPGA_DESIGN_SYMBOL);
	if (!design || fpga_design_check(design))
		return heddle_refuse(-EINVAL, "a file is no FPGA design, or one for another "
		                              "version of its interface");
	self->design = design;
	return 0;
}

static cl_int program_init(cl_program self, const unsigned char *binary, size_t size)
{
	static const char elf[] = "\177ELF";

	if (size < 64 || memcmp(binary, elf, 4))
		return CL_INVALID_BINARY;
	self->binary = malloc(size);
	if (!self->binary)
		return CL_OUT_OF_HOST_MEMORY;
	memcpy(self->binary, binary, size);
	self->size = size;
	return program_load(self) ? CL_INVALID_BINARY : CL_SUCCESS;
}

static cl_program create_with_binary(cl_context context, cl_uint n, const cl_device_id *devices,
                                     const size_t *sizes, const unsigned char **binaries,
                                     cl_int *statuses, cl_int *error)
{
	cl_program self;
	cl_int wrong;

	if (!object_is(context, CONTEXT))
		return object_result(NULL, CL_INVALID_CONTEXT, error);
	/* A program is for one device: a design is loaded into one. */
	if (n != 1 || !devices || !sizes || !binaries || !sizes[0] || !binaries[0]) {
		if (n && statuses)
			statuses[0] = CL_INVALID_VALUE;
		return object_result(NULL, CL_INVALID_VALUE, error);
	}
	if (!object_is(devices[0], DEVICE) || !device_in_context(context, devices[0]))
		return object_result(NULL, CL_INVALID_DEVICE, error);
	self = object_new(PROGRAM, sizeof(*self), program_destroy);
	if (!self)
		return object_result(NULL, CL_OUT_OF_HOST_MEMORY, error);
	self->context = context;
	self->fd = -1;
	self->device = devices[0];
	object_retain(context);
	wrong = program_init(self, binaries[0], sizes[0]);
	if (statuses)
		statuses[0] = wrong;
	if (wrong) {
		object_release(self);
		self = NULL;
	}
	return object_result(self, wrong, error);
}

static cl_int retain_program(cl_program self)
{
	if (!object_is(self, PROGRAM))
		return CL_INVALID_PROGRAM;
	object_retain(self);
	return CL_SUCCESS;
}

static cl_int release_program(cl_program self)
{
	if (!object_is(self, PROGRAM))
		return CL_INVALID_PROGRAM;
	object_release(self);
	return CL_SUCCESS;
}

static cl_int build_program(cl_program self, cl_uint n, const cl_device_id *devices,
                            const char *options, void(CL_CALLBACK *notify)(cl_program, void *),
                            void *arg)
{
	if (!object_is(self, PROGRAM))
		return CL_INVALID_PROGRAM;
	if (!n != !devices || (arg && !notify))
		return CL_INVALID_VALUE;
	for (cl_uint d = 0; d < n; d++)
		if (devices[d] != self->device)
			return CL_INVALID_DEVICE;
	pthread_mutex_lock(&self->device->logic);
	if (!self->instance)
		self->instance = self->design->create();
	pthread_mutex_unlock(&self->device->logic);
	if (!self->instance)
		return CL_OUT_OF_HOST_MEMORY;
	if (notify)
		notify(self, arg);
	return CL_SUCCESS;
}

static cl_int get_program_info(cl_program self, cl_program_info what, size_t room, void *to,
                               size_t *needed)
{
	if (!object_is(self, PROGRAM))
		return CL_INVALID_PROGRAM;
	switch (what) {
	case CL_PROGRAM_REFERENCE_COUNT:
		return ANSWER(cl_uint, self->object.references);
	case CL_PROGRAM_CONTEXT:
		return ANSWER(cl_context, self->context);
	case CL_PROGRAM_NUM_DEVICES:
		return ANSWER(cl_uint, 1);
	case CL_PROGRAM_DEVICES:
		return ANSWER(cl_device_id, self->device);
	case CL_PROGRAM_SOURCE:
		return ANSWER_TEXT("");
	case CL_PROGRAM_BINARY_SIZES:
		return ANSWER(size_t, self->size);
	case CL_PROGRAM_BINARIES:
		if (to && room >= sizeof(unsigned char *) && *(unsigned char **)to)
			memcpy(*(unsigned char **)to, self->binary, self->size);
		return object_answer(to ? to : "", sizeof(unsigned char *), room, NULL, needed);
	case CL_PROGRAM_NUM_KERNELS:
		return self->instance ? ANSWER(size_t, 1) : CL_INVALID_PROGRAM_EXECUTABLE;
	case CL_PROGRAM_KERNEL_NAMES:
		return self->instance ? ANSWER_TEXT(self->design->name)
		                      : CL_INVALID_PROGRAM_EXECUTABLE;
	default:
		return CL_INVALID_VALUE;
	}
}

static cl_int get_build_info(cl_program self, cl_device_id device, cl_program_build_info what,
                             size_t room, void *to, size_t *needed)
{
	if (!object_is(self, PROGRAM))
		return CL_INVALID_PROGRAM;
	if (device != self->device)
		return CL_INVALID_DEVICE;
	switch (what) {
	case CL_PROGRAM_BUILD_STATUS:
		return ANSWER(cl_build_status, self->instance ? CL_BUILD_SUCCESS : CL_BUILD_NONE);
	case CL_PROGRAM_BUILD_OPTIONS:
	case CL_PROGRAM_BUILD_LOG:
		return ANSWER_TEXT("");
	case CL_PROGRAM_BINARY_TYPE:
		return ANSWER(cl_program_binary_type, CL_PROGRAM_BINARY_TYPE_EXECUTABLE);
	default:
		return CL_INVALID_VALUE;
	}
}

/* ---- kernels ---- */

static void kernel_destroy(void *opaque)
{
	object_release(((cl_kernel)opaque)->program);
}

static cl_kernel create_kernel(cl_program program, const char *name, cl_int *error)
{
	cl_kernel self;

	if (!object_is(program, PROGRAM))
		return object_result(NULL, CL_INVALID_PROGRAM, error);
	if (!program->instance)
		return object_result(NULL, CL_INVALID_PROGRAM_EXECUTABLE, error);
	if (!name)
		return object_result(NULL, CL_INVALID_VALUE, error);
	if (strcmp(name, program->design->name))
		return object_result(NULL, CL_INVALID_KERNEL_NAME, error);
	self = object_new(KERNEL, sizeof(*self), kernel_destroy);
	if (!self)
		return object_result(NULL, CL_OUT_OF_HOST_MEMORY, error);
	self->program = program;
	object_retain(program);
	return object_result(self, CL_SUCCESS, error);
}

static cl_int create_kernels(cl_program program, cl_uint n, cl_kernel *to, cl_uint *count)
{
	cl_int error = CL_SUCCESS;

	if (!object_is(program, PROGRAM))
		return CL_INVALID_PROGRAM;
	if (!program->instance)
		return CL_INVALID_PROGRAM_EXECUTABLE;
	if (to && !n)
		return CL_INVALID_VALUE;
	if (to)
		*to = create_kernel(program, program->design->name, &error);
	if (count)
		*count = 1;
	return error;
}

static cl_int retain_kernel(cl_kernel self)
{
	if (!object_is(self, KERNEL))
		return CL_INVALID_KERNEL;
	object_retain(self);
	return CL_SUCCESS;
}

static cl_int release_kernel(cl_kernel self)
{
	if (!object_is(self, KERNEL))
		return CL_INVALID_KERNEL;
	object_release(self);
	return CL_SUCCESS;
}

static cl_int set_argument(cl_kernel self, cl_uint index, size_t size, const void *from)
{
	static const size_t sizes[] = {[FPGA_COUNT] = sizeof(cl_ulong),
	                               [FPGA_REGISTER] = sizeof(cl_uint),
	                               [FPGA_BUFFER] = sizeof(cl_mem),
	                               [FPGA_OFFSET] = sizeof(cl_ulong)};
	struct value value = {.set = true};
	enum fpga_argument_use use;

	if (!object_is(self, KERNEL))
		return CL_INVALID_KERNEL;
	if (index >= self->program->design->narguments)
		return CL_INVALID_ARG_INDEX;
	use = self->program->design->arguments[index].use;
	if (size != sizes[use])
		return CL_INVALID_ARG_SIZE;
	if (use == FPGA_BUFFER) {
		if (from)
			memcpy(&value.memory, from, size);
		if (value.memory && !object_is(value.memory, MEMORY))
			return CL_INVALID_MEM_OBJECT;
	} else if (!from) {
		return CL_INVALID_ARG_VALUE;
	} else {
		memcpy(&value.number, from, size);
	}
	self->values[index] = value;
	return CL_SUCCESS;
}

static cl_int get_kernel_info(cl_kernel self, cl_kernel_info what, size_t room, void *to,
                              size_t *needed)
{
	if (!object_is(self, KERNEL))
		return CL_INVALID_KERNEL;
	switch (what) {
	case CL_KERNEL_FUNCTION_NAME:
		return ANSWER_TEXT(self->program->design->name);
	case CL_KERNEL_NUM_ARGS:
		return ANSWER(cl_uint, self->program->design->narguments);
	case CL_KERNEL_REFERENCE_COUNT:
		return ANSWER(cl_uint, self->object.references);
	case CL_KERNEL_CONTEXT:
		return ANSWER(cl_context, self->program->context);
	case CL_KERNEL_PROGRAM:
		return ANSWER(cl_program, self->program);
	case CL_KERNEL_ATTRIBUTES:
		return ANSWER_TEXT("");
	default:
		return CL_INVALID_VALUE;
	}
}

static cl_int get_group_info(cl_kernel self, cl_device_id device, cl_kernel_work_group_info what,
                             size_t room, void *to, size_t *needed)
{
	if (!object_is(self, KERNEL))
		return CL_INVALID_KERNEL;
	if (device && device != self->program->device)
		return CL_INVALID_DEVICE;
	switch (what) {
	case CL_KERNEL_WORK_GROUP_SIZE:
	case CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE:
		return ANSWER(size_t, 1);
	case CL_KERNEL_COMPILE_WORK_GROUP_SIZE:
		return object_answer((size_t[]){1, 1, 1}, 3 * sizeof(size_t), room, to, needed);
	case CL_KERNEL_LOCAL_MEM_SIZE:
	case CL_KERNEL_PRIVATE_MEM_SIZE:
		return ANSWER(cl_ulong, 0);
	default:
		return CL_INVALID_VALUE;
	}
}

/* ---- running ---- */

/* Whether a buffer has the bytes that a stream moves. */
static bool holds(cl_mem memory, uint64_t offset, const struct fpga_stream *stream, uint64_t items)
{
	uint64_t room;

	if (offset > memory->size)
		return false;
	room = memory->size - offset;
	/* Not by multiplication, which may overflow. */
	return stream->fixed_bytes <= room &&
	       (!stream->item_bytes || items <= (room - stream->fixed_bytes) / stream->item_bytes);
}

static uint64_t items_of(const struct fpga_design *design, const struct value *values)
{
	for (uint32_t a = 0; a < design->narguments; a++)
		if (design->arguments[a].use == FPGA_COUNT)
			return values[a].number;
	return 0;
}

cl_int kernel_check(const struct _cl_kernel *self)
{
	const struct fpga_design *design = self->program->design;
	uint64_t items = items_of(design, self->values);

	for (uint32_t a = 0; a < design->narguments; a++)
		if (!self->values[a].set)
			return CL_INVALID_KERNEL_ARGS;
	for (uint32_t a = 0; a + 1 < design->narguments; a++) {
		const struct fpga_argument *argument = &design->arguments[a];
		cl_mem memory = self->values[a].memory;
		uint64_t offset = self->values[a + 1].number;

		if (argument->use != FPGA_BUFFER)
			continue;
		if (!object_is(memory, MEMORY) || memory->context != self->program->context)
			return CL_INVALID_KERNEL_ARGS;
		if ((argument->input >= 0 &&
		     !holds(memory, offset, &design->inputs[argument->input], items)) ||
		    (argument->output >= 0 &&
		     !holds(memory, offset, &design->outputs[argument->output], items)))
			return CL_INVALID_KERNEL_ARGS;
	}
	return CL_SUCCESS;
}

static void run_prepare(const struct fpga_design *design, const struct value *values,
                        struct fpga_run *run)
{
	*run = (struct fpga_run){.items = items_of(design, values),
	                         .patience = heddle_variable_number(HEDDLE_VARIABLE_FPGA_PATIENCE)};
	for (uint32_t a = 0; a < design->narguments; a++) {
		const struct fpga_argument *argument = &design->arguments[a];

		if (argument->use == FPGA_REGISTER)
			run->registers[argument->which] = values[a].number;
		if (argument->use != FPGA_BUFFER)
			continue;
		if (argument->input >= 0)
			run->inputs[argument->input] =
			    values[a].memory->bytes + values[a + 1].number;
		if (argument->output >= 0)
			run->outputs[argument->output] =
			    values[a].memory->bytes + values[a + 1].number;
	}
}

uint32_t kernel_clock(const struct fpga_design *design)
{
	double khz = 1e3 * heddle_variable_number(HEDDLE_VARIABLE_FPGA_CLOCK);

	return khz >= 1 && khz <= UINT32_MAX ? (uint32_t)khz : design->clock_khz;
}

cl_int kernel_run(cl_kernel self, const struct value *values, cl_ulong *clocks)
{
	cl_program program = self->program;
	struct fpga_run run;
	int error;

	run_prepare(program->design, values, &run);
	pthread_mutex_lock(&program->device->logic);
	error = fpga_run(program->design, program->instance, &run);
	if (error)
		fpga_reset(program->design, program->instance);
	pthread_mutex_unlock(&program->device->logic);
	*clocks = run.clocks;
	if (error == -ETIMEDOUT)
		heddle_warn("%s: the design %s moved no data for %ju clocks and was reset",
		            program->device->name, program->design->name, (uintmax_t)run.patience);
	else if (error)
		heddle_warn("%s: the design %s failed: %s (status 0x%x)", program->device->name,
		            program->design->name, strerror(-error), run.status);
	return error ? CL_OUT_OF_RESOURCES : CL_SUCCESS;
}

void program_functions(cl_icd_dispatch *table)
{
	table->clCreateProgramWithSource = refuse_source;
	table->clCreateProgramWithBinary = create_with_binary;
	table->clRetainProgram = retain_program;
	table->clReleaseProgram = release_program;
	table->clBuildProgram = build_program;
	table->clGetProgramInfo = get_program_info;
	table->clGetProgramBuildInfo = get_build_info;
	table->clCreateKernel = create_kernel;
	table->clCreateKernelsInProgram = create_kernels;
	table->clRetainKernel = retain_kernel;
	table->clReleaseKernel = release_kernel;
	table->clSetKernelArg = set_argument;
	table->clGetKernelInfo = get_kernel_info;
	table->clGetKernelWorkGroupInfo = get_group_info;
}
