/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a kernel reads and writes: its arguments, the buffers that its pointers are based on,
 * and the accesses of its instructions.
 */
#include "config.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm/Config/llvm-config.h>

#include "tools/analyse/analyse.h"

/* ---- arguments ---- */

/* Images, samplers and such: LLVM 14 has pointers to opaque structures for them, later versions
 * types of their own. */
static bool is_opaque(LLVMTypeRef type)
{
#if LLVM_VERSION_MAJOR >= 16
	return LLVMGetTypeKind(type) == LLVMTargetExtTypeKind;
#else
	LLVMTypeRef to;

	if (LLVMGetTypeKind(type) != LLVMPointerTypeKind)
		return false;
	to = LLVMGetElementType(type);
	return LLVMGetTypeKind(to) == LLVMStructTypeKind && LLVMIsOpaqueStruct(to);
#endif
}

/* What an opaque type is. Images of several samples, of depths, and those made of buffers are
 * OTHER. */
enum opaque { OPAQUE_OTHER, OPAQUE_SAMPLER, OPAQUE_READ, OPAQUE_WRITTEN, OPAQUE_BOTH };

/* @param[out] shape of an image, as index.h counts shapes */
static enum opaque opaque_read(const char *text, unsigned *shape)
{
	static const char *const images[] = {"1d", "1d_array", "2d", "2d_array", "3d"};
	static const char *const accesses[] = {"ro", "wo", "rw"}; /* as SPIR-V numbers them */
	unsigned dimension, depth, arrayed, samples, access;
	char name[64];

	if (sscanf(text, "target(\"spirv.Image\", void, %u, %u, %u, %u, %*u, %*u, %u)", &dimension,
	           &depth, &arrayed, &samples, &access) == 5) {
		*shape = dimension + 1 + (arrayed ? INDEX_ARRAYED : 0);
		return dimension > 2 || depth || samples || access > 2 ? OPAQUE_OTHER
		                                                       : OPAQUE_READ + access;
	}
	if (text_starts(text, "target(\"spirv.Sampler\"") || text_starts(text, "%opencl.sampler_t"))
		return OPAQUE_SAMPLER;
	for (size_t i = 0; i < sizeof(images) / sizeof(images[0]); i++)
		for (access = 0; access < 3; access++) {
			snprintf(name, sizeof(name), "%%opencl.image%s_%s_t", images[i],
			         accesses[access]);
			*shape = images[i][0] - '0' + (images[i][2] ? INDEX_ARRAYED : 0);
			if (text_starts(text, name))
				return OPAQUE_READ + access;
		}
	return OPAQUE_OTHER;
}

static enum opaque opaque_shape(LLVMTypeRef type, unsigned *shape)
{
	char *text = LLVMPrintTypeToString(type);
	enum opaque opaque = opaque_read(text, shape);

	LLVMDisposeMessage(text);
	return opaque;
}

static enum opaque opaque_of(LLVMTypeRef type)
{
	unsigned shape;

	return opaque_shape(type, &shape);
}

/* The formats that calls with an image suit: read_imagef() and such. 0: not all calls are known. */
static unsigned image_formats(LLVMValueRef image)
{
	unsigned formats = 0;

	for (LLVMUseRef use = LLVMGetFirstUse(image); use; use = LLVMGetNextUse(use)) {
		LLVMValueRef user = LLVMGetUser(use);
		const char *at = LLVMIsACallInst(user) ? value_called_name(user) : "";
		char *plain;

		if (!text_starts(at, "_Z"))
			return 0;
		strtoul(at + 2, &plain, 10);
		if (text_starts(plain, "read_image"))
			at = plain + strlen("read_image");
		else if (text_starts(plain, "write_image"))
			at = plain + strlen("write_image");
		else if (text_starts(plain, "get_image"))
			continue;
		else
			return 0;
		formats |= *at == 'i'   ? INDEX_SIGNED_FORMATS
		           : *at == 'u' ? INDEX_UNSIGNED_FORMATS
		                        : INDEX_FLOAT_FORMATS;
	}
	return formats;
}

static bool argument_is_buffer(unsigned argument)
{
	LLVMTypeRef type = LLVMTypeOf(LLVMGetParam(analyse_kernel, argument));
	unsigned space;

	if (LLVMGetTypeKind(type) != LLVMPointerTypeKind || is_opaque(type))
		return false;
	space = LLVMGetPointerAddressSpace(type);
	return space == SPACE_GLOBAL || space == SPACE_CONSTANT;
}

