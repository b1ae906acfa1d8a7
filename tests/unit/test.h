/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What every test includes: cmocka with the headers it wants before it, and the seed and the rounds
 * of tests that use random numbers.
 */
#ifndef HEDDLE_TEST_H
#define HEDDLE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/** @return HEDDLE_TEST_ROUNDS, else those given. A test of none would pass: it ends. */
static inline unsigned test_rounds(unsigned otherwise)
{
	const char *given = getenv("HEDDLE_TEST_ROUNDS");
	unsigned rounds;
	char end;

	if (!given)
		return otherwise;
	if (sscanf(given, "%u%c", &rounds, &end) != 1 || !rounds) {
		print_error("HEDDLE_TEST_ROUNDS=%s: not a whole number from 1 on\n", given);
		exit(99);
	}
	return rounds;
}

/** @return HEDDLE_TEST_SEED, else the time; printed, to repeat the test with it */
static inline unsigned test_seed(void)
{
	const char *given = getenv("HEDDLE_TEST_SEED");
	unsigned seed = given ? (unsigned)atoi(given) : (unsigned)time(NULL);

	print_message("HEDDLE_TEST_SEED=%u\n", seed);
	return seed;
}

/** Runs a program's tests under Heddle's policy, and under one of StarPU's, whose loops without a
 * strategy are equal tasks: each in a process of its own. Where STARPU_SCHED is set, under that one
 * only, in this process.
 * @param tests starts and ends StarPU
 * @return its result, else how often that was not 0 */
static inline int test_under_policies(int (*tests)(void))
{
	static const char *const policies[] = {"heddle", "lws"};
	int failed = 0;

	if (getenv("STARPU_SCHED"))
		return tests();
	for (size_t p = 0; p < sizeof(policies) / sizeof(*policies); p++) {
		int status = -1;
		pid_t child;

		fflush(NULL);
		child = fork();
		if (!child) {
			print_message("STARPU_SCHED=%s\n", policies[p]);
			setenv("STARPU_SCHED", policies[p], 1);
			exit(tests());
		}
		if (waitpid(child, &status, 0) < 0 || !WIFEXITED(status))
			print_error("STARPU_SCHED=%s: no exit\n", policies[p]);
		else if (WEXITSTATUS(status) == 77)
			return failed ? failed : 77;
		failed += status != 0;
	}
	return failed;
}

/** @return the strategy of a loop that names none, there */
static inline const char *test_default_strategy(void)
{
	return strcmp(getenv("STARPU_SCHED"), "heddle") ? "stock" : "hdss";
}

#endif
