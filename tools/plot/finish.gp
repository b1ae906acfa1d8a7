# When each worker finished its last block, against the end of the loop (HDSS, Figure 13).
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# data: row kind label finish_ms share_percent
load style
set label 99 title at screen 0.02, screen 0.975 left front font ",15" noenhanced
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
set xtics rotate by -60 font ",9" scale 0
set arrow from graph 0, first end_ms to graph 1, first end_ms nohead dashtype 2 linecolor rgb "#444444"
plot data using 1:4:(colour(strcol(2))):xtic(int($1) % step == 0 ? strcol(3) : "") with boxes \
		linecolor rgb variable notitle, \
	data using 1:5 axes x1y2 with points pointtype 9 pointsize 1 linecolor rgb "#222222" title "share", \
	NaN with lines dashtype 2 linecolor rgb "#444444" title sprintf("end of the loop; spread %.2f%%", spread)
