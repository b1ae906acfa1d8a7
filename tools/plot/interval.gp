# Time over the synchronisation interval, predicted and measured (Andronikos et al.,
# Figures 6 to 8).
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# data: for each of ncurves, in this order, lines: h predicted measured chosen, in ms; names:
# their values of k; simulated: 1 where the times are
measured = simulated ? "simulated" : "measured"
set tmargin 4
set xlabel "columns between two messages, h"
set ylabel "time (ms)"
set logscale x 2
set format x "%.0f"
stats "data" using 3 nooutput
if (STATS_max > 5 * STATS_min) set logscale y
stats "data" using 1 nooutput prefix "H"
set xrange [H_min/1.05:H_max*1.05]
set offsets 0, 0, graph 0.25, graph 0.05
set key top center maxrows 3
plot for [i=1:ncurves] "data" index (i-1) using 1:($2 > 0 ? $2 : NaN) with lines linewidth 2 \
		linecolor rgb hue(i) title "predicted, k = ".name("names", i), \
	for [i=1:ncurves] "data" index (i-1) using 1:3 with points pointtype 7 pointsize (H_records > 100 ? 0.3 : 0.9) \
		linecolor rgb hue(i) title measured, \
	for [i=1:ncurves] "data" index (i-1) using 1:($4 == 1 ? $3 : NaN) with points pointtype 6 \
		pointsize 2 linewidth 2 linecolor rgb "#222222" title (i == 1 ? "the model's h" : "")
