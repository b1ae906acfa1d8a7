/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Functions that the layer does not have: sharing with graphics, parts of devices, and what came
 * after OpenCL 1.2. They are called with the layer's objects alone.
 */
#include "config.h"

/* It says which OpenCL the headers are for. */
#include "partition/opencl/layer.h"

#include <CL/cl_egl.h>
#include <CL/cl_gl.h>

#define REFUSE(name, parameters)                                                                   \
	static cl_int CL_API_CALL refuse_##name parameters                                         \
	{                                                                                          \
		return CL_INVALID_OPERATION;                                                       \
	}
#define REFUSE_OBJECT(type, name, parameters)                                                      \
	static type CL_API_CALL refuse_##name parameters                                           \
	{                                                                                          \
		return error_give(CL_INVALID_OPERATION, error);                                    \
	}

#define WAITS cl_uint nwaits, const cl_event *waits, cl_event *event

/* ---- sharing ---- */

REFUSE_OBJECT(cl_mem, clCreateFromGLBuffer,
              (cl_context context, cl_mem_flags flags, cl_GLuint buffer, int *error))
REFUSE_OBJECT(cl_mem, clCreateFromGLTexture,
              (cl_context context, cl_mem_flags flags, cl_GLenum target, cl_GLint level,
               cl_GLuint texture, cl_int *error))
#define refuse_clCreateFromGLTexture2D refuse_clCreateFromGLTexture
#define refuse_clCreateFromGLTexture3D refuse_clCreateFromGLTexture
REFUSE_OBJECT(cl_mem, clCreateFromGLRenderbuffer,
              (cl_context context, cl_mem_flags flags, cl_GLuint buffer, cl_int *error))
REFUSE(clGetGLObjectInfo, (cl_mem memory, cl_gl_object_type *type, cl_GLuint *name))
REFUSE(clGetGLTextureInfo,
       (cl_mem memory, cl_gl_texture_info name, size_t room, void *value, size_t *needed))
REFUSE(clEnqueueAcquireGLObjects, (cl_command_queue queue, cl_uint n, const cl_mem *objects, WAITS))
#define refuse_clEnqueueReleaseGLObjects refuse_clEnqueueAcquireGLObjects
REFUSE_OBJECT(cl_event, clCreateEventFromGLsyncKHR,
              (cl_context context, cl_GLsync sync, cl_int *error))
REFUSE_OBJECT(cl_mem, clCreateFromEGLImageKHR,
              (cl_context context, CLeglDisplayKHR display, CLeglImageKHR image, cl_mem_flags flags,
               const cl_egl_image_properties_khr *properties, cl_int *error))
#define refuse_clEnqueueAcquireEGLObjectsKHR refuse_clEnqueueAcquireGLObjects
#define refuse_clEnqueueReleaseEGLObjectsKHR refuse_clEnqueueAcquireGLObjects
REFUSE_OBJECT(cl_event, clCreateEventFromEGLSyncKHR,
              (cl_context context, CLeglSyncKHR sync, CLeglDisplayKHR display, cl_int *error))

/* ---- commands for the host, programs of another kind ---- */

REFUSE(clEnqueueNativeKernel,
       (cl_command_queue queue, void(CL_CALLBACK *function)(void *), void *arguments, size_t bytes,
        cl_uint nobjects, const cl_mem *objects, const void **places, WAITS))
REFUSE_OBJECT(cl_program, clCreateProgramWithBuiltInKernels,
              (cl_context context, cl_uint n, const cl_device_id *devices, const char *names,
               cl_int *error))
REFUSE_OBJECT(cl_program, clCreateProgramWithIL,
              (cl_context context, const void *code, size_t bytes, cl_int *error))
REFUSE(clSetProgramSpecializationConstant,
       (cl_program program, cl_uint id, size_t bytes, const void *value))
REFUSE(clSetProgramReleaseCallback,
       (cl_program program, void(CL_CALLBACK *function)(cl_program, void *), void *data))

/* ---- devices ---- */

static cl_int CL_API_CALL refuse_clCreateSubDevices(cl_device_id device,
                                                    const cl_device_partition_property *properties,
                                                    cl_uint room, cl_device_id *devices, cl_uint *n)
{
	return CL_INVALID_VALUE; /* as for a device without parts */
}
REFUSE(clCreateSubDevicesEXT,
       (cl_device_id device, const cl_device_partition_property_ext *properties, cl_uint room,
        cl_device_id *devices, cl_uint *n))
REFUSE(clGetDeviceAndHostTimer, (cl_device_id device, cl_ulong *ns, cl_ulong *host_ns))
REFUSE(clGetHostTimer, (cl_device_id device, cl_ulong *host_ns))
REFUSE(clSetDefaultDeviceCommandQueue,
       (cl_context context, cl_device_id device, cl_command_queue queue))

/* ---- OpenCL 2 and 3 ---- */

REFUSE_OBJECT(cl_mem, clCreatePipe,
              (cl_context context, cl_mem_flags flags, cl_uint size, cl_uint packets,
               const cl_pipe_properties *properties, cl_int *error))
