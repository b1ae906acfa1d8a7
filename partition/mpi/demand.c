/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "demand.h"
#include "sched_policies/dqaa.h"

/* What a processor has, in buffers: one that is processed, and others to choose from. Those with a
 * memory of their own have some copied meanwhile. Those of all kinds lie in one pool: with two less
 * a device at times had all that was there, and a core nothing that it is good at. */
#define CORE_ROOM 2
#define DEVICE_ROOM 8
/* By so much what others have must be better than what is here: estimates are not that exact. */
#define BETTER 4

/* A number of buffers that is so many times what was told is told anew. */
#define RECOUNT 2
/* A request that takes so many times as long as the shortest one for large buffers had to wait for
 * others. */
#define CONGESTED 4
/* A supplier is preferred to another one that has so many times less, by hints and answers. */
#define MORE 1.25

/* What a rank is to this one, of one stream. */
struct peer {
	uint64_t supplies;         /* types that it has hinted: bits … */
	uint64_t *counts;          /* … and of each how many */
	uint64_t knows;            /* those that it knows this one to have */
	unsigned wants;            /* the type that it asked for last */
	unsigned asked;            /* buffers that it was asked for and has not answered … */
	struct queues_order order; /* … and for whom */
};

struct channel {
	struct peer *peers;
	uint64_t *counts;                 /* of all peers, room for each type */
	unsigned suppliers[QUEUES_TYPES]; /* how many have hinted a type … */
	uint64_t amount[QUEUES_TYPES];    /* … and what they have together */
	uint64_t told[QUEUES_TYPES];      /* what others think to be here */
	uint64_t supplied;                /* the types that somebody has: bits */
	unsigned asked;                   /* buffers, of all ranks */
	uint32_t kept[MPI_DEMAND_MOST];   /* for them */
};

/* A kind of device at a filter on this rank. */
struct reader {
	struct heddle_dqaa dqaa;
	size_t ended;                  /* events, at the last look … */
	double us;                     /* … which was then; 0: none was */
	unsigned asked;                /* buffers, of all ranks */
	double least_us[QUEUES_TYPES]; /* that a request took … */
	double longest_us;             /* … and the longest of these */
	unsigned came[QUEUES_TYPES];   /* buffers that requests for a type have brought */
	unsigned most;                 /* buffers ahead that what comes next is worth */
	double left_us;     /* since when it has left all to others; 0: it does not … */
	double patience_us; /* … and for how long it would … */
	bool left;          /* … which is over */
	bool borrows;       /* events wait for data of other ranks */
};

/* Rank 0: the round of counting. */
struct count {
	uint32_t round;
	unsigned answers;
	uint64_t told, heard;
	uint64_t before; /* of the round before, where both were equal; UINT64_MAX: they were not */
	bool waits;
	int status, failed;
};

struct mpi_demand {
	struct mpi_demand_problem given;
	struct channel channels[MPI_DEMAND_STREAMS];
	struct reader (*readers)[HEDDLE_NKINDS]; /* of each filter */
	uint64_t random;                         /* of which rank is asked next */
	uint64_t told, heard;                    /* messages but for those that count */
	uint64_t came, went;
	size_t coming; /* buffers whose data is under way, and loans to other ranks */
	bool failed, stopped, over;
	bool counted;   /* rank 0: the first round has begun */
	uint32_t probe; /* the round that waits for an answer; 0: none */
	int status, failed_rank;
	struct count count;
};

/* ---- making ---- */

/* Those who read a stream have its labels of the start, in equal shares. */
static void start_deal(struct mpi_demand *demand, unsigned stream)
{
	const struct mpi_demand_problem *given = &demand->given;
	uint64_t n = given->streams[stream].n, share, rest;
	unsigned readers = 0, before = 0;

	for (unsigned r = 0; r < given->nranks; r++) {
		bool reads = given->reads[r] >> stream & 1;

		readers += reads;
		before += reads && r < given->rank;
	}
	if (!(given->reads[given->rank] >> stream & 1)) {
		queues_deal(given->queues, stream, 0, 0);
		return;
	}
	share = n / readers;
	rest = n % readers;
	queues_deal(given->queues, stream,
	            given->streams[stream].first + share * before + (before < rest ? before : rest),
	            share + (before < rest));
}

/* What a kind has of its own rank: some times what it does at once, so that a policy can choose and
 * copies are hidden. */
static unsigned room(const struct mpi_demand *demand, unsigned filter, unsigned kind)
{
	unsigned capacity = demand->given.capacities[filter][kind];

	if (demand->given.requests)
		return (1 + demand->given.requests) * capacity;
	if (!capacity || demand->given.nranks == 1)
		return capacity ? UINT_MAX : 0;
	return (kind == HEDDLE_KIND_CPU ? CORE_ROOM : DEVICE_ROOM) * capacity;
}

