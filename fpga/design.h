/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a design for the simulated FPGA looks like from outside: a shared object with
 * the symbol FPGA_DESIGN_SYMBOL. To load one is to load code: only trusted files.
 *
 * A design is a Verilog module `kernel` with a clock, a synchronous reset, scalar
 * registers of 32 bits, and streams in the manner of AXI4-Stream: data moves on a
 * clock edge where both valid and ready are high. The streams of a direction share a
 * bus, the first one in the lowest bits; tkeep (a bit a byte) says what of an input's
 * last beat is data, tlast that it is the last one. `status` other than 0 says that
 * inputs cannot be worked with; it stays until reset.
 */
#ifndef FPGA_DESIGN_H
#define FPGA_DESIGN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FPGA_DESIGN_MAGIC 0x66706761u /* "fpga" */
#define FPGA_DESIGN_VERSION 1u
#define FPGA_DESIGN_SYMBOL "heddle_fpga_design"

enum {
	FPGA_MAX_STREAMS = 8, /**< in each direction */
	FPGA_MAX_BYTES = 64,  /**< of all streams of a direction, a beat */
	FPGA_MAX_REGISTERS = 16,
	FPGA_MAX_ARGUMENTS = 32,
};

/** A stream. A run of n items moves fixed_bytes + n item_bytes on it. */
struct fpga_stream {
	const char *name;
	uint32_t beat_bytes; /**< moved a clock */
	uint32_t item_bytes;
	uint32_t fixed_bytes;
};

/** What an argument of the OpenCL kernel is for. */
enum fpga_argument_use {
	FPGA_COUNT,    /**< the number of items, a ulong */
	FPGA_REGISTER, /**< a register's 32 bits */
	FPGA_BUFFER, /**< a buffer; the argument after it is the byte where its data begins, a ulong
	              */
	FPGA_OFFSET,
};

struct fpga_argument {
	enum fpga_argument_use use;
	int which;  /**< of a register: its index */
	int input;  /**< of a buffer: the input stream that reads it; -1 none */
	int output; /**< of a buffer: the output stream that writes it; -1 none */
};

/** The signals of a design for one clock; tdata of a direction as on its bus. */
struct fpga_signals {
	uint32_t reset;
	uint32_t registers[FPGA_MAX_REGISTERS];
	uint8_t s_tdata[FPGA_MAX_BYTES];
	uint64_t s_tkeep;
	uint32_t s_tlast, s_tvalid; /**< a bit a stream */
	uint32_t m_tready;
	/* Set by clock(): as they stood before the edge. */
	uint8_t m_tdata[FPGA_MAX_BYTES];
	uint32_t s_tready, m_tlast, m_tvalid;
	uint32_t status;
};

struct fpga_design {
	uint32_t magic, version; /**< FPGA_DESIGN_MAGIC, FPGA_DESIGN_VERSION */
	const char *name;        /**< of the OpenCL kernel */
	uint32_t clock_khz;      /**< clock that the design is stated for */
	uint32_t depth;          /**< clocks from an item to its result */
	uint32_t ninputs, noutputs, nregisters, narguments;
	struct fpga_stream inputs[FPGA_MAX_STREAMS];
	struct fpga_stream outputs[FPGA_MAX_STREAMS];
	struct fpga_argument arguments[FPGA_MAX_ARGUMENTS];
	/** A design that has been reset; NULL where memory is short. */
	void *(*create)(void);
	void (*destroy)(void *instance);
	/** One clock: the signals settle, are noted, and the edge comes. */
	void (*clock)(void *instance, struct fpga_signals *signals);
};

#ifdef __cplusplus
}
#endif
#endif
