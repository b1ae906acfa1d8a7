# Several machines: every contender's speed-up over one core (HDSS, Figures 10 and 11).
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# data: for each of ncontenders, in this order, lines: index of the machine, speedup,
# efficiency; names: theirs; ideal: index speedup; machines: their names; nmachines
hues12 = "0x0072B2 0xD55E00 0x009E73 0xCC79A7 0xE69F00 0x56B4E9 0x8C564B 0x7F3FBF 0x17A398 0xB5BD00 0xE7298A 0x4D4D4D"
hue(i) = int(word(hues12, (i - 1) % words(hues12) + 1))
wide(i) = name("names", i) eq "hdss" ? 3.5 : 1.4
set multiplot
set lmargin at screen 0.075
set rmargin at screen 0.82
set xrange [-0.3:nmachines-0.7]
set tmargin at screen 0.93
set bmargin at screen 0.55
set ylabel "speed-up over one core"
set logscale y 2
set xtics 1 format ""
set key at screen 0.99, screen 0.93 right top vertical samplen 2 font ",11"
plot "ideal" using 1:2 with lines linewidth 2 dashtype 2 linecolor rgb "#444444" title "ideal", \
	for [i=1:ncontenders] "data" index (i-1) using 1:2 with linespoints linewidth wide(i) \
		pointtype (4 + i) pointsize 0.9 linecolor rgb hue(i) title name("names", i)
unset label 99
unset key
unset logscale y
set tmargin at screen 0.51
set bmargin at screen 0.16
set ylabel "part of the ideal"
set yrange [0:1.05]
set xtics ("" -10) rotate by -20 font ",10" noenhanced
set for [i=1:nmachines] xtics add (tic("machines", i) i-1)
plot "ideal" using 1:(1) with lines linewidth 2 dashtype 2 linecolor rgb "#444444", \
	for [i=1:ncontenders] "data" index (i-1) using 1:3 with linespoints linewidth wide(i) \
		pointtype (4 + i) pointsize 0.9 linecolor rgb hue(i)
unset multiplot
