/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/file.h>

#include "support/log.h"
#include "support/message.h"

/* Of an MPI program. Only the thread that runs loops over ranks writes them. */
static struct {
	atomic_uint runs; /* 0: the program is not one of several ranks */
	atomic_int rank;
	_Atomic double zero_us, first_us;
} ranks;

void heddle_log_run_begin(int rank, double now_us)
{
	ranks.rank = rank;
	ranks.zero_us = now_us;
	if (!ranks.runs)
		ranks.first_us = now_us;
	ranks.runs++;
}

double heddle_log_zero(double begin_us)
{
	return ranks.runs ? ranks.zero_us : begin_us;
}

double heddle_log_first_zero(double begin_us)
{
	return ranks.runs ? ranks.first_us : begin_us;
}

/* The file's name, a rank's number before its suffix. */
static int path_make(struct heddle_log *log, const char *given)
{
	const char *name = strrchr(given, '/'), *suffix;
	int length;

	name = name ? name + 1 : given;
	suffix = strrchr(name, '.');
	if (!suffix || suffix == name || log->rank < 0)
		suffix = given + strlen(given);
	length = snprintf(log->path, sizeof(log->path), "%.*s", (int)(suffix - given), given);
	if (log->rank >= 0 && length < (int)sizeof(log->path))
		length += snprintf(log->path + length, sizeof(log->path) - length, "-rank%d%s",
		                   log->rank, suffix);
	return length < (int)sizeof(log->path) ? 0 : -ENAMETOOLONG;
}

/* Says once what is wrong with a variable's file, until that is other: programs write it often. */
static int outcome(const struct heddle_log *log, const char *path, int status)
{
	static atomic_int said[HEDDLE_NVARIABLES];

	if (atomic_exchange(&said[log->id], status) == status || !status)
		return status;
	return heddle_refuse(status, "%s: %s: %s", log->variable, path,
	                     status == -EINVAL ? "lines are missing" : strerror(-status));
}

int heddle_log_open(struct heddle_log *log, enum heddle_variable variable, const char *header)
{
	const char *given = heddle_variable_text(variable);
	unsigned runs = ranks.runs;
	bool torn;

	*log = (struct heddle_log){.id = variable,
	                           .variable = heddle_variable_table[variable].name,
	                           .rank = runs ? ranks.rank : -1,
	                           .run = runs};
	if (path_make(log, given))
		return outcome(log, given, -ENAMETOOLONG);
	log->file = fopen(log->path, "a+e");
	if (!log->file)
		return outcome(log, log->path, -errno);
	while (flock(fileno(log->file), LOCK_EX) && errno == EINTR)
		;
	/* A process that was killed, or a full disk, has left half a line. */
	torn = !fseek(log->file, -1, SEEK_END) && fgetc(log->file) != '\n';
	/* C wants it between what is read and what is written. */
	fseek(log->file, 0, SEEK_END);
	if (torn)
		fputc('\n', log->file);
	heddle_numbers_begin(&log->numbers);
	if (!ftell(log->file))
		fprintf(log->file, "%s%s\n", header, log->rank < 0 ? "" : ",rank,run");
	return 0;
}

void heddle_log_line_end(struct heddle_log *log)
{
	if (log->rank >= 0)
		fprintf(log->file, ",%d,%u", log->rank, log->run);
	fputc('\n', log->file);
}

int heddle_log_close(struct heddle_log *log)
{
	int failed = ferror(log->file);

	heddle_numbers_end(&log->numbers);
	errno = 0;
	/* The lock goes with the file, when the last line is in it. */
	if (!fclose(log->file) && !failed)
		return outcome(log, log->path, 0);
	return outcome(log, log->path, errno ? -errno : -EINVAL);
}
