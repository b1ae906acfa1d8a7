# Share of the iterations that accelerators did, against the ideal (HDSS, Figure 14).
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# data: row share_percent ideal_percent; names: of the rows; nrows
set ylabel "share of the iterations (%)"
set yrange [0:100]
set xrange [-0.7:nrows-0.3]
set style fill solid 0.9 noborder
set boxwidth 0.65
set xtics ("" -10) rotate by -35 font ",10" noenhanced
set for [i=1:nrows] xtics add (tic("names", i) i-1)
set tmargin 4
set key at screen 0.975, screen 0.985 right top horizontal samplen 1.5
set grid noxtics
plot "data" using 1:(100) with boxes linecolor rgb "#B8D4E8" title "cores", \
	"data" using 1:2 with boxes linecolor rgb cuda title "accelerators", \
	"data" using 1:3 with linespoints linewidth 2 pointtype 7 pointsize 0.9 linecolor rgb "#222222" \
		title "accelerators, ideally"
