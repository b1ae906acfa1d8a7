/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Pinned main memory: a CUDA or HIP device copies from and to it several times faster,
 * and only from and to it while kernels run.
 */
#ifndef HEDDLE_SUPPORT_PIN_STARPU_H
#define HEDDLE_SUPPORT_PIN_STARPU_H

#include <stdbool.h>
#include <stddef.h>

/** Whether there is anything to pin memory for: a CUDA or HIP worker. */
bool heddle_pin_useful(void);

/** Uses memory that we have pinned: it stays so until heddle_unpin().
 * @return false: we have not; nothing is to be undone */
bool heddle_pin_hold(const void *memory, size_t bytes);

/** Pins memory, or uses it where it is pinned, until heddle_unpin().
 * @param bytes above 0
 * @return 0; -ENOMEM where it cannot be pinned, or is in part already. */
int heddle_pin(void *memory, size_t bytes);

/** Undoes one heddle_pin() or heddle_pin_hold() with the same arguments; does
 * nothing for memory that we have not pinned. The last one unpins. */
void heddle_unpin(void *memory, size_t bytes);

/** Whether memory is pinned, by whomever. HIP is not asked: false. */
bool heddle_is_pinned(const void *memory);

#endif
