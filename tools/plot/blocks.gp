# Block size over time, and what every worker was busy with (HDSS, Figures 6 and 12).
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# data: kind phase row begin_ms end_ms size series, one line a block; series: of each the
# KIND:PHASE, or of few workers KIND and number:PHASE; names: of the workers in every row, from the first on, that is a multiple of
# every; nrows, nnames, nseries; learned_ms: when the last learning block was done
set multiplot
left = 0.09
set lmargin at screen left
set rmargin at screen 0.97
set xrange [0:end_ms]

set tmargin at screen 0.91
set bmargin at screen 0.56
set ylabel "block size (iterations)" offset 0.5
set logscale y 2
set offsets 0, 0, graph 0.05, graph 0.03
stats "data" using 6 nooutput
if (STATS_min == STATS_max) set yrange [STATS_min / 2:STATS_max * 2]
set format y "2^{%L}"
set ytics 16
set format x ""
set key at screen 0.975, screen 0.958 right top horizontal samplen 1.5 spacing 1 width -1
if (learned_ms > 0) \
	set arrow 1 from learned_ms, graph 0 to learned_ms, graph 1 nohead dashtype 2 linecolor rgb "#444444"; \
	set label 1 "learnt" at learned_ms, graph 0.06 offset 0.5,0 textcolor rgb "#444444"
kind(s) = s[1:strstrt(s, ":")-1]
learning(s) = s[strstrt(s, ":")+1:*] eq "adaptive"
points(s) = kind(s)[1:3] eq "cpu" ? 0.5 : 0.75
row_of(worker, r) = name("names", r) eq worker || r >= nrows ? r : row_of(worker, r + 1)
hue(s) = nrows <= few ? hues[row_of(kind(s), 1)] : colour(kind(s))
array series[nseries]
do for [i=1:nseries] { series[i] = name("series", i) }
plot for [i=1:nseries] "data" using 4:($7 == i ? $6 : NaN) with points \
	pointtype (learning(series[i]) ? 6 : 7) pointsize points(series[i]) linewidth 1.2 \
	linecolor rgb hue(series[i]) \
	title kind(series[i]).(learning(series[i]) ? " learning" : "")

unset label 99
unset label 1
unset logscale y
set offsets 0, 0, 0, 0
set tmargin at screen 0.53
set bmargin at screen 0.10
unset key
set format x "%g"
set xlabel "time (ms)" offset 0,0.4
unset ylabel
set yrange [-0.6:nrows-0.4]
unset ytics
set ytics nomirror scale 0 noenhanced
set grid noytics
set format y "%s"
set style fill solid 1.0 noborder
set for [i=1:nnames] ytics add (tic("names", i) (i-1)*every) font ",10"
shade(c, p) = p eq "adaptive" ? (c & 0xffffff) + 0x99000000 : c
of(k, r) = nrows <= few ? hues[int(r) + 1] : colour(k)
plot "data" using 4:3:4:5:($3-0.42):($3+0.42):(shade(of(strcol(1), $3), strcol(2))) with boxxyerror \
	fillstyle solid 1.0 border rgb "white" linewidth 0.3 linecolor rgb variable
unset multiplot
