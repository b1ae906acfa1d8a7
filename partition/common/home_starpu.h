/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The way of results home, to main memory. To unregister a handle without waiting does not
 * bring its contents there; StarPU does that only where somebody acquires it there first,
 * which also tells when it has arrived.
 */
#ifndef HEDDLE_PARTITION_HOME_STARPU_H
#define HEDDLE_PARTITION_HOME_STARPU_H

#include <starpu.h>

/** Brings a handle's contents to main memory, where they belong, and unregisters it. Does
 * not wait, so that a callback may call it, and takes the contents as they are after all
 * tasks submitted so far.
 * @param arrived called once, when the contents are there and the handle is gone; by
 * whatever thread, maybe before this returns
 * @return 0; -ENOMEM, or what StarPU says: `arrived` is not called, and the handle is as it
 * was */
int home_bring(starpu_data_handle_t handle, void (*arrived)(void *arg), void *arg);

#endif