static void refuse_print(const char *why)
{
	printf("refuse %s\n", why);
}

static void opaque_print(LLVMValueRef argument)
{
	unsigned shape;
	enum opaque opaque = opaque_shape(LLVMTypeOf(argument), &shape);

	if (opaque == OPAQUE_SAMPLER || opaque == OPAQUE_OTHER)
		puts(opaque == OPAQUE_SAMPLER ? "argument sampler" : "argument other");
	else
		printf("argument image %u %u\n", shape, image_formats(argument));
	if (opaque == OPAQUE_OTHER)
		refuse_print("it has an opaque argument that is no image of 1 to 3 dimensions");
	if (opaque == OPAQUE_BOTH)
		refuse_print("it reads and writes one image");
}

static void argument_print(unsigned argument)
{
	LLVMTypeRef type = LLVMTypeOf(LLVMGetParam(analyse_kernel, argument));
	LLVMTypeKind kind = LLVMGetTypeKind(type);

	if (is_opaque(type))
		opaque_print(LLVMGetParam(analyse_kernel, argument));
	else if (argument_is_buffer(argument))
		puts("argument buffer");
	else if (kind == LLVMPointerTypeKind && LLVMGetPointerAddressSpace(type) == SPACE_LOCAL)
		puts("argument local");
	else if (kind == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) <= 64)
		printf("argument integer %u\n", LLVMGetIntTypeWidth(type));
	else
		puts("argument other");
}

/* Each device has its own copy of a variable in global memory, so it cannot be shared. */
static void globals_check(LLVMModuleRef module)
{
	for (LLVMValueRef global = LLVMGetFirstGlobal(module); global;
	     global = LLVMGetNextGlobal(global)) {
		unsigned space = LLVMGetPointerAddressSpace(LLVMTypeOf(global));

		if (space != SPACE_CONSTANT && space != SPACE_LOCAL &&
		    !LLVMIsGlobalConstant(global))
			refuse_print("its source has variables in global memory");
	}
}

/* ---- accesses ---- */

/* The alignment of an access that does not say it: that of OpenCL's largest type. */
enum { UNKNOWN_ALIGNMENT = 128 };

enum { MAXLANES = 16 };

/* Heddle evaluates all nodes anew behind other guards; this bounds the evaluations. */
enum { MAXEVALUATIONS = 1 << 20 };

static void evaluation_count(const struct place *place)
{
	static struct place last;
	static unsigned evaluations;

	if (evaluations && place->nguards == last.nguards &&
	    !memcmp(place->guards, last.guards, last.nguards * sizeof(last.guards[0])))
		return;
	last = *place;
	if (++evaluations > MAXEVALUATIONS / (node_count() + 1))
		node_too_large();
}

static void access_line(unsigned argument, int node, unsigned long long bytes, const char *mode,
                        const struct place *place, unsigned alignment)
{
	printf("access %u %d %llu %s %s %u", argument, node, bytes, mode,
	       !place->always ? "maybe"
	       : place->every ? "every"
	                      : "always",
	       alignment);
	evaluation_count(place);
	for (unsigned g = 0; g < place->nguards; g++)
		printf(" %d", place->guards[g]);
	putchar('\n');
}

/* Accesses of more bytes are taken as accesses of any. */
enum { MOST_BYTES = 65536, ANY_BYTES };

static void access_print(struct pointer pointer, unsigned long long bytes, const char *mode,
                         const struct place *place, unsigned alignment)
{
	struct place somewhere = *place;

	if (pointer.base == BASE_OWN)
		return;
	if (pointer.base == BASE_NONE)
		pointer = pointer_nowhere;
	somewhere.always = place->always && pointer.base >= 0 && !pointer.other;
	if (pointer.other)
		access_print(*pointer.other, bytes, mode, &somewhere, alignment);
	if (bytes > MOST_BYTES)
		pointer.node = -1, bytes = 1;
	for (unsigned i = 0; i < LLVMCountParams(analyse_kernel); i++)
		if ((pointer.base == (int)i || pointer.base == BASE_UNKNOWN) &&
		    argument_is_buffer(i))
			access_line(i, pointer.base == BASE_UNKNOWN ? -1 : pointer.node, bytes,
			            mode, &somewhere, alignment);
}