/* And as many more of others as DQAA says. */
static unsigned window(const struct mpi_demand *demand, unsigned filter, unsigned kind)
{
	const struct reader *reader = &demand->readers[filter][kind];
	unsigned ahead = reader->dqaa.target < reader->most ? reader->dqaa.target : reader->most;

	return room(demand, filter, kind) + (demand->given.requests ? 0 : ahead);
}

/* What the kinds of this rank gain from a type. */
static void gains_learn(struct mpi_demand *demand, unsigned type)
{
	for (unsigned k = 0; k < HEDDLE_NKINDS; k++)
		queues_set_gain(demand->given.queues, k, type,
		                mpi_gains_of(demand->given.gains, type, demand->given.rank, k));
}

static void filters_begin(struct mpi_demand *demand)
{
	for (unsigned f = 0; f < demand->given.nfilters; f++)
		for (unsigned k = 0; k < HEDDLE_NKINDS; k++) {
			heddle_dqaa_init(&demand->readers[f][k].dqaa, MPI_DEMAND_MOST);
			demand->readers[f][k].most = MPI_DEMAND_MOST;
			queues_limit(demand->given.queues, f, k, room(demand, f, k));
		}
}

static bool channel_make(struct channel *channel, unsigned nranks)
{
	channel->peers = calloc(nranks, sizeof(*channel->peers));
	channel->counts = calloc((size_t)nranks * QUEUES_TYPES, sizeof(*channel->counts));
	if (!channel->peers || !channel->counts)
		return false;
	for (unsigned r = 0; r < nranks; r++)
		channel->peers[r].counts = &channel->counts[(size_t)r * QUEUES_TYPES];
	return true;
}

struct mpi_demand *mpi_demand_create(const struct mpi_demand_problem *given)
{
	struct mpi_demand *demand = calloc(1, sizeof(*demand));
	bool made = demand && (demand->readers = calloc(given->nfilters, sizeof(*demand->readers)));

	if (!demand)
		return NULL;
	demand->given = *given;
	demand->count.before = UINT64_MAX;
	demand->random = given->rank;
	for (unsigned s = 0; s < given->nstreams && made; s++)
		made = channel_make(&demand->channels[s], given->nranks);
	if (!made) {
		mpi_demand_destroy(demand);
		return NULL;
	}
	for (unsigned s = 0; s < given->nstreams; s++)
		start_deal(demand, s);
	for (unsigned t = 0; given->select && t < mpi_gains_types(given->gains); t++)
		gains_learn(demand, t);
	filters_begin(demand);
	return demand;
}

void mpi_demand_destroy(struct mpi_demand *demand)
{
	if (!demand)
		return;
	for (unsigned s = 0; s < demand->given.nstreams; s++) {
		free(demand->channels[s].peers);
		free(demand->channels[s].counts);
	}
	free(demand->readers);
	free(demand);
}

/* ---- telling ---- */

static void tell(struct mpi_demand *demand, unsigned to, struct mpi_message message)
{
	demand->given.tell(demand->given.arg, to, &message);
}

static void tell_counted(struct mpi_demand *demand, unsigned to, struct mpi_message message)
{
	demand->told++;
	tell(demand, to, message);
}

void mpi_demand_item(struct mpi_demand *demand, unsigned to, unsigned stream, uint64_t label)
{
	unsigned wants = demand->channels[stream].peers[to].wants;

	demand->went++;
	tell_counted(
	    demand, to,
	    (struct mpi_message){.type = DEMAND_ITEM,
	                         .array = stream,
	                         .first = label,
	                         .n = queues_surplus_of(demand->given.queues, stream, wants)});
}

void mpi_demand_borrow(struct mpi_demand *demand, unsigned from, struct mpi_message message)
{
	message.type = DEMAND_BORROW;
	tell_counted(demand, from, message);
}

void mpi_demand_lent(struct mpi_demand *demand)
{
	demand->coming--;
}

void mpi_demand_fail(struct mpi_demand *demand, int status)
{
	if (demand->failed || demand->stopped)
		return;
	demand->failed = true;
	tell_counted(demand, 0, (struct mpi_message){.type = DEMAND_FAIL, .status = status});
}

/* ---- who has, and who wants ---- */

unsigned mpi_demand_type(struct mpi_demand *demand, uint64_t name)
{
	unsigned before, type;

	/* Without selection there is one. */
	if (!demand->given.select)
		return 0;
	before = mpi_gains_types(demand->given.gains);
	type = mpi_gains_type(demand->given.gains, name);
	if (type >= before)
		gains_learn(demand, type);
	return type;
}

