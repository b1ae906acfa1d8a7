# When each worker finished its last block, against the end of the loop (HDSS, Figure 13).
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# finish: row kind finish_ms share_percent; names: of the workers in every row, from the first
# on, that is a multiple of every; nrows, nnames; end_ms; spread in percent
set ylabel "last block done (ms)"
set y2label "share of the iterations (%)"
set ytics nomirror
set y2tics
set border 11
set y2range [0:*]
set yrange [0:end_ms*1.08]
set xrange [-0.7:nrows-0.3]
set tmargin 4
set key at screen 0.975, screen 0.985 right top horizontal samplen 1.5
set style fill solid 0.85 noborder
set boxwidth 0.7
set xtics ("" -10) rotate by -60 font ",9" scale 0 noenhanced
set for [i=1:nnames] xtics add (tic("names", i) (i-1)*every)
set arrow from graph 0, first end_ms to graph 1, first end_ms nohead dashtype 2 linecolor rgb "#444444"
plot "finish" using 1:3:(nrows <= few ? hues[int($1) + 1] : colour(strcol(2))) with boxes \
		linecolor rgb variable notitle, \
	"finish" using 1:4 axes x1y2 with points pointtype 9 pointsize 1 linecolor rgb "#222222" title "share", \
	NaN with lines dashtype 2 linecolor rgb "#444444" title sprintf("end of the loop; spread %.2f%%", spread)
