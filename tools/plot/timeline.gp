# One launch of a kernel: what each device did when (SKMD, PACT 2013, Figure 10).
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# data: row start in compute out, times in milliseconds; names: of the rows; nrows; end_ms
set xlabel "milliseconds since the launch"
set xrange [0:end_ms*1.02]
set yrange [nrows-0.4:-0.6]
set lmargin 44
set tmargin 5
set border 1
set grid noytics
set ytics ("" -10) scale 0 font ",11" noenhanced
set for [i=1:nrows] ytics add (tic("names", i) i-1)
set style fill solid 0.9 noborder
set key top right outside horizontal
plot "data" using (0):1:2:($2+$3):($1-0.35):($1+0.35) with boxxyerror \
		linecolor rgb "#56B4E9" title "data to the device", \
	"data" using (0):1:($2+$3):($2+$3+$4):($1-0.35):($1+0.35) with boxxyerror \
		linecolor rgb "#009E73" title "computing", \
	"data" using (0):1:($2+$3+$4):($2+$3+$4+$5):($1-0.35):($1+0.35) with boxxyerror \
		linecolor rgb "#E69F00" title "data to main memory"
