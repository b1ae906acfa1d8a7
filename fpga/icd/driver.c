/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The driver as loaders see it: its table of functions, and the two that they ask for by name.
 */
#include "config.h"

#include <string.h>

#include "fpga/icd/icd.h"

static cl_int not_there(void)
{
	return CL_INVALID_OPERATION;
}

__attribute__((visibility("default"))) cl_int clIcdGetPlatformIDsKHR(cl_uint n, cl_platform_id *to,
                                                                     cl_uint *count)
{
	return fpga_dispatch.clGetPlatformIDs(n, to, count);
}

/* Loaders ask for clGetPlatformInfo() here before they have seen the table. */
__attribute__((visibility("default"))) void *clGetExtensionFunctionAddress(const char *name)
{
	if (!name)
		return NULL;
	if (!strcmp(name, "clIcdGetPlatformIDsKHR"))
		return (void *)clIcdGetPlatformIDsKHR;
	if (!strcmp(name, "clGetPlatformInfo"))
		return (void *)fpga_dispatch.clGetPlatformInfo;
	return NULL;
}

static void *extension_for_platform(cl_platform_id self, const char *name)
{
	return object_is(self, PLATFORM) ? clGetExtensionFunctionAddress(name) : NULL;
}

static cl_int unload_platform_compiler(cl_platform_id self)
{
	return object_is(self, PLATFORM) ? CL_SUCCESS : CL_INVALID_PLATFORM;
}

__attribute__((constructor)) static void driver_load(void)
{
	void (**slots)(void) = (void (**)(void)) & fpga_dispatch;

	/* No slot stays empty: loaders call them unseen. */
	for (size_t s = 0; s < sizeof(fpga_dispatch) / sizeof(*slots); s++)
		slots[s] = (void (*)(void))not_there;
	device_functions(&fpga_dispatch);
	memory_functions(&fpga_dispatch);
	program_functions(&fpga_dispatch);
	queue_functions(&fpga_dispatch);
	transfer_functions(&fpga_dispatch);
	event_functions(&fpga_dispatch);
	fpga_dispatch.clGetExtensionFunctionAddress = clGetExtensionFunctionAddress;
	fpga_dispatch.clGetExtensionFunctionAddressForPlatform = extension_for_platform;
	fpga_dispatch.clUnloadPlatformCompiler = unload_platform_compiler;
	device_begin();
}
