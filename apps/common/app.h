/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What all apps have in common: command line, repetitions, verification,
 * report. An app fills in a struct app, and its main() is app_main().
 */
#ifndef APPS_COMMON_APP_H
#define APPS_COMMON_APP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <starpu.h>

#include <heddle/kind.h>
#include <heddle/loop.h>
#include <heddle/memory.h>

#include "support/options.h"
#include "apps/common/random.h"

/** Exit codes of every app. */
enum app_exit {
	APP_RIGHT = 0,
	APP_WRONG = 1,   /**< a wrong result, or the loop failed */
	APP_USAGE = 2,   /**< usage, or bad input */
	APP_CANNOT = 77, /**< cannot run on this machine */
};

#define APP_STATUS "Exit status: 0 right, 1 wrong result, 2 usage or bad input, 77 cannot run here."

/** Command line of every app. */
struct app_options {
	size_t size; /**< of the random input, in the app's own unit */
	bool size_given;
	unsigned reps;
	uint64_t seed;
	bool seed_given;
	bool verify;
	bool mpi;                   /**< over all ranks */
	const char *json;           /**< file, "-" for standard output, NULL: none */
	const char *sched;          /**< NULL: STARPU_SCHED's, else heddle */
	const char *strategy;       /**< NULL: the policy's */
	unsigned parts;             /**< 0: HEDDLE_PARTS */
	bool estimates;             /**< StarPU's policies get Heddle's estimates */
	bool late;                  /**< late accelerators are not waited for */
	bool kinds[HEDDLE_NKINDS];  /**< of --workers; none set: all workers */
	const char *input, *output; /**< NULL: random input, results thrown away */
	const char *save_input;     /**< NULL: not wanted */
};

struct app_wave;
struct json_t; /* jansson's */

/** An app. `self` is the app's own data. Functions that return an error have said
 * why; those that may be NULL say so. */
struct app {
	const char *name;
	const char *symbol;           /**< of the codelet's model under StarPU's own policies */
	const char *doc;              /**< for --help, where APP_STATUS follows */
	const char *unit;             /**< of one element: "option" */
	size_t size;                  /**< default of --size */
	size_t max_size;              /**< largest --size */
	bool seeded;                  /**< --seed counts beside --input, too */
	const struct option_row *own; /**< further options, with self as their data; or NULL */
	void (*check)(void *self, struct argp_state *state); /**< as of an option_set; or NULL */
	double tolerance; /**< largest error that counts as right */
	/** Runs over ranks. With run(), all ranks prepare the same input. Otherwise those without
	 * data prepare an input of size 0. Before each repetition they get the first `arg_bytes`
	 * bytes of what the loop's arg points to: all that depends on the input. */
	bool ranks;
	size_t arg_bytes;
	/** Over ranks, unless files are written, each rank prepares its part of the input:
	 * ranks_part() says which. n of the loop, elements() and arg are those of the whole, and
	 * error() looks at the part. Arrays that are sliced lie in these parts, with a halo or
	 * without. Others lie on rank 0. */
	bool parts;
	/** Looks at the input file before StarPU starts; only called with --input.
	 * @return 0; -errno: exit 2. */
	int (*open)(void *self, const struct app_options *options);
	/** Allocates with heddle_malloc(), makes or takes over the input, registers the
	 * data and fills in codelet, n, accesses and arg of the loop. An app that submits tasks
	 * leaves the codelet NULL if its codelets have models of their own.
	 * @return 0; -errno. */
	int (*prepare)(void *self, const struct app_options *options, struct heddle_loop *loop);
	/** Runs a repetition, in place of the loop's; n of the loop says how much there is to
	 * do, its codelet gets the models that it would get in a loop. NULL: the loop or the
	 * wavefront is run.
	 * @param[out] stats as those of a loop @return 0; -errno. */
	int (*run)(void *self, struct heddle_loop_stats *stats);
	/** Adds the app's own keys to the report, and prints the app's own lines after
	 * the table; both may be NULL. */
	void (*describe)(void *self, struct json_t *report);
	void (*print)(void *self);
	/** Makes the input of the next repetition from the results of the last one. NULL: it is the
	 * same. @return 0; -errno: exit 2. */
	int (*next)(void *self);
	/** Destroys earlier results. */
	void (*poison)(void *self);
	/** Largest error of the results against the reference. */
	double (*error)(void *self);
	/** Writes the input that prepare() made to options->save_input, the results to
	 * options->output. @return 0; -errno: exit 2. */
	int (*save_input)(void *self, const struct app_options *options);
	int (*save_output)(void *self, const struct app_options *options);
	/** Elements (of `unit`) in all, to state a rate; NULL: as many as iterations. */
	double (*elements)(void *self);
	/** What remains to be done after the last repetition, while StarPU is up and the data
	 * registered; not where workers are simulated. NULL: nothing. @return 0; -errno. */
	int (*finish)(void *self);
	/** Frees everything; the data is unregistered already. */
	void (*release)(void *self);
	/** Of an app that is a wavefront (apps/common/wave.h), or whose run() runs one, else NULL.
	 */
	struct app_wave *wave;
};

