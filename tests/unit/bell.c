/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Bells between processes: none that was rung is missed.
 */
#include "config.h"

#include <sys/mman.h>

#include "partition/mpi/bell.h"
#include "tests/unit/test.h"

/* Nobody sleeps so long but for a fault. Short enough to be seen not to have been rung. */
static const long FOREVER_NS = 30 * 1000000000L, SHORT_NS = 10000;

enum { ROUNDS = 100000 };

static void test_once(void **state)
{
	struct bell *bell = bell_new();

	assert_non_null(bell);
	assert_false(bell_wait(bell, SHORT_NS));
	bell_ring(bell);
	bell_ring(bell);
	assert_true(bell_wait(bell, FOREVER_NS));
	assert_false(bell_wait(bell, SHORT_NS));
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
	bell_ring(found);
	assert_true(bell_wait(bell, FOREVER_NS));
	bell_free(found);

	wrong = address;
	wrong.key++;
	assert_null(bell_open(&wrong));
	wrong = address;
	wrong.machine[0]++;
	assert_null(bell_open(&wrong));
	wrong = address;
	wrong.machine[0] = '\0';
	assert_null(bell_open(&wrong));

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
		bell_ring(other);
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
	    cmocka_unit_test(test_address),
	    cmocka_unit_test(test_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
