/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Streams between ranks, without MPI: ranks are simulated whose messages, data and events take any
 * time. Every buffer is processed once, no stream has more buffers than it has, and the end is
 * found when all is over and not before.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "partition/mpi/demand.h"
#include "partition/mpi/flow_agreement.h"
#include "tests/unit/test.h"

enum { RANKS = 5, LABELS = 200, MOST = 64, FLIGHT = 4096 };
enum { STREAM_LABELS, STREAM_AGAIN, STREAM_ROWS, STREAMS };
enum { READ, JUDGE, FILTERS };

static uint64_t random_state;

static unsigned random_below(unsigned n)
{
	random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (random_state >> 33) % n;
}

/* What a device needs for a label: nobody knows, and what ranks tell changes all the time. */
enum { TYPES = 70 };

/* Messages from one rank to another, in order. */
struct pipe {
	struct mpi_message messages[FLIGHT];
	unsigned begin, end;
};

/* A buffer that goes, or comes. */
struct parcel {
	bool goes;
	unsigned peer;
	struct queues_order order;
	uint64_t label;
	uint32_t buffer;
};

struct world;

struct rank {
	struct world *world;
	unsigned number;
	struct queues *queues;
	struct queues_stream streams[STREAMS];
	unsigned capacities[FILTERS][HEDDLE_NKINDS];
	struct mpi_gains *gains;
	struct mpi_demand *demand;
	struct queues_event events[MOST];
	unsigned nevents;
	struct parcel parcels[FLIGHT];
	unsigned nparcels;
	bool stopped;
};

struct world {
	unsigned nranks, lives, types;
	unsigned requests;
	bool select;
	uint64_t reads[RANKS];
	struct rank ranks[RANKS];
	struct pipe pipes[RANKS][RANKS];
	unsigned seen[LABELS];
	double now;
};

/* A cycle is back over labels; of rows where `stuck`. */
static struct queues_port ports[] = {{STREAM_AGAIN, STREAM_ROWS, 0, READ},
                                     {STREAM_LABELS, STREAM_ROWS, 0, READ},
                                     {STREAM_ROWS, QUEUES_NONE, 0, JUDGE}};

/* ---- what a rank's counting calls ---- */

static void told(void *arg, unsigned to, const struct mpi_message *message)
{
	struct rank *rank = arg;
	struct pipe *pipe = &rank->world->pipes[rank->number][to];

	assert_true(pipe->end - pipe->begin < FLIGHT);
	pipe->messages[pipe->end++ % FLIGHT] = *message;
}

static void parcel_add(struct rank *rank, struct parcel parcel)
{
	assert_true(rank->nparcels < FLIGHT);
	rank->parcels[rank->nparcels++] = parcel;
}

static void given(void *arg, unsigned to, unsigned stream, uint64_t label, uint32_t buffer)
{
	parcel_add(arg, (struct parcel){true, to, {.stream = stream}, label, buffer});
}

static void comes(void *arg, unsigned from, const struct queues_order *order, uint64_t label,
                  uint32_t buffer)
{
	parcel_add(arg, (struct parcel){false, from, *order, label, buffer});
}

static void stopped(void *arg, int status)
{
	struct rank *rank = arg;

	assert_int_equal(status, -EIO);
	rank->stopped = true;
}

/* ---- what can happen ---- */

static bool message_arrive(struct world *world, unsigned from, unsigned to)
{
	struct pipe *pipe = &world->pipes[from][to];

	if (pipe->begin == pipe->end)
		return false;
	mpi_demand_hear(world->ranks[to].demand, from, &pipe->messages[pipe->begin++ % FLIGHT],
	                world->now);
	return true;
}

static bool parcel_go_on(struct rank *rank)
{
	unsigned chosen;
	struct parcel parcel;

	if (!rank->nparcels)
		return false;
	chosen = random_below(rank->nparcels);
	parcel = rank->parcels[chosen];
	rank->parcels[chosen] = rank->parcels[--rank->nparcels];
	if (parcel.goes) {
		mpi_demand_item(rank->demand, parcel.peer, parcel.order.stream, parcel.label);
		queues_given(rank->queues, parcel.order.stream, parcel.buffer);
	} else {
		assert_int_equal(mpi_demand_came(rank->demand, &parcel.order, parcel.label,
		                                 parcel.buffer, rank->world->now),
		                 0);
	}
	return true;
}