/** A vector, or a matrix without gaps, in main memory as StarPU's data.
 * @param bytes of an element */
starpu_data_handle_t app_vector(const void *elements, size_t n, size_t bytes);
starpu_data_handle_t app_matrix(const void *elements, size_t rows, size_t columns, size_t bytes);

/** Runs an app. @return exit code for main() */
int app_main(const struct app *app, void *self, int argc, char **argv);

/* ---- command line ---- */

/** Reads the command line; ends the process with exit code 2 at a mistake, with 0
 * after --help. */
void app_parse(const struct app *app, void *self, int argc, char **argv,
               struct app_options *options);

/** Makes a policy the one that starpu_init() takes; StarPU itself only warns of a name it
 * does not know, and takes another.
 * @param name NULL: STARPU_SCHED's, else heddle
 * @return 0; -EINVAL after a message, -ENOMEM. */
int app_choose_policy(const char *name);

/** The name of the policy that is at work. */
const char *app_policy_name(void);

/** Where tasks may run, as in task->where; 0: everywhere.
 * @param kinds of --workers */
int32_t app_where(const bool *kinds);

/** What an error of Heddle's or StarPU's is to an app. */
enum app_exit app_exit_code(int error);

/* ---- results ---- */

/** What was seen of a run. */
struct app_report {
	const struct app *app;
	void *self; /**< the app's */
	const struct app_options *options;
	size_t n;                        /**< iterations of the loop */
	double elements;                 /**< elements of them all */
	unsigned reps;                   /**< repetitions done */
	double *us;                      /**< their times */
	struct heddle_loop_stats *stats; /**< theirs */
	bool verified;                   /**< verification was asked for and took place */
	bool right;                      /**< … and found nothing wrong */
	double max_error;
};

/** Adds the statistics of a loop or wavefront to those of the ones before it, all zero: of none.
 * What happened between them does not count. */
void app_stats_add(struct heddle_loop_stats *sum, const struct heddle_loop_stats *one);

/** Prints a table to standard output (unless the JSON report goes there) and
 * writes the JSON report. @return 0; -errno after a message. */
int app_report_write(const struct app_report *report);

/** Writes JSON, which is freed, to a file; "-": standard output.
 * @param json NULL: there was no memory for it
 * @return 0; -errno after a message */
int app_json_write(const char *path, struct json_t *json);

/* ---- parallel work on the host, while no loop runs ---- */

/** Calls body on disjoint ranges that make up 0…n-1, on as many threads as the
 * process has processors.
 * @return largest of what the calls returned, infinity for not-a-number; 0 for n = 0 */
double app_parallel(size_t n, double (*body)(void *arg, size_t begin, size_t end), void *arg);

/** app_parallel() for elements of which `least` are worth a thread, 1 or more. */
double app_parallel_by(size_t n, size_t least, double (*body)(void *arg, size_t begin, size_t end),
                       void *arg);

/** Whether kernels do not really run (StarPU on SimGrid). */
static inline bool app_simulated(void)
{
#ifdef HEDDLE_USE_SIMGRID
	return true;
#else
	return false;
#endif
}

#endif
