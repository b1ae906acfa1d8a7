# A wavefront: tiles in the loop's space by worker, and what every worker was busy with.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# shapes: for each worker polygons of column and row; fronts: three lines of column and
# row; data: row of the worker, begin and end in ms; names: of the workers; nrows;
# rows, columns: of the loop; end_ms
# Neighbouring cores differ; accelerators stand out.
array worker[nrows]
do for [i=1:nrows] { worker[i] = name("names", i) }
is_core(i) = substr(worker[i], 1, 3) eq "cpu"
hue(i) = is_core(i) ? hsv2rgb(0.45 + 0.3 * ((i * 0.618) - int(i * 0.618)), 0.25 + 0.13 * (i % 4), 0.95 - 0.07 * (i % 3)) \
	: substr(worker[i], 1, 4) eq "cuda" ? 0xD55E00 : substr(worker[i], 1, 4) eq "fpga" ? 0xAA4499 : 0xE69F00
set multiplot
set lmargin at screen 0.09
set rmargin at screen 0.97
split = 0.1 + 0.45 * (nrows * 14 + 60.0) / (nrows * 14 + 400.0)
set tmargin at screen 0.94
set bmargin at screen split + 0.09
set xrange [0:columns]
set yrange [rows:0]
set xlabel "column" offset 0,0.6
set ylabel "row"
unset key
plot for [i=1:nrows] "shapes" index (i-1) using 1:2 with filledcurves closed fillstyle solid 0.9 \
		border linecolor rgb "#ffffff" linecolor rgb hue(i), \
	for [q=0:2] "fronts" index q using 1:2 with lines linewidth 2.5 linecolor rgb "#222222"
unset label 99
set tmargin at screen split
set bmargin at screen 0.08
set xrange [0:end_ms]
set yrange [-0.6:nrows-0.4]
set xlabel "time (ms)" offset 0,0.6
unset ylabel
set ytics ("" -10) scale 0 noenhanced
set grid noytics
set for [i=1:nrows] ytics add (tic("names", i) i-1) font ",9"
colour_of(i) = hue(i + 1)
plot "data" using 2:1:2:3:($1-0.42):($1+0.42):(colour_of(int($1))) with boxxyerror fillstyle solid 1 \
	border rgb "#ffffff" linewidth 0.3 linecolor rgb variable
unset multiplot