static uint64_t type_name(const struct mpi_demand *demand, unsigned type)
{
	return demand->given.select ? mpi_gains_name(demand->given.gains, type) : 0;
}

static bool hint_type(struct mpi_demand *demand, unsigned stream, unsigned type)
{
	struct channel *channel = &demand->channels[stream];
	struct peer *peers = channel->peers;
	uint64_t bit = UINT64_C(1) << type;
	uint64_t n = queues_surplus_of(demand->given.queues, stream, type);
	bool told = false,
	     other = n >= RECOUNT * channel->told[type] || n <= channel->told[type] / RECOUNT;

	if (other)
		channel->told[type] = n;
	for (unsigned r = 0; r < demand->given.nranks; r++) {
		if (r == demand->given.rank || (peers[r].knows & bit && !other) ||
		    !(demand->given.reads[r] >> stream & 1))
			continue;
		peers[r].knows |= bit;
		told = true;
		tell_counted(demand, r,
		             (struct mpi_message){.type = DEMAND_HINT,
		                                  .array = stream,
		                                  .n = n,
		                                  .first = type_name(demand, type)});
	}
	return told;
}

/* Whether this rank will have begun what it has of a type before another one could have got it. As
 * long as it has not asked anybody, it takes for a request the shortest time of an accelerator: a
 * rank whose own are as fast keeps a few, a slow one none. */
static bool soon_begun(const struct mpi_demand *demand, unsigned stream, unsigned type)
{
	double n = queues_surplus_of(demand->given.queues, stream, type), rate = 0, request_us = 0;

	if (!demand->given.select)
		return false;
	for (unsigned p = 0; p < demand->given.nports; p++) {
		const struct queues_port *port = &demand->given.ports[p];

		if (port->in != stream || queues_lacks(demand->given.queues, p))
			continue;
		for (unsigned k = 0; k < HEDDLE_NKINDS; k++) {
			double us =
			    mpi_gains_own_us(demand->given.gains, type, demand->given.rank, k);

			rate += us > 0 ? demand->given.capacities[port->filter][k] / us : 0;
			request_us = fmax(request_us, demand->readers[port->filter][k].longest_us);
		}
	}
	if (request_us <= 0)
		request_us = mpi_gains_accelerator_us(demand->given.gains, type);
	return n < rate * CONGESTED * request_us;
}

/* What waits here and cannot begin is for others. Whoever has been told knows until it asks in
 * vain. */
static bool hint(struct mpi_demand *demand, unsigned stream)
{
	bool told = false;

	for (uint64_t left = queues_surplus(demand->given.queues, stream); left; left &= left - 1) {
		unsigned type = __builtin_ctzll(left);

		if (!soon_begun(demand, stream, type))
			told |= hint_type(demand, stream, type);
	}
	return told;
}

static void count_set(struct channel *channel, struct peer *peer, unsigned type, uint64_t n)
{
	channel->amount[type] += n - peer->counts[type];
	peer->counts[type] = n;
}

static void hinted(struct mpi_demand *demand, unsigned from, unsigned stream, unsigned type,
                   uint64_t n)
{
	struct channel *channel = &demand->channels[stream];
	uint64_t bit = UINT64_C(1) << type;

	channel->suppliers[type] += !(channel->peers[from].supplies & bit);
	channel->peers[from].supplies |= bit;
	channel->supplied |= bit;
	count_set(channel, &channel->peers[from], type, n);
}

/* A rank has not got what it was asked for. */
static void hints_forget(struct channel *channel, struct peer *peer)
{
	for (uint64_t left = peer->supplies; left; left &= left - 1) {
		unsigned type = __builtin_ctzll(left);

		if (!--channel->suppliers[type])
			channel->supplied &= ~(UINT64_C(1) << type);
		count_set(channel, peer, type, 0);
	}
	peer->supplies = 0;
}

static bool supplies(const struct peer *peer, unsigned type)
{
	return peer->supplies >> type & 1 && !peer->asked;
}

/* One of n ranks that supply a type, by chance. */
static unsigned supplier_draw(struct mpi_demand *demand, const struct channel *channel,
                              unsigned type, unsigned n)
{
	unsigned r = 0, left;

	demand->random = demand->random * UINT64_C(6364136223846793005) + 1442695040888963407;
	left = (demand->random >> 33) % n;
	while (!supplies(&channel->peers[r], type) || left--)
		r++;
	return r;
}

/* A rank that has buffers of a type and owes no answer; nranks: there is none. It is one by chance:
 * in a fixed order all would ask the same one at once. Of two it is the one that has more, so that
 * all come to an end together: a link carries less than a GPU may want. */
