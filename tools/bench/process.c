/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Runs one process at a time with a given environment and a time limit.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tools/bench/bench.h"

static volatile sig_atomic_t interrupted;
static double began_s;

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec * 1e-9;
}

static void interrupt(int signal)
{
	interrupted = signal;
}

static void child_ended(int signal)
{
}

void bench_catch_interrupts(void)
{
	struct sigaction action = {.sa_handler = interrupt};
	sigset_t child;

	began_s = now_s();
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	/* sigtimedwait() waits for this signal, which must be blocked and not ignored. */
	action.sa_handler = child_ended;
	sigaction(SIGCHLD, &action, NULL);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
}

bool bench_interrupted(void)
{
	return interrupted;
}

double bench_elapsed_s(void)
{
	return now_s() - began_s;
}

static void child_begin(const struct bench_process *process)
{
	int log = open(process->log, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	int none = open("/dev/null", O_RDONLY);
	sigset_t all;

	setpgid(0, 0);
	sigemptyset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	if (log < 0 || none < 0)
		_exit(126);
	dup2(none, 0);
	dup2(log, 1);
	dup2(log, 2);
	for (char **e = process->environment; *e; e++)
		if (strchr(*e, '='))
			putenv(*e);
		else
			unsetenv(*e);
	execv(process->argv[0], process->argv);
	dprintf(2, "%s: %s\n", process->argv[0], strerror(errno));
	_exit(127);
}

/* Waits for the end of the child, at most until a given time. */
static bool child_wait(pid_t pid, double until_s, int *status)
{
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	for (;;) {
		double left = until_s - now_s();
		struct timespec wait;

		if (waitpid(pid, status, WNOHANG) == pid)
			return true;
		if (left <= 0 || interrupted)
			return false;
		wait.tv_sec = left;
		wait.tv_nsec = (left - wait.tv_sec) * 1e9;
		sigtimedwait(&child, NULL, &wait);
	}
}

int bench_process_run(const struct bench_process *process, double *wall_s)
{
	double start_s = now_s();
	int status;
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (!pid)
		child_begin(process);
	setpgid(pid, pid);
	if (!child_wait(pid, start_s + process->limit_s, &status)) {
		kill(-pid, SIGTERM);
		if (!child_wait(pid, now_s() + 2, &status)) {
			kill(-pid, SIGKILL);
			waitpid(pid, &status, 0);
		}
		return interrupted ? -EINTR : -ETIME;
	}
	*wall_s = now_s() - start_s;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
