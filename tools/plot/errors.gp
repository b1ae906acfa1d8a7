# Errors of estimates by application, of the speed-up above and of the core's time below; bars of
# the published rule, the fit, another sampling, and the paper.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# data: row speed-up(4) time(4), in percent, below 0: not known; names: of each row; nrows
set multiplot
set style fill solid 0.9 noborder
set logscale y
set ylabel "error, %"
set format y "%g"
set yrange [0.1:1000]
set xrange [-0.6:nrows-0.4]
set xtics ("" -10) scale 0 font ",11" noenhanced
set for [i=1:nrows] xtics add (tic("names", i) i-1)
set grid ytics
set key above right horizontal
what = "paper published fit again"
hue(c) = c == 1 ? 0x999999 : c == 2 ? 0xE69F00 : c == 3 ? 0x0072B2 : 0xdddddd
height_of = 0.46
do for [half=0:1] {
	set origin 0, half ? 0 : 0.47
	set size 1, height_of
	set label 1 (half ? "time of a core" : "speed-up over a core") at graph 0.01, 0.93 left
	plot for [c=1:4] "data" using ($1 - 0.5 + 0.2 * c):(0.1):($1 - 0.59 + 0.2 * c):($1 - 0.41 + 0.2 * c):(0.1):(column(1 + 4 * half + c) > 0.1 ? column(1 + 4 * half + c) : 1/0) \
		with boxxyerror linecolor rgb hue(c) title word(what, c)
	unset label 99
}
unset multiplot
