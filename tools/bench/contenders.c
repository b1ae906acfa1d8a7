/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The contenders: each kind of processor alone, hand-tuned fixed blocks, Heddle's strategies, and
 * StarPU's own policies with equal tasks.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <heddle/strategy.h>
#include <heddle/policy.h>

#include "support/message.h"
#include "support/name.h"
#include "sched_policies/gpu_workers.h"
#include "tools/bench/bench.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static const char *const group_names[BENCH_NGROUPS] = {
    [BENCH_ALONE] = "alone",
    [BENCH_TUNED] = "tuned",
    [BENCH_OURS] = "ours",
    [BENCH_STOCK] = "stock",
};

const char *bench_group_name(enum bench_group group)
{
	return group_names[group];
}

static bool wanted(const struct bench_case *bench, const char *name, enum bench_group group)
{
	const char *list = bench->settings->contenders;

	return !list || heddle_name_listed(list, name) ||
	       heddle_name_listed(list, group_names[group]);
}

static struct bench_contender *contender_always(struct bench_case *bench, const char *name,
                                                enum bench_group group)
{
	struct bench_contender *contender;

	bench->contenders =
	    bench_grow(bench->contenders, bench->ncontenders + 1, sizeof(*bench->contenders));
	contender = &bench->contenders[bench->ncontenders++];
	*contender = (struct bench_contender){.group = group};
	snprintf(contender->name, sizeof(contender->name), "%s", name);
	return contender;
}

/* NULL: not wanted. */
static struct bench_contender *contender_add(struct bench_case *bench, const char *name,
                                             enum bench_group group)
{
	return wanted(bench, name, group) ? contender_always(bench, name, group) : NULL;
}

static void variant_add(struct bench_contender *contender, const char *sched, const char *strategy,
                        const char *workers, size_t parts)
{
	struct bench_variant *variant;

	contender->variants =
	    bench_grow(contender->variants, contender->nvariants + 1, sizeof(*contender->variants));
	variant = &contender->variants[contender->nvariants++];
	*variant =
	    (struct bench_variant){.parts = parts, .sweep.verified = -1, .runs.verified = -1};
	snprintf(variant->sched, sizeof(variant->sched), "%s", sched);
	snprintf(variant->strategy, sizeof(variant->strategy), "%s", strategy);
	snprintf(variant->workers, sizeof(variant->workers), "%s", workers);
}

/* The k-th number of blocks or tasks of a worker in a sweep; 0: there are no more. */
static unsigned grain(const struct bench_case *bench, unsigned k)
{
	static const unsigned all[] = {1, 4, 16, 64, 256, 0}, quick[] = {4, 32, 0};

	return bench->settings->quick ? quick[k] : all[k];
}

/* The size of a block such that each of some workers gets so many blocks. */
static size_t block_size(const struct bench_case *bench, unsigned workers, unsigned blocks)
{
	size_t size = bench->n / ((size_t)workers * blocks);

	return size ? size : 1;
}

static void alone_add(struct bench_case *bench, enum heddle_kind kind)
{
	const char *name = heddle_kind_name(kind);
	char label[64], strategy[96];
	struct bench_contender *contender;

	snprintf(label, sizeof(label), "%s-only", name);
	contender = contender_add(bench, label, BENCH_ALONE);
	if (!contender)
		return;
	variant_add(contender, "hdss", "", name, 0);
	for (unsigned k = 0; grain(bench, k); k++) {
		snprintf(strategy, sizeof(strategy), "css:chunk=%zu",
		         block_size(bench, bench->workers[kind], grain(bench, k)));
		variant_add(contender, "css", strategy, name, 0);
	}
}

/* Fixed blocks, one size for cores and one for accelerators. */
static void tuned_variant(struct bench_case *bench, struct bench_contender *contender,
                          size_t core_chunk, size_t accelerator_chunk)
{
	char strategy[96];
	int length = snprintf(strategy, sizeof(strategy), "css");

	for (int k = 0; k < HEDDLE_NKINDS; k++)
		if (bench->workers[k] && length < (int)sizeof(strategy))
			length += snprintf(strategy + length, sizeof(strategy) - length, "%c%s=%zu",
			                   strchr(strategy, ':') ? ',' : ':', heddle_kind_name(k),
			                   k == HEDDLE_KIND_CPU ? core_chunk : accelerator_chunk);
	variant_add(contender, "css", strategy, "", 0);
}

