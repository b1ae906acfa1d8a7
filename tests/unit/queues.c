/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The counting of flows, without tasks and threads: every buffer is processed once, whatever the
 * order of ends; the buffers of a stream are never in use twice; the end is found, and a cycle that
 * cannot go on.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "partition/stream/queues.h"
#include "tests/unit/test.h"

static uint64_t random_state;

static unsigned random_below(unsigned n)
{
	random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (random_state >> 33) % n;
}

/* A stream of labels, one of buffers, and back. */
static void test_order(void **state)
{
	const struct queues_stream streams[] = {{.first = 7, .n = 3}, {.buffers = 2}};
	const struct queues_port ports[] = {{0, 1, 0, 0}, {1, QUEUES_NONE, 0, 1}};
	struct queues *queues = queues_create(streams, 2, ports, 2);
	struct queues_event made[2], judged, none;

	assert_int_equal(queues_state(queues), QUEUES_GO_ON);
	assert_false(queues_take(queues, 0, false, &none));
	assert_true(queues_take(queues, 0, true, &made[0]));
	assert_true(queues_take(queues, 0, true, &made[1]));
	assert_int_equal(made[0].label, 7);
	assert_int_equal(made[1].label, 8);
	assert_int_not_equal(made[0].out, made[1].out);
	/* No buffer is free. */
	assert_false(queues_may(queues, 0, true));
	assert_false(queues_take(queues, 0, true, &none));
	assert_false(queues_take(queues, 1, true, &none));
	assert_int_equal(queues_end(queues, &made[1], true, 80, 5), 0);
	/* What waits comes before labels of the start. */
	assert_true(queues_take(queues, 0, true, &judged));
	assert_int_equal(judged.label, 80);
	assert_int_equal(judged.in, made[1].out);
	assert_int_equal(judged.worker, 5);
	assert_int_equal(queues_under_way(queues), 2);
	assert_int_equal(queues_send(queues, 0, 1000), 0);
	assert_int_equal(queues_end(queues, &judged, true, 80, -1), 0);
	/* What was sent comes before labels of the start, too. */
	assert_true(queues_take(queues, 0, true, &made[1]));
	assert_int_equal(made[1].label, 1000);
	assert_int_equal(queues_end(queues, &made[0], false, 7, -1), 0);
	assert_int_equal(queues_end(queues, &made[1], false, 1000, -1), 0);
	assert_int_equal(queues_state(queues), QUEUES_GO_ON);
	assert_true(queues_take(queues, 0, true, &made[0]));
	assert_int_equal(made[0].label, 9);
	assert_int_equal(queues_end(queues, &made[0], false, 9, -1), 0);
	assert_int_equal(queues_state(queues), QUEUES_OVER);
	queues_begin(queues);
	assert_true(queues_take(queues, 0, true, &made[0]));
	assert_int_equal(made[0].label, 7);
	queues_destroy(queues);
}

/* A stream of buffers that feeds itself: who has the last one waits for another. */
static void test_stuck(void **state)
{
	const struct queues_stream streams[] = {{.n = 2}, {.buffers = 1}};
	const struct queues_port ports[] = {{0, 1, 0, 0}, {1, 1, 0, 1}};
	struct queues *queues = queues_create(streams, 2, ports, 2);
	struct queues_event event;

	assert_true(queues_take(queues, 0, true, &event));
	assert_int_equal(queues_end(queues, &event, true, 0, -1), 0);
	assert_false(queues_may(queues, 0, true));
	assert_int_equal(queues_state(queues), QUEUES_STUCK);
	assert_int_equal(queues_stuck(queues), 1);
	queues_destroy(queues);
}

/* A pipeline of some stages, each a stream of labels and one of buffers, over which labels come
 * back: label l at most l % LIVES times. Events end in any order. */
enum { STAGES = 4, LABELS = 500, LIVES = 6, MOST = 64 };

struct program {
	struct queues_stream streams[2 * STAGES];
	struct queues_port ports[2 * STAGES];
	unsigned lives[LABELS];
	struct queues_event under_way[MOST];
	unsigned n, used[2 * STAGES];
	size_t ended;
};

