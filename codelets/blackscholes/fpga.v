/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Prices an option a clock (the formula stands in blackscholes.h). Inputs 0 to 2:
 * spot, strike and years, outputs 0 and 1: call and put, all of them numbers of IEEE
 * single precision. In between everything is fixed point; Qf names a number with f
 * binary places.
 *
 * Ranges: spot and strike from 1 to below 256, years from 1/32 to below 16. What
 * lies outside is taken to the nearer end and flagged in `status`: bit 0 spot,
 * bit 1 strike, bit 2 years; flags stay until reset. Registers: rate (Q34, below
 * 1/4), volatility (Q28, 1/16 to 1), rate + volatility²/2 (Q30), 1/volatility (Q26).
 *
 * Errors of d1 hardly matter, since d2 = d1 - v √T has the same ones and
 * S n(d1) = K e^(-rT) n(d2), n being the normal density: the factors that make d1
 * are short, v √T and N() are not.
 *
 * Tables are computed where the design is elaborated, from their functions. For tools
 * that do not know functions of real numbers: with WRITE_TABLES defined the tables are
 * written to files there, with READ_TABLES they are read from these.
 */
/* The file is named after what it is in its folder, not after its modules. */
/* verilator lint_off DECLFILENAME */

/* A function of u in [0, 1), Q(INDEX+FRACTION), by a parabola through both ends and
 * the middle of each of 2^INDEX intervals; y is Q32, three clocks later. */
module table_of #(
	parameter FUNCTION = 0,
	parameter INDEX = 10,
	parameter FRACTION = 13
) (
	input clk,
	input enable,
	input [INDEX + FRACTION - 1 : 0] u,
	output reg signed [34:0] y
);
	localparam LN = 0, SQRT = 1, RSQRT = 2, EXP = 3, CND = 4;
	localparam N = 1 << INDEX;
	localparam real ONE = 4294967296.0;

	reg signed [34:0] constants [0:N-1];
	reg signed [34:0] slopes [0:N-1];
	reg signed [34:0] bends [0:N-1];
`ifdef WRITE_TABLES
`define NAMED_TABLES
`endif
`ifdef READ_TABLES
`define NAMED_TABLES
`endif
`ifdef NAMED_TABLES
	localparam [8*5-1:0] NAME = FUNCTION == LN ? "ln---" : FUNCTION == SQRT ? "sqrt-" :
		FUNCTION == RSQRT ? "rsqrt" : FUNCTION == EXP ? "exp--" : "cnd--";
`endif
`ifdef READ_TABLES
	initial begin
		$readmemh({NAME, ".constants"}, constants);
		$readmemh({NAME, ".slopes"}, slopes);
		$readmemh({NAME, ".bends"}, bends);
	end
`endif

`ifndef READ_TABLES
	function real density(input real x);
		density = 0.39894228040143267794 * $exp(-0.5 * x * x);
	endfunction

	/* Roots are of 1 to 4: the upper half of the intervals covers 2 to 4. */
	function real root(input real x);
		root = x < 0.5 ? $sqrt(1.0 + 2.0 * x) : $sqrt(4.0 * x);
	endfunction

	/* The last interval of the lower half ends where that half ends. */
	function real value(input real x, input integer interval);
		case (FUNCTION)
		LN: value = $ln(1.0 + x);
		SQRT: value = interval == N / 2 - 1 && x >= 0.5 ? $sqrt(2.0) : root(x);
		RSQRT: value = 1.0 / (interval == N / 2 - 1 && x >= 0.5 ? $sqrt(2.0) : root(x));
		EXP: value = $exp(-4.0 * x);
		default: value = 0.0;
		endcase
	endfunction

	/* Simpson's rule between x and x + h. */
	function real area(input real x, input real h);
		area = h / 6.0 * (density(x) + 4.0 * density(x + h / 2.0) + density(x + h));
	endfunction

	integer i;
	real left, middle, right, curve;
	/* Rounding to the nearest is what is wanted here. */
	/* verilator lint_off REALCVT */
	initial begin
		right = 0.5;
		for (i = 0; i < N; i = i + 1) begin
			if (FUNCTION == CND) begin
				left = right;
				middle = left + area(8.0 * i / N, 4.0 / N);
				right = middle + area((8.0 * i + 4.0) / N, 4.0 / N);
			end else begin
				left = value(1.0 * i / N, i);
				middle = value((i + 0.5) / N, i);
				right = value((i + 1.0) / N, i);
			end
			curve = 2.0 * (left + right - 2.0 * middle);
			constants[i] = left * ONE;
			slopes[i] = (right - left - curve) * ONE;
			bends[i] = curve * ONE;
		end
`ifdef WRITE_TABLES
		$writememh({NAME, ".constants"}, constants);
		$writememh({NAME, ".slopes"}, slopes);
		$writememh({NAME, ".bends"}, bends);
