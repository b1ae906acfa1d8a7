/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which bytes of its buffers a range of a kernel's work-groups touches.
 */
#ifndef HEDDLE_KERNEL_INDEX_H
#define HEDDLE_KERNEL_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "partition/kernel/access/ndrange.h"

/* heddle-analyse describes the addresses of a kernel's loads and stores as a list of operations on
 * group numbers, item numbers, sizes and integer arguments. The description is evaluated when the
 * kernel is launched and all these are known. A value is
 *
 *   c + sum over d of (g[d] group(d) + l[d] item(d)) + [lo, hi]
 *
 * for the groups of one box (partition/kernel/access/ndrange.h), or unknown. An unknown address
 * counts as all of the buffer. The index analysis of SKMD (PACT 2013, section III-B) knows
 * contiguous buffers and others; this one distinguishes rows of tiles, windows with a halo, and
 * tables as well. */

/* What heddle-analyse writes and index_parse() reads. A description is lines of
 *
 *   heddle-index 22
 *   refuse REASON
 *   argument buffer | integer BITS | local | image SHAPE FORMATS | sampler | other   in order
 *   field ARGUMENT OFFSET BYTES                         of one that is `other` or `image`
 *   node OPERATION BITS NUMBER...                       see below
 *   guard PREDICATE NODE NODE                           see enum index_predicate
 *   access ARGUMENT NODE BYTES read|write|update every|always|maybe ALIGNMENT GUARD...
 *
 * Bytes of an image are its pixels: one after the other in a row, row after row, image after image.
 * Its fields are those of struct index_image, SHAPE and FORMATS those of struct index_argument.
 *
 * NODE -1 is an address that is not understood. BITS other than 0: a result that does not fit them
 * as a signed number is unknown; of TRIPS, the width of the counter. A NUMBER is an earlier node
 * (`n`, from 0 on), an earlier guard (`g`) or a value (`v`).
 *
 * Guards, numbered from 0 on, are comparisons that hold wherever the access is reached. `always`:
 * every work-item for which all guards hold gets to the access, with the values that it compared.
 * `every`: it does so in each round of the loops whose counters are in the address, and these end
 * by their own tests alone.
 *
 * A LOAD is an integer in a buffer, of BITS (8, 16, 32 or 64), at a multiple of its size. It is
 * known where a launch says what is in the buffer (`contents` of struct index_launch). */
#define INDEX_VERSION 22

/** Of all kernels of a source: what stands before the name of each, whose description follows, and
 * before an exit status behind one that is not whole. */
#define INDEX_KERNEL "kernel "
#define INDEX_FAILED "failed "

/** Stands for the name of a kernel where all of a source are described. */
#define INDEX_ALL "-"

/** The exit status of heddle-analyse where a kernel is too large to describe, and the one behind
 * INDEX_FAILED where that takes longer than HEDDLE_ANALYSE_LIMIT. Of a whole source: it makes a
 * name of parts that compilers may define, and nobody was asked for. */
#define INDEX_TOO_LARGE 5
#define INDEX_TOO_SLOW 6
#define INDEX_MAKES_NAME 7

/* OPERATION(identifier, text, numbers) */
#define INDEX_OPERATIONS(OPERATION)                                                                \
	OPERATION(UNKNOWN, "unknown", "")                                                          \
	OPERATION(CONSTANT, "constant", "v")                                                       \
	OPERATION(ARGUMENT, "argument", "v")                                                       \
	OPERATION(FIELD, "field", "v")   /* from 0 on */                                           \
	OPERATION(GROUP, "group", "v")   /* dimension */                                           \
	OPERATION(ITEM, "item", "v")     /* dimension */                                           \
	OPERATION(GROUPS, "groups", "v") /* dimension */                                           \
	OPERATION(ITEMS, "items", "v")   /* dimension */                                           \
	OPERATION(OFFSET, "offset", "v") /* dimension */                                           \
	OPERATION(DIMENSIONS, "dimensions", "")                                                    \
	OPERATION(RANGE, "range", "vm") /* least, greatest */                                      \
	OPERATION(LOAD, "load", "vn")   /* from an argument, at so many bytes */                   \
	OPERATION(ADD, "add", "nn")                                                                \
	OPERATION(SUB, "sub", "nn")                                                                \
	OPERATION(MUL, "mul", "nn")                                                                \
	OPERATION(SHL, "shl", "nn")                                                                \
	OPERATION(SHR, "shr", "nn") /* of what is not negative, as DIV and REM */                  \
	OPERATION(DIV, "div", "nn")                                                                \
	OPERATION(REM, "rem", "nn")                                                                \
	OPERATION(AND, "and", "nn")                                                                \
	OPERATION(OR, "or", "nn")                                                                  \
	OPERATION(XOR, "xor", "nn")                                                                \
	OPERATION(MIN, "min", "nn")                                                                \
	OPERATION(MAX, "max", "nn")                                                                \
	OPERATION(SELECT, "select", "nn")  /* one of them */                                       \
	OPERATION(CHOOSE, "choose", "gnn") /* the first where the guard holds, or the second */    \
	OPERATION(EITHER, "either",                                                                \
	          "nn") /* the smaller one of those known; of TRIPS: any test may end it */        \
	OPERATION(FIT, "fit", "n")            /* truncation */                                     \
	OPERATION(EXTEND, "extend", "n")      /* of so many bits, as unsigned */                   \
	OPERATION(IN_BOUNDS, "inbounds", "n") /* of 32, perhaps 2^32 more, in an address */        \
	OPERATION(TRIPS, "trips", "nnnpa")    /* start, step, bound */                             \
	OPERATION(LOOP, "loop", "nnn")        /* start, step, trips: one node for each loop */