static void tuned_add(struct bench_case *bench)
{
	static const unsigned all_cores[] = {8, 32, 128, 0}, quick_cores[] = {32, 0};
	static const unsigned all_others[] = {16, 64, 128, 512, 0}, quick_others[] = {32, 128, 0};
	const unsigned *cores = bench->settings->quick ? quick_cores : all_cores;
	const unsigned *others = bench->settings->quick ? quick_others : all_others;
	struct bench_contender *contender = contender_add(bench, "tuned", BENCH_TUNED);
	unsigned ncores = bench->workers[HEDDLE_KIND_CPU], nothers = 0;

	for (int k = 0; k < HEDDLE_NKINDS; k++)
		if (k != HEDDLE_KIND_CPU)
			nothers += bench->workers[k];
	if (!contender)
		return;
	for (unsigned c = 0; c == 0 || (ncores && cores[c]); c++)
		for (unsigned o = 0; o == 0 || (nothers && others[o]); o++)
			tuned_variant(bench, contender,
			              block_size(bench, ncores ? ncores : 1, cores[c]),
			              block_size(bench, 1, others[o]));
}

static void ours_add(struct bench_case *bench)
{
	for (const struct heddle_strategy_info *const *s = heddle_strategies(); *s; s++) {
		struct bench_contender *contender = contender_add(bench, (*s)->name, BENCH_OURS);

		if (contender && heddle_policy_find((*s)->name))
			variant_add(contender, (*s)->name, "", "", 0);
		else if (contender) /* for loops only */
			variant_add(contender, "hdss", (*s)->name, "", 0);
		if (strcmp((*s)->name, "hdss"))
			continue;
		contender = contender_add(bench, "hdss-published", BENCH_OURS);
		if (contender)
			variant_add(contender, "hdss", "hdss:published=1", "", 0);
	}
}

/* An app that submits tasks has no blocks: each kind alone under the best of some policies. */
static void alone_tasks_add(struct bench_case *bench, enum heddle_kind kind)
{
	static const char *const scheds[] = {"eager", "lws", "ddfcfs"};
	char label[64];
	struct bench_contender *contender;

	snprintf(label, sizeof(label), "%s-only", heddle_kind_name(kind));
	contender = contender_add(bench, label, BENCH_ALONE);
	for (size_t s = 0; contender && s < COUNT(scheds); s++)
		variant_add(contender, scheds[s], "", heddle_kind_name(kind), 0);
}

static void ours_tasks_add(struct bench_case *bench)
{
	for (const struct heddle_policy *p = heddle_policies(); p->name; p++) {
		struct bench_contender *contender = contender_add(bench, p->name, BENCH_OURS);

		if (contender)
			variant_add(contender, p->name, "", "", 0);
	}
}

/* ---- task graphs ---- */

static const char *const plain[] = {"eager", "lws", "prio", "heteroprio"};
static const char *const modelled[] = {"dmda", "dmdar", "dmdas", "dmdasd"};

/* On a real machine StarPU's models come from a calibration, which all contenders share. */
static void models_want(struct bench_case *bench, struct bench_contender *contender)
{
	struct bench_variant *variant = &contender->variants[contender->nvariants - 1];

	variant->models = bench->command && !bench->platform_name;
	bench->models |= variant->models;
}

/* Each kind alone under the best of StarPU's policies. A foreign program tells heteroprio no
 * orders. */
static void alone_graph_add(struct bench_case *bench, enum heddle_kind kind)
{
	char label[64];
	struct bench_contender *contender;

	snprintf(label, sizeof(label), "%s-only", heddle_kind_name(kind));
	contender = contender_add(bench, label, BENCH_ALONE);
	if (!contender)
		return;
	for (size_t s = 0; s < COUNT(plain) - 1; s++)
		if (s < 2 || !bench->settings->quick)
			variant_add(contender, plain[s], "", heddle_kind_name(kind), 0);
	for (size_t s = 0; s < COUNT(modelled); s++) {
		if (bench->settings->quick && strcmp(modelled[s], "dmdas"))
			continue;
		variant_add(contender, modelled[s], "", heddle_kind_name(kind), 0);
		models_want(bench, contender);
	}
}

/* Block strategies are for tasks that are alike; they take part where they are named. */
static void ours_graph_add(struct bench_case *bench)
{
	static const char *const usual = "heddle,ddwrr,odds,ddfcfs";
	const char *list = bench->settings->contenders;

	for (const struct heddle_policy *p = heddle_policies(); p->name; p++) {
		struct bench_contender *contender = NULL;

		if (heddle_name_listed(usual, p->name) ||
		    (list && heddle_name_listed(list, p->name)))
			contender = contender_add(bench, p->name, BENCH_OURS);
		if (contender)
			variant_add(contender, p->name, "", "", 0);
	}
}