/* vloadN(offset, pointer), vstoreN(data, offset, pointer), and those of half: vload_halfN(),
 * vstorea_halfN_rte() and such. */
struct vector_name {
	bool load, half;
	int n; /* elements, which are n apart; of aligned vectors of 3, 4 */
};

static bool vector_name_read(const char *symbol, struct vector_name *name)
{
	char *at;

	if (!text_starts(symbol, "_Z"))
		return false;
	strtoul(symbol + 2, &at, 10);
	name->load = text_starts(at, "vload");
	if (!name->load && !text_starts(at, "vstore"))
		return false;
	at += strlen(name->load ? "vload" : "vstore");
	name->half = text_starts(at, "_half") || text_starts(at, "a_half");
	if (name->half)
		at = strchr(at, 'f') + 1;
	name->n = strtoul(at, &at, 10);
	return name->n <= 16 && (name->n > 1 || name->half);
}

static bool vector_access(LLVMValueRef call, const char *symbol, const struct place *place)
{
	struct vector_name name;
	struct pointer pointer;
	LLVMTypeRef type;
	unsigned long long bytes;

	/* Aligned vectors of 3 are 4 apart, and nobody has them. */
	if (!vector_name_read(symbol, &name) || strstr(symbol, "a_half3"))
		return false;
	type = LLVMTypeOf(name.load ? call : LLVMGetOperand(call, 0));
	if (LLVMGetTypeKind(type) == LLVMVectorTypeKind)
		type = LLVMGetElementType(type);
	else if (name.n)
		return false;
	bytes = name.half ? 2 : LLVMABISizeOfType(analyse_layout, type);
	bytes *= name.n ? name.n : 1;
	pointer = pointer_of(LLVMGetOperand(call, name.load ? 1 : 2));
	if (pointer_is_followed(pointer))
		pointer = pointer_add(
		    pointer,
		    node_product(value_node(LLVMGetOperand(call, name.load ? 0 : 1)), bytes));
	access_print(pointer, bytes, name.load ? "read" : "write", place,
	             strstr(symbol, "a_half") ? bytes : bytes / (name.n ? name.n : 1));
	return true;
}

/* Says that any pixel of the images of a kind may be accessed. */
static void images_print(enum opaque kind, const char *mode)
{
	for (unsigned i = 0; i < LLVMCountParams(analyse_kernel); i++) {
		LLVMTypeRef type = LLVMTypeOf(LLVMGetParam(analyse_kernel, i));

		if (is_opaque(type) && opaque_of(type) == kind)
			access_line(i, -1, 1, mode, &(struct place){0}, 1);
	}
}

/* Says that the kernel may do anything, and why. */
static void anything_print(const char *why)
{
	refuse_print(why);
	access_print(pointer_nowhere, 1, "update", &(struct place){0}, UNKNOWN_ALIGNMENT);
	images_print(OPAQUE_WRITTEN, "update");
}

/* ---- images ---- */

/* Each device would interpolate, and compute pixels of normalized coordinates, with a precision of
 * its own. */
static const char INTERPOLATES[] =
    "it interpolates between an image's pixels, or its coordinates are normalized";

/* The number of a pixel. Nothing outside of the image is written.
 * @param sizes fields of the image, of each coordinate
 * @param[in,out] place guards are added */
static int pixel_node(unsigned image, LLVMValueRef where, unsigned n, const unsigned *sizes,
                      struct place *place)
{
	int node = -1;

	for (unsigned i = n; i-- > 0;) {
		int size = value_field_node(image, sizes[i], 32);
		int at = n == 1 ? value_node(where) : value_element_node(where, i);
		int guard =
		    place->nguards < INDEX_MAXGUARDS ? value_guard_print(INDEX_ULT, at, size) : -1;

		if (guard >= 0)
			place->guards[place->nguards++] = guard;
		else
			place->always = false;
		node = node < 0 ? at : node_sum(node_two(INDEX_MUL, 64, node, size), at);
	}
	return node;
}

/* write_image...(image, where, pixel), by the image's name in the mangled one. Where: x, of arrays
 * and several dimensions a vector; what follows them is of no meaning.
 * @return whether it is such a call */
