# What all plots share. Colours that colour-blind readers can tell apart.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Loaded before each plot. The caller sets: format (svg or png), width, height. gnuplot works in
# the folder of its data; the picture gets there, the title is there.
if (format eq "svg") \
	set terminal svg size width, height dynamic enhanced font "sans-serif,13" background rgb "white"; \
else \
	set terminal pngcairo size width, height enhanced font "sans-serif,11" background rgb "white"
set output "picture"
set datafile separator "\t"
title = system("cat title")
# The n-th line of a file of names; the same for a tic, where % would begin a format.
name(file, n) = system(sprintf("sed -n %dp %s", n, file))
tic(file, n) = system(sprintf("sed -n 's/%%/%%%%/g; %dp' %s", n, file))
cpu = "#0072B2"
cuda = "#D55E00"
opencl = "#009E73"
fpga = "#AA4499"
grey = "#666666"
set style line 100 linecolor rgb "#dddddd" linewidth 0.7
set grid back linestyle 100
set border 3 linecolor rgb grey
set tics nomirror textcolor rgb "#222222" scale 0.6
set key noenhanced
set label 99 title at screen 0.02, screen 1 - 18.0 / height left front font ",15" noenhanced
colour(kind) = kind eq "cpu" ? 0x0072B2 : kind eq "cuda" ? 0xD55E00 : kind eq "opencl" ? 0x009E73 : 0xAA4499
# Few workers have a colour each, by their rows from 0 on; many have that of their kind.
array hues[8] = [0x0072B2, 0xE69F00, 0x009E73, 0xAA4499, 0x56B4E9, 0xD55E00, 0x666666, 0xBBAA00]
few = 8
hue(i) = hues[(i - 1) % few + 1]