enum index_op {
#define OPERATION(id, text, numbers) INDEX_##id,
	INDEX_OPERATIONS(OPERATION)
#undef OPERATION
	    INDEX_NOPS
};

/** How a loop's count compares to its bound when it goes on (`p`), or the sides of a guard
 * to each other; `a` is 1 when the count has made its step already. */
enum index_predicate {
	INDEX_NE,
	INDEX_SLT,
	INDEX_SLE,
	INDEX_SGT,
	INDEX_SGE,
	INDEX_ULT,
	INDEX_ULE,
	INDEX_UGT,
	INDEX_UGE,
	INDEX_EQ,
	INDEX_NPREDICATES
};

/** Text of an operation. */
const char *index_op_text(enum index_op op);

enum index_kind {
	INDEX_BUFFER,
	INDEX_INTEGER, /**< up to 64 bits */
	INDEX_LOCAL,   /**< local memory */
	INDEX_IMAGE,   /**< a buffer of pixels, which are its bytes */
	INDEX_SAMPLER,
	INDEX_OTHER /**< of no meaning for addresses */
};

/** Images of one to three dimensions are of the shapes 1, 2, 3; this is added for arrays of them.
 */
#define INDEX_ARRAYED 4

/** Formats of images, as read_imagef() and its sisters distinguish them. */
#define INDEX_FLOAT_FORMATS 1
#define INDEX_SIGNED_FORMATS 2
#define INDEX_UNSIGNED_FORMATS 4

struct index_argument {
	enum index_kind kind;
	unsigned bits;    /**< of an integer */
	unsigned shape;   /**< of an image: see INDEX_ARRAYED; 0: it is not known */
	unsigned formats; /**< of an image: INDEX_..._FORMATS that calls suit; 0: any */
	/** Of a buffer: there are LOADs of it; the kernel writes to it. */
	bool loaded, written;
};

/** An integer in an argument: in a structure or a vector that is given by value. */
struct index_field {
	unsigned argument, offset, bytes;
};

/** The sizes of an image that a kernel may ask for, as its fields. */
struct index_image {
	int32_t width, height, depth, layers;
};

/** Fields of all arguments of a kernel. */
#define INDEX_MAXFIELDS 24

/** Integers of contents that are looked at for one node in one space, and in all, to tell what a
 * range of groups accesses. */
#define INDEX_MOSTLOOKED 16384
#define INDEX_MOSTLOOKS 65536

/** Arguments of a kernel that can be split; HEDDLE_KERNEL_MAXARGUMENTS. */
#define INDEX_MAXARGUMENTS 40

/** What a field is, sign extended.
 * @param value the argument's bytes */
int64_t index_field_value(const struct index_field *field, const void *value);

/** One operation; operands are numbers of earlier ones. */
struct index_node {
	unsigned char op, bits, predicate, after;
	int operands[3];
	int64_t value, most;
};

/** Comparisons that one access can stand behind. */
#define INDEX_MAXGUARDS 12

/** One load or store. */
struct index_access {
	int argument;
	int node; /**< byte offset of the first byte; -1: unknown */
	unsigned bytes;
	bool write, read;
	bool always;        /**< every work-item that passes the guards gets there */
	bool every;         /**< and in every round of the loops that its address counts */
	unsigned alignment; /**< in bytes, that it may rely on */
	unsigned nguards;
	int guards[INDEX_MAXGUARDS];
};

/** A comparison of two nodes. */
struct index_guard {
	unsigned predicate;
	int nodes[2];
};

/** What the address that a buffer begins at has to be a multiple of, for what the accesses
 * rely on; 128 where nothing is known. */
struct index_kernel;
size_t index_alignment(const struct index_kernel *kernel, unsigned argument);

/** Whether a kernel reads an argument anywhere, or writes it. */
bool index_reads(const struct index_kernel *kernel, unsigned argument);
bool index_writes(const struct index_kernel *kernel, unsigned argument);

