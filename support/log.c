/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <sys/file.h>

#include "support/log.h"
#include "support/message.h"

int heddle_log_open(struct heddle_log *log, enum heddle_variable variable, const char *header)
{
	*log = (struct heddle_log){
	    .variable = heddle_variable_table[variable].name,
	    .path = heddle_variable_text(variable),
	};
	log->file = fopen(log->path, "ae");
	if (!log->file)
		return heddle_refuse(-errno, "%s: %s: %s", log->variable, log->path,
		                     strerror(errno));
	while (flock(fileno(log->file), LOCK_EX) && errno == EINTR)
		;
	fseek(log->file, 0, SEEK_END);
	heddle_numbers_begin(&log->numbers);
	if (!ftell(log->file))
		fprintf(log->file, "%s\n", header);
	return 0;
}

int heddle_log_close(struct heddle_log *log)
{
	int failed = ferror(log->file);

	heddle_numbers_end(&log->numbers);
	errno = 0;
	/* The lock goes with the file, when the last line is in it. */
	if (fclose(log->file) || failed)
		return heddle_refuse(errno ? -errno : -EINVAL, "%s: %s: %s", log->variable,
		                     log->path, errno ? strerror(errno) : "lines are missing");
	return 0;
}
