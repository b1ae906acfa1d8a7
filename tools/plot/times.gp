# Apps under several contenders: speed relative to the first contender of each app.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# data: row contender(0, 1, ...) speed time_ms; names: APP: CONTENDER of each row; nrows; most
set xlabel "speed, the first of each app = 1 (longer is better)"
set xrange [0:most * 1.25]
set yrange [nrows-0.3:-0.7]
set lmargin 34
set tmargin 3
set border 1
set grid noytics
set ytics ("" -10) scale 0 font ",11" noenhanced
set for [i=1:nrows] ytics add (tic("names", i) i-1)
set style fill solid 0.9 noborder
unset key
of(c) = c == 0 ? 0x999999 : c == 1 ? 0xE69F00 : 0x0072B2
plot "data" using (0):1:(0):3:($1-0.38):($1+0.38):(of($2)) with boxxyerror linecolor rgb variable, \
	"data" using 3:1:(sprintf("%.2f  (%.1f ms)", $3, $4)) with labels left offset 0.4,0 font ",10"