static unsigned supplier(struct mpi_demand *demand, const struct channel *channel, unsigned type)
{
	unsigned n = 0, one, other;

	for (unsigned r = 0; r < demand->given.nranks; r++)
		n += supplies(&channel->peers[r], type);
	if (!n)
		return demand->given.nranks;
	one = supplier_draw(demand, channel, type, n);
	other = supplier_draw(demand, channel, type, n);
	return channel->peers[other].counts[type] > MORE * channel->peers[one].counts[type] ? other
	                                                                                    : one;
}

/* How many buffers a kind can do before accelerators, wherever they are, would have done all that
 * there is of a type. */
static double most_before(const struct mpi_demand *demand, unsigned filter, unsigned kind,
                          unsigned stream, unsigned type, double *us)
{
	double until_us, n = demand->channels[stream].amount[type];

	if (!demand->given.select)
		return INFINITY;
	n += queues_surplus_of(demand->given.queues, stream, type);
	if (!mpi_gains_leave(demand->given.gains, type, demand->given.rank, kind, n, us, &until_us))
		return INFINITY;
	return floor(until_us / *us) * demand->given.capacities[filter][kind];
}

/* Whether a kind had better leave what there is of a type to accelerators. It leaves it no longer
 * than it would have needed for one, since they may have stopped. */
static bool leaves(struct mpi_demand *demand, unsigned filter, unsigned kind, unsigned stream,
                   unsigned type)
{
	struct reader *reader = &demand->readers[filter][kind];
	double us;

	if (queues_busy(demand->given.queues, filter, kind) <
	    most_before(demand, filter, kind, stream, type, &us))
		return false;
	reader->patience_us = fmax(reader->patience_us, us);
	return !reader->left;
}

/* Whether a kind does not begin what is here because others have better. It does so if it has
 * nothing else to do, and will be ready when an answer comes. */
static bool waits(const struct mpi_demand *demand, unsigned filter, unsigned kind, unsigned type,
                  int better)
{
	const struct reader *reader = &demand->readers[filter][kind];
	unsigned capacity = demand->given.capacities[filter][kind];

	if (queues_gain(demand->given.queues, kind, type) >= better)
		return false;
	if (queues_busy(demand->given.queues, filter, kind) >= 2 * capacity + reader->asked)
		return true;
	return reader->asked && demand->given.select &&
	       mpi_gains_us(demand->given.gains, type, demand->given.rank, kind) >
	           reader->dqaa.latency_us;
}

/* The least gain of what a kind begins here: more than from all that it leaves to others.
 * @param better gain of what it could have of others */
static int own_least(struct mpi_demand *demand, unsigned filter, unsigned kind, int better)
{
	const struct queues *queues = demand->given.queues;
	int least = INT_MIN;

	for (unsigned p = 0; p < demand->given.nports; p++) {
		const struct queues_port *port = &demand->given.ports[p];
		uint64_t types = port->filter == filter ? queues_surplus(queues, port->in) : 0;

		for (; types; types &= types - 1) {
			unsigned type = __builtin_ctzll(types);
			int gain = queues_gain(queues, kind, type);

			if (gain >= least && (waits(demand, filter, kind, type, better) ||
			                      leaves(demand, filter, kind, port->in, type)))
				least = gain + 1;
		}
	}
	return least;
}

/* Lets a kind begin what it gains so much from, and of what it would leave to accelerators if it
 * had more not too much at once. */
static void own_hold(struct mpi_demand *demand, unsigned filter, unsigned kind, int least)
{
	struct queues *queues = demand->given.queues;
	double most = UINT_MAX, us;
	int then = INT_MIN;

	for (unsigned p = 0; p < demand->given.nports; p++) {
		const struct queues_port *port = &demand->given.ports[p];
		uint64_t types = port->filter == filter ? queues_surplus(queues, port->in) : 0;

		for (; types && !demand->readers[filter][kind].left; types &= types - 1) {
			unsigned type = __builtin_ctzll(types);
			int gain = queues_gain(queues, kind, type);
			double before = most_before(demand, filter, kind, port->in, type, &us);

			if (gain < least || before >= UINT_MAX)
				continue;
			most = fmin(most, before);
			then = gain >= then ? gain + 1 : then;
		}
	}
	queues_hold(queues, filter, kind, least, most, then);
}

/* The best that a kind could have of others. */
struct wish {
	unsigned stream, type;
	int gain;
	bool any;
};

static struct wish wish_find(struct mpi_demand *demand, unsigned filter, unsigned kind)
{
	const struct queues *queues = demand->given.queues;
	struct wish wish = {0};

