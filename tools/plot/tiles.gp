# The cores' share of the tiles at each recalculation rate (Teodoro et al., HPDC 2010,
# Table 4); the accelerators have the rest.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# data: for each of ncontenders, in this order, lines: rate small large, in percent; names:
# theirs
set tmargin 4
set xlabel "tiles computed again at high resolution (%)"
set ylabel "tiles on the cores (%)"
set yrange [-2:102]
set key outside right top vertical samplen 2
plot for [i=1:ncontenders] "data" index (i-1) using 1:2 with linespoints linewidth 2 pointtype i+3 \
		linecolor rgb hue(i) title name("names", i).", small", \
	for [i=1:ncontenders] "data" index (i-1) using 1:3 with linespoints linewidth 2 dashtype 2 pointtype i+3 \
		linecolor rgb hue(i) title name("names", i).", large"
