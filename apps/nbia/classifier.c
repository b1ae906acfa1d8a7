/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apps/nbia/classifier.h"

#define F NBIA_FEATURES
/* Share of the diagonal in the covariance. */
#define SHRINKAGE 0.3
/* A feature that hardly varies within the classes is taken to vary by so much. */
#define LEAST_DEVIATION 1e-3

/* ---- Student's distribution ---- */

/* Continued fraction of the incomplete beta function by Lentz's method as W. Thompson and
 * A. Barnett have it (Journal of Computational Physics 64, 1986). */
static double beta_fraction(double a, double b, double x)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1), value;

	d = 1 / (fabs(d) < tiny ? tiny : d);
	value = d;
	for (int m = 1; m < 500; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));

		for (int half = 0; half < 2; half++) {
			double term = half ? odd : even;

			d = 1 + term * d;
			d = 1 / (fabs(d) < tiny ? tiny : d);
			c = 1 + term / c;
			c = fabs(c) < tiny ? tiny : c;
			value *= c * d;
		}
		if (fabs(c * d - 1) < 1e-15)
			break;
	}
	return value;
}

static double log_gamma(double x)
{
	int sign;

	return lgamma_r(x, &sign);
}

static double incomplete_beta(double a, double b, double x)
{
	double front;

	if (x <= 0 || x >= 1)
		return x > 0;
	front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double classifier_student(double t, double freedom)
{
	double tail = incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2;

	return t < 0 ? 1 - tail : tail;
}

/* ---- training ---- */

/* Two halves: the directions of discriminants are learnt from one, where the classes come
 * to lie on them from the other. From the same samples they would seem further apart than
 * they are. */
struct training {
	size_t n, members[TISSUES]; /* members of the first half */
	const double (*features)[F];
	const enum tissue *labels;
	const unsigned char *half;
	double means[TISSUES][F], scale[F]; /* scale: deviation within the classes */
	double correlation[F][F];           /* within the classes, shrunk; then its root */
};

/* Half of a sample, by its number within its class. */
static void split(size_t n, const enum tissue *labels, unsigned char *half)
{
	size_t seen[TISSUES] = {0};

	for (size_t s = 0; s < n; s++)
		half[s] = seen[labels[s]]++ & 1;
}

static int find_means(struct training *training)
{
	for (size_t s = 0; s < training->n; s++) {
		enum tissue label = training->labels[s];

		if (training->half[s])
			continue;
		training->members[label]++;
		for (int f = 0; f < F; f++)
			training->means[label][f] += training->features[s][f];
	}
	for (int label = 0; label < TISSUES; label++) {
		if (training->members[label] < 2)
			return -EDOM;
		for (int f = 0; f < F; f++)
			training->means[label][f] /= training->members[label];
	}
	return 0;
}

static void find_correlation(struct training *training)
{
	double freedom = -TISSUES;

	for (size_t s = 0; s < training->n; s++) {
		const double *mean = training->means[training->labels[s]];
		const double *sample = training->features[s];

		if (training->half[s])
			continue;
		freedom++;
		for (int f = 0; f < F; f++)
			for (int g = 0; g < F; g++)
				training->correlation[f][g] +=
				    (sample[f] - mean[f]) * (sample[g] - mean[g]);
	}
	for (int f = 0; f < F; f++)
		training->scale[f] =
		    fmax(LEAST_DEVIATION, sqrt(training->correlation[f][f] / freedom));
	for (int f = 0; f < F; f++)
		for (int g = 0; g < F; g++) {
			double unit = training->scale[f] * training->scale[g] * freedom;
			double value = training->correlation[f][g] / unit;

			training->correlation[f][g] = f == g ? 1 : (1 - SHRINKAGE) * value;
		}
}

/* Cholesky's decomposition in place, lower part. A correlation matrix that was shrunk is
 * positive definite. */
static void decompose(double m[F][F])
{
	for (int j = 0; j < F; j++)
		for (int i = j; i < F; i++) {
			double sum = m[i][j];

			for (int k = 0; k < j; k++)
				sum -= m[i][k] * m[j][k];
			m[i][j] = i == j ? sqrt(sum) : sum / m[j][j];
		}
}

static void solve(double m[F][F], double x[F])
{
	for (int i = 0; i < F; i++) {
		for (int k = 0; k < i; k++)
			x[i] -= m[i][k] * x[k];
		x[i] /= m[i][i];
	}
	for (int i = F - 1; i >= 0; i--) {
		for (int k = i + 1; k < F; k++)
			x[i] -= m[k][i] * x[k];
		x[i] /= m[i][i];
	}
}

static double project(const struct classifier_pair *pair, const double features[F])
{
	double sum = 0;

	for (int f = 0; f < F; f++)
		sum += pair->weights[f] * features[f];
	return sum;
}

static void find_direction(struct training *training, struct classifier_pair *pair)
{
	const double *a = training->means[pair->classes[0]], *b = training->means[pair->classes[1]];

	for (int f = 0; f < F; f++)
		pair->weights[f] = (a[f] - b[f]) / training->scale[f];
	solve(training->correlation, pair->weights);
	for (int f = 0; f < F; f++)
		pair->weights[f] /= training->scale[f];
}

/* Where the second half lies on the direction of a pair. */
static void find_places(const struct training *training, struct classifier_pair *pair)
{
	double squares = 0;

	for (int side = 0; side < 2; side++) {
		double sum = 0;

		for (size_t s = 0; s < training->n; s++)
			if (training->half[s] && training->labels[s] == pair->classes[side]) {
				sum += project(pair, training->features[s]);
				pair->samples[side]++;
			}
		pair->means[side] = sum / pair->samples[side];
		for (size_t s = 0; s < training->n; s++)
			if (training->half[s] && training->labels[s] == pair->classes[side])
				squares += pow(
				    project(pair, training->features[s]) - pair->means[side], 2);
	}
	pair->deviation = sqrt(squares / (pair->samples[0] + pair->samples[1] - 2));
	pair->deviation = fmax(pair->deviation, 1e-9 * fabs(pair->means[0] - pair->means[1]));
	pair->deviation = fmax(pair->deviation, 1e-300);
}

static int train(struct training *training, struct classifier_pair *pair)
{
	int error = find_means(training);

	if (error)
		return error;
	find_correlation(training);
	decompose(training->correlation);
	for (int a = 0; a < TISSUES; a++)
		for (int b = a + 1; b < TISSUES; b++, pair++) {
			*pair = (struct classifier_pair){.classes = {a, b}};
			find_direction(training, pair);
			find_places(training, pair);
			if (pair->samples[0] < 2 || pair->samples[1] < 2)
				return -EDOM;
		}
	return 0;
}

int classifier_train(size_t n, const double (*features)[NBIA_FEATURES], const enum tissue *labels,
                     struct classifier *classifier)
{
	struct training *training = calloc(1, sizeof(*training));
	unsigned char *half = malloc(n + 1);
	int error = -ENOMEM;

	if (training && half) {
		split(n, labels, half);
		training->n = n;
		training->features = features;
		training->labels = labels;
		training->half = half;
		error = train(training, classifier->pairs);
	}
	free(training);
	free(half);
	return error;
}

/* ---- decisions ---- */

/* How likely a tile of the class on `side` lies at least so far on the other side. */
static double chance_of(const struct classifier_pair *pair, int side, double projection)
{
	double spread = pair->deviation * sqrt(1 + 1.0 / pair->samples[side]);
	double away = projection - pair->means[side];

	if (pair->means[side] > pair->means[!side])
		away = -away;
	return classifier_student(away / spread, pair->samples[0] + pair->samples[1] - 2);
}

void classifier_decide(const struct classifier *classifier, const double features[NBIA_FEATURES],
                       struct classifier_verdict *verdict)
{
	double chances[TISSUES][TISSUES], least = 2;

	/* chances[a][b]: of a tile of class b to look so much like one of class a */
	for (int p = 0; p < CLASSIFIER_PAIRS; p++) {
		const struct classifier_pair *pair = &classifier->pairs[p];
		double projection = project(pair, features);

		for (int side = 0; side < 2; side++)
			chances[pair->classes[!side]][pair->classes[side]] =
			    chance_of(pair, side, projection);
	}
	for (int label = 0; label < TISSUES; label++) {
		double worst = 0;

		for (int other = 0; other < TISSUES; other++)
			if (other != label)
				worst = fmax(worst, chances[label][other]);
		if (worst < least) {
			least = worst;
			*verdict = (struct classifier_verdict){label, 1 - worst};
		}
	}
}