static bool event_begin(struct rank *rank)
{
	if (rank->stopped || rank->nevents == MOST ||
	    !queues_take(rank->queues, 0, true, &rank->events[rank->nevents]))
		return false;
	rank->nevents++;
	return true;
}

static bool event_end(struct rank *rank)
{
	struct world *world = rank->world;
	struct queues_event event;
	unsigned chosen;
	uint64_t label, round;

	if (!rank->nevents)
		return false;
	chosen = random_below(rank->nevents);
	event = rank->events[chosen];
	rank->events[chosen] = rank->events[--rank->nevents];
	label = event.label % LABELS;
	round = event.label / LABELS;
	if (ports[event.port].filter == JUDGE) {
		world->seen[label]++;
		if (round < label % world->lives)
			assert_int_equal(
			    queues_send(rank->queues, STREAM_AGAIN, event.label + LABELS), 0);
	}
	assert_int_equal(queues_end(rank->queues, &event, true, event.label, 0), 0);
	return true;
}

/* The types of streams differ, and more than there is room for exist. */
static unsigned type_of(void *arg, unsigned stream, uint64_t label, uint32_t buffer)
{
	struct rank *rank = arg;

	return stream == STREAM_AGAIN
	           ? 0
	           : mpi_demand_type(rank->demand, 1 + label % rank->world->types);
}

static bool measure(struct rank *rank)
{
	if (!rank->world->select || random_below(10))
		return false;
	mpi_demand_measured(rank->demand,
	                    mpi_demand_type(rank->demand, 1 + random_below(rank->world->types)),
	                    random_below(3), random_below(1000));
	return true;
}

static bool happen(struct world *world)
{
	struct rank *rank = &world->ranks[random_below(world->nranks)];

	world->now += random_below(100);
	if (world->now < 20000)
		measure(rank);
	switch (random_below(5)) {
	case 0:
		return message_arrive(world, random_below(world->nranks), rank->number);
	case 1:
		return parcel_go_on(rank);
	case 2:
		return event_begin(rank);
	case 3:
		return event_end(rank);
	default:
		return mpi_demand_step(rank->demand, world->now);
	}
}

/* ---- worlds ---- */

static void rank_make(struct world *world, unsigned number, unsigned buffers)
{
	struct rank *rank = &world->ranks[number];

	rank->world = world;
	rank->number = number;
	rank->streams[STREAM_LABELS] = (struct queues_stream){.n = LABELS};
	rank->streams[STREAM_ROWS].buffers = buffers;
	rank->queues = queues_create(rank->streams, STREAMS, ports, 3);
	for (unsigned f = 0; f < FILTERS; f++) {
		if (!(world->reads[number] & (f == READ ? 3 : 4)))
			continue;
		rank->capacities[f][0] = 1 + random_below(4);
		for (unsigned k = 1; world->select && k < 3; k++)
			rank->capacities[f][k] = random_below(3);
		if (world->select && !random_below(3))
			rank->capacities[f][0] = !rank->capacities[f][1];
	}
	rank->gains = world->select ? mpi_gains_create(world->nranks, random_below(2)) : NULL;
	rank->demand =
	    mpi_demand_create(&(struct mpi_demand_problem){.rank = number,
	                                                   .nranks = world->nranks,
	                                                   .nstreams = STREAMS,
	                                                   .nports = 3,
	                                                   .nfilters = FILTERS,
	                                                   .ports = ports,
	                                                   .streams = rank->streams,
	                                                   .reads = world->reads,
	                                                   .capacities = rank->capacities,
	                                                   .requests = world->requests,
	                                                   .select = world->select,
	                                                   .gains = rank->gains,
	                                                   .queues = rank->queues,
	                                                   .tell = told,
	                                                   .give = given,
	                                                   .come = comes,
	                                                   .stop = stopped,
	                                                   .arg = rank});
	assert_non_null(rank->demand);
	if (world->select)
		queues_set_type(rank->queues, type_of, rank);
}

