# One machine: every contender's speed, sorted (HDSS, Figures 10 and 11).
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# data: row group speed, the slowest first; speed in ideals; names: of the rows; nrows; most:
# the largest speed
set xlabel "speed, as a part of the ideal (sum of all kinds' rates alone)"
set xrange [0:(most > 1.04 ? most * 1.08 : 1.12)]
set yrange [-0.7:nrows-0.3]
set lmargin 20
set tmargin 5
set border 1
set grid noytics
set ytics ("" -10) scale 0 font ",11" noenhanced
set for [i=1:nrows] ytics add (tic("names", i) i-1)
set style fill solid 0.9 noborder
set key bottom right box linecolor rgb "#cccccc" opaque width 1
of(group) = group eq "ours" ? 0x0072B2 : group eq "stock" ? 0xE69F00 : group eq "tuned" ? 0x009E73 : 0x999999
set arrow from 1, graph 0 to 1, graph 1 nohead dashtype 2 linecolor rgb "#444444"
set label "ideal" at 1, graph 1.0 offset 0,0.5 center textcolor rgb "#444444"
plot "data" using (0):1:(0):3:($1-0.38):($1+0.38):(of(strcol(2))) with boxxyerror \
		linecolor rgb variable notitle, \
	"data" using 3:1:(sprintf("%.3f", $3)) with labels left offset 0.4,0 font ",10" notitle, \
	NaN with boxes linecolor rgb 0x0072B2 title "Heddle", \
	NaN with boxes linecolor rgb 0xE69F00 title "StarPU's policies", \
	NaN with boxes linecolor rgb 0x009E73 title "fixed blocks, tuned", \
	NaN with boxes linecolor rgb 0x999999 title "one kind alone"
