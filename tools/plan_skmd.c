/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * heddle plan skmd: the machine and the kernels with which SKMD was measured (J. Lee, M. Samadi, Y.
 * Park and S. Mahlke, PACT 2013, Tables I and II), as a model: its figures, predicted.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/options.h"
#include "partition/kernel/split/split.h"
#include "tools/plan.h"

/* ---- the machine ---- */

/* A device takes launch + max(operations / speed, bytes / bandwidth) for all groups. With fewer
 * groups than fill it, it takes as long as with those that do. Speeds are the peaks of Table I,
 * bandwidths those of the parts' data sheets (DDR3-1333 in two channels), both times what a kernel
 * reaches of them, which is our estimate: for the bandwidth REACHED. */
#define REACHED 0.7
#define LAUNCH_US 10.0
/* PCI Express 2.0, shared by both GPUs: the paper says less than 6 GB/s. */
#define PCIE_RATE 5500.0
#define PCIE_LATENCY_US 10.0
#define MERGE_RATE 10000.0
enum { CPU, GTX560, QUADRO600, NDEVICES };

static const struct {
	const char *name;
	double gflops, gbs;
	/* Groups that fill it: so many, or this part of all. */
	double groups, part;
} machine[NDEVICES] = {
    [CPU] = {"cpu", 409, 21.3, 8, 0},
    [GTX560] = {"gtx560", 1088, 128, 7 * 8, 1.0 / 4},
    [QUADRO600] = {"quadro600", 245, 25.6, 2 * 8, 1.0 / 8},
};

/* Operations are counted from the algorithms: AES 10 rounds of about 20 operations a byte, a
 * binomial lattice of 254 steps, Black-Scholes 60 an option, three for an entry of a histogram,
 * 2 n^3, 64 a Sobol number, one for an addition, 20 for an element of a scan. A kernel reaches a
 * part of the peak: 0.1 of the operations of code that is not made of multiply-adds, 0.002 where
 * local memory conflicts (the histogram on GPUs, as the paper explains). A transposition by tiles
 * costs the CPU a second pass over memory. */
struct model {
	const char *name;
	size_t groups;
	bool contiguous; /* in Table II */
	double in_mb, out_mb, mops;
	double cpu, gpu; /* parts of the peaks */
	unsigned passes; /* of the CPU over memory */
	/* What is known of the kernels in apps/kernels/cl: of the input, what each part needs;
	 * whether the output of a part has gaps. */
	double in_fixed_mb;
	bool gaps;
};

static const struct model models[] = {
    {"AESEncrypt", 4096, false, 4, 4, 840, 0.1, 0.1, 1, 0.001, false},
    {"AESDecrypt", 4096, false, 4, 4, 840, 0.1, 0.1, 1, 0.001, false},
    {"BinomialOption", 16384, true, 0.25, 0.25, 1600, 0.1, 0.1, 1, 0, false},
    {"BlackScholes", 1024, true, 4, 8, 63, 0.1, 0.3, 1, 0, false},
    {"Histogram", 512, false, 16, 0.001, 50, 0.1, 0.002, 1, 0, false},
    {"MatrixMultiplication", 1024, false, 8, 4, 2147, 0.05, 0.3, 1, 4, false},
    {"MatrixTranspose", 1024, false, 4, 4, 1, 0.1, 0.3, 2, 0, true},
    {"QuasiRandomSequence", 64, false, 0.008, 32, 537, 0.1, 0.3, 1, 0, false},
    {"Reduction", 2048, false, 16, 0.032, 4, 0.1, 0.3, 1, 0, false},
    {"ScanLargeArrays", 4096, true, 4, 4, 21, 0.1, 0.3, 2, 0, false},
    {"VectorAdd", 16384, true, 32, 16, 4, 0.1, 0.3, 1, 0, false},
};

enum { NMODELS = sizeof(models) / sizeof(models[0]) };

static void times_make(const struct model *model, unsigned d, double scale,
                       struct kernel_table *table)
{
	double part = d == CPU ? model->cpu : model->gpu;
	double mb = (d == CPU ? model->passes : 1) * (model->in_mb + model->out_mb);
	double us = scale * fmax(model->mops / (machine[d].gflops * part) * 1e3,
	                         mb / (machine[d].gbs * REACHED) * 1e3);
	double groups = scale * model->groups;
	double fill = fmax(machine[d].groups, machine[d].part * groups);

	table->npoints = KERNEL_TABLE_POINTS;
	for (unsigned p = 0; p < KERNEL_TABLE_POINTS; p++) {
		double n = groups * (p + 1) / KERNEL_TABLE_POINTS;

		table->points[p] =
		    (struct kernel_point){n, LAUNCH_US + us * fmax(n, fill) / groups};
	}
}

/* A kernel as Heddle sees it, and as SKMD does. */
struct views {
	struct split_problem ours, theirs;
};