static void stock_add(struct bench_case *bench, const char *sched, const char *label,
                      bool calibrated)
{
	struct bench_contender *contender = contender_add(bench, label, BENCH_STOCK);
	unsigned workers = 0;

	if (!contender)
		return;
	contender->calibrated = calibrated;
	for (int k = 0; k < HEDDLE_NKINDS; k++)
		workers += bench->workers[k];
	if (bench->tasks)
		variant_add(contender, sched, "", "", 0);
	for (unsigned k = 0; !bench->tasks && grain(bench, k); k++)
		variant_add(contender, sched, "", "", (size_t)workers * grain(bench, k));
}

/* A foreign program tells heteroprio no orders. It gets them from models. */
static void plain_add(struct bench_case *bench, const char *sched)
{
	unsigned before = bench->ncontenders;

	stock_add(bench, sched, sched, false);
	if (bench->command && bench->ncontenders > before && !strcmp(sched, "heteroprio"))
		models_want(bench, &bench->contenders[before]);
}

/* Policies, one of Heddle's by default: in one process, and over each number of ranks. */
static void ranks_add(struct bench_case *bench)
{
	const char *list = bench->settings->contenders;
	char *scheds = bench_format("%s", list ? list : bench->tasks ? "odds" : "hdss");
	char *rest = scheds, *sched;

	while ((sched = strsep(&rest, ","))) {
		const char *ranks = bench->settings->ranks;
		struct bench_contender *contender = contender_add(bench, sched, BENCH_OURS);
		char label[64];

		if (!contender)
			continue;
		variant_add(contender, sched, "", "", 0);
		while (*ranks) {
			unsigned n = bench_ranks_next(&ranks);

			snprintf(label, sizeof(label), "%.40s-%u-rank%s", sched, n,
			         n > 1 ? "s" : "");
			contender = contender_always(bench, label, BENCH_OURS);
			variant_add(contender, sched, "", "", 0);
			contender->variants[0].ranks = n;
		}
	}
	free(scheds);
}

/* StarPU's policies with models: as they are, and calibrated. */
static void modelled_add(struct bench_case *bench, const char *sched)
{
	char label[64];
	unsigned before;

	stock_add(bench, sched, sched, false);
	/* On SimGrid durations need no calibration. */
	if (bench->platform_name)
		return;
	snprintf(label, sizeof(label), "%s-calibrated", sched);
	before = bench->ncontenders;
	stock_add(bench, sched, label, true);
	if (bench->graph && bench->ncontenders > before)
		models_want(bench, &bench->contenders[before]);
}

/* dmdar and dmdasd look at data that lies on a device already, which a loop's tasks do not have. */
static bool suits(const struct bench_case *bench, const char *sched)
{
	return bench->tasks || (strcmp(sched, "dmdar") && strcmp(sched, "dmdasd"));
}

/* Tasks are compared at the best number of workers of a GPU: under heddle there are several. Who
 * has set a number has chosen. */
static void gpu_workers_vary(struct bench_case *bench)
{
	if (!bench->tasks || bench->platform_name || !bench->workers[HEDDLE_KIND_CUDA] ||
	    getenv("STARPU_NWORKER_PER_CUDA") || getenv("HEDDLE_CUDA_WORKERS"))
		return;
	for (unsigned c = 0; c < bench->ncontenders; c++) {
		struct bench_contender *contender = &bench->contenders[c];
		unsigned n = contender->nvariants;

		for (unsigned v = 0; v < n; v++) {
			struct bench_variant copy = contender->variants[v];

			if (!strcmp(copy.sched, "heddle") ||
			    (*copy.workers && strcmp(copy.workers, "cuda")))
				continue;
			copy.gpu_workers = HEDDLE_GPU_WORKERS;
			contender->variants =
			    bench_grow(contender->variants, contender->nvariants + 1, sizeof(copy));
			contender->variants[contender->nvariants++] = copy;
		}
	}
}

void bench_contenders_make(struct bench_case *bench)
{
	if (bench->settings->ranks) {
		ranks_add(bench);
		return;
	}
	for (int kind = 0; kind < HEDDLE_NKINDS; kind++)
		if (bench->workers[kind])
			(bench->graph   ? alone_graph_add
			 : bench->tasks ? alone_tasks_add
			                : alone_add)(bench, kind);
	if (bench->graph) {
		ours_graph_add(bench);
	} else if (bench->tasks) {
		ours_tasks_add(bench);
	} else {
		tuned_add(bench);
		ours_add(bench);
	}
	for (size_t s = 0; s < COUNT(plain); s++)
		plain_add(bench, plain[s]);
	for (size_t s = 0; s < COUNT(modelled); s++)
		if (suits(bench, modelled[s]))
			modelled_add(bench, modelled[s]);
	/* New in 1.4. */
	if (bench->tasks && strcmp(HEDDLE_STARPU_SERIES, "1.3"))
		stock_add(bench, "darts", "darts", false);
	gpu_workers_vary(bench);
}

