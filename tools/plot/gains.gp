# Kernels: how much faster than the best device alone (SKMD, PACT 2013, Figure 9a).
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# data: row, then a gain for each of the contenders; names: the contenders'; kernels: theirs;
# nrows, ncontenders; most: the largest gain
set ylabel "gain over the best device alone"
set yrange [0:(most > 1.25 ? most * 1.08 : 1.35)]
set xrange [-0.7:nrows-0.3]
set tmargin 5
set bmargin 8
set grid noxtics
set xtics ("" -10) rotate by -35 scale 0 font ",11" noenhanced
set for [i=1:nrows] xtics add (tic("kernels", i) i-1)
set style fill solid 0.9 noborder
set key top right outside horizontal noenhanced
of(c) = c == 1 ? 0x0072B2 : c == 2 ? 0x56B4E9 : c == 3 ? 0xE69F00 : 0x999999
wide = 0.8 / ncontenders
left(c) = -0.4 + (c - 1) * wide
set arrow from graph 0, first 1 to graph 1, first 1 nohead dashtype 2 linecolor rgb "#444444" front
plot for [c=1:ncontenders] "data" using ($1+left(c)+wide/2):(0):($1+left(c)):($1+left(c)+wide*0.92):(0):(column(c+1)) \
		with boxxyerror linecolor rgb of(c) title name("names", c)