/* Every filter is on some rank. */
static struct world *world_make(bool stuck)
{
	struct world *world = test_calloc(1, sizeof(*world));

	world->nranks = 1 + random_below(RANKS);
	world->lives = 1 + random_below(4);
	world->select = random_below(3);
	world->requests = random_below(3);
	world->types = 1 + random_below(random_below(2) ? 3 : TYPES);
	for (unsigned r = 0; r < world->nranks; r++)
		world->reads[r] = (random_below(3) ? 3 : 0) | (random_below(3) ? 4 : 0);
	world->reads[random_below(world->nranks)] |= 3;
	world->reads[random_below(world->nranks)] |= 4;
	for (unsigned r = 0; r < world->nranks; r++)
		rank_make(world, r, stuck ? 1 : 1 + random_below(9));
	return world;
}

static bool all_over(const struct world *world, int status)
{
	for (unsigned r = 0; r < world->nranks; r++) {
		int got, failed;

		if (!mpi_demand_over(world->ranks[r].demand, &got, &failed))
			return false;
		assert_int_equal(got, status);
	}
	return true;
}

/* Nothing that matters is anywhere once a rank has heard that all is over.
 * @return buffers that went to other ranks */
static uint64_t end_check(const struct world *world)
{
	uint64_t came = 0, went = 0;

	for (unsigned r = 0; r < world->nranks; r++) {
		uint64_t c, w;

		assert_int_equal(world->ranks[r].nevents, 0);
		assert_int_equal(world->ranks[r].nparcels, 0);
		mpi_demand_sums(world->ranks[r].demand, &c, &w);
		came += c;
		went += w;
	}
	assert_int_equal(came, went);
	return went;
}

static void world_run(struct world *world, int status, unsigned fails_at)
{
	unsigned idle = 0;

	for (unsigned i = 0; !all_over(world, status); i++) {
		int got, failed;

		/* The longest of 16,000 worlds took 204,000. */
		assert_true(i < 5000000);

		if (i == fails_at)
			mpi_demand_fail(world->ranks[random_below(world->nranks)].demand, -EIO);
		idle = happen(world) ? 0 : idle + 1;
		/* All that can happen has been tried, again and again. */
		assert_true(idle < 100000);
		if (mpi_demand_over(world->ranks[0].demand, &got, &failed))
			end_check(world);
	}
}

static void world_free(struct world *world)
{
	for (unsigned r = 0; r < world->nranks; r++) {
		mpi_demand_destroy(world->ranks[r].demand);
		mpi_gains_destroy(world->ranks[r].gains);
		queues_destroy(world->ranks[r].queues);
	}
	test_free(world);
}

static void test_random(void **state)
{
	uint64_t went = 0;

	for (int i = 0; i < 200; i++) {
		struct world *world = world_make(false);

		world_run(world, 0, UINT32_MAX);
		for (unsigned l = 0; l < LABELS; l++)
			assert_int_equal(world->seen[l], 1 + l % world->lives);
		went += end_check(world);
		world_free(world);
	}
	assert_true(went > LABELS);
}

static void test_failure(void **state)
{
	for (int i = 0; i < 100; i++) {
		struct world *world = world_make(false);

		world_run(world, -EIO, random_below(500));
		world_free(world);
	}
}

/* A result waits for a second buffer where there is one. */
static void test_stuck(void **state)
{
	const struct queues_port straight = ports[2];

	ports[2].out = STREAM_ROWS;
	for (int i = 0; i < 100; i++) {
		struct world *world = world_make(true);

		world_run(world, -EDEADLK, UINT32_MAX);
		world_free(world);
	}
	ports[2] = straight;
}