static bool image_write(LLVMValueRef call, const char *symbol, const struct place *place)
{
	static const struct {
		const char *name;
		unsigned n, sizes[3]; /* coordinates, and fields for their sizes */
	} images[] = {
	    {"14ocl_image1d_wo", 1, {offsetof(struct index_image, width)}},
	    {"20ocl_image1d_array_wo",
	     2,
	     {offsetof(struct index_image, width), offsetof(struct index_image, layers)}},
	    {"14ocl_image2d_wo",
	     2,
	     {offsetof(struct index_image, width), offsetof(struct index_image, height)}},
	    {"20ocl_image2d_array_wo",
	     3,
	     {offsetof(struct index_image, width), offsetof(struct index_image, height),
	      offsetof(struct index_image, layers)}},
	    {"14ocl_image3d_wo",
	     3,
	     {offsetof(struct index_image, width), offsetof(struct index_image, height),
	      offsetof(struct index_image, depth)}},
	};
	const char *name = strstr(symbol, "ocl_image");
	struct pointer pixel = {.node = -1};
	struct place there = *place;
	LLVMValueRef where;
	char *plain;

	if (!text_starts(symbol, "_Z") || !name)
		return false;
	strtoul(symbol + 2, &plain, 10);
	if (!text_starts(plain, "write_image") || LLVMGetNumArgOperands(call) < 2)
		return false;
	pixel.base = value_argument(LLVMGetOperand(call, 0));
	where = LLVMGetOperand(call, 1);
	there.every = place->always && block_counts_every(where, LLVMGetInstructionParent(call));
	for (size_t i = 0; i < sizeof(images) / sizeof(images[0]); i++)
		if (pixel.base >= 0 && LLVMGetNumArgOperands(call) == 3 &&
		    text_starts(name - 2, images[i].name))
			pixel.node =
			    pixel_node(pixel.base, where, images[i].n, images[i].sizes, &there);
	if (pixel.base >= 0 && pixel.node >= 0)
		access_line(pixel.base, pixel.node, 1, "write", &there, 1);
	else
		anything_print("it writes to an image in a way that is not understood");
	return true;
}

/* A sampler in the source. */
static bool sampler_make(LLVMValueRef call, const char *symbol)
{
	enum { NORMALIZED = 1, FILTER_LINEAR = 0x20 }; /* of clang's opencl-c.h */
	LLVMValueRef value;

	if (strcmp(symbol, "__translate_sampler_initializer"))
		return false;
	value = LLVMGetOperand(call, 0);
	if (!LLVMIsAConstantInt(value) ||
	    LLVMConstIntGetZExtValue(value) & (FILTER_LINEAR | NORMALIZED))
		refuse_print(INTERPOLATES);
	return true;
}

/* ---- copies by work-groups ---- */

/* The size of a type by its first letters in a mangled name; 0: it is not known. Copies take
 * vectors of 3 as of 4. */
static unsigned mangled_size(const char *type)
{
	static const char letters[] = "chstijlmfdx";
	static const unsigned sizes[] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 0};
	char *end;
	unsigned n;

	if (text_starts(type, "Dv")) {
		n = strtoul(type + 2, &end, 10);
		return *end == '_' && n >= 2 && n <= 16 ? (n == 3 ? 4 : n) * mangled_size(end + 1)
		                                        : 0;
	}
	if (text_starts(type, "Dh"))
		return 2;
	return *type && strchr(letters, *type) ? sizes[strchr(letters, *type) - letters] : 0;
}

/* One side of a copy: so many elements from a pointer on, like a loop over them. */
static void group_copy_side(LLVMValueRef call, unsigned operand, unsigned size, const char *mode,
                            const struct place *place)
{
	struct pointer pointer = pointer_of(LLVMGetOperand(call, operand));
	struct place there = *place;
	char text[96];
	int zero, one, number, trips;

	if (pointer_is_followed(pointer)) {
		zero = node_constant(0);
		one = node_constant(1);
		number = value_node(LLVMGetOperand(call, 2));
		snprintf(text, sizeof(text), " %d %d %d %d 1", zero, one, number, (int)INDEX_ULT);
		trips = node_print(INDEX_TRIPS, 64, text);
		snprintf(text, sizeof(text), " %d %d %d", zero, one, trips);
		pointer =
		    pointer_add(pointer, node_product(node_print(INDEX_LOOP, 64, text), size));
		there.every = place->always && block_counts_every(LLVMGetOperand(call, operand),
		                                                  LLVMGetInstructionParent(call));
	}
	access_print(pointer, size, mode, &there, size);
}