	for (unsigned p = 0; p < demand->given.nports; p++) {
		const struct queues_port *port = &demand->given.ports[p];
		uint64_t left = demand->channels[port->in].supplied;

		/* What comes would not begin. */
		if (port->filter != filter || queues_lacks(queues, p))
			continue;
		for (; left; left &= left - 1) {
			unsigned type = __builtin_ctzll(left);
			int gain = queues_gain(queues, kind, type);

			if ((!wish.any || gain > wish.gain) &&
			    !leaves(demand, filter, kind, port->in, type))
				wish = (struct wish){port->in, type, gain, true};
		}
	}
	return wish;
}

/* The least gain of what a kind takes from others: more than from all that it leaves to
 * accelerators. Who hopes for one type may get another, as hints grow old. */
static int others_least(struct mpi_demand *demand, unsigned filter, unsigned kind, unsigned stream)
{
	int least = INT_MIN;

	for (unsigned t = 0; demand->given.select && t < mpi_gains_types(demand->given.gains);
	     t++) {
		int gain = queues_gain(demand->given.queues, kind, t);

		if (gain >= least && leaves(demand, filter, kind, stream, t))
			least = gain + 1;
	}
	return least;
}

/* The least gain of what is about as good as a wish. */
static int wish_least(const struct wish *wish)
{
	return wish->any && wish->gain > INT_MIN + BETTER ? wish->gain - BETTER : INT_MIN;
}

/* Other gains are known: what was held may not be, and would begin before anything is asked. */
static void holds_renew(struct mpi_demand *demand)
{
	for (unsigned f = 0; f < demand->given.nfilters; f++)
		for (unsigned k = 0; k < HEDDLE_NKINDS; k++)
			if (demand->given.capacities[f][k]) {
				struct wish wish = wish_find(demand, f, k);

				own_hold(demand, f, k, own_least(demand, f, k, wish_least(&wish)));
			}
}

/* Buffers of this rank that a filter may begin for a kind, and that are about as good. */
static uint64_t own_count(const struct mpi_demand *demand, unsigned filter, unsigned kind,
                          int least)
{
	uint64_t n = 0;

	for (unsigned p = 0; p < demand->given.nports; p++)
		if (demand->given.ports[p].filter == filter &&
		    !queues_lacks(demand->given.queues, p))
			n += queues_surplus_from(demand->given.queues, demand->given.ports[p].in,
			                         kind, least);
	return n;
}

/* Asks one rank for at most n buffers.
 * @param least gain of what is wanted
 * @return whether it did */
static bool ask(struct mpi_demand *demand, const struct queues_order *order, unsigned n, int least)
{
	struct channel *channel = &demand->channels[order->stream];
	unsigned from = supplier(demand, channel, order->type), asked = 0;
	bool alone = !channel->asked;

	if (from == demand->given.nranks)
		return false;
	while (asked < n && channel->asked < MPI_DEMAND_MOST &&
	       queues_reserve(demand->given.queues, order, &channel->kept[channel->asked])) {
		channel->asked++;
		asked++;
	}
	demand->readers[order->filter][order->kind].asked += asked;
	if (!asked)
		return false;
	channel->peers[from].asked = asked;
	channel->peers[from].order = *order;
	if (!alone)
		channel->peers[from].order.asked_us = 0;
	tell_counted(demand, from,
	             (struct mpi_message){.type = DEMAND_ASK,
	                                  .array = order->stream,
	                                  .first = type_name(demand, order->type),
	                                  .rank = order->kind,
	                                  .status = least,
	                                  .n = asked});
	return true;
}

/* Since when a kind has nothing to do because it leaves all to others. */
static void patience_note(struct mpi_demand *demand, unsigned filter, unsigned kind, double now_us)
{
	struct reader *reader = &demand->readers[filter][kind];

	if (queues_busy(demand->given.queues, filter, kind) > reader->asked ||
	    reader->patience_us <= 0)
		reader->left_us = 0;
	else if (reader->left_us <= 0)
		reader->left_us = now_us;
	reader->left = reader->left_us > 0 && now_us > reader->left_us + reader->patience_us;
	reader->patience_us = 0;
}

/* DQAA looks back at what was processed. Of what comes next no more is worth having than is
 * processed while a request is answered. */
static void ahead_limit(struct mpi_demand *demand, unsigned filter, unsigned kind, unsigned type)
{
	struct reader *reader = &demand->readers[filter][kind];
	double us = demand->given.select
	                ? mpi_gains_us(demand->given.gains, type, demand->given.rank, kind)
	                : 0;
	double n = demand->given.capacities[filter][kind] * reader->dqaa.latency_us / us;

	reader->most = us > 0 && n < MPI_DEMAND_MOST ? (unsigned)ceil(n) : MPI_DEMAND_MOST;
}

/* Whether no rank's kind has run a type: then a request is for one buffer, and the next one waits
 * for its answer, not for its end. Nobody finds out about type 0, which those beyond the last one
 * count as, too. Nor about others, it seems, where more have come than the kind may have at once,
 * twice: so many have ended that somebody would have measured one. */