static void views_make(const struct model *model, double scale, struct views *views)
{
	struct split_problem *ours = &views->ours;
	double bytes = 1e6 * scale;
	double groups = scale * model->groups;

	*ours = (struct split_problem){
	    .groups = groups,
	    .in = {bytes * (model->in_mb - model->in_fixed_mb) / groups,
	           bytes * model->in_fixed_mb},
	    .out = {bytes * model->out_mb / groups, 0},
	    .merge_bandwidth = MERGE_RATE,
	    .ndevices = NDEVICES,
	    .nbuses = 1,
	    .buses = {{"pcie", PCIE_RATE, PCIE_RATE, PCIE_LATENCY_US, false}},
	};
	if (model->gaps)
		ours->merge = ours->out;
	for (unsigned d = 0; d < NDEVICES; d++) {
		strcpy(ours->devices[d].name, machine[d].name);
		ours->devices[d].bus = d == CPU ? SPLIT_NO_BUS : 0;
		times_make(model, d, scale, &ours->devices[d].table);
	}
	views->theirs = *ours;
	if (!model->contiguous)
		split_scatter(&views->theirs, bytes * model->in_mb, bytes * model->out_mb);
}

/* The situation of Figure 8: a CPU that needs no transfers, and three GPUs behind one bus, of which
 * GPU 2 is slow with little work. The numbers are ours. */
static const struct split_problem figure8 = {
    .groups = 4096,
    .in = {8192, 0},
    .out = {4096, 0},
    .ndevices = 4,
    .nbuses = 1,
    .devices = {{"CPU", SPLIT_NO_BUS, {2, {{256, 625}, {4096, 10000}}}},
                {"GPU 0", 0, {3, {{256, 800}, {2048, 2600}, {4096, 4500}}}},
                {"GPU 1", 0, {3, {{256, 1200}, {2048, 4200}, {4096, 7500}}}},
                {"GPU 2", 0, {3, {{256, 8600}, {2048, 8800}, {4096, 9200}}}}},
    .buses = {{"pcie", 6000, 6000, 10, false}},
};

/* ---- lines for heddle plot ---- */

static const char csv_heading[] =
    "kernel,contender,group,median_us,worker,name,groups,start_us,in_us,compute_us,out_us\n";

/* What each device does when, and the merging at the end. */
static void split_csv(const char *kernel, const char *contender, const char *group,
                      const struct split_problem *problem, const size_t *share, FILE *out)
{
	double us, bus_us[SPLIT_MAXBUSES] = {0};
	struct split_times times;

	us = split_estimate(problem, share, &times);
	for (unsigned i = 0; i < times.norder; i++) {
		unsigned d = times.order[i];
		int b = problem->devices[d].bus;
		double start_us = b == SPLIT_NO_BUS ? 0 : bus_us[b];

		if (b != SPLIT_NO_BUS)
			bus_us[b] = times.in_us[d];
		fprintf(out, "%s,%s,%s,%.3f,%u,%s,%zu,%.3f,%.3f,%.3f,%.3f\n", kernel, contender,
		        group, us, d, problem->devices[d].name, share[d], start_us,
		        times.in_us[d] - start_us, times.computed_us[d] - times.in_us[d],
		        times.finish_us[d] - times.computed_us[d]);
	}
	if (times.merge_us > 0)
		fprintf(out, "%s,%s,%s,%.3f,%u,merging,0,%.3f,0,%.3f,0\n", kernel, contender, group,
		        us, problem->ndevices, us - times.merge_us, times.merge_us);
}

static void method_csv(const char *kernel, const char *contender,
                       const struct split_problem *problem, enum split_method method, FILE *out)
{
	size_t share[SPLIT_MAXDEVICES];

	split_decide(problem, method, share);
	split_csv(kernel, contender, "shared", problem, share, out);
}

/* @param best of the devices alone, the best one only */
static void kernel_csv(const struct model *model, double scale, bool best, FILE *out)
{
	struct split_times times;
	struct views views;
	double best_us;

	views_make(model, scale, &views);
	method_csv(model->name, "published", &views.theirs, SPLIT_PUBLISHED, out);
	method_csv(model->name, "linear", &views.theirs, SPLIT_LINEAR, out);
	method_csv(model->name, "heddle", &views.ours, SPLIT_HEDDLE, out);
	best_us = split_decide(&views.theirs, SPLIT_SINGLE, (size_t[SPLIT_MAXDEVICES]){0});
	for (unsigned d = 0; d < NDEVICES; d++) {
		size_t share[SPLIT_MAXDEVICES] = {0};
		char alone[80];

		share[d] = views.theirs.groups;
		if (best && split_estimate(&views.theirs, share, &times) > best_us)
			continue;
		snprintf(alone, sizeof(alone), "alone %s", machine[d].name);
		split_csv(model->name, alone, "alone", &views.theirs, share, out);
	}
}

static const struct model *model_find(const char *name)
{
	for (unsigned m = 0; m < NMODELS; m++)
		if (!strcmp(models[m].name, name))
			return &models[m];
	return NULL;
}

