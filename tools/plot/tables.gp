# Devices' relative times of a kernel over its work-groups (SKMD, PACT 2013, Figure 7).
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# data: for each of ndevices, in this order, lines: groups relative; names: theirs
set tmargin 4
set xlabel "work-groups"
set ylabel "time, that of all groups = 1"
set xrange [0:*]
set yrange [0:1.05]
set key top left noenhanced
plot for [d=1:ndevices] "data" index (d-1) using 1:2 with linespoints linewidth 2 pointtype 7 \
		pointsize 0.7 linecolor rgb hue(d) title name("names", d)