static bool untried(const struct mpi_demand *demand, unsigned filter, unsigned kind, unsigned type)
{
	return demand->given.select && type &&
	       mpi_gains_us(demand->given.gains, type, demand->given.rank, kind) <= 0 &&
	       demand->readers[filter][kind].came[type] / 2 <= window(demand, filter, kind);
}

/* Asks for what a kind could do beside what it has. What others have must be better than what is
 * here and can begin; for that the kind waits while it has something to do. */
static bool kind_ask(struct mpi_demand *demand, unsigned filter, unsigned kind, double now_us)
{
	struct queues *queues = demand->given.queues;
	uint64_t most, has = queues_busy(queues, filter, kind);
	double before, us;
	struct wish wish = wish_find(demand, filter, kind);
	int refused;
	int least = wish_least(&wish);
	int own = own_least(demand, filter, kind, least);

	own_hold(demand, filter, kind, own);
	patience_note(demand, filter, kind, now_us);
	if (wish.any)
		ahead_limit(demand, filter, kind, wish.type);
	most = window(demand, filter, kind);
	if (!wish.any || has >= most)
		return false;
	before = most_before(demand, filter, kind, wish.stream, wish.type, &us);
	most = most > before ? (uint64_t)fmax(before, 1) : most;
	has += own_count(demand, filter, kind, least > own ? least : own);
	if (has >= most)
		return false;
	if (untried(demand, filter, kind, wish.type)) {
		if (demand->readers[filter][kind].asked)
			return false;
		most = has + 1;
	}
	refused = others_least(demand, filter, kind, wish.stream);
	if (!own_count(demand, filter, kind, INT_MIN) || least < refused)
		least = refused;
	return ask(demand, &(struct queues_order){wish.stream, filter, kind, wish.type, now_us},
	           most - has, least);
}

static bool filter_ask(struct mpi_demand *demand, unsigned filter, double now_us)
{
	bool asked = false;

	for (unsigned k = 0; k < HEDDLE_NKINDS; k++)
		if (demand->given.capacities[filter][k])
			asked |= kind_ask(demand, filter, k, now_us);
	return asked;
}

/* As many ahead as the filter ends in the time that a request takes.
 * @return whether it has another number now */
static bool kind_adapt(struct mpi_demand *demand, unsigned filter, unsigned kind, double now_us)
{
	struct reader *reader = &demand->readers[filter][kind];
	size_t ended = queues_ended(demand->given.queues, filter, kind) - reader->ended;
	unsigned target = reader->dqaa.target;

	if (!ended)
		return false;
	if (reader->us > 0)
		heddle_dqaa_processed(&reader->dqaa, (now_us - reader->us) / ended);
	reader->ended += ended;
	reader->us = now_us;
	/* What it begins itself has to come from other ranks, too. */
	if (reader->borrows)
		queues_limit(demand->given.queues, filter, kind, window(demand, filter, kind));
	return reader->dqaa.target != target;
}

static bool adapt(struct mpi_demand *demand, unsigned filter, double now_us)
{
	bool other = false;

	for (unsigned k = 0; k < HEDDLE_NKINDS; k++)
		if (demand->given.capacities[filter][k])
			other |= kind_adapt(demand, filter, k, now_us);
	return other;
}

void mpi_demand_measured(struct mpi_demand *demand, unsigned type, enum heddle_kind kind, double us)
{
	unsigned own = demand->given.rank, devices = 0;

	for (unsigned f = 0; f < demand->given.nfilters; f++)
		if (demand->given.capacities[f][kind] > devices)
			devices = demand->given.capacities[f][kind];
	if (!mpi_gains_set(demand->given.gains, type, own, kind, us, devices))
		return;
	gains_learn(demand, type);
	holds_renew(demand);
	for (unsigned r = 0; r < demand->given.nranks; r++)
		if (r != own)
			tell_counted(
			    demand, r,
			    (struct mpi_message){.type = DEMAND_TIME,
			                         .rank = kind,
			                         .n = devices,
			                         .first = mpi_gains_name(demand->given.gains, type),
			                         .us = us});
}

/* ---- the end ---- */

/* Whether a kind will ask for what it has left to others so far. */
static bool leaves_some(const struct mpi_demand *demand)
{
	for (unsigned f = 0; f < demand->given.nfilters; f++)
		for (unsigned k = 0; k < HEDDLE_NKINDS; k++)
			if (demand->readers[f][k].left_us > 0 && !demand->readers[f][k].left)
				return true;
	return false;
}

static bool passive(const struct mpi_demand *demand)
{
	const struct queues *queues = demand->given.queues;

	if (queues_under_way(queues) || demand->coming)
		return false;
	return demand->stopped || (queues_state(queues) != QUEUES_GO_ON && !leaves_some(demand));
}

