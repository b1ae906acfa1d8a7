/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Files that variables name (HEDDLE_BLOCK_LOG and others of its kind), to which whatever
 * ends appends its lines: several threads, and several programs, may do so at the same time.
 */
#ifndef HEDDLE_SUPPORT_LOG_H
#define HEDDLE_SUPPORT_LOG_H

#include <stdio.h>

#include "support/number.h"
#include "support/variables.h"

struct heddle_log {
	FILE *file;
	const char *variable, *path;
	struct heddle_numbers numbers;
};

/** Opens a log and waits until it is nobody else's; where it cannot be locked, lines may
 * mix. Until heddle_log_close() this thread prints numbers with a point.
 * @param variable names the file
 * @param header the first line of a file that is empty, without its end
 * @return 0; -errno after a message */
int heddle_log_open(struct heddle_log *log, enum heddle_variable variable, const char *header);

/** Writes what was printed to log->file, all of it before anybody else's.
 * @return 0; -errno after a message when not all could be written */
int heddle_log_close(struct heddle_log *log);

#endif
