/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * `heddle bench`: contenders run an app in new processes, in rounds, and are compared. A contender
 * may have variants (block or task sizes): a sweep finds the best, which takes part in the rounds.
 */
#ifndef HEDDLE_BENCH_H
#define HEDDLE_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <jansson.h>
#include <heddle/kind.h>

#include "estimator/platform.h"
#include "tools/common/simulation.h"

struct bench_settings {
	const char *apps;      /* names or paths, separated by commas */
	const char **programs; /* commands that know nothing of Heddle */
	unsigned nprograms;
	const char *platforms;  /* names or descriptions; NULL: this machine */
	const char *contenders; /* names or groups; NULL: all */
	const char *json;       /* file, "-": standard output; NULL: none */
	const char *rows;       /* only print the rows of this report; NULL: measure */
	char **app_arguments;   /* given to the app as they are */
	size_t size;            /* 0: the platform's or the app's own */
	unsigned reps;          /* 0: chosen by the kind of machine */
	unsigned rounds;
	unsigned seed;
	double budget_s; /* for all cases: no process starts that would end later; 0: none */
	double limit_s;  /* for one process */
	enum simulation_profile profile;
	bool quick, verify, verbose;
	bool irregular;    /* strategies on simulated loops that are not smooth */
	const char *costs; /* file of what the iterations of such a loop cost; NULL: shapes */
	bool clusters;     /* flows on simulated clusters */
	const char *ranks; /* numbers of ranks, separated by commas; NULL: no ranks */
};

/* The results of a contender's processes. */
struct bench_runs {
	double *us;    /* all repetitions but the first of each process */
	double *first; /* first repetitions */
	size_t nus, nfirst;
	double second_us;          /* of the second process of a program; 0: unknown */
	double *learning, *spread; /* of each process */
	size_t nprocesses;
	double share[HEDDLE_NKINDS]; /* of the iterations, in the last process */
	json_t *workers;             /* of the last process */
	int verified;                /* 1 right, 0 wrong, -1 not verified */
	bool modelled;               /* the times are those of heddle/clock.h */
	char *failure;               /* of the last process that failed; NULL: none failed */
};

/* One way to run the app. */
struct bench_variant {
	char sched[32];
	char strategy[96];    /* "": the policy's */
	char workers[32];     /* kinds, "": all */
	size_t parts;         /* equal tasks under a policy of StarPU; 0: its default */
	unsigned gpu_workers; /* of each CUDA device, with a thread each; 0: StarPU's default */
	bool calibrated;      /* the calibration run took place */
	unsigned ranks;       /* of mpirun, with a share of the workers each; 0: one process */
	bool models;          /* each process starts with the models of a calibration of the case */
	struct bench_runs sweep, runs;
};

enum bench_group { BENCH_ALONE, BENCH_TUNED, BENCH_OURS, BENCH_STOCK, BENCH_NGROUPS };

struct bench_contender {
	char name[64];
	enum bench_group group;
	bool calibrated; /* by an earlier run; else each process starts without measurements */
	struct bench_variant *variants;
	unsigned nvariants, chosen;
};

/* One app on one machine. */
struct bench_case {
	const struct bench_settings *settings;
	char *app;      /* as the user named it */
	char *program;  /* its path */
	char **command; /* words of a program that knows nothing of Heddle; NULL: an app */
	const char *platform_name; /* NULL: this machine */
	struct heddle_platform platform;
	size_t size;             /* asked for, 0: the app's own */
	size_t n;                /* iterations, as the app reports them */
	bool tasks;              /* the app submits tasks instead of loops, and uses no strategy */
	bool graph;              /* these tasks depend on each other */
	double flops;            /* of the graph; 0: unknown */
	double area_us, path_us; /* bounds of the graph's time; 0: unknown */
	unsigned reps, rounds;
	unsigned workers[HEDDLE_NKINDS];
	struct bench_contender *contenders;
	unsigned ncontenders;
	char *state;       /* directory for all files */
	double deadline_s; /* when this case must end; 0: never */
	double slowest_s;  /* wall time of the slowest process so far */
	unsigned processes, rounds_done;
	bool out_of_time, models; /* models: a calibration took place */
	double ideal_us;          /* of a graph: the higher bound; 0: unknown */
	bool ideal_modelled;
	char starpu[64]; /* the StarPU that the app ran on */
};

/* ---- contenders.c ---- */