static void round_begin(struct mpi_demand *demand)
{
	struct count *count = &demand->count;

	count->round++;
	count->answers = 0;
	count->told = count->heard = 0;
	count->waits = false;
	for (unsigned r = 0; r < demand->given.nranks; r++)
		tell(demand, r, (struct mpi_message){.type = DEMAND_PROBE, .array = count->round});
}

static void round_answer(struct mpi_demand *demand)
{
	bool waits = false;

	for (unsigned s = 0; s < demand->given.nstreams; s++)
		waits |= queues_waiting(demand->given.queues, s);
	demand->probe = 0;
	tell(
	    demand, 0,
	    (struct mpi_message){
	        .type = DEMAND_COUNTS, .first = demand->told, .n = demand->heard, .status = waits});
}

static void end(struct mpi_demand *demand)
{
	const struct count *count = &demand->count;
	struct mpi_message message = {
	    .type = DEMAND_END, .status = count->status, .rank = count->failed};

	if (!message.status && count->waits)
		message.status = -EDEADLK;
	for (unsigned r = 0; r < demand->given.nranks; r++)
		tell(demand, r, message);
}

static void count_answer(struct mpi_demand *demand, const struct mpi_message *message)
{
	struct count *count = &demand->count;

	count->told += message->first;
	count->heard += message->n;
	count->waits |= message->status;
	if (++count->answers < demand->given.nranks)
		return;
	if (count->told == count->heard && count->told == count->before) {
		end(demand);
		return;
	}
	count->before = count->told == count->heard ? count->told : UINT64_MAX;
	round_begin(demand);
}

static void count_failure(struct mpi_demand *demand, unsigned from, int status)
{
	if (demand->count.status)
		return;
	demand->count.status = status;
	demand->count.failed = from;
	for (unsigned r = 0; r < demand->given.nranks; r++)
		tell_counted(demand, r,
		             (struct mpi_message){.type = DEMAND_STOP, .status = status});
}

/* ---- hearing ---- */

/* What a rank's kind gains from each type; enough from what it has been told of, else it would be
 * told again and ask again. It may call what it does not know the same (type 0). Who has other
 * things to do does not get what begins here soon.
 * @return NULL: the oldest buffers go */
static const int *gains_of(const struct mpi_demand *demand, unsigned rank, unsigned wanted,
                           const struct mpi_message *message, int gains[QUEUES_TYPES])
{
	if (!demand->given.select || (unsigned)message->rank >= HEDDLE_NKINDS)
		return NULL;
	/* Types may be found while buffers are looked at. */
	for (unsigned t = 0; t < QUEUES_TYPES; t++) {
		gains[t] = mpi_gains_of(demand->given.gains, t, rank, message->rank);
		if (!wanted || t == wanted)
			gains[t] = gains[t] > message->status ? gains[t] : message->status;
		if (message->status > INT_MIN && soon_begun(demand, message->array, t))
			gains[t] = INT_MIN;
	}
	return gains;
}

static void hear_ask(struct mpi_demand *demand, unsigned from, const struct mpi_message *message)
{
	unsigned stream = message->array, wants = mpi_demand_type(demand, message->first);
	int room[QUEUES_TYPES];
	const int *gains = gains_of(demand, from, wants, message, room);
	uint64_t label, n = message->n;
	uint32_t buffer;

	demand->channels[stream].peers[from].wants = wants;
	for (; n && !demand->stopped &&
	       queues_give(demand->given.queues, stream, gains, gains ? message->status : INT_MIN,
	                   &label, &buffer);
	     n--)
		demand->given.give(demand->given.arg, from, stream, label, buffer);
	if (!n)
		return;
	demand->channels[stream].peers[from].knows = 0;
	tell_counted(demand, from,
	             (struct mpi_message){.type = DEMAND_NONE, .array = stream, .n = n});
}

static uint32_t answered(struct mpi_demand *demand, unsigned from, unsigned stream)
{
	struct channel *channel = &demand->channels[stream];
	struct peer *peer = &channel->peers[from];

	peer->asked--;
	demand->readers[peer->order.filter][peer->order.kind].asked--;
	return channel->kept[--channel->asked];
}

static void hear_item(struct mpi_demand *demand, unsigned from, const struct mpi_message *message)
{
	struct peer *peer = &demand->channels[message->array].peers[from];

	if (peer->supplies >> peer->order.type & 1)
		count_set(&demand->channels[message->array], peer, peer->order.type, message->n);
	demand->came++;
	demand->coming++;
	demand->readers[peer->order.filter][peer->order.kind].came[peer->order.type]++;
	demand->given.come(demand->given.arg, from, &peer->order, message->first,
	                   answered(demand, from, message->array));
	peer->order.asked_us = 0;
}

