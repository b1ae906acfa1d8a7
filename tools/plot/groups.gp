# Kernels: the devices' shares of the work-groups (SKMD, PACT 2013, Figure 9b).
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# data: row, then a share in percent for each of the devices; names: theirs; kernels: theirs;
# nrows, ndevices
set ylabel "work-groups, percent"
set yrange [0:100]
set xrange [-0.7:nrows-0.3]
set tmargin 6
set bmargin 8
set grid noxtics
set xtics ("" -10) rotate by -35 scale 0 font ",11" noenhanced
set for [i=1:nrows] xtics add (tic("kernels", i) i-1)
set style fill solid 0.9 noborder
set key top right outside horizontal noenhanced maxrows 3
of(d) = d == 1 ? 0xD55E00 : d == 2 ? 0x0072B2 : d == 3 ? 0x009E73 : d == 4 ? 0xE69F00 : 0x999999
upto(d) = d == 0 ? 0 : column(d + 1) + upto(d - 1)
plot for [d=1:ndevices] "data" using 1:(0):($1-0.35):($1+0.35):(upto(d-1)):(upto(d)) \
		with boxxyerror linecolor rgb of(d) title name("names", d)
