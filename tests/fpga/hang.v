/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Broken on purpose, in the place of the histogram: takes bytes and never answers.
 */
/* verilator lint_off DECLFILENAME */
module kernel (
	input clk,
	input rst,
	input [31:0] registers,
	input [191:0] s_tdata,
	input [23:0] s_tkeep,
	input [1:0] s_tlast,
	input [1:0] s_tvalid,
	output [1:0] s_tready,
	output [63:0] m_tdata,
	output m_tlast,
	output m_tvalid,
	input m_tready,
	output [31:0] status
);
	reg ended;
	wire answer = 1'b0;

	assign s_tready = {answer && m_tready, !ended};
	assign m_tvalid = answer && s_tvalid[1];
	assign m_tdata = 64'hdead;
	assign m_tlast = s_tlast[1];
	assign status = 0;

	wire unused = &{1'b0, registers, s_tdata, s_tkeep};

	always @(posedge clk)
		if (rst || (m_tvalid && m_tready && m_tlast))
			ended <= 0;
		else if (s_tvalid[0] && s_tlast[0])
			ended <= 1;
endmodule