/* async_work_group_copy(to, from, number, event) */
static bool group_copy(LLVMValueRef call, const char *symbol, const struct place *place)
{
	static const char beginning[] = "_Z21async_work_group_copyPU3AS";
	const char *type = symbol + strlen(beginning) + 1;
	unsigned size;

	if (!text_starts(symbol, beginning))
		return false;
	size = mangled_size(type);
	if (!size || LLVMGetNumArgOperands(call) != 4)
		return false;
	group_copy_side(call, 0, size, "write", place);
	group_copy_side(call, 1, size, "read", place);
	return true;
}

static void copy_access(LLVMValueRef call, const struct place *place)
{
	LLVMValueRef length = LLVMGetOperand(call, 2);
	unsigned long long bytes =
	    LLVMIsAConstantInt(length) ? LLVMConstIntGetZExtValue(length) : ~0ULL;

	access_print(pointer_of(LLVMGetOperand(call, 0)), bytes, "write", place, UNKNOWN_ALIGNMENT);
	if (!text_starts(value_called_name(call), "llvm.memset"))
		access_print(pointer_of(LLVMGetOperand(call, 1)), bytes, "read", place,
		             UNKNOWN_ALIGNMENT);
}

/* A called function must do the same in a range of groups as in all of them. */
static void call_check(LLVMValueRef call, const char *name)
{
	LLVMValueRef called = LLVMGetCalledValue(call);
	char *plain = (char *)name;
	int length = strlen(name);
	char why[256];

	if (!LLVMIsAFunction(called) || !LLVMIsDeclaration(called)) {
		anything_print("it calls a function that cannot be inlined");
	} else if (strstr(name, "printf")) {
		refuse_print("it prints");
	} else if (!value_function_known(name)) {
		if (text_starts(name, "_Z"))
			length = strtoul(name + 2, &plain, 10);
		snprintf(why, sizeof(why),
		         "it calls %.*s(), which may do something else in a part of the NDRange",
		         length, plain);
		anything_print(why);
	}
}

static void call_accesses(LLVMValueRef call, const struct place *place)
{
	const char *name = value_called_name(call);
	int n = LLVMGetNumArgOperands(call);

	if (text_starts(name, "llvm.memcpy.") || text_starts(name, "llvm.memmove.") ||
	    text_starts(name, "llvm.memset.")) {
		copy_access(call, place);
		return;
	}
	if (sampler_make(call, name))
		return;
	call_check(call, name);
	if (text_starts(name, "_Z8prefetch"))
		return; /* which changes nothing */
	if (image_write(call, name, place))
		return;
	if (text_starts(name, "llvm.") || vector_access(call, name, place) ||
	    group_copy(call, name, place))
		return;
	for (int i = 0; i < n; i++) {
		LLVMValueRef argument = LLVMGetOperand(call, i);
		struct pointer pointer;

		if (LLVMGetTypeKind(LLVMTypeOf(argument)) != LLVMPointerTypeKind ||
		    is_opaque(LLVMTypeOf(argument)))
			continue;
		pointer = pointer_of(argument);
		if (pointer.base == BASE_OWN)
			continue;
		if (strstr(name, "atom"))
			refuse_print("it has atomic operations on global memory");
		access_print(pointer, ANY_BYTES, "update", &(struct place){0}, UNKNOWN_ALIGNMENT);
	}
}

static void atomic_access(LLVMValueRef value)
{
	struct pointer pointer = pointer_of(LLVMGetOperand(value, 0));

	if (pointer.base == BASE_OWN)
		return;
	refuse_print("it has atomic operations on global memory");
	access_print(pointer, ANY_BYTES, "update", &(struct place){0}, UNKNOWN_ALIGNMENT);
}

/* Work-groups communicate through volatile and atomic accesses. */
static void order_check(LLVMValueRef value, unsigned pointer)
{
	if ((LLVMGetVolatile(value) || LLVMGetOrdering(value) != LLVMAtomicOrderingNotAtomic) &&
	    pointer_of(LLVMGetOperand(value, pointer)).base != BASE_OWN)
		refuse_print("it has volatile or atomic accesses to global memory");
}

/* ---- pointers as numbers ---- */

/* Whether an address may get into memory as a number. Comparisons and differences of pointers tell
 * nothing of where buffers lie, and pointers that are made of numbers are checked as such. */
