# Speed-up over the recalculation rate (Teodoro et al., HPDC 2010, Figure 8).
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# data: lines of rate, accelerators alone without and with overlap, ddfcfs, ddwrr, odds,
# bound
load style
set title machine noenhanced
set xlabel "tiles computed again at high resolution (%)"
set ylabel "speed-up over one core"
set yrange [0:*]
set key outside right top vertical samplen 2
plot data using 1:7 with lines linewidth 2 dashtype 2 linecolor rgb "#444444" title "bound", \
	data using 1:6 with linespoints linewidth 3 pointtype 7 linecolor rgb "#D55E00" title "odds", \
	data using 1:5 with linespoints linewidth 2 pointtype 5 linecolor rgb "#0072B2" title "ddwrr", \
	data using 1:4 with linespoints linewidth 2 pointtype 9 linecolor rgb "#009E73" title "ddfcfs", \
	data using 1:3 with linespoints linewidth 1.5 pointtype 4 linecolor rgb "#CC79A7" title "accelerators alone", \
	data using 1:2 with linespoints linewidth 1.5 pointtype 6 linecolor rgb "#E69F00" title "copies not overlapped", \
	"-" using 1:2 with points pointtype 2 pointsize 1.4 linecolor rgb "#000000" title "measured in 2010 (1 core, 1 GPU)"
16 16.06
16 16.78
16 29.79
e
