/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Bells between processes: none that was rung is missed.
 */
#include "config.h"

#include <dlfcn.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "partition/mpi/bell.h"
#include "tests/unit/test.h"

/* Nobody sleeps so long but for a fault. Short enough to be seen not to have been rung. */
static const long FOREVER_NS = 30 * 1000000000L, SHORT_NS = 10000;

enum { ROUNDS = 100000 };

static struct bell *sleeper;   /* in test_late() */
static unsigned sleeps, woken; /* calls of the kernel */

/* The first sleep ends, though nobody has rung. During the second one two ring: the first of them
 * could be stopped before it wakes, so the second one must. */
static long late_futex(int call)
{
	if (call == FUTEX_WAKE) {
		woken++;
		return 0;
	}
	if (++sleeps == 2) {
		bell_ring(sleeper, BELL_PEER);
		bell_ring(sleeper, BELL_PEER);
	}
	return 0;
}

long syscall(long number, ...)
{
	static long (*real)(long number, ...);
	va_list list;
	long a[6];

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_futex && sleeper)
		return late_futex(a[1]);
	if (!real)
		real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static void test_once(void **state)
{
	struct bell *bell = bell_new();

	assert_non_null(bell);
	assert_false(bell_wait(bell, SHORT_NS));
	bell_ring(bell, BELL_OWN);
	bell_ring(bell, BELL_OWN);
	assert_int_equal(bell_wait(bell, FOREVER_NS), BELL_OWN);
	bell_ring(bell, BELL_PEER);
	bell_ring(bell, BELL_OWN);
	assert_int_equal(bell_wait(bell, FOREVER_NS), BELL_OWN + BELL_PEER);
	assert_false(bell_wait(bell, SHORT_NS));
	bell_free(bell);
}

/* A ringer that loses its core before it wakes whom it rang for comes to the next wait, or never.
 */
static void test_late(void **state)
{
	struct bell *bell = bell_new();
	unsigned by;

	assert_non_null(bell);
	sleeper = bell;
	woken = sleeps = 0;
	by = bell_wait(bell, FOREVER_NS);
	/* Not for the tests that follow, also if this one fails. */
	sleeper = NULL;
	assert_int_equal(by, BELL_PEER);
	assert_int_equal(sleeps, 2);
	assert_int_equal(woken, 2);
	bell_free(bell);
}

/* Only the bell that it was the address of is found, and only while it is open. */
static void test_address(void **state)
{
	struct bell *bell = bell_new(), *found;
	struct bell_address address, wrong;

	bell_tell(bell, &address);
	found = bell_open(&address);
	assert_non_null(found);
	bell_ring(found, BELL_PEER);
	assert_int_equal(bell_wait(bell, FOREVER_NS), BELL_PEER);
	bell_free(found);

	wrong = address;
	wrong.key++;
	assert_null(bell_open(&wrong));
	assert_true(bell_is_near(&address, &address));
	wrong = address;
	wrong.machine[0]++;
	assert_false(bell_is_near(&address, &wrong));
	wrong.machine[0] = '\0';
	assert_false(bell_is_near(&wrong, &wrong));

	bell_close(bell);
	assert_null(bell_open(&address));
	bell_free(bell);
}

/* Each side tells a number and rings, and waits until the other one has told as much. Both come at
 * random, so that one rings at any point of the other one's wait, which is short or long. */
static bool side(struct bell *own, struct bell *other, int *tells, const int *told, unsigned seed)
{
	for (int round = 1; round <= ROUNDS; round++) {
		for (volatile int i = rand_r(&seed) % 30000; i > 0; i--)
			;
		__atomic_store_n(tells, round, __ATOMIC_RELEASE);
		bell_ring(other, BELL_PEER);
		while (__atomic_load_n(told, __ATOMIC_ACQUIRE) < round) {
			bool is_long = rand_r(&seed) % 4;

			if (!bell_wait(own, is_long ? FOREVER_NS : SHORT_NS) && is_long)
				return false;
		}
	}
	return true;
}

static void test_processes(void **state)
{
	int *numbers = mmap(NULL, 2 * sizeof(*numbers), PROT_READ | PROT_WRITE,
	                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct bell *bells[2] = {bell_new(), bell_new()};
	struct bell_address address[2];
	unsigned seed = test_seed();
	int status;
	pid_t child;

	assert_ptr_not_equal(numbers, MAP_FAILED);
	for (int i = 0; i < 2; i++)
		bell_tell(bells[i], &address[i]);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		struct bell *other = bell_open(&address[0]);
		struct bell *own = bell_open(&address[1]);

		_exit(!other || !own || !side(own, other, &numbers[1], &numbers[0], seed + 1));
	}
	assert_true(side(bells[0], bells[1], &numbers[0], &numbers[1], seed));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	bell_free(bells[0]);
	bell_free(bells[1]);
	munmap(numbers, 2 * sizeof(*numbers));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_once),
	    cmocka_unit_test(test_late),
	    cmocka_unit_test(test_address),
	    cmocka_unit_test(test_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
