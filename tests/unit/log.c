/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Logs that variables name: what several programs append at the same time does not mix,
 * and what cannot be written is told.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/log.h"
#include "tests/unit/test.h"

/* Long enough for many writes each, and often enough for writers to meet. */
enum { WRITERS = 4, ROUNDS = 10, LINES = 2000 };

static char path[] = "/tmp/heddle-log-XXXXXX";

static int write_round(int writer, int round)
{
	struct heddle_log log;

	if (heddle_log_open(&log, HEDDLE_VARIABLE_TILE_LOG, "writer,round,line,what"))
		return 1;
	for (int line = 0; line < LINES; line++)
		fprintf(log.file, "%d,%d,%d,as much as a tile has to say for itself\n", writer,
		        round, line);
	return heddle_log_close(&log) != 0;
}

/* In a process of its own, from when the pipe is closed on. */
static void writer_run(int writer, const int begin[2])
{
	char nothing;
	int failed = 0;

	close(begin[1]);
	if (read(begin[0], &nothing, 1))
		_exit(2);
	for (int round = 0; round < ROUNDS; round++)
		failed |= write_round(writer, round);
	_exit(failed);
}

static void writers_meet(void)
{
	int begin[2], status;

	assert_int_equal(pipe(begin), 0);
	for (int writer = 0; writer < WRITERS; writer++) {
		pid_t child = fork();

		assert_true(child >= 0);
		if (!child)
			writer_run(writer, begin);
	}
	close(begin[0]);
	close(begin[1]);
	for (int writer = 0; writer < WRITERS; writer++) {
		assert_true(wait(&status) > 0);
		assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
	}
}

/* Whether the next line is one writer's; -1: the file is over. */
static int line_next(FILE *file, int *writer, int *round, int *line)
{
	char text[128], end;

	if (!fgets(text, sizeof(text), file))
		return -1;
	return sscanf(text, "%d,%d,%d,as much as a tile has to say for itself%c", writer, round,
	              line, &end) == 4 &&
	       end == '\n';
}

static void test_writers_do_not_mix(void **state)
{
	int writer, round, line, next_round[WRITERS] = {0};
	char header[64];
	FILE *file;

	setenv("HEDDLE_TILE_LOG", path, 1);
	writers_meet();
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(header, sizeof(header), file));
	assert_string_equal(header, "writer,round,line,what\n");
	for (int group = 0; group < WRITERS * ROUNDS; group++) {
		int first = -1;

		for (int l = 0; l < LINES; l++) {
			assert_int_equal(line_next(file, &writer, &round, &line), 1);
			if (l == 0)
				first = writer;
			assert_in_range(writer, 0, WRITERS - 1);
			assert_int_equal(writer, first);
			assert_int_equal(round, next_round[writer]);
			assert_int_equal(line, l);
		}
		next_round[first]++;
	}
	assert_int_equal(line_next(file, &writer, &round, &line), -1);
	fclose(file);
}

/* What a log has, and what it is called. */
static void log_one_line(const char *name, const char *expected)
{
	char text[128] = "";
	struct heddle_log log;
	FILE *file;

	assert_int_equal(heddle_log_open(&log, HEDDLE_VARIABLE_TILE_LOG, "a,b"), 0);
	fprintf(log.file, "1,2");
	heddle_log_line_end(&log);
	assert_int_equal(heddle_log_close(&log), 0);
	assert_string_equal(log.path, name);
	file = fopen(name, "r");
	assert_non_null(file);
	assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
	fclose(file);
	assert_string_equal(text, expected);
	unlink(name);
}

/* Ranks have files of their own, and count from where their runs begin. After this the process is a
 * rank. */
static void test_ranks(void **state)
{
	char folder[] = "/tmp/heddle.log-XXXXXX", given[64], wanted[64];
	static const char *const names[][2] = {
	    {"log.csv", "log-rank3.csv"}, {"log", "log-rank3"}, {".log", ".log-rank3"}};

	assert_non_null(mkdtemp(folder));
	snprintf(given, sizeof(given), "%s/one.csv", folder);
	setenv("HEDDLE_TILE_LOG", given, 1);
	log_one_line(given, "a,b\n1,2\n");
	assert_true(heddle_log_zero(5) == 5 && heddle_log_first_zero(6) == 6);
	heddle_log_run_begin(3, 100);
	heddle_log_run_begin(3, 200);
	assert_true(heddle_log_zero(5) == 200 && heddle_log_first_zero(6) == 100);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(given, sizeof(given), "%s/%s", folder, names[i][0]);
		snprintf(wanted, sizeof(wanted), "%s/%s", folder, names[i][1]);
		setenv("HEDDLE_TILE_LOG", given, 1);
		log_one_line(wanted, "a,b,rank,run\n1,2,3,2\n");
	}
	rmdir(folder);
}

/* Programs write a log after each run: what is wrong with it is said once. */
static void test_what_cannot_be_written(void **state)
{
	int standard = dup(STDERR_FILENO), pipes[2];
	struct heddle_log log;
	char said[512] = "";

	assert_int_equal(pipe(pipes), 0);
	dup2(pipes[1], STDERR_FILENO);
	for (int i = 0; i < 3; i++) {
		setenv("HEDDLE_TILE_LOG", "/nonexistent/folder/file", 1);
		assert_int_equal(heddle_log_open(&log, HEDDLE_VARIABLE_TILE_LOG, "a"), -ENOENT);
	}
	for (int i = 0; i < 3; i++) {
		setenv("HEDDLE_TILE_LOG", "/dev/full", 1);
		assert_int_equal(heddle_log_open(&log, HEDDLE_VARIABLE_TILE_LOG, "a,b"), 0);
		assert_int_equal(heddle_log_close(&log), -ENOSPC);
	}
	dup2(standard, STDERR_FILENO);
	assert_true(read(pipes[0], said, sizeof(said) - 1) > 0);
	assert_string_equal(said,
	                    "heddle: HEDDLE_TILE_LOG: /nonexistent/folder/file: No such file or "
	                    "directory\nheddle: HEDDLE_TILE_LOG: /dev/full: No space left on "
	                    "device\n");
	/* The last lines may fit where earlier ones did not. */
	assert_int_equal(heddle_log_open(&log, HEDDLE_VARIABLE_TILE_LOG, "a,b"), 0);
	fflush(log.file);
	assert_true(ferror(log.file));
	assert_true(heddle_log_close(&log) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_writers_do_not_mix),
	    cmocka_unit_test(test_what_cannot_be_written),
	    cmocka_unit_test(test_ranks),
	};
	int fd = mkstemp(path), failed;

	if (fd < 0)
		return 99;
	close(fd);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return failed;
}
