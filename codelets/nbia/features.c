/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The conversion tables, and the statistics of a tile from its summary.
 */
#include "config.h"

#include <math.h>

#include "codelets/nbia/nbia.h"

static double f_of(double t)
{
	return t > 216.0 / 24389 ? cbrt(t) : (24389.0 / 27 * t + 16) / 116;
}

static double linear_light(double value)
{
	return value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4);
}

void nbia_tables(nbia_u32 table[NBIA_TABLE_ENTRIES])
{
	for (int value = 0; value < 256; value++)
		table[value] = lround(32767 * linear_light(value / 255.0));
	for (int t = 0; t < 4096; t++) {
		double f = f_of((t + 0.5) / 4096);

		table[256 + t] = lround(f * 32768) | (nbia_u32)lround((116 * f - 16) * 2.55) << 16;
	}
}

void nbia_lab_reference(const unsigned char rgb[3], double lab[3])
{
	/* sRGB's primaries in XYZ, and the white point that they add up to. */
	static const double xyz_of_rgb[3][3] = {{0.4124564, 0.3575761, 0.1804375},
	                                        {0.2126729, 0.7151522, 0.0721750},
	                                        {0.0193339, 0.1191920, 0.9503041}};
	double f[3];

	for (int i = 0; i < 3; i++) {
		double value = 0, white = 0;

		for (int j = 0; j < 3; j++) {
			value += xyz_of_rgb[i][j] * linear_light(rgb[j] / 255.0);
			white += xyz_of_rgb[i][j];
		}
		f[i] = f_of(value / white);
	}
	lab[0] = 116 * f[1] - 16;
	lab[1] = 500 * (f[0] - f[1]);
	lab[2] = 200 * (f[1] - f[2]);
}

static void channel_features(const struct nbia_channel *channel, double *features)
{
	double pairs = 0, mean = 0, square = 0, contrast = 0, homogeneity = 0;

	for (int k = 0; k < NBIA_LEVELS; k++)
		pairs += channel->difference[k];
	for (int k = 0; k < NBIA_LEVELS; k++) {
		mean += k * (channel->marginal[k] / (2 * pairs));
		square += k * k * (channel->marginal[k] / (2 * pairs));
		contrast += k * k * (channel->difference[k] / pairs);
		homogeneity += channel->difference[k] / pairs / (1 + k * k);
	}
	features[NBIA_MEAN] = mean;
	features[NBIA_VARIANCE] = fmax(0, square - mean * mean);
	features[NBIA_CONTRAST] = contrast;
	/* Rounding aside, levels that are not all equal have a variance far above this. */
	features[NBIA_CORRELATION] = 0;
	if (features[NBIA_VARIANCE] > 1e-9)
		features[NBIA_CORRELATION] =
		    (channel->products / (2 * pairs) - mean * mean) / features[NBIA_VARIANCE];
	features[NBIA_ENERGY] = channel->squares / (4 * pairs * pairs);
	features[NBIA_HOMOGENEITY] = homogeneity;
	features[NBIA_ENTROPY] =
	    fmax(0, log2(2 * pairs) - channel->entropy / 65536.0 / (2 * pairs));
}

void nbia_features(const struct nbia_summary *summary, double features[NBIA_FEATURES])
{
	double *groups = features + NBIA_CHANNELS * NBIA_STATISTICS, patterns = 0;

	for (int c = 0; c < NBIA_CHANNELS; c++)
		channel_features(&summary->channels[c], features + c * NBIA_STATISTICS);
	for (int g = 0; g < NBIA_GROUPS; g++)
		patterns += summary->patterns[g];
	for (int g = 0; g < NBIA_GROUPS; g++)
		groups[g] = summary->patterns[g] / patterns;
}