/* What rank 1 answers a request with, for a type and for what a core gains `least` from. */
static void assert_answer(struct world *world, uint64_t name, int least, bool gives)
{
	const struct mpi_message message = {
	    .type = DEMAND_ASK, .array = STREAM_ROWS, .first = name, .status = least, .n = 1};
	struct rank *rank = &world->ranks[1];
	const struct pipe *pipe = &world->pipes[1][0];
	unsigned before = rank->nparcels, told = pipe->end;

	mpi_demand_hear(rank->demand, 0, &message, world->now);
	assert_int_equal(rank->nparcels - before, gives);
	assert_int_equal(pipe->end - told, !gives);
	assert_true(gives || pipe->messages[told % FLIGHT].type == DEMAND_NONE);
}

/* A core asks for what it does not leave to accelerators, and gains more from other types, which it
 * leaves. It gets what it asked for, else it would be refused, be told of the same, and ask again.
 */
static void test_wanted(void **state)
{
	struct world *world = test_calloc(1, sizeof(*world));
	const int far_above = 1000;

	world->nranks = 2;
	world->select = true;
	world->types = 3;
	world->reads[0] = 4;
	for (unsigned r = 0; r < 2; r++)
		rank_make(world, r, 16);
	for (uint64_t label = 0; label < 6; label++)
		assert_int_equal(queues_send(world->ranks[1].queues, STREAM_ROWS, label), 0);
	assert_answer(world, 9, far_above, false);
	assert_answer(world, 1, far_above, true);
	assert_answer(world, 1, far_above, true);
	assert_answer(world, 1, far_above, false);
	/* A type that has no number there may be any of those here. */
	assert_answer(world, 0, far_above, true);
	world_free(world);
}

/* What rank 1 was asked for, and has not answered. */
static unsigned asked(struct world *world)
{
	struct pipe *pipe = &world->pipes[0][1];
	unsigned n = 0;

	for (; pipe->begin < pipe->end; pipe->begin++)
		if (pipe->messages[pipe->begin % FLIGHT].type == DEMAND_ASK)
			n += pipe->messages[pipe->begin % FLIGHT].n;
	return n;
}

/* Rank 1 has many buffers of a type; its answers take a millisecond.
 * @return how many it was asked for */
static unsigned consume(struct world *world, uint64_t name, double us)
{
	const struct mpi_message hint = {
	    .type = DEMAND_HINT, .array = STREAM_ROWS, .first = name, .n = 1000};
	const struct mpi_message item = {.type = DEMAND_ITEM, .array = STREAM_ROWS, .n = 1};
	struct rank *rank = &world->ranks[0];
	struct queues_event event;
	unsigned n;

	mpi_demand_hear(rank->demand, 1, &hint, world->now);
	mpi_demand_step(rank->demand, world->now);
	n = asked(world); /* some of it since the first of the last ones had ended */
	assert_true(n > 0);
	world->now += 1000;
	for (unsigned i = 0; i < n; i++)
		mpi_demand_hear(rank->demand, 1, &item, world->now);
	while (parcel_go_on(rank))
		;
	while (queues_take(rank->queues, 0, false, &event)) {
		world->now += us;
		assert_int_equal(queues_end(rank->queues, &event, true, 0, 0), 0);
		mpi_demand_step(rank->demand, world->now);
	}
	return n;
}

/* A fast consumer asks for much ahead, a slow one does not. */
static void test_ahead(void **state)
{
	struct world *world = test_calloc(1, sizeof(*world));
	const struct mpi_demand *demand;
	unsigned fast;

	world->nranks = 2;
	world->reads[0] = 4;
	world->reads[1] = 3;
	rank_make(world, 0, 16);
	demand = world->ranks[0].demand;
	assert_int_equal(mpi_demand_ahead(demand, JUDGE, HEDDLE_KIND_CPU), 1);
	for (int i = 0; i < 20; i++)
		consume(world, 0, 10);
	fast = mpi_demand_ahead(demand, JUDGE, HEDDLE_KIND_CPU);
	assert_true(fast > 5);
	for (int i = 0; i < 200; i++)
		consume(world, 0, 10000);
	assert_true(mpi_demand_ahead(demand, JUDGE, HEDDLE_KIND_CPU) < fast);
	world->nranks = 1;
	world_free(world);
}

