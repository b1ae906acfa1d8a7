/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Merging by the addresses that a kernel writes to.
 *
 * SKMD has a merge kernel for results that lie scattered: the kernel itself, with what is
 * computed taken out, goes through the addresses once more and copies what another device
 * wrote there (PACT 2013, section III-A, figure 6). Here the addresses come from the
 * kernel's description instead. As with the merge kernel, no address and no condition in
 * front of one may depend on data, which the kernel may have changed since: such kernels are
 * refused. Devices need not be sent what was in the buffer before, but going through the
 * addresses costs more than comparing (merge.h).
 */
#ifndef HEDDLE_KERNEL_ADDRESSES_H
#define HEDDLE_KERNEL_ADDRESSES_H

#include "partition/kernel/index.h"

/** Whether every address of a buffer that groups `from` to `from + n - 1` write to is known,
 * one by one: no loops, data or choices that the description does not have.
 * @return 1; 0; -ENOMEM */
int addresses_known(const struct index_kernel *kernel, const struct index_launch *launch,
                    unsigned argument, size_t from, size_t n);

/** Copies what these groups wrote.
 * @param into the buffer
 * @param partial the buffer's bytes from `first` on, as these groups left them; up to the
 * end of the window that index_uses() tells
 * @param[out] taken bytes copied, those written twice counted twice; NULL: not wanted
 * @return 0; -EINVAL where the addresses are not known; -ENOMEM */
int addresses_merge(const struct index_kernel *kernel, const struct index_launch *launch,
                    unsigned argument, size_t from, size_t n, void *into, const void *partial,
                    size_t first, size_t *taken);

#endif