static void program_make(struct program *program)
{
	memset(program, 0, sizeof(*program));
	program->streams[0] = (struct queues_stream){.n = LABELS};
	for (unsigned s = 0; s < STAGES; s++) {
		unsigned labels = 2 * s, buffers = 2 * s + 1;

		program->streams[buffers].buffers = 1 + random_below(5);
		program->ports[labels] =
		    (struct queues_port){labels, buffers, random_below(2), labels};
		program->ports[buffers] =
		    (struct queues_port){buffers, QUEUES_NONE, random_below(2), buffers};
	}
	for (unsigned l = 0; l < LABELS; l++)
		program->lives[l] = l % LIVES;
}

static void program_take(struct program *program, struct queues *queues)
{
	struct queues_event *event = &program->under_way[program->n];
	unsigned stream;

	if (program->n == MOST || !queues_take(queues, random_below(2), true, event))
		return;
	stream = program->ports[event->port].out;
	if (stream != QUEUES_NONE) {
		assert_true(event->out < program->streams[stream].buffers);
		assert_false(program->used[stream] >> event->out & 1);
		program->used[stream] |= 1u << event->out;
	}
	program->n++;
}

/* A label that has come to its buffer goes to the next stage, or comes back. */
static void program_judge(struct program *program, struct queues *queues,
                          const struct queues_event *event)
{
	unsigned in = program->ports[event->port].in;

	assert_true(program->used[in] >> event->in & 1);
	program->used[in] &= ~(1u << event->in);
	if (in + 1 < 2 * STAGES)
		assert_int_equal(queues_send(queues, in + 1, event->label), 0);
	else if (program->lives[event->label]--)
		assert_int_equal(queues_send(queues, 0, event->label), 0);
	else
		program->ended++;
}

static void program_end(struct program *program, struct queues *queues)
{
	unsigned chosen = random_below(program->n);
	struct queues_event event = program->under_way[chosen];

	program->under_way[chosen] = program->under_way[--program->n];
	if (event.in != QUEUES_NONE)
		program_judge(program, queues, &event);
	assert_int_equal(queues_end(queues, &event, true, event.label, event.label % 3), 0);
}

static void test_random(void **state)
{
	for (int repeat = 0; repeat < 100; repeat++) {
		static struct program program;
		struct queues *queues;

		program_make(&program);
		queues = queues_create(program.streams, 2 * STAGES, program.ports, 2 * STAGES);
		while (queues_state(queues) == QUEUES_GO_ON) {
			if (random_below(2))
				program_take(&program, queues);
			else if (program.n)
				program_end(&program, queues);
			assert_int_equal(queues_under_way(queues), program.n);
		}
		assert_int_equal(queues_state(queues), QUEUES_OVER);
		assert_int_equal(program.n, 0);
		assert_int_equal(program.ended, LABELS);
		queues_destroy(queues);
	}
}

/* Several ports read one stream, several write one. */
static void test_readers(void **state)
{
	const struct queues_stream streams[] = {
	    {.n = 100}, {.n = 50, .first = 100}, {.buffers = 9}};
	const struct queues_port ports[] = {
	    {0, 2, 0, 0}, {1, 2, 1, 1}, {2, QUEUES_NONE, 2, 2}, {2, QUEUES_NONE, 3, 3}};
	struct queues *queues = queues_create(streams, 3, ports, 4);
	unsigned read[2] = {0}, seen[150] = {0};

	while (queues_state(queues) == QUEUES_GO_ON) {
		struct queues_event event;
		unsigned group = random_below(4);

		if (!queues_take(queues, group, true, &event))
			continue;
		assert_int_equal(event.port, group);
		if (group >= 2) {
			read[group - 2]++;
			seen[event.label]++;
		}
		assert_int_equal(queues_end(queues, &event, true, event.label, -1), 0);
	}
	assert_int_equal(read[0] + read[1], 150);
	assert_true(read[0] > 0 && read[1] > 0);
	for (int l = 0; l < 150; l++)
		assert_int_equal(seen[l], 1);
	queues_destroy(queues);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_order),
	    cmocka_unit_test(test_stuck),
	    cmocka_unit_test(test_random),
	    cmocka_unit_test(test_readers),
	};

	random_state = test_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
