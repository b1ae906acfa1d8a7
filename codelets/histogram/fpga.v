/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Counts bytes, LANES a clock. Input 0: the bytes; its last beat may be partial
 * (tkeep). Input 1: BINS counters of 64 bits; output 0: the same, with what was
 * counted added. Every lane counts in a block RAM of its own with one read and one
 * write port; after the last byte the lanes' counts are summed, and cleared as
 * they are read. A lane counts to 2^32 - 1, so a run has fewer than 2^36 bytes.
 *
 * Bytes enter every clock; after the last one BINS + 6 clocks until the next run's.
 */
/* The file is named after what it is in its folder, not after its modules. */
/* verilator lint_off DECLFILENAME */

/* Counters of one lane: `count` adds one to the counter of `value`; `advance` reads
 * the counter `bin` to `sum`; `clear` sets it to 0. */
module lane (
	input clk,
	input rst,
	input count,
	input [7:0] value,
	input advance,
	input clear,
	input [7:0] bin,
	output [31:0] sum
);
	reg [31:0] counters [0:255];
	reg [31:0] read;
	reg counting, written;
	reg [7:0] address, written_address;
	reg [31:0] written_sum;

	/* A counter that was written when it was read is not in `read` yet. */
	wire [31:0] current = written && written_address == address ? written_sum : read;
	wire [31:0] next = current + 1;
	wire write = counting || clear;
	wire [7:0] write_address = counting ? address : bin;
	wire [31:0] write_data = counting ? next : 0;

	assign sum = read;

	always @(posedge clk) begin
		if (count || advance)
			read <= counters[count ? value : bin];
		if (write)
			counters[write_address] <= write_data;
		address <= value;
		written_address <= address;
		written_sum <= next;
		counting <= count && !rst;
		written <= counting && !rst;
	end
endmodule

module kernel #(
	parameter LANES = 16
) (
	input clk,
	input rst,
	input [31:0] registers,
	input [8 * LANES + 63 : 0] s_tdata,
	input [LANES + 7 : 0] s_tkeep,
	input [1:0] s_tlast,
	input [1:0] s_tvalid,
	output [1:0] s_tready,
	output [63:0] m_tdata,
	output m_tlast,
	output m_tvalid,
	input m_tready,
	output [31:0] status
);
	localparam CLEAR = 0, COUNT = 1, FLUSH = 2, DRAIN = 3, LEAVE = 4;
	localparam GROUPS = LANES / 4;

	reg [2:0] state;
	reg [7:0] bin;
	reg flushed;
	wire take = state == COUNT && s_tvalid[0];

	/* Draining: counters are read, summed by fours, summed, added to input 1. */
	reg read_valid, part_valid, sum_valid;
	reg read_last, part_last, sum_last;
	reg [31:0] parts [0:GROUPS-1];
	reg [35:0] sum, total;
	wire advance = !sum_valid || (s_tvalid[1] && m_tready);
	wire issue = state == DRAIN && advance;

	wire [32 * LANES - 1 : 0] counts;
	genvar l;
	generate
		for (l = 0; l < LANES; l = l + 1) begin : lanes
			lane lane(
				.clk(clk), .rst(rst), .count(take && s_tkeep[l]),
				.value(s_tdata[8 * l +: 8]), .advance(issue),
				.clear(issue || state == CLEAR), .bin(bin),
				.sum(counts[32 * l +: 32]));
		end
	endgenerate

	integer g;
	always @* begin
		total = 0;
		for (g = 0; g < GROUPS; g = g + 1)
			total = total + {4'd0, parts[g]};
	end

	assign s_tready = {sum_valid && m_tready, state == COUNT};
	assign m_tvalid = sum_valid && s_tvalid[1];
	assign m_tlast = sum_last;
	assign m_tdata = s_tdata[8 * LANES +: 64] + {28'd0, sum};
	assign status = 0;

	wire unused = &{1'b0, registers, s_tkeep[LANES +: 8], s_tlast[1]};

	always @(posedge clk)
		if (advance) begin
			for (g = 0; g < GROUPS; g = g + 1)
				parts[g] <= counts[128 * g +: 32] + counts[128 * g + 32 +: 32] +
					    counts[128 * g + 64 +: 32] + counts[128 * g + 96 +: 32];
			sum <= total;
			{part_last, sum_last} <= {read_last, part_last};
			read_last <= bin == 255;
		end

	always @(posedge clk)
		if (rst)
			{read_valid, part_valid, sum_valid} <= 0;
		else if (advance)
			{read_valid, part_valid, sum_valid} <= {issue, read_valid, part_valid};

	always @(posedge clk)
		if (rst) begin
			state <= CLEAR;
			bin <= 0;
			flushed <= 0;
		end else case (state)
		CLEAR: begin
			bin <= bin + 1;
			if (bin == 255)
				state <= COUNT;
		end
		COUNT: if (take && s_tlast[0])
			state <= FLUSH;
		FLUSH: begin
			/* The last bytes are still on their way to the counters. */
			flushed <= !flushed;
			if (flushed)
				state <= DRAIN;
		end
		DRAIN: if (issue) begin
			bin <= bin + 1;
			if (bin == 255)
				state <= LEAVE;
		end
		default: if (m_tvalid && m_tready && m_tlast)
			state <= COUNT;
		endcase
endmodule
