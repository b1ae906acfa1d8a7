# How many tasks accelerators have claimed and should have, over time (Teodoro et al.,
# HPDC 2010, Figure 12b).
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# data: for each of nworkers, in this order, lines: time_ms target queued; names: theirs
set tmargin 4
set xlabel "time (ms)"
set ylabel "tasks"
set yrange [0:*]
set offsets 0, 0, graph 0.12, 0
set key top right
plot for [i=1:nworkers] "data" index (i-1) using 1:3 with steps linewidth 0.6 \
		linecolor rgb (hue(i) + 0x90000000) title name("names", i)." claimed", \
	for [i=1:nworkers] "data" index (i-1) using 1:2 with steps linewidth 2 \
		linecolor rgb hue(i) title name("names", i)." target"