/* What nobody has tried is asked for one by one, but not for ever where nobody measures. */
static void test_untried(void **state)
{
	struct world *world = test_calloc(1, sizeof(*world));
	unsigned n = 0;

	world->nranks = 2;
	world->select = true;
	world->types = 3;
	world->reads[0] = 4;
	world->reads[1] = 3;
	rank_make(world, 0, 16);
	assert_int_equal(consume(world, 1, 10), 1);
	assert_int_equal(consume(world, 1, 10), 1);
	for (int i = 0; i < 1000 && n < 4; i++)
		n = consume(world, 1, 10);
	assert_true(n >= 4);
	assert_int_equal(consume(world, 2, 10), 1);
	world->nranks = 1;
	world_free(world);
}

/* ---- which buffers go ---- */

enum { SMALL_NAME = 7, LARGE_NAME = 9 };

/* Labels from 1000 on are large. */
static unsigned two_sizes(void *gains, unsigned stream, uint64_t label, uint32_t buffer)
{
	return mpi_gains_type(gains, label < 1000 ? SMALL_NAME : LARGE_NAME);
}

/* A GPU runs what is large 32 times as fast as a core. */
static struct mpi_gains *gains_make(void)
{
	struct mpi_gains *gains = mpi_gains_create(2, true);
	unsigned small = mpi_gains_type(gains, SMALL_NAME), large;

	large = mpi_gains_type(gains, LARGE_NAME);
	assert_int_equal(small, 1);
	assert_int_equal(large, 2);
	assert_int_equal(mpi_gains_of(gains, 0, 0, HEDDLE_KIND_CPU), 0);
	/* Cores leave to accelerators what nobody knows. */
	assert_int_equal(mpi_gains_of(gains, large, 0, HEDDLE_KIND_CPU), MPI_GAINS_LATER);
	assert_true(mpi_gains_set(gains, large, 1, HEDDLE_KIND_CUDA, 1000, 1));
	assert_int_equal(mpi_gains_of(gains, large, 1, HEDDLE_KIND_CUDA), -MPI_GAINS_LATER);
	assert_true(mpi_gains_set(gains, large, 0, HEDDLE_KIND_CPU, 32000, 2));
	assert_false(mpi_gains_set(gains, large, 0, HEDDLE_KIND_CPU, 33000, 2));
	assert_true(mpi_gains_set(gains, small, 0, HEDDLE_KIND_CPU, 100, 2));
	assert_true(mpi_gains_set(gains, small, 1, HEDDLE_KIND_CUDA, 100, 1));
	assert_false(mpi_gains_set(gains, 0, 1, HEDDLE_KIND_CUDA, 100, 1));
	return gains;
}

static void test_gains(void **state)
{
	struct mpi_gains *gains = gains_make();
	double us, until_us;

	assert_int_equal(mpi_gains_of(gains, 2, 1, HEDDLE_KIND_CUDA), 40);
	assert_int_equal(mpi_gains_of(gains, 2, 0, HEDDLE_KIND_CPU), -40);
	assert_int_equal(mpi_gains_of(gains, 1, 1, HEDDLE_KIND_CUDA), 0);
	/* What another rank has measured counts for a device of the same kind. */
	assert_int_equal(mpi_gains_of(gains, 2, 0, HEDDLE_KIND_CUDA), 40);
	assert_true(mpi_gains_leave(gains, 2, 0, HEDDLE_KIND_CPU, 10, &us, &until_us));
	assert_true(us == 32000 && until_us == 10000);
	assert_false(mpi_gains_leave(gains, 1, 0, HEDDLE_KIND_CPU, 10, &us, &until_us));
	assert_false(mpi_gains_leave(gains, 2, 1, HEDDLE_KIND_CUDA, 10, &us, &until_us));
	/* More types than there is room for. */
	for (uint64_t name = 100; name < 200; name++)
		assert_in_range(mpi_gains_type(gains, name), 0, QUEUES_TYPES - 1);
	assert_int_equal(mpi_gains_type(gains, 199), 0);
	assert_int_equal(mpi_gains_type(gains, LARGE_NAME), 2);
	mpi_gains_destroy(gains);
}

