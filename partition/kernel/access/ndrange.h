/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Ranges of the work-groups of an NDRange, and how to launch just one.
 *
 * Work-groups have flat numbers, dimension 0 fastest (SKMD, PACT 2013, figure 3). A prologue
 * before the source answers what the kernel asks about ids, so that a range's groups alone are
 * launched and compute as in a launch of all. enum ndrange_way has the ways to do so.
 */
#ifndef HEDDLE_KERNEL_NDRANGE_H
#define HEDDLE_KERNEL_NDRANGE_H

#include <stdbool.h>
#include <stddef.h>

struct ndrange {
	unsigned dimensions; /**< 1 to 3 */
	size_t groups[3];    /**< work-groups; 1 beyond the dimensions */
	size_t local[3];     /**< work-items of a group; likewise */
	size_t offset[3];    /**< of global ids; 0 beyond the dimensions */
};

/** Makes one from what clEnqueueNDRangeKernel() takes, without an offset.
 * @return 0; -EINVAL after a message where sizes are 0, global ones no multiples of the
 * local ones, or their products too large to count. */
int ndrange_make(unsigned dimensions, const size_t *global, const size_t *local,
                 struct ndrange *range);

/** Gives one an offset, which adds to all global ids.
 * @return 0; -EINVAL after a message where ids are too large to count */
int ndrange_shift(struct ndrange *range, const size_t *offset);

/** Chooses the size of groups: in each dimension a divisor of the work-items, of which a group
 * has at most 64 together. */
void ndrange_local_choose(unsigned dimensions, const size_t *global, size_t *local);

/** Work-groups of it all. */
size_t ndrange_groups(const struct ndrange *range);

/** Groups first[d] to first[d] + n[d] - 1 in each dimension. */
struct ndrange_box {
	size_t first[3], n[3];
};

#define NDRANGE_MAXBOXES 5

/** Cuts groups `from` to `from + n - 1` into boxes, in ascending order.
 * @param n up to ndrange_groups() - from
 * @return how many, 0 for none */
unsigned ndrange_boxes(const struct ndrange *range, size_t from, size_t n,
                       struct ndrange_box boxes[NDRANGE_MAXBOXES]);

enum ndrange_way {
	/** Exactly n groups as a row. The three global offsets hold the first group's number and
	 * the sizes of the NDRange; of one dimension also the NDRange's own offset. Other offsets
	 * are compiled in. */
	NDRANGE_FLAT,
	/** At most five boxes, each with an offset of its own. The sizes of the NDRange and its
	 * own offset are compiled in. For NDRanges beyond the bounds of the first way, up to 2^32
	 * groups. */
	NDRANGE_BOXES,
	/** All groups, of which those outside of the range return at once, as in the paper. The
	 * kernel gets two more arguments, the first and the last number of the range. For sources
	 * that do not compile with the prologue, and for dry runs of kernels that are not split. */
	NDRANGE_EXIT,
	/** All groups by the source as it is: compilers make most of ids that they know. */
	NDRANGE_WHOLE
};

/** The way that an NDRange allows: NDRANGE_FLAT with fewer than 32768 groups along dimension
 * 1, 8192 along dimension 2, and 2^31 work-items when all groups are put into a row; of one
 * dimension, with an offset below 2^31. */
enum ndrange_way ndrange_way(const struct ndrange *range);

/** Whether ranges of it can be launched with offsets. NVIDIA's OpenCL cuts offsets of 2^31 or
 * more. Any NDRange can be launched as a whole. */
bool ndrange_cuttable(const struct ndrange *range);

/** The questions that the prologue answers. OpenCL itself answers get_local_id(), get_local_size()
 * and what follows from them alone. Any other question has another answer in a range of groups
 * than in a launch of all. heddle-analyse refuses kernels that ask one. */
#define NDRANGE_ANSWERS                                                                            \
	"#define get_group_id(d) heddle_group_id(d)\n"                                             \
	"#define get_num_groups(d) heddle_num_groups(d)\n"                                         \
	"#define get_global_id(d) heddle_global_id(d)\n"                                           \
	"#define get_global_size(d) heddle_global_size(d)\n"                                       \
	"#define get_global_offset(d) heddle_global_offset(d)\n"                                   \
	"#define get_work_dim() ((uint)HEDDLE_DIMENSIONS)\n"

/** The prologue, to be put before the kernel's source.
 * @return text to be freed; NULL: no memory */
char *ndrange_prologue(const struct ndrange *range, enum ndrange_way way);

/** Whether a program of a range's prologue serves another offset. */
bool ndrange_offset_free(const struct ndrange *range, enum ndrange_way way);

/** Whether every device knows the offset of a launch of everything. */
bool ndrange_offset_small(const struct ndrange *range);

/** Whether ndrange_prologue() gives the same for both, but for offsets. */
bool ndrange_same_prologue(const struct ndrange *a, const struct ndrange *b, enum ndrange_way way);

/** Adds the early exit to a kernel (PACT 2013, figure 4). The result is to follow the prologue of
 * NDRANGE_EXIT. The kernel gets two more parameters, both ulong.
 * @return text to be freed; NULL: no kernel of that name was found (a macro may make it), the
 * source speaks of waiting for copies, or no memory */
char *ndrange_exit_source(const char *source, const char *name);

/** One call of clEnqueueNDRangeKernel(). */
struct ndrange_launch {
	unsigned dimensions;
	size_t offset[3], global[3], local[3];
};

/** The launches of a range, of all groups where the way is NDRANGE_WHOLE. @return how many */
unsigned ndrange_launches(const struct ndrange *range, enum ndrange_way way, size_t from, size_t n,
                          struct ndrange_launch launches[NDRANGE_MAXBOXES]);

#endif
