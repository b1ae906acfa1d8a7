/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Between a Verilog design, as Verilator translates it, and design.h. What only the
 * design's author knows is in the file that DESCRIPTION names.
 */
#include <cstring>
#include <new>

#include "Vkernel.h"
#include "verilated.h"

#include "fpga/design.h"

double sc_time_stamp()
{
	return 0;
}

namespace
{

/* What is not initialised starts as random bits, the same ones every time. */
VerilatedContext *randomised(VerilatedContext &context)
{
	context.randReset(2);
	context.randSeed(1);
	return &context;
}

struct instance {
	VerilatedContext context;
	Vkernel kernel{randomised(context)};
};

/* Verilator's types of every width are words with the lowest bits first. */
template <typename Port> void put(Port &port, const void *from)
{
	std::memcpy(&port, from, sizeof(port));
}

void edge(void *opaque, fpga_signals *signals)
{
	Vkernel &kernel = static_cast<instance *>(opaque)->kernel;

	kernel.rst = signals->reset != 0;
	put(kernel.registers, signals->registers);
	put(kernel.s_tdata, signals->s_tdata);
	put(kernel.s_tkeep, &signals->s_tkeep);
	kernel.s_tlast = signals->s_tlast;
	kernel.s_tvalid = signals->s_tvalid;
	kernel.m_tready = signals->m_tready;
	kernel.clk = 0;
	kernel.eval();
	std::memcpy(signals->m_tdata, &kernel.m_tdata, sizeof(kernel.m_tdata));
	signals->s_tready = kernel.s_tready;
	signals->m_tlast = kernel.m_tlast;
	signals->m_tvalid = kernel.m_tvalid;
	signals->status = kernel.status;
	kernel.clk = 1;
	kernel.eval();
}

void *create()
{
	instance *self = new (std::nothrow) instance;
	fpga_signals signals = {};

	signals.reset = 1;
	for (int clock = 0; self && clock < 4; clock++)
		edge(self, &signals);
	return self;
}

void destroy(void *opaque)
{
	delete static_cast<instance *>(opaque);
}

fpga_design describe()
{
	fpga_design design = {};

	design.magic = FPGA_DESIGN_MAGIC;
	design.version = FPGA_DESIGN_VERSION;
	design.create = create;
	design.destroy = destroy;
	design.clock = edge;
#include DESCRIPTION
	return design;
}

} // namespace

extern "C" {
extern __attribute__((visibility("default"))) const fpga_design heddle_fpga_design;
const fpga_design heddle_fpga_design = describe();
}