/** Whether what a buffer holds before a launch says where the kernel accesses memory: it loads
 * integers from there for that, and writes to no argument that is the same memory.
 * @param same as in a launch */
bool index_looks(const struct index_kernel *kernel, const int *same, unsigned argument);

/** A kernel's description. */
struct index_kernel {
	char *refusal; /**< why it must run on one device, or NULL */
	unsigned narguments, nfields, nnodes, naccesses, nguards;
	struct index_argument *arguments;
	struct index_field *fields;
	struct index_node *nodes;
	struct index_access *accesses;
	struct index_guard *guards;
};

/** Reads a description as heddle-analyse prints it.
 * @return 0; -EINVAL after a message that names the line; -ENOMEM. */
int index_parse(const char *text, struct index_kernel *kernel);

/** A description of a kernel of which nothing is known but its arguments: each buffer
 * may be read and written anywhere. */
int index_unknown(unsigned narguments, const enum index_kind *kinds, struct index_kernel *kernel);

void index_free(struct index_kernel *kernel);

/** Whether two descriptions are the same, so that all windows are. */
bool index_same(const struct index_kernel *a, const struct index_kernel *b);

/** A launch: one entry for each argument of the kernel. */
struct index_launch {
	const struct ndrange *range;
	const int64_t *integers; /**< values, sign extended, of integer arguments; then of fields */
	const size_t *bytes;     /**< sizes; of buffers */
	/** By argument the first one that is the same memory, which gets the uses of all; NULL: no
	 * two are the same. */
	const int *same;
	/** By argument the bytes of a buffer as the kernel will find them; NULL: of one, or instead
	 * of all: they are not known. Buffers that the kernel writes do not count (index_looks()).
	 */
	const unsigned char *const *contents;
};

/** Bytes of a buffer that are read or written: from `first` up to before `end`; none
 * where both are 0. With a pitch, only rows of them: `width` bytes at `first`, at
 * `first + pitch` and so on, the last row's ending at `end`. */
struct index_window {
	size_t first, end;
	size_t pitch; /**< 0: one piece; else above the width */
	size_t width; /**< of a row; without a pitch of no meaning */
	bool known;   /**< false: not understood, therefore the whole buffer */
	bool dense;   /**< each byte of it for sure; of writes: or as it was, where
	               * the device was sent it and no group writes */
};

static inline bool index_window_empty(const struct index_window *window)
{
	return window->first == window->end;
}

/** Makes bytes of a window's units: of the pixels of an image. */
void index_window_scale(struct index_window *window, size_t bytes);

/** Rows of a window; 1 of one piece, 0 of none. */
size_t index_window_rows(const struct index_window *window);

struct index_use {
	struct index_window read, write;
};

/** What groups `from` to `from + n - 1` do with every argument.
 * @param[out] uses an entry for each argument
 * @return 0; -ENOMEM */
int index_uses(const struct index_kernel *kernel, const struct index_launch *launch, size_t from,
               size_t n, struct index_use *uses);

/** Arguments, as bits, whose contents would say where groups `from` to `from + n - 1` access
 * memory, beyond those that the launch gives: those loaded from at few enough places that are
 * known. With their contents given there may be more. Without memory there are none. */
uint64_t index_wants(const struct index_kernel *kernel, const struct index_launch *launch,
                     size_t from, size_t n);

/** An access that leaves its buffer. */
struct index_outside {
	unsigned argument;
	bool write;
	/** Byte offset of the access farthest out; where 32 bits may be unsigned, perhaps a
	 * multiple of 2^32 too low. */
	int64_t at;
	unsigned bytes; /**< that it accesses */
};

/** Whether some work-item of a launch leaves a buffer for sure. Accesses of which that is not
 * certain, such as those behind conditions on data, do not count.
 * @param[out] outside the first such access; set if there is one
 * @return 1: one does; 0; -ENOMEM */
int index_leaves(const struct index_kernel *kernel, const struct index_launch *launch,
                 struct index_outside *outside);

/** How the windows of different ranges lie to each other. */
enum index_class {
	INDEX_UNUSED,
	INDEX_CONTIGUOUS, /**< group after group */
	INDEX_SLAB,       /**< row (or plane) of groups after row; scattered within */
	INDEX_HALO,       /**< group after group, overlapping their neighbours */
	INDEX_RECT,       /**< each group its own rectangle, overlapping as ranges of bytes */
	INDEX_BROADCAST,  /**< all groups the same part */
	INDEX_WHOLE       /**< not understood */
};

const char *index_class_name(enum index_class class);

/** Classes of an argument's reads and writes. For messages and choices of where to cut;
 * windows alone decide what is right.
 * @return 0; -ENOMEM */
int index_classes(const struct index_kernel *kernel, const struct index_launch *launch,
                  unsigned argument, enum index_class *read, enum index_class *write);

#endif
