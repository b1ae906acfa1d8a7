/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "partition/common/home_starpu.h"

struct arrival {
	starpu_data_handle_t handle;
	void (*arrived)(void *arg);
	void *arg;
};

static void acquired(void *arg)
{
	struct arrival arrival = *(struct arrival *)arg;

	free(arg);
	starpu_data_release_on_node(arrival.handle, STARPU_MAIN_RAM);
	starpu_data_unregister_submit(arrival.handle);
	arrival.arrived(arrival.arg);
}

int home_bring(starpu_data_handle_t handle, void (*arrived)(void *arg), void *arg)
{
	struct arrival *arrival = malloc(sizeof(*arrival));
	int status;

	if (!arrival)
		return -ENOMEM;
	*arrival = (struct arrival){handle, arrived, arg};
	status =
	    starpu_data_acquire_on_node_cb(handle, STARPU_MAIN_RAM, STARPU_R, acquired, arrival);
	if (status)
		free(arrival);
	return status;
}