static bool number_escapes(LLVMValueRef number);

/* Whether it may by way of an instruction that uses it. */
static bool escapes_by(LLVMValueRef user)
{
	switch (LLVMGetInstructionOpcode(user)) {
	case LLVMICmp:
	case LLVMIntToPtr:
		return false;
	case LLVMPHI:
	case LLVMSelect:
		return number_escapes(user);
	case LLVMSub:
		if (LLVMIsAPtrToIntInst(LLVMGetOperand(user, 0)) &&
		    LLVMIsAPtrToIntInst(LLVMGetOperand(user, 1)))
			return false;
		return number_escapes(user);
	default:
		return !pointer_is_step(user) || number_escapes(user);
	}
}

static bool number_escapes(LLVMValueRef number)
{
	if (!value_walk_first(number))
		return false;
	for (LLVMUseRef use = LLVMGetFirstUse(number); use; use = LLVMGetNextUse(use))
		if (escapes_by(LLVMGetUser(use)))
			return true;
	return false;
}

/* Whether a number is made of a pointer of this launch. */
static bool is_of_pointer_number(LLVMValueRef number)
{
	if (LLVMIsAPtrToIntInst(number))
		return true;
	if (!LLVMIsAInstruction(number) || !value_walk_first(number) || LLVMIsALoadInst(number))
		return false;
	for (int i = 0; i < LLVMGetNumOperands(number); i++)
		if (is_of_pointer_number(LLVMGetOperand(number, i)))
			return true;
	return false;
}

/* Each device has its buffers elsewhere: an address that one of them has stored is wrong for the
 * others, and for later launches. */
static void number_check(LLVMValueRef value)
{
	LLVMValueRef operand = LLVMGetOperand(value, 0);
	bool made = LLVMIsAPtrToIntInst(value) && pointer_of(operand).base != BASE_OWN;
	bool of_number;

	value_walk_begin();
	if (made && number_escapes(value))
		anything_print("it stores a pointer");
	value_walk_begin();
	of_number = LLVMIsAIntToPtrInst(value)
	                ? !is_of_pointer_number(operand)
	                : LLVMIsAGetElementPtrInst(value) && LLVMIsNull(operand);
	if (of_number && !pointer_is_no_address(value))
		anything_print("it makes a pointer of a number");
}

static void load_accesses(LLVMValueRef load, const struct place *place)
{
	LLVMValueRef from = LLVMGetOperand(load, 0);
	LLVMTypeRef type = LLVMTypeOf(load);

	order_check(load, 0);
	if (LLVMGetTypeKind(type) == LLVMPointerTypeKind && !is_opaque(type) &&
	    pointer_of(from).base != BASE_OWN)
		anything_print("it reads a pointer from memory");
	access_print(pointer_of(from), LLVMStoreSizeOfType(analyse_layout, type), "read", place,
	             LLVMGetAlignment(load));
}

/* ---- stores ---- */

/* Where an element of a stored vector comes from, as bits. */
enum lane { LANE_WRITTEN = 1, LANE_KEPT = 2 };

/* The choices between vectors that were followed for one element. */
struct choices {
	struct {
		LLVMValueRef value;
		unsigned from;
	} all[64];
	unsigned n;
	LLVMValueRef pointer; /* where it is stored */
	unsigned lane;
};

/* @return whether a choice is to be followed */
static bool choice_new(struct choices *choices, LLVMValueRef value, unsigned from)
{
	for (unsigned i = 0; i < choices->n; i++)
		if (choices->all[i].value == value && choices->all[i].from == from)
			return false;
	choices->all[choices->n].value = value;
	choices->all[choices->n++].from = from;
	return true;
}

static int lane_find(LLVMValueRef vector, unsigned from, struct choices *choices);

/* Whether a phi has no value of an earlier iteration than the pointer has, which was loaded from
 * somewhere else. */
static bool is_of_pointer(LLVMValueRef phi, LLVMValueRef pointer)
{
	LLVMBasicBlockRef made;

	if (!LLVMIsAInstruction(pointer))
		return true;
	made = LLVMGetInstructionParent(pointer);
	return made != LLVMGetInstructionParent(phi) &&
	       block_dominates(made, LLVMGetInstructionParent(phi));
}