/* Relative times of VectorAdd on each device for 1/16, 2/16 ... of 32768 groups. */
static void figure7_csv(double scale, FILE *out)
{
	const struct model *model = model_find("VectorAdd");
	struct views views;

	fputs("table,device,groups,us,relative\n", out);
	views_make(model, 2 * scale, &views);
	for (unsigned d = 0; d < NDEVICES; d++) {
		const struct kernel_table *table = &views.ours.devices[d].table;
		double all_us = kernel_table_time(table, views.ours.groups);

		for (unsigned p = 0; p < table->npoints; p++)
			fprintf(out, "VectorAdd,%s,%.0f,%.3f,%.4f\n", machine[d].name,
			        table->points[p].groups, table->points[p].us,
			        table->points[p].us / all_us);
	}
}

static void figure_csv(int figure, double scale, FILE *out)
{
	static const char *const shown[] = {"VectorAdd", "MatrixMultiplication", "Histogram"};

	if (figure == 7) {
		figure7_csv(scale, out);
		return;
	}
	fputs(csv_heading, out);
	if (figure == 8) {
		method_csv("Example", "linear", &figure8, SPLIT_LINEAR, out);
		method_csv("Example", "optimum", &figure8, SPLIT_OPTIMUM, out);
		method_csv("Example", "published", &figure8, SPLIT_PUBLISHED, out);
		method_csv("Example", "heddle", &figure8, SPLIT_HEDDLE, out);
	} else if (figure == 9) {
		for (unsigned m = 0; m < NMODELS; m++)
			kernel_csv(&models[m], scale, false, out);
	} else {
		for (unsigned m = 0; m < sizeof(shown) / sizeof(shown[0]); m++)
			kernel_csv(model_find(shown[m]), scale, true, out);
	}
}

/* ---- the table ---- */

static void shares_print(const size_t *share)
{
	printf("   %zu %zu %zu", share[0], share[1], share[2]);
}

/* @param[in,out] logs sums of the logarithms of the gains by linear, published and heddle */
static void row_print(const struct model *model, double scale, double logs[3])
{
	size_t share[SPLIT_MAXDEVICES], theirs[SPLIT_MAXDEVICES];
	struct views views;
	double us[3], single_us;

	views_make(model, scale, &views);
	single_us = split_decide(&views.theirs, SPLIT_SINGLE, share);
	us[0] = split_decide(&views.theirs, SPLIT_LINEAR, share);
	us[1] = split_decide(&views.theirs, SPLIT_PUBLISHED, theirs);
	printf("%-21s %8.0f %8.0f %9.0f %8.0f %8.0f", model->name, single_us, us[0], us[1],
	       split_decide(&views.theirs, SPLIT_HEDDLE, share),
	       split_decide(&views.theirs, SPLIT_OPTIMUM, share));
	printf(" %8.0f %8.0f", split_decide(&views.ours, SPLIT_PAPER, share),
	       split_decide(&views.ours, SPLIT_OPTIMUM, share));
	us[2] = split_decide(&views.ours, SPLIT_HEDDLE, share);
	printf(" %8.0f", us[2]);
	for (int i = 0; i < 3; i++) {
		printf(" %7.3f", single_us / us[i]);
		logs[i] += log(single_us / us[i]);
	}
	shares_print(theirs);
	shares_print(share);
	putchar('\n');
}

static void table_print(double scale)
{
	double logs[3] = {0};

	puts("Times in us, predicted. The columns from linear to optimum have SKMD's transfers, "
	     "the\n"
	     "next three Heddle's. Gains over the best device of linear, published and heddle;\n"
	     "groups of CPU, GTX 560 and Quadro 600 by published and by heddle.\n");
	printf("%-21s %8s %8s %9s %8s %8s %8s %8s %8s %7s %7s %7s   %s\n", "kernel", "single",
	       "linear", "published", "heddle", "optimum", "paper", "optimum", "heddle", "linear",
	       "publ.", "heddle", "groups");
	for (unsigned m = 0; m < NMODELS; m++)
		row_print(&models[m], scale, logs);
	printf("%-21s %62s %17.3f %7.3f %7.3f\n", "geometric mean", "", exp(logs[0] / NMODELS),
	       exp(logs[1] / NMODELS), exp(logs[2] / NMODELS));
}

/* ---- the command line ---- */

struct arguments {
	int figure; /* 0: the table */
	unsigned scale;
};

static const struct option_row options[] = {
    {"figure", "N",
     "data of a figure of the paper, 7 to 10, as CSV: device times over groups; linear and ideal "
     "split of an example; gains and groups of all kernels; what devices do when",
     NUMBER(struct arguments, figure, 7, 10), .letter = 'f'},
    {"scale", "N", "data N times as large as in the paper (default: 1)",
     NUMBER(struct arguments, scale, 1, 1000000), .letter = 's'},
    {0},
};

static const struct option_program program = {
    .name = "heddle plan skmd",
    .doc = "Predicts the ten kernels with which SKMD was measured (PACT 2013, Table II) on a model "
           "of its machine (Table I). `heddle plot --skmd N` draws a figure.",
};

int plan_skmd(int argc, char **argv)
{
	struct arguments arguments = {.scale = 1};
	struct option_set set = {.rows = options, .data = &arguments};

	options_parse(&program, &set, argc, argv);
	if (arguments.figure)
		figure_csv(arguments.figure, arguments.scale, stdout);
	else
		table_print(arguments.scale);
	return fflush(stdout) || ferror(stdout);
}