/** Makes the case's contenders from its kinds of worker. */
void bench_contenders_make(struct bench_case *bench);
void bench_contenders_free(struct bench_case *bench);
/** Whether each word of a list names a contender of some app, or a group of them.
 * @param list separated by commas; NULL: all
 * @return 0; -EINVAL after a message that lists the names, the nearest first. */
int bench_contenders_check(const char *list);
/** Prints the names of all contenders and groups. */
void bench_contenders_print(FILE *out);
const char *bench_group_name(enum bench_group group);

/* ---- measure.c ---- */

/** Runs everything. @return 0; -errno after a message when not even one process
 * of the app succeeds. */
int bench_measure(struct bench_case *bench);
/** The runs of a contender that count: its rounds, or the sweep where there was no time for a
 * round. */
const struct bench_runs *bench_contender_runs(const struct bench_contender *contender);
/** The median of the repetitions, of the first ones where there are no others. */
double bench_runs_median(const struct bench_runs *runs);

/* ---- program.c ---- */

/** Finds the program of a command, and splits its words as a shell does.
 * @return 0; -EINVAL or -ENOENT after a message */
int bench_program_find(struct bench_case *bench, const char *text);
/** The report of a recorded process (record.h), in the form of an app's.
 * @return NULL: there is none */
json_t *bench_record_read(const char *file);
/** Takes the bounds of the case's graph from such a report if they are in it. */
void bench_record_bound(struct bench_case *bench, const json_t *report);
/** LD_PRELOAD for a recorded process.
 * @param ours it runs under a policy of Heddle's
 * @param before of a simulated process; NULL: none
 * @return to be freed; NULL after a message */
char *bench_record_preload(bool ours, const char *before);

/* ---- ranks.c ---- */

/** Whether --ranks LIST can be followed. @return 0; -EINVAL or -ENOENT after a message */
int bench_ranks_check(const char *list);
/** The next number of a list, which becomes the rest; 0: it is none. */
unsigned bench_ranks_next(const char **list);
/** The words of mpirun with so many ranks of a program, given its words, which are freed. */
char **bench_ranks_arguments(const struct bench_case *bench, unsigned ranks, char **words);
/** Adds what mpirun gets. */
void bench_ranks_environment(char ***list, unsigned *count);

/* ---- irregular.c ---- */

/** Compares strategies on loops that are not smooth and prints a table.
 * @return 0; 1 after a message */
int bench_irregular(const struct bench_settings *settings);

/* ---- costs.c ---- */

/** Reads costs of iterations, one number a line.
 * @param[out] costs to be freed
 * @return 0, or a negative errno value after a message */
int bench_costs_read(const char *file, double **costs, size_t *n);

/* ---- figures.c ---- */

/** Prints the figures of simulated clusters.
 * @return 0; another number after a message */
int bench_clusters(const struct bench_settings *settings);

/* ---- process.c ---- */

struct bench_process {
	char **argv;
	char **environment; /* "NAME=VALUE", or "NAME" to be unset; ends with NULL */
	const char *log;    /* file for its standard output and error */
	double limit_s;
};

/** Runs a process to its end.
 * @param[out] wall_s its time
 * @return its exit status; 128 + the signal that ended it; -ETIME after the time limit; -EINTR
 * after an interrupt by the user; another -errno when it could not start */
int bench_process_run(const struct bench_process *process, double *wall_s);
/** True once the user asked to stop (SIGINT, SIGTERM). */
bool bench_interrupted(void);
void bench_catch_interrupts(void);
/** Seconds since this program began. */
double bench_elapsed_s(void);

/* ---- report.c ---- */

/** A case in the form of the JSON report. */
json_t *bench_report(struct bench_case *bench);
/** Prints a case of the report as a table. */
void bench_print(const json_t *report);
/** Prints the rows of a report file as tab-separated values.
 * @return 0; -EINVAL after a message. */
int bench_rows_print(const char *file);

/* ---- memory.c ---- (an allocation that fails ends the program) */

/** Adds an entry, which it keeps, to a list that ends with NULL. */
void bench_list_add(char ***list, unsigned *count, char *entry);
void bench_list_free(char **list);
void *bench_grow(void *array, size_t count, size_t size);
char *bench_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
double bench_median(const double *values, size_t count); /* 0 of nothing */
double bench_minimum(const double *values, size_t count);

#endif