/* @param first the operand from which on they are vectors, of which the value is one */
static int lane_of_choice(LLVMValueRef value, int first, unsigned from, struct choices *choices)
{
	int lane = 0;

	if (choices->n == sizeof(choices->all) / sizeof(choices->all[0]))
		return LANE_WRITTEN | LANE_KEPT;
	if (choice_new(choices, value, from))
		for (int i = first; i < LLVMGetNumOperands(value); i++)
			lane |= lane_find(LLVMGetOperand(value, i), from, choices);
	return lane;
}

static int lane_of_shuffle(LLVMValueRef shuffle, unsigned from, struct choices *choices)
{
	LLVMValueRef first = LLVMGetOperand(shuffle, 0);
	int n = LLVMGetVectorSize(LLVMTypeOf(first)), mask = LLVMGetMaskValue(shuffle, from);

	if (mask < 0)
		return 0;
	return mask < n ? lane_find(first, mask, choices)
	                : lane_find(LLVMGetOperand(shuffle, 1), mask - n, choices);
}

/* Whether a store writes an element of a vector, or keeps what was loaded there before, or perhaps.
 * 0: it is not defined. */
static int lane_find(LLVMValueRef vector, unsigned from, struct choices *choices)
{
	LLVMValueRef to;

	if (LLVMIsUndef(vector))
		return 0;
	if (LLVMIsALoadInst(vector))
		return from == choices->lane && LLVMGetOperand(vector, 0) == choices->pointer
		           ? LANE_KEPT
		           : LANE_WRITTEN;
	if (LLVMIsAPHINode(vector))
		return is_of_pointer(vector, choices->pointer)
		           ? lane_of_choice(vector, 0, from, choices)
		           : LANE_WRITTEN;
	if (LLVMIsASelectInst(vector))
		return lane_of_choice(vector, 1, from, choices);
	if (LLVMIsAShuffleVectorInst(vector))
		return lane_of_shuffle(vector, from, choices);
	if (!LLVMIsAInsertElementInst(vector))
		return LANE_WRITTEN;
	to = LLVMGetOperand(vector, 2);
	if (LLVMIsAConstantInt(to) && LLVMConstIntGetZExtValue(to) == from)
		return LANE_WRITTEN;
	return lane_find(LLVMGetOperand(vector, 0), from, choices) |
	       (LLVMIsAConstantInt(to) ? 0 : LANE_WRITTEN);
}

/* A store of one element, which a number chooses. */
static bool is_chosen_lane(LLVMValueRef stored, LLVMValueRef pointer)
{
	LLVMValueRef before;

	if (!LLVMIsAInsertElementInst(stored) || LLVMIsAConstantInt(LLVMGetOperand(stored, 2)))
		return false;
	before = LLVMGetOperand(stored, 0);
	return LLVMIsALoadInst(before) && LLVMGetOperand(before, 0) == pointer;
}

static void lanes_print(LLVMValueRef store, unsigned lane, unsigned nlanes, unsigned long long size,
                        const struct place *place, bool always)
{
	struct pointer pointer = pointer_of(LLVMGetOperand(store, 1));
	struct place there = *place;

	there.always = place->always && always;
	if (lane && pointer_is_followed(pointer))
		pointer = pointer_add(pointer, node_constant(lane * size));
	access_print(pointer, nlanes * size, "write", &there,
	             lane ? size : LLVMGetAlignment(store));
}

static void chosen_lane_print(LLVMValueRef store, unsigned n, unsigned long long size,
                              const struct place *place)
{
	struct pointer pointer = pointer_of(LLVMGetOperand(store, 1));
	LLVMValueRef index = LLVMGetOperand(LLVMGetOperand(store, 0), 2);
	struct place there = *place;
	int lane;

	there.every = place->every && block_counts_every(index, LLVMGetInstructionParent(store));
	if (pointer_is_followed(pointer)) {
		/* No other number makes sense. */
		lane = value_node(index);
		lane = node_two(INDEX_MIN, 64, node_two(INDEX_MAX, 64, lane, node_constant(0)),
		                node_constant(n - 1));
		pointer = pointer_add(pointer, node_product(lane, size));
	}
	access_print(pointer, size, "write", &there, size);
}

/* A compiler stores all of a vector to change one of its elements. Another work-group may change
 * another element: what is kept is not written.
 * @return whether some is kept */
