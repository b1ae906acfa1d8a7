/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Runs a design over memory, clock by clock: what the streams of one OpenCL kernel
 * move. Knows no OpenCL; the driver and the test benches share it.
 */
#ifndef FPGA_RUN_H
#define FPGA_RUN_H

#include "fpga/design.h"

/** How a run goes, and how it went. */
struct fpga_run {
	const uint8_t *inputs[FPGA_MAX_STREAMS];
	uint8_t *outputs[FPGA_MAX_STREAMS];
	uint32_t registers[FPGA_MAX_REGISTERS];
	uint64_t items;
	uint64_t patience; /**< clocks without any beat after which the run is given up; above 0 */
	/** Whether a stream pauses in a clock: for test benches; NULL: never. It is asked
	 * once a clock; inputs are the lower 16 bits of the answer, outputs the upper. */
	uint32_t (*pauses)(void *arg);
	void *arg;
	uint64_t stop_after; /**< clocks after which the run is broken off; 0: never */
	/* Results, also of a failed run. */
	uint64_t clocks;
	uint32_t status; /**< the design's own */
};

/** Bytes of a stream in a run of n items. */
static inline uint64_t fpga_stream_bytes(const struct fpga_stream *stream, uint64_t items)
{
	return stream->fixed_bytes + items * stream->item_bytes;
}

/** Resets an instance, also in the middle of a run. */
void fpga_reset(const struct fpga_design *design, void *instance);

/** Runs until every output has all its bytes and every input has been read.
 * @return 0; -ETIMEDOUT no beat for `patience` clocks; -EPROTO the design ended an
 * output too early or too late; -EINVAL its status is not 0; -ECANCELED stop_after.
 * After an error the instance wants fpga_reset(). */
int fpga_run(const struct fpga_design *design, void *instance, struct fpga_run *run);

/** Whether a design is one that this version can run. @return 0; -EINVAL. */
int fpga_design_check(const struct fpga_design *design);

#endif