static void runs_free(struct bench_runs *runs)
{
	free(runs->us);
	free(runs->first);
	free(runs->learning);
	free(runs->spread);
	free(runs->failure);
	json_decref(runs->workers);
}

void bench_contenders_free(struct bench_case *bench)
{
	for (unsigned c = 0; c < bench->ncontenders; c++) {
		struct bench_contender *contender = &bench->contenders[c];

		for (unsigned v = 0; v < contender->nvariants; v++) {
			runs_free(&contender->variants[v].sweep);
			runs_free(&contender->variants[v].runs);
		}
		free(contender->variants);
	}
	free(bench->contenders);
}

/* ---- names ---- */

struct name {
	const char *text;
	size_t distance; /* to what the user wrote */
};

static int nearer(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	return (x->distance > y->distance) - (x->distance < y->distance);
}

/* Adds the names of a case's contenders and of all groups, each once. */
static unsigned names_add(const struct bench_case *bench, struct name **names, unsigned n)
{
	for (unsigned c = 0; c < bench->ncontenders + BENCH_NGROUPS; c++) {
		const char *text = c < bench->ncontenders ? bench->contenders[c].name
		                                          : group_names[c - bench->ncontenders];
		unsigned i = 0;

		while (i < n && strcmp((*names)[i].text, text))
			i++;
		if (i < n)
			continue;
		*names = bench_grow(*names, n + 1, sizeof(**names));
		(*names)[n++].text = text;
	}
	return n;
}

/* The first word that is no name; NULL: there is none. */
static const char *unknown(const char *list, const struct name *names, unsigned n, size_t *length)
{
	for (const char *at = list; *at; at += *length + (at[*length] == ',')) {
		unsigned i = 0;

		*length = strcspn(at, ",");
		while (i < n &&
		       (strlen(names[i].text) != *length || strncmp(names[i].text, at, *length)))
			i++;
		if (*length && i == n)
			return at;
	}
	return NULL;
}

static int refuse(const char *word, size_t length, struct name *names, unsigned n)
{
	char *all = bench_format("%s", ""), *longer;

	for (unsigned i = 0; i < n; i++)
		names[i].distance = heddle_name_distance(word, length, names[i].text);
	qsort(names, n, sizeof(*names), nearer);
	for (unsigned i = 0; i < n; i++, all = longer) {
		longer = bench_format("%s%s%s", all, i ? " " : "", names[i].text);
		free(all);
	}
	heddle_warn("no contender is called \"%.*s\"; there are (the nearest name first): %s",
	            (int)length, word, all);
	free(all);
	return -EINVAL;
}

/* What there is for loops, streams of tasks and task graphs, on all kinds of worker. */
#define EVERYTHING                                                                                 \
	{                                                                                          \
		{.settings = &everything, .n = 1},                                                 \
		    {.settings = &everything, .n = 1, .tasks = true},                              \
		    {.settings = &everything, .n = 1, .tasks = true, .graph = true},               \
	}

/* Makes all contenders. @return the number of their names */
static unsigned everything_make(struct bench_case *cases, unsigned ncases, struct name **names)
{
	unsigned n = 0;

	for (unsigned i = 0; i < ncases; i++) {
		for (int kind = 0; kind < HEDDLE_NKINDS; kind++)
			cases[i].workers[kind] = 1;
		bench_contenders_make(&cases[i]);
		n = names_add(&cases[i], names, n);
	}
	return n;
}

void bench_contenders_print(FILE *out)
{
	static const struct bench_settings everything;
	struct bench_case cases[] = EVERYTHING;
	struct name *names = NULL;
	unsigned n = everything_make(cases, COUNT(cases), &names);

	for (unsigned i = 0; i < n; i++)
		fprintf(out, "%s%s", i ? ", " : "", names[i].text);
	free(names);
	for (unsigned i = 0; i < COUNT(cases); i++)
		bench_contenders_free(&cases[i]);
}

int bench_contenders_check(const char *list)
{
	static const struct bench_settings everything;
	struct bench_case cases[] = EVERYTHING;
	struct name *names = NULL;
	unsigned n = everything_make(cases, COUNT(cases), &names);
	const char *word = NULL;
	size_t length;
	int status = 0;

	if (list)
		word = unknown(list, names, n, &length);
	if (list && !list[strspn(list, ",")]) {
		word = list;
		length = strlen(list);
	}
	if (word)
		status = refuse(word, length, names, n);
	free(names);
	for (unsigned i = 0; i < COUNT(cases); i++)
		bench_contenders_free(&cases[i]);
	return status;
}
