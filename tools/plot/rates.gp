# Speed-up over the recalculation rate (Teodoro et al., HPDC 2010, Figure 8).
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# data: for each of ncontenders, in this order, lines: rate speedup; names: theirs
set tmargin 4
set xlabel "tiles computed again at high resolution (%)"
set ylabel "speed-up over one core"
set yrange [0:*]
set key outside right top vertical samplen 2
array bound[ncontenders]
do for [i=1:ncontenders] { bound[i] = name("names", i) eq "bound" }
plot for [i=1:ncontenders] "data" index (i-1) using 1:(bound[i] ? NaN : $2) with linespoints \
		linewidth 2 pointtype i+3 linecolor rgb hue(i) title (bound[i] ? "" : name("names", i)), \
	for [i=1:ncontenders] "data" index (i-1) using 1:(bound[i] ? $2 : NaN) with lines \
		linewidth 2 dashtype 2 linecolor rgb "#444444" title (bound[i] ? "bound" : "")