`endif
	end
	/* verilator lint_on REALCVT */
`endif

	reg signed [34:0] constant, constant_2, slope, bend, slope_2;
	reg [FRACTION-1:0] x, x_2;
	wire signed [FRACTION:0] x_signed = $signed({1'b0, x});
	wire signed [FRACTION:0] x_2_signed = $signed({1'b0, x_2});
	wire signed [63:0] bent = bend * x_signed >>> FRACTION;
	wire signed [63:0] sloped = slope_2 * x_2_signed >>> FRACTION;

	wire unused = &{1'b0, bent[63:35], sloped[63:35]};

	always @(posedge clk)
		if (enable) begin
			constant <= constants[u[INDEX + FRACTION - 1 : FRACTION]];
			slope <= slopes[u[INDEX + FRACTION - 1 : FRACTION]];
			bend <= bends[u[INDEX + FRACTION - 1 : FRACTION]];
			x <= u[FRACTION-1:0];
			constant_2 <= constant;
			slope_2 <= slope + bent[34:0];
			x_2 <= x;
			y <= constant_2 + sloped[34:0];
		end
endmodule

/* d, CLOCKS clocks later. */
module delay #(
	parameter WIDTH = 32,
	parameter CLOCKS = 2
) (
	input clk,
	input enable,
	input [WIDTH-1:0] d,
	output [WIDTH-1:0] q
);
	reg [WIDTH-1:0] line [0:CLOCKS-1];
	integer i;

	assign q = line[CLOCKS-1];
	always @(posedge clk)
		if (enable) begin
			line[0] <= d;
			for (i = 1; i < CLOCKS; i = i + 1)
				line[i] <= line[i-1];
		end
endmodule

/* A single-precision number whose exponent, as it is stored, is from BOTTOM to TOP:
 * how far above BOTTOM it is, the mantissa without its leading one; `outside` where
 * it was not in the range. */
module decode #(
	parameter [7:0] BOTTOM = 127,
	parameter [7:0] TOP = 134
) (
	input clk,
	input enable,
	input [31:0] number,
	output reg [3:0] exponent,
	output reg [22:0] mantissa,
	output reg outside
);
	wire below = number[31] || number[30:23] < BOTTOM;
	wire above = !below && number[30:23] > TOP;
	wire [7:0] difference = (above ? TOP : number[30:23]) - BOTTOM;

	wire unused = &{1'b0, difference[7:4]};

	always @(posedge clk)
		if (enable) begin
			exponent <= below ? 0 : difference[3:0];
			mantissa <= below ? 0 : above ? 23'h7fffff : number[22:0];
			outside <= below || above;
		end
endmodule

/* A Q40 number as single precision, rounded to the nearest, three clocks later;
 * negative ones, which only rounding makes, as 0. */
module encode (
	input clk,
	input enable,
	input signed [63:0] value,
	output reg [31:0] number
);
	reg [47:0] positive, normal;
	reg [5:0] zeros, zeros_2;

	function [5:0] leading_zeros(input [47:0] v);
		integer b;
		begin
			leading_zeros = 48;
			for (b = 0; b < 48; b = b + 1)
				if (v[b])
					leading_zeros = 6'd47 - b[5:0];
		end
	endfunction

	wire [47:0] clamped = value < 0 ? 0 : value[47:0];
	/* A carry out of the mantissa belongs to the exponent. */
	wire [31:0] packed_bits = {1'b0, 8'd134 - {2'd0, zeros_2}, normal[46:24]};
	wire unused = &{1'b0, value[62:48], normal[22:0]};

	always @(posedge clk)
		if (enable) begin
			positive <= clamped;
			zeros <= leading_zeros(clamped);
			normal <= positive << zeros;
			zeros_2 <= zeros;
			number <= normal[47] ? packed_bits + {31'd0, normal[23]} : 0;
		end
endmodule

module kernel (
	input clk,
	input rst,
	input [127:0] registers,
	input [95:0] s_tdata,
	input [11:0] s_tkeep,
	input [2:0] s_tlast,
	input [2:0] s_tvalid,
	output [2:0] s_tready,
	output [63:0] m_tdata,
	output [1:0] m_tlast,
	output [1:0] m_tvalid,
	input [1:0] m_tready,
	output [31:0] status
);
	localparam DEPTH = 18;
	localparam LN = 0, SQRT = 1, RSQRT = 2, EXP = 3, CND = 4;
	localparam signed [63:0] LN_2 = 64'd2977044472; /* Q32 */
	localparam signed [63:0] EIGHT = 64'd8 << 32;

	wire [31:0] rate = registers[31:0];
	wire [31:0] volatility = registers[63:32];
	wire [31:0] drift = registers[95:64];
	wire [31:0] inverse = registers[127:96];

	/* All stages move together, unless a price at the end has not been taken. */
	reg [DEPTH-1:0] valid, last;
	reg [1:0] sent;
	wire [1:0] taken = sent | (m_tvalid & m_tready);
	wire enable = !valid[DEPTH-1] || taken == 2'b11;
	wire take = enable && s_tvalid == 3'b111;

	assign s_tready = {3{take}};
	assign m_tvalid = {2{valid[DEPTH-1]}} & ~sent;
	assign m_tlast = {2{last[DEPTH-1]}};

	always @(posedge clk) begin
		if (rst)
			valid <= 0;
		else if (enable)
			valid <= {valid[DEPTH-2:0], take};
		if (enable)
			last <= {last[DEPTH-2:0], |s_tlast};
		sent <= rst || enable ? 0 : taken;
	end

	/* 1: exponents and mantissas */
	wire [3:0] exponent_s, exponent_k, exponent_t;
	wire [22:0] mantissa_s, mantissa_k, mantissa_t;
	wire [2:0] outside;
	decode #(127, 134) decode_s(clk, enable, s_tdata[31:0], exponent_s, mantissa_s, outside[0]);
	decode #(127, 134) decode_k(clk, enable, s_tdata[63:32], exponent_k, mantissa_k, outside[1]);
	decode #(122, 130) decode_t(clk, enable, s_tdata[95:64], exponent_t, mantissa_t, outside[2]);

	reg [2:0] flags;
	always @(posedge clk)
		if (rst)
			flags <= 0;
		else if (valid[0])
			flags <= flags | outside;
	assign status = {29'd0, flags};

	wire [30:0] spot = {7'd0, 1'b1, mantissa_s} << exponent_s[2:0];   /* Q23 */
	wire [30:0] strike = {7'd0, 1'b1, mantissa_k} << exponent_k[2:0]; /* Q23 */
	wire [31:0] years = {8'd0, 1'b1, mantissa_t} << exponent_t;       /* Q28 */

	/* 4: logarithms and roots of the mantissas; T = m 2^(2h) with m from 1 to 4 */
	wire signed [34:0] ln_s, ln_k, sqrt_m, rsqrt_m;
	wire odd = !exponent_t[0]; /* of exponent_t - 5 */
	table_of #(LN, 10, 13) table_s(clk, enable, mantissa_s, ln_s);
	table_of #(LN, 10, 13) table_k(clk, enable, mantissa_k, ln_k);
	table_of #(SQRT, 11, 13) table_q(clk, enable, {odd, mantissa_t}, sqrt_m);
	table_of #(RSQRT, 11, 13) table_r(clk, enable, {odd, mantissa_t}, rsqrt_m);
	wire [3:0] up_s, up_k, up_t;
	delay #(12, 3) delay_e(clk, enable, {exponent_s, exponent_k, exponent_t}, {up_s, up_k, up_t});

	/* 2: rT, 5: e^(-rT) */
	reg [63:0] interest; /* Q62 */
	reg [63:0] growth;   /* Q58, at 2; Q32 at 4 */
	wire [63:0] growth_4;
	wire signed [34:0] discount;
	always @(posedge clk)
		if (enable) begin
			interest <= {32'd0, rate} * {32'd0, years};
			growth <= {32'd0, drift} * {32'd0, years};
		end
	table_of #(EXP, 10, 22) table_e(clk, enable, interest[63:32], discount);
	delay #(64, 2) delay_g(clk, enable, growth >> 26, growth_4);

	/* 5: ln(S/K) + (r + v²/2) T, √T, 1/√T. h = (exponent_t - 5) >> 1, -3 to 1. */
	reg signed [63:0] numerator, root, inverse_root;
	wire signed [63:0] up = $signed({60'd0, up_s}) - $signed({60'd0, up_k});
	wire [2:0] h_3 = up_t[3:1] + {2'd0, up_t[0]}; /* h + 3 */
	always @(posedge clk)
		if (enable) begin
			numerator <= up * LN_2 + {{29{ln_s[34]}}, ln_s} - {{29{ln_k[34]}}, ln_k} +
				     $signed(growth_4);
			root <= {29'd0, sqrt_m} << h_3 >> 3;           /* Q32 */
			inverse_root <= ({29'd0, rsqrt_m} << 3 >> h_3) >> 4; /* Q28 */
		end

	/* 6: d1 v and v √T, 7: d1, 8: d2 */
	reg signed [63:0] scaled, spread, spread_7, d1, d1_8, d2;
	wire signed [63:0] scaled_product = (numerator >>> 6) * inverse_root; /* Q54 */
	wire signed [63:0] spread_product = $signed({32'd0, volatility}) * root; /* Q60 */
	wire signed [63:0] d1_product = scaled * $signed({32'd0, inverse}); /* Q52 */
	always @(posedge clk)
		if (enable) begin
			scaled <= scaled_product >>> 28;
			spread <= spread_product >>> 28;
			d1 <= d1_product >>> 20;
			spread_7 <= spread;
			d1_8 <= d1;
			d2 <= d1 - spread_7;
		end

	/* 9: absolute values below 8, 12: N() of them, 13: N(d1) and N(d2) */
	function [31:0] argument(input signed [63:0] size);
		argument = size >= EIGHT ? 32'hffffffff : size[34:3];
	endfunction
	reg [31:0] u1, u2;
	reg below_1, below_2;
	wire below_1_12, below_2_12;
	wire signed [34:0] cnd_1, cnd_2;
	localparam signed [34:0] UNIT = 35'd1 << 32;
	reg [34:0] n1, n2;
	always @(posedge clk)
		if (enable) begin
			u1 <= argument(d1_8 < 0 ? -d1_8 : d1_8);
			u2 <= argument(d2 < 0 ? -d2 : d2);
			below_1 <= d1_8 < 0;
			below_2 <= d2 < 0;
			n1 <= below_1_12 ? UNIT - cnd_1 : cnd_1;
			n2 <= below_2_12 ? UNIT - cnd_2 : cnd_2;
		end
	table_of #(CND, 11, 21) table_1(clk, enable, u1, cnd_1);
	table_of #(CND, 11, 21) table_2(clk, enable, u2, cnd_2);
	delay #(2, 3) delay_b(clk, enable, {below_1, below_2}, {below_1_12, below_2_12});

	/* 6: K e^(-rT) */
	wire [30:0] strike_5, spot_13, present_13;
	reg [30:0] present; /* Q23 */
	wire [63:0] present_product = {33'd0, strike_5} * {29'd0, discount} + (64'd1 << 31);
	delay #(31, 4) delay_k(clk, enable, strike, strike_5);
	delay #(31, 12) delay_s(clk, enable, spot, spot_13);
	delay #(31, 7) delay_p(clk, enable, present, present_13);
	always @(posedge clk)
		if (enable)
			present <= present_product[62:32];

	/* 14: the products (Q55), 15: prices (Q40), 18: as single precision */
	reg [63:0] gain, cost, parity;
	reg signed [63:0] call, put;
	wire signed [63:0] difference = $signed(gain - cost) >>> 15;
	always @(posedge clk)
		if (enable) begin
			gain <= {33'd0, spot_13} * {29'd0, n1};
			cost <= {33'd0, present_13} * {29'd0, n2};
			parity <= ({33'd0, spot_13} - {33'd0, present_13}) << 17;
			call <= difference;
			put <= difference - $signed(parity);
		end
	encode encode_c(clk, enable, call, m_tdata[31:0]);
	encode encode_p(clk, enable, put, m_tdata[63:32]);

	wire unused = &{1'b0, s_tkeep, exponent_s[3], exponent_k[3], interest[31:0],
			present_product[63], present_product[31:0]};
endmodule
