/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "support/message.h"
#include "apps/common/app.h"
#include "apps/nbia/training.h"

#define SAMPLES (64 * TISSUES)
/* A slide that nobody asks for by number. */
#define SEED UINT64_C(0x5eed0ff1abe11ed5)

struct samples {
	const nbia_u32 *table;
	size_t side, resolution;
	enum tissue labels[SAMPLES];
	double features[SAMPLES][NBIA_FEATURES];
};

static double make_samples(void *arg, size_t begin, size_t end)
{
	struct samples *samples = arg;
	size_t resolution = samples->resolution;
	unsigned char *rgb = malloc(3 * resolution * resolution);
	struct nbia_summary summary;

	if (!rgb)
		return HUGE_VAL;
	for (size_t s = begin; s < end; s++) {
		samples->labels[s] = s % TISSUES;
		tissue_tile(SEED, samples->labels[s], s, s * 7, samples->side, resolution, rgb);
		nbia_cpu(codelet_isa_best(), samples->table, resolution, 3 * resolution, rgb,
		         &summary);
		nbia_features(&summary, samples->features[s]);
	}
	free(rgb);
	return 0;
}

int training_run(const nbia_u32 *table, size_t side, size_t resolution,
                 struct classifier *classifier)
{
	struct samples *samples = malloc(sizeof(*samples));
	int error = -ENOMEM;

	if (samples) {
		samples->table = table;
		samples->side = side;
		samples->resolution = resolution;
		if (app_parallel_by(SAMPLES, 4, make_samples, samples) == 0)
			error = classifier_train(SAMPLES,
			                         (const double(*)[NBIA_FEATURES])samples->features,
			                         samples->labels, classifier);
	}
	free(samples);
	return error ? heddle_refuse(error, "no memory to train the classifier") : 0;
}
