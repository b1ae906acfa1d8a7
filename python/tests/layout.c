/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Sizes and places of members, as test_layout.py compares them with those of ctypes.
 */
#include <stdio.h>
#include <heddle/heddle.h>

#define SIZE(type) printf(#type " size %zu\n", sizeof(struct type))
#define MEMBER(type, member) printf(#type " " #member " %zu\n", offsetof(struct type, member))

int main(void)
{
	SIZE(heddle_abi);
	MEMBER(heddle_abi, kernel_stats_bytes);
	SIZE(heddle_block);
	MEMBER(heddle_block, status);
	SIZE(heddle_access);
	MEMBER(heddle_access, combine);
	MEMBER(heddle_access, index_bytes);
	SIZE(heddle_loop);
	MEMBER(heddle_loop, accesses);
	MEMBER(heddle_loop, arg);
	MEMBER(heddle_loop, workers);
	MEMBER(heddle_loop, total);
	MEMBER(heddle_loop, function);
	MEMBER(heddle_loop, late);
	SIZE(heddle_worker_stats);
	MEMBER(heddle_worker_stats, rate);
	SIZE(heddle_loop_stats);
	MEMBER(heddle_loop_stats, workers);
	SIZE(heddle_kernel_argument);
	SIZE(heddle_kernel);
	MEMBER(heddle_kernel, arguments);
	MEMBER(heddle_kernel, workers);
	MEMBER(heddle_kernel, offset);
	SIZE(heddle_kernel_worker_stats);
	MEMBER(heddle_kernel_worker_stats, kept_bytes);
	SIZE(heddle_kernel_stats);
	MEMBER(heddle_kernel_stats, workers);
	MEMBER(starpu_vector_interface, ptr);
	MEMBER(starpu_vector_interface, dev_handle);
	MEMBER(starpu_vector_interface, offset);
	printf("constant STARPU_RW %d\n", STARPU_RW);
	printf("constant SHARE_REDUCE %d\n", HEDDLE_REDUCE);
	printf("constant SHARE_INDEXED %d\n", HEDDLE_INDEXED);
	printf("constant ARGUMENT_LOCAL %d\n", HEDDLE_KERNEL_LOCAL);
	printf("constant KERNEL_MAXARGUMENTS %d\n", HEDDLE_KERNEL_MAXARGUMENTS);
	return 0;
}