static bool vector_store(LLVMValueRef store, const struct place *place)
{
	LLVMValueRef stored = LLVMGetOperand(store, 0), pointer = LLVMGetOperand(store, 1);
	LLVMTypeRef type = LLVMTypeOf(stored);
	int lanes[MAXLANES];
	unsigned long long size;
	bool kept = false;
	unsigned n, end;

	if (LLVMGetTypeKind(type) != LLVMVectorTypeKind || LLVMGetVectorSize(type) > MAXLANES)
		return false;
	n = LLVMGetVectorSize(type);
	size = LLVMStoreSizeOfType(analyse_layout, LLVMGetElementType(type));
	if (is_chosen_lane(stored, pointer)) {
		chosen_lane_print(store, n, size, place);
		return true;
	}
	for (unsigned lane = 0; lane < n; lane++) {
		struct choices choices = {.pointer = pointer, .lane = lane};

		lanes[lane] = lane_find(stored, lane, &choices);
		kept |= lanes[lane] & LANE_KEPT;
	}
	for (unsigned lane = 0; kept && lane < n; lane = end) {
		for (end = lane + 1; end < n && lanes[end] == lanes[lane]; end++)
			;
		if (lanes[lane] & LANE_WRITTEN)
			lanes_print(store, lane, end - lane, size, place,
			            lanes[lane] == LANE_WRITTEN);
	}
	return kept;
}

static void store_accesses(LLVMValueRef value, const struct place *place)
{
	LLVMValueRef stored = LLVMGetOperand(value, 0);
	struct place there = *place;

	order_check(value, 1);
	/* Addresses in memory are not followed. Events of copies are none. */
	if (LLVMGetTypeKind(LLVMTypeOf(stored)) == LLVMPointerTypeKind &&
	    !(is_opaque(LLVMTypeOf(stored)) &&
	      pointer_of(LLVMGetOperand(value, 1)).base == BASE_OWN))
		anything_print("it stores a pointer");
	there.every = place->always &&
	              block_counts_every(LLVMGetOperand(value, 1), LLVMGetInstructionParent(value));
	if (!vector_store(value, &there))
		access_print(pointer_of(LLVMGetOperand(value, 1)),
		             LLVMStoreSizeOfType(analyse_layout, LLVMTypeOf(stored)), "write",
		             &there, LLVMGetAlignment(value));
}

static void instruction_accesses(LLVMValueRef value, const struct place *place)
{
	switch (LLVMGetInstructionOpcode(value)) {
	case LLVMLoad:
		load_accesses(value, place);
		break;
	case LLVMPtrToInt:
	case LLVMIntToPtr:
	case LLVMGetElementPtr:
		number_check(value);
		break;
	case LLVMStore:
		store_accesses(value, place);
		break;
	case LLVMAtomicRMW:
	case LLVMAtomicCmpXchg:
		atomic_access(value);
		break;
	case LLVMCall:
		call_accesses(value, place);
		break;
	case LLVMFence:
	case LLVMVAArg:
	case LLVMInvoke:
	case LLVMCallBr:
		anything_print("it has instructions that are not understood");
		break;
	default:
		break;
	}
}

static bool has_accesses(LLVMBasicBlockRef block)
{
	for (LLVMValueRef value = LLVMGetFirstInstruction(block); value;
	     value = LLVMGetNextInstruction(value))
		switch (LLVMGetInstructionOpcode(value)) {
		case LLVMLoad:
		case LLVMStore:
		case LLVMCall:
			return true;
		default:
			break;
		}
	return false;
}

static void accesses_print(void)
{
	bool followed = block_find_all();

	for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(analyse_kernel); block;
	     block = LLVMGetNextBasicBlock(block)) {
		struct place place = {0};

		if (followed && has_accesses(block))
			place = block_place(block);
		for (LLVMValueRef value = LLVMGetFirstInstruction(block); value;
		     value = LLVMGetNextInstruction(value))
			instruction_accesses(value, &place);
	}
}

void access_describe(LLVMModuleRef module)
{
	printf("heddle-index %d\n", INDEX_VERSION);
	for (unsigned i = 0; i < LLVMCountParams(analyse_kernel); i++)
		argument_print(i);
	/* An image that is read may be read anywhere: a sampler chooses the pixels. */
	images_print(OPAQUE_READ, "read");
	images_print(OPAQUE_BOTH, "update");
	globals_check(module);
	accesses_print();
}
