# Kernels: how much faster than the best device alone (SKMD, PACT 2013, Figure 9a).
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# data: row kernel, then a gain for each of the contenders (names separated by blanks)
load style
set label 99 title at screen 0.02, screen 0.97 left front font ",15" noenhanced
set ylabel "gain over the best device alone"
set yrange [0:(most > 1.25 ? most * 1.08 : 1.35)]
set xrange [-0.7:nrows-0.3]
set tmargin 5
set bmargin 8
set grid noxtics
set xtics rotate by -35 scale 0 font ",11" noenhanced
set style fill solid 0.9 noborder
set key top right outside horizontal noenhanced
of(c) = c == 1 ? 0x0072B2 : c == 2 ? 0x56B4E9 : c == 3 ? 0xE69F00 : 0x999999
wide = 0.8 / words(contenders)
left(c) = -0.4 + (c - 1) * wide
set arrow from graph 0, first 1 to graph 1, first 1 nohead dashtype 2 linecolor rgb "#444444" front
plot for [c=1:words(contenders)] data using ($1+left(c)+wide/2):(0):($1+left(c)):($1+left(c)+wide*0.92):(0):(column(c+2)) \
		with boxxyerror linecolor rgb of(c) title word(contenders, c), \
	data using 1:(NaN):xtic(2) with points notitle
