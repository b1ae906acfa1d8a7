# Speed-up over the recalculation rate (Teodoro et al., HPDC 2010, Figure 8).
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# data: for each of ncontenders, in this order, lines: rate speedup; names: theirs
hues = "0x444444 0xD55E00 0x0072B2 0x009E73 0xCC79A7 0xE69F00 0x56B4E9 0x882255"
hue(i) = int(word(hues, (i - 1) % words(hues) + 1))
set label 99 title at screen 0.02, screen 0.965 left front font ",15" noenhanced
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