static void hear_none(struct mpi_demand *demand, unsigned from, const struct mpi_message *message)
{
	struct channel *channel = &demand->channels[message->array];
	struct peer *peer = &channel->peers[from];

	hints_forget(channel, peer);
	for (uint64_t i = 0; i < message->n; i++)
		queues_unreserve(demand->given.queues, &peer->order,
		                 answered(demand, from, message->array));
}

static void hear_time(struct mpi_demand *demand, unsigned from, const struct mpi_message *message)
{
	unsigned type = mpi_demand_type(demand, message->first);

	if (!demand->given.select || message->rank < 0 || message->rank >= HEDDLE_NKINDS)
		return;
	if (!mpi_gains_set(demand->given.gains, type, from, message->rank, message->us, message->n))
		return;
	gains_learn(demand, type);
	holds_renew(demand);
}

/* Requests that wait for each other take long. From that DQAA would conclude that there must be
 * more of them. As in TCP Vegas the shortest time says what a request takes. */
static void latency_note(struct reader *reader, unsigned type, double us)
{
	double *least = &reader->least_us[type];

	if (*least <= 0 || us < *least)
		*least = us;
	reader->longest_us = 0;
	for (unsigned t = 0; t < QUEUES_TYPES; t++)
		reader->longest_us = fmax(reader->longest_us, reader->least_us[t]);
	heddle_dqaa_received(&reader->dqaa, fmin(us, CONGESTED * reader->longest_us));
}

void mpi_demand_borrowed(struct mpi_demand *demand, unsigned filter, unsigned kind, double us)
{
	struct reader *reader = &demand->readers[filter][kind];

	reader->borrows = true;
	heddle_dqaa_received(&reader->dqaa, us);
}

int mpi_demand_came(struct mpi_demand *demand, const struct queues_order *order, uint64_t label,
                    uint32_t buffer, double now_us)
{
	if (order->asked_us > 0)
		latency_note(&demand->readers[order->filter][order->kind], order->type,
		             now_us - order->asked_us);
	demand->coming--;
	return queues_came(demand->given.queues, order, buffer, label);
}

void mpi_demand_hear(struct mpi_demand *demand, unsigned from, const struct mpi_message *message,
                     double now_us)
{
	demand->heard += message->type < DEMAND_PROBE;
	switch (message->type) {
	case DEMAND_HINT:
		hinted(demand, from, message->array, mpi_demand_type(demand, message->first),
		       message->n);
		return;
	case DEMAND_ASK:
		hear_ask(demand, from, message);
		return;
	case DEMAND_ITEM:
		hear_item(demand, from, message);
		return;
	case DEMAND_NONE:
		hear_none(demand, from, message);
		return;
	case DEMAND_TIME:
		hear_time(demand, from, message);
		return;
	case DEMAND_BORROW:
		demand->coming++;
		demand->given.lend(demand->given.arg, from, message);
		return;
	case DEMAND_FAIL:
		count_failure(demand, from, message->status);
		return;
	case DEMAND_STOP:
		demand->stopped = true;
		demand->given.stop(demand->given.arg, message->status);
		return;
	case DEMAND_PROBE:
		demand->probe = message->array;
		return;
	case DEMAND_COUNTS:
		count_answer(demand, message);
		return;
	default:
		demand->over = true;
		demand->status = message->status;
		demand->failed_rank = message->rank;
	}
}

/* ---- what the rank does of itself ---- */

bool mpi_demand_step(struct mpi_demand *demand, double now_us)
{
	bool acted = false;

	if (!demand->given.rank && !demand->counted) {
		demand->counted = true;
		round_begin(demand);
	}
	for (unsigned f = 0; f < demand->given.nfilters && !demand->stopped; f++) {
		acted |= adapt(demand, f, now_us);
		acted |= filter_ask(demand, f, now_us);
	}
	for (unsigned s = 0; s < demand->given.nstreams && !demand->stopped; s++)
		acted |= hint(demand, s);
	if (demand->probe && passive(demand)) {
		round_answer(demand);
		acted = true;
	}
	return acted;
}

bool mpi_demand_over(const struct mpi_demand *demand, int *status, int *rank)
{
	*status = demand->status;
	*rank = demand->failed_rank;
	return demand->over;
}

unsigned mpi_demand_ahead(const struct mpi_demand *demand, unsigned filter, enum heddle_kind kind)
{
	return demand->readers[filter][kind].dqaa.target;
}

void mpi_demand_sums(const struct mpi_demand *demand, uint64_t *came, uint64_t *went)
{
	*came = demand->came;
	*went = demand->went;
}