static void assert_given(struct queues *queues, const int *gains, int least, uint64_t label)
{
	uint64_t got;
	uint32_t buffer;

	assert_true(queues_give(queues, 0, gains, least, &got, &buffer));
	assert_int_equal(got, label);
	queues_given(queues, 0, buffer);
}

static void test_selection(void **state)
{
	const struct queues_stream stream = {.first = 5, .n = 2};
	const struct queues_port port = {0, QUEUES_NONE, 0, 0};
	const int gpu[QUEUES_TYPES] = {0, 0, 40}, core[QUEUES_TYPES] = {0, 0, -40};
	struct queues *queues = queues_create(&stream, 1, &port, 1);
	struct mpi_gains *gains = gains_make();
	struct queues_event event;
	uint64_t label;
	uint32_t buffer;

	queues_set_type(queues, two_sizes, gains);
	for (uint64_t l = 1000; l < 1004; l++) {
		assert_int_equal(queues_send(queues, 0, l), 0);
		assert_int_equal(queues_send(queues, 0, l - 990), 0);
	}
	assert_int_equal(queues_surplus(queues, 0), 6);
	assert_int_equal(queues_surplus_of(queues, 0, 1), 6);
	/* The oldest of what the device gains most from; labels of the start come last. */
	assert_given(queues, gpu, INT_MIN, 1000);
	assert_given(queues, core, INT_MIN, 10);
	assert_given(queues, NULL, INT_MIN, 1001);
	assert_given(queues, gpu, 1, 1002);
	assert_given(queues, gpu, 1, 1003);
	assert_false(queues_give(queues, 0, gpu, 1, &label, &buffer));
	/* A kind begins what it gains most from, and nothing that it holds back. */
	assert_int_equal(queues_send(queues, 0, 1004), 0);
	queues_set_gain(queues, 0, 2, -40);
	assert_true(queues_take(queues, 0, true, &event));
	assert_int_equal(event.label, 11);
	queues_limit(queues, 0, 1, 1);
	queues_set_gain(queues, 1, 2, 40);
	assert_true(queues_take(queues, 0, true, &event));
	assert_int_equal(event.label, 1004);
	assert_int_equal(event.kind, 1);
	queues_hold(queues, 0, 0, 1, UINT_MAX, INT_MIN);
	assert_false(queues_take(queues, 0, true, &event));
	assert_int_equal(queues_state(queues), QUEUES_GO_ON);
	/* Or only until it has so many. */
	queues_hold(queues, 0, 0, INT_MIN, queues_busy(queues, 0, 0) + 1, 1);
	assert_true(queues_take(queues, 0, true, &event));
	assert_false(queues_take(queues, 0, true, &event));
	queues_destroy(queues);
	mpi_gains_destroy(gains);
}

/* Every second label. */
static unsigned two_types(void *arg, unsigned stream, uint64_t label, uint32_t buffer)
{
	return 1 + label % 2;
}

static unsigned many_types(void *arg, unsigned stream, uint64_t label, uint32_t buffer)
{
	return label % QUEUES_TYPES;
}

/* Labels of the start are of several types: how many there are of each does not jump from label to
 * label, and is true where they are of one. */
static void test_start(void **state)
{
	const struct queues_stream stream = {.n = 1000};
	const struct queues_port port = {0, QUEUES_NONE, 0, 0};
	struct queues *queues = queues_create(&stream, 1, &port, 1);
	const int equal[QUEUES_TYPES] = {0};
	uint64_t label;
	uint32_t buffer;

	assert_int_equal(queues_surplus_of(queues, 0, 0), 1000);
	queues_set_type(queues, two_types, NULL);
	queues_deal(queues, 0, 0, 1000);
	for (unsigned left = 1000; left; left--) {
		uint64_t one = queues_surplus_of(queues, 0, 1),
		         two = queues_surplus_of(queues, 0, 2);

		assert_in_range(one + two, left - 1, left + 1);
		if (left < 996 && left > 10) {
			assert_in_range(one, left / 4, left);
			assert_in_range(two, left / 4, left);
		}
		assert_true(queues_give(queues, 0, equal, INT_MIN, &label, &buffer));
		queues_given(queues, 0, buffer);
	}
	assert_int_equal(queues_surplus_of(queues, 0, 1), 0);
	/* As many types as there can be. */
	queues_set_type(queues, many_types, NULL);
	queues_deal(queues, 0, 0, 1000);
	for (unsigned left = 1000; left; left--) {
		assert_in_range(queues_surplus_of(queues, 0, 1), 0, left);
		assert_true(queues_give(queues, 0, equal, INT_MIN, &label, &buffer));
		queues_given(queues, 0, buffer);
	}
	queues_destroy(queues);
}