REFUSE(clGetPipeInfo, (cl_mem pipe, cl_pipe_info name, size_t room, void *value, size_t *needed))
static void *CL_API_CALL refuse_clSVMAlloc(cl_context context, cl_svm_mem_flags flags, size_t bytes,
                                           cl_uint alignment)
{
	return NULL;
}
static void CL_API_CALL refuse_clSVMFree(cl_context context, void *memory)
{
}
REFUSE(clEnqueueSVMFree, (cl_command_queue queue, cl_uint n, void *memory[],
                          void(CL_CALLBACK *function)(cl_command_queue, cl_uint, void *[], void *),
                          void *data, WAITS))
REFUSE(clEnqueueSVMMemcpy,
       (cl_command_queue queue, cl_bool blocking, void *to, const void *from, size_t bytes, WAITS))
REFUSE(clEnqueueSVMMemFill, (cl_command_queue queue, void *to, const void *pattern,
                             size_t pattern_bytes, size_t bytes, WAITS))
REFUSE(clEnqueueSVMMap, (cl_command_queue queue, cl_bool blocking, cl_map_flags flags, void *memory,
                         size_t bytes, WAITS))
REFUSE(clEnqueueSVMUnmap, (cl_command_queue queue, void *memory, WAITS))
REFUSE(clEnqueueSVMMigrateMem, (cl_command_queue queue, cl_uint n, const void **memory,
                                const size_t *bytes, cl_mem_migration_flags flags, WAITS))
REFUSE_OBJECT(cl_sampler, clCreateSamplerWithProperties,
              (cl_context context, const cl_sampler_properties *properties, cl_int *error))
REFUSE(clSetKernelArgSVMPointer, (cl_kernel kernel, cl_uint a, const void *value))
REFUSE(clSetKernelExecInfo,
       (cl_kernel kernel, cl_kernel_exec_info name, size_t bytes, const void *value))
REFUSE(clGetKernelSubGroupInfo,
       (cl_kernel kernel, cl_device_id device, cl_kernel_sub_group_info name, size_t in_bytes,
        const void *in, size_t room, void *value, size_t *needed))
#define refuse_clGetKernelSubGroupInfoKHR refuse_clGetKernelSubGroupInfo
REFUSE_OBJECT(cl_kernel, clCloneKernel, (cl_kernel kernel, cl_int *error))
REFUSE_OBJECT(cl_mem, clCreateBufferWithProperties,
              (cl_context context, const cl_mem_properties *properties, cl_mem_flags flags,
               size_t bytes, void *host, cl_int *error))
REFUSE_OBJECT(cl_mem, clCreateImageWithProperties,
              (cl_context context, const cl_mem_properties *properties, cl_mem_flags flags,
               const cl_image_format *format, const cl_image_desc *description, void *host,
               cl_int *error))
REFUSE(clSetContextDestructorCallback,
       (cl_context context, void(CL_CALLBACK *function)(cl_context, void *), void *data))

#define FILL(name) table->name = refuse_##name

static void sharing_refuse(cl_icd_dispatch *table)
{
	FILL(clCreateFromGLBuffer);
	FILL(clCreateFromGLTexture);
	FILL(clCreateFromGLTexture2D);
	FILL(clCreateFromGLTexture3D);
	FILL(clCreateFromGLRenderbuffer);
	FILL(clGetGLObjectInfo);
	FILL(clGetGLTextureInfo);
	FILL(clEnqueueAcquireGLObjects);
	FILL(clEnqueueReleaseGLObjects);
	FILL(clCreateEventFromGLsyncKHR);
	FILL(clCreateFromEGLImageKHR);
	FILL(clEnqueueAcquireEGLObjectsKHR);
	FILL(clEnqueueReleaseEGLObjectsKHR);
	FILL(clCreateEventFromEGLSyncKHR);
}

static void newer_refuse(cl_icd_dispatch *table)
{
	FILL(clCreatePipe);
	FILL(clGetPipeInfo);
	FILL(clSVMAlloc);
	FILL(clSVMFree);
	FILL(clEnqueueSVMFree);
	FILL(clEnqueueSVMMemcpy);
	FILL(clEnqueueSVMMemFill);
	FILL(clEnqueueSVMMap);
	FILL(clEnqueueSVMUnmap);
	FILL(clEnqueueSVMMigrateMem);
	FILL(clCreateSamplerWithProperties);
	FILL(clSetKernelArgSVMPointer);
	FILL(clSetKernelExecInfo);
	FILL(clGetKernelSubGroupInfo);
	FILL(clGetKernelSubGroupInfoKHR);
	FILL(clCloneKernel);
	FILL(clCreateBufferWithProperties);
	FILL(clCreateImageWithProperties);
	FILL(clSetContextDestructorCallback);
}

void refused_functions(cl_icd_dispatch *table)
{
	sharing_refuse(table);
	newer_refuse(table);
	FILL(clEnqueueNativeKernel);
	FILL(clCreateProgramWithBuiltInKernels);
	FILL(clCreateProgramWithIL);
	FILL(clSetProgramSpecializationConstant);
	FILL(clSetProgramReleaseCallback);
	FILL(clCreateSubDevices);
	FILL(clCreateSubDevicesEXT);
	FILL(clGetDeviceAndHostTimer);
	FILL(clGetHostTimer);
	FILL(clSetDefaultDeviceCommandQueue);
}
