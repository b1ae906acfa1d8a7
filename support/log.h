/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Files that variables name (HEDDLE_BLOCK_LOG and others of its kind), to which whatever
 * ends appends its lines: several threads, and several programs, may do so at the same time.
 *
 * In an MPI program each rank has files of its own: log.csv becomes log-rank2.csv, and the lines
 * end with two more fields, the rank and the number of the run (of a loop, wavefront or flow over
 * ranks) that began last.
 */
#ifndef HEDDLE_SUPPORT_LOG_H
#define HEDDLE_SUPPORT_LOG_H

#include <limits.h>
#include <stdio.h>

#include "support/number.h"
#include "support/variables.h"

struct heddle_log {
	FILE *file;
	enum heddle_variable id;
	const char *variable; /* its name */
	char path[PATH_MAX];
	int rank; /* -1: the program is not one of several ranks */
	unsigned run;
	struct heddle_numbers numbers;
};

/** A run over several ranks begins. All ranks call it at about the same time.
 * @param rank of this process among all of the program
 * @param now_us by starpu_timing_now() */
void heddle_log_run_begin(int rank, double now_us);

/** What times in logs count from, by starpu_timing_now(): of one process when `begin_us` was; of
 * ranks when their latest run began, so that their lines can be put together. */
double heddle_log_zero(double begin_us);

/** The same of what is logged over several runs: when the first one began. */
double heddle_log_first_zero(double begin_us);

/** Opens a log and waits until it is nobody else's; where it cannot be locked, lines may
 * mix. Until heddle_log_close() this thread prints numbers with a point.
 * @param variable names the file
 * @param header the first line of a file that is empty, without its end and a rank's fields
 * @return 0; -errno after a message, which comes once until the error is another one, or a
 * write succeeds */
int heddle_log_open(struct heddle_log *log, enum heddle_variable variable, const char *header);

/** Ends a line. */
void heddle_log_line_end(struct heddle_log *log);

/** Writes what was printed to log->file, all of it before anybody else's.
 * @return 0; -errno after a message, as heddle_log_open(), when not all could be written */
int heddle_log_close(struct heddle_log *log);

#endif