/* ---- whether ranks have the same flow ---- */

static void refused(void (*change)(struct mpi_flow_description *flow), const char *text)
{
	static struct mpi_flow_description all[3];
	char got[256] = "";

	memset(all, 0, sizeof(all));
	for (int r = 0; r < 3; r++) {
		strcpy(all[r].policy, "dm");
		all[r].nfilters = all[r].nstreams = 2;
		all[r].filters[0].here = r == 1;
		all[r].filters[1].here = r != 1;
		for (int f = 0; f < 2; f++) {
			memset(all[r].filters[f].in, 0xff, sizeof(all[r].filters[f].in));
			memset(all[r].filters[f].out, 0xff, sizeof(all[r].filters[f].out));
			all[r].filters[f].in[0] = f;
			strcpy(all[r].filters[f].name, f ? "write" : "read");
			strcpy(all[r].streams[f].name, f ? "rows" : "labels");
		}
	}
	assert_int_equal(mpi_flow_check(all, 3, got, sizeof(got)), 0);
	assert_int_equal(mpi_flow_reads(&all[0]), 2);
	assert_int_equal(mpi_flow_reads(&all[1]), 1);
	change(&all[1]);
	assert_int_equal(mpi_flow_check(all, 3, got, sizeof(got)), -EINVAL);
	assert_string_equal(got, text);
}

static void change_count(struct mpi_flow_description *flow)
{
	flow->nstreams = 1;
}

static void change_port(struct mpi_flow_description *flow)
{
	flow->filters[1].out[3] = 0;
}

static void change_stream(struct mpi_flow_description *flow)
{
	flow->streams[1].ny[3] = 9;
}

static void change_start(struct mpi_flow_description *flow)
{
	flow->streams[0].n = 9;
}

static void change_data(struct mpi_flow_description *flow)
{
	flow->streams[0].data = 1;
}

static void change_home(struct mpi_flow_description *flow)
{
	flow->streams[1].home = 1;
}

static void change_policy(struct mpi_flow_description *flow)
{
	strcpy(flow->policy, "odds");
}

static void change_place(struct mpi_flow_description *flow)
{
	flow->filters[0].here = 0;
}

static void test_agreement(void **state)
{
	refused(change_count, "it has 2 filters and 2 streams on rank 0, and 2 and 1 on rank 1");
	refused(change_port, "filter write: the streams of its ports differ between ranks 0 and 1");
	refused(change_stream, "stream rows: the shapes of its parts differ between ranks 0 and 1");
	refused(change_start,
	        "stream labels: its labels of the start differ between ranks 0 and 1");
	refused(change_data, "stream labels: whether it has data differs between ranks 0 and 1");
	refused(change_home,
	        "stream rows: whether it says where its data lies differs between ranks 0 and 1");
	refused(change_policy, "the policy (STARPU_SCHED) is dm on rank 0 and odds on rank 1");
	refused(change_place, "filter read runs on no rank");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_random),    cmocka_unit_test(test_failure),
	    cmocka_unit_test(test_stuck),     cmocka_unit_test(test_ahead),
	    cmocka_unit_test(test_gains),     cmocka_unit_test(test_selection),
	    cmocka_unit_test(test_agreement), cmocka_unit_test(test_wanted),
	    cmocka_unit_test(test_untried),   cmocka_unit_test(test_start),
	};

	random_state = test_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
