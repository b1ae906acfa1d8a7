/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "queues.h"

/* A buffer that waits. */
struct item {
	uint64_t label;
	uint64_t age; /* the lower the older */
	uint32_t buffer;
	int worker;
	unsigned filter, kind; /* for whom it came from another rank */
};

/* So many labels of the start that were looked at say of which types the others are. */
#define SEEN_MOST 64

struct ring {
	struct item *items;
	size_t head, n, room; /* room is 0 or a power of 2 */
};

struct stream {
	struct queues_stream given;
	bool read;                    /* a port reads it: what is sent to others is gone */
	uint64_t first, n;            /* labels of the start that have not begun */
	unsigned start;               /* type of the first of them … */
	bool typed;                   /* … if it is known */
	unsigned nseen;               /* labels of the start that were looked at lately … */
	unsigned often[QUEUES_TYPES]; /* … and of which types they were */
	struct ring *own;             /* those that wait, by types … */
	unsigned nown;
	uint64_t types;   /* … and which types do: bits */
	uint64_t nwait;   /* and how many */
	struct ring came; /* those of other ranks */
	uint32_t *free;   /* a stack of buffers */
	uint32_t nfree;
};

/* What a filter does for a kind of device. */
struct share {
	unsigned limit, busy; /* events at once */
	int least;            /* gain of what it begins … */
	unsigned most;        /* … until it has so many, … */
	int then;             /* … and then */
	size_t ended;
};

struct filter {
	struct share shares[HEDDLE_NKINDS];
	unsigned kinds; /* that may have events: bits */
};

struct queues {
	unsigned nstreams, nports;
	struct stream *streams;
	struct queues_port *ports;
	struct filter *filters; /* as many as ports, at the most */
	size_t under_way;
	uint64_t age; /* of what comes next */
	queues_type type;
	void *arg;
	int gains[HEDDLE_NKINDS][QUEUES_TYPES];
};

/* ---- making ---- */

static int stream_make(struct stream *stream, const struct queues_stream *given)
{
	stream->given = *given;
	stream->own = calloc(1, sizeof(*stream->own));
	stream->nown = 1;
	if (!stream->own)
		return -ENOMEM;
	if (!given->buffers)
		return 0;
	stream->free = malloc(given->buffers * sizeof(*stream->free));
	return stream->free ? 0 : -ENOMEM;
}

struct queues *queues_create(const struct queues_stream *streams, unsigned nstreams,
                             const struct queues_port *ports, unsigned nports)
{
	struct queues *queues = calloc(1, sizeof(*queues));
	int status = 0;

	if (!queues)
		return NULL;
	queues->nstreams = nstreams;
	queues->nports = nports;
	queues->streams = calloc(nstreams, sizeof(*queues->streams));
	queues->ports = malloc(nports * sizeof(*ports));
	queues->filters = calloc(nports, sizeof(*queues->filters));
	if (!queues->streams || !queues->ports || !queues->filters)
		status = -ENOMEM;
	for (unsigned s = 0; s < nstreams && !status; s++)
		status = stream_make(&queues->streams[s], &streams[s]);
	if (status) {
		queues_destroy(queues);
		return NULL;
	}
	memcpy(queues->ports, ports, nports * sizeof(*ports));
	for (unsigned p = 0; p < nports; p++)
		queues->streams[ports[p].in].read = true;
	queues_begin(queues);
	return queues;
}

void queues_destroy(struct queues *queues)
{
	if (!queues)
		return;
	for (unsigned s = 0; queues->streams && s < queues->nstreams; s++) {
		struct stream *stream = &queues->streams[s];

		for (unsigned t = 0; stream->own && t < stream->nown; t++)
			free(stream->own[t].items);
		free(stream->own);
		free(stream->came.items);
		free(stream->free);
	}
	free(queues->streams);
	free(queues->ports);
	free(queues->filters);
	free(queues);
}

static void start_forget(struct stream *stream)
{
	stream->typed = false;
	stream->nseen = 0;
	memset(stream->often, 0, sizeof(stream->often));
}

static void stream_begin(struct stream *stream)
{
	stream->first = stream->given.first;
	stream->n = stream->given.n;
	start_forget(stream);
	for (unsigned t = 0; t < stream->nown; t++)
		stream->own[t].head = stream->own[t].n = 0;
	stream->came.head = stream->came.n = 0;
	stream->types = stream->nwait = 0;
	/* The first ones are on top. */
	stream->nfree = stream->given.buffers;
	for (uint32_t b = 0; b < stream->nfree; b++)
		stream->free[b] = stream->nfree - 1 - b;
}

void queues_begin(struct queues *queues)
{
	queues->under_way = queues->age = 0;
	queues->type = NULL;
	memset(queues->gains, 0, sizeof(queues->gains));
	for (unsigned s = 0; s < queues->nstreams; s++)
		stream_begin(&queues->streams[s]);
	for (unsigned f = 0; f < queues->nports; f++) {
		struct filter *filter = &queues->filters[f];

		*filter = (struct filter){.kinds = 1};
		filter->shares[0].limit = UINT_MAX;
		for (unsigned k = 0; k < HEDDLE_NKINDS; k++)
			filter->shares[k].least = filter->shares[k].then = INT_MIN;
	}
}

/* ---- the ring ---- */

static int ring_grow(struct ring *ring)
{
	size_t room = ring->room ? 2 * ring->room : 16;
	struct item *items = malloc(room * sizeof(*items));

	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < ring->n; i++)
		items[i] = ring->items[(ring->head + i) & (ring->room - 1)];
	free(ring->items);
	ring->items = items;
	ring->room = room;
	ring->head = 0;
	return 0;
}

static int ring_put(struct ring *ring, struct item item)
{
	int status = ring->n == ring->room ? ring_grow(ring) : 0;

	if (!status)
		ring->items[(ring->head + ring->n++) & (ring->room - 1)] = item;
	return status;
}

static struct item ring_get(struct ring *ring)
{
	struct item item = ring->items[ring->head];

	ring->head = (ring->head + 1) & (ring->room - 1);
	ring->n--;
	return item;
}

/* ---- what waits ---- */

static unsigned type_of(const struct queues *queues, const struct stream *stream, uint64_t label,
                        uint32_t buffer)
{
	return queues->type ? queues->type(queues->arg, stream - queues->streams, label, buffer)
	                    : 0;
}

static int types_grow(struct stream *stream, unsigned type)
{
	struct ring *own;

	if (type < stream->nown)
		return 0;
	own = realloc(stream->own, (type + 1) * sizeof(*own));
	if (!own)
		return -ENOMEM;
	memset(&own[stream->nown], 0, (type + 1 - stream->nown) * sizeof(*own));
	stream->own = own;
	stream->nown = type + 1;
	return 0;
}

static int own_put(struct queues *queues, unsigned number, struct item item)
{
	struct stream *stream = &queues->streams[number];
	unsigned type = type_of(queues, stream, item.label, item.buffer);
	int status = types_grow(stream, type);

	item.age = queues->age++;
	if (!status)
		status = ring_put(&stream->own[type], item);
	if (status)
		return status;
	stream->types |= UINT64_C(1) << type;
	stream->nwait++;
	return 0;
}

static struct item own_get(struct stream *stream, unsigned type)
{
	struct item item = ring_get(&stream->own[type]);

	if (!stream->own[type].n)
		stream->types &= ~(UINT64_C(1) << type);
	stream->nwait--;
	return item;
}

static struct item start_get(struct stream *stream)
{
	stream->n--;
	stream->typed = false;
	return (struct item){.label = stream->first++, .buffer = QUEUES_NONE, .worker = -1};
}

/* When there are many the older ones count half. */
static void start_see(struct stream *stream, unsigned type)
{
	bool many = stream->nseen >= SEEN_MOST;

	for (unsigned t = 0; many && t < QUEUES_TYPES; t++) {
		unsigned fewer = (stream->often[t] + 1) / 2;

		stream->nseen -= fewer;
		stream->often[t] -= fewer;
	}
	stream->often[type]++;
	stream->nseen++;
}

static unsigned start_type(const struct queues *queues, struct stream *stream)
{
	if (!stream->typed) {
		stream->start = type_of(queues, stream, stream->first, QUEUES_NONE);
		start_see(stream, stream->start);
	}
	stream->typed = true;
	return stream->start;
}

/* How many labels of the start are of a type: as many as of the latest ones, and the first one. */
static uint64_t start_count(const struct queues *queues, struct stream *stream, unsigned type)
{
	bool first = stream->n && start_type(queues, stream) == type;
	uint64_t n;

	if (!stream->n)
		return 0;
	n = (double)stream->n * stream->often[type] / stream->nseen + 0.5;
	return n ? n : first;
}

int queues_send(struct queues *queues, unsigned stream, uint64_t label)
{
	return own_put(queues, stream,
	               (struct item){.label = label, .buffer = QUEUES_NONE, .worker = -1});
}

/* What may be chosen of a stream. */
struct choice {
	bool start;    /* the first label of the start; else … */
	unsigned type; /* … the oldest one of that type */
	int gain;
	uint64_t age;
};

static bool choice_better(const struct choice *a, const struct choice *b)
{
	if (a->gain != b->gain)
		return a->gain > b->gain;
	return a->start != b->start ? b->start : a->age < b->age;
}

/* The best of a stream's own. @param gains NULL: the oldest @return false: there is none */
static bool stream_choose(const struct queues *queues, struct stream *stream, const int *gains,
                          int least, bool start, struct choice *best)
{
	bool any = false;

	for (uint64_t left = stream->types; left; left &= left - 1) {
		unsigned t = __builtin_ctzll(left);
		const struct ring *ring = &stream->own[t];
		struct choice choice = {
		    .type = t, .gain = gains ? gains[t] : 0, .age = ring->items[ring->head].age};

		if (choice.gain >= least && (!any || choice_better(&choice, best))) {
			*best = choice;
			any = true;
		}
	}
	if (start && stream->n) {
		struct choice choice = {.start = true};

		choice.gain = gains ? gains[start_type(queues, stream)] : 0;
		if (choice.gain >= least && (!any || choice_better(&choice, best))) {
			*best = choice;
			any = true;
		}
	}
	return any;
}

static struct item choice_get(struct stream *stream, const struct choice *choice)
{
	return choice->start ? start_get(stream) : own_get(stream, choice->type);
}

/* ---- what may begin ---- */

/* The stream that a port's result needs a buffer of, and has none free; NULL: none. */
static const struct stream *port_lacks(const struct queues *queues, const struct queues_port *port)
{
	const struct stream *out = port->out == QUEUES_NONE ? NULL : &queues->streams[port->out];

	return out && out->given.buffers && !out->nfree ? out : NULL;
}

static bool port_waits(const struct queues *queues, const struct queues_port *port)
{
	const struct stream *in = &queues->streams[port->in];

	return in->n + in->nwait + in->came.n;
}

/* Whether it could begin what waits, now or after an answer of another rank. */
static bool port_open(const struct queues *queues, const struct queues_port *port)
{
	const struct filter *filter = &queues->filters[port->filter];
	bool room = queues->streams[port->in].came.n;

	for (unsigned k = 0; k < HEDDLE_NKINDS; k++)
		room |= filter->shares[k].busy < filter->shares[k].limit;
	return room && !port_lacks(queues, port);
}

/* What begins next. */
struct next {
	const struct queues_port *port; /* NULL: nothing */
	bool came;
	unsigned kind;
	struct choice choice;
};

/* Whether a kind has a smaller part of its limit. */
static bool share_emptier(const struct share *a, const struct share *b)
{
	return (uint64_t)a->busy * b->limit < (uint64_t)b->busy * a->limit;
}

/* Among filters the earlier one is first, and labels of the start are last. In a filter the gain
 * decides, then the order of ports, then who has less. */
static bool next_better(const struct queues *queues, const struct next *a, const struct next *b)
{
	const struct share *shares;

	if (!b->port)
		return true;
	if (a->port->filter != b->port->filter)
		return b->choice.start && !a->choice.start;
	if (a->choice.gain != b->choice.gain)
		return a->choice.gain > b->choice.gain;
	if (a->choice.start != b->choice.start)
		return b->choice.start;
	shares = queues->filters[a->port->filter].shares;
	return a->port == b->port && share_emptier(&shares[a->kind], &shares[b->kind]);
}

static void port_choose(const struct queues *queues, const struct queues_port *port, bool start,
                        struct next *best)
{
	const struct filter *filter = &queues->filters[port->filter];
	struct stream *in = &queues->streams[port->in];

	for (unsigned left = filter->kinds; left; left &= left - 1) {
		unsigned kind = __builtin_ctz(left);
		const struct share *share = &filter->shares[kind];
		struct next next = {.port = port, .kind = kind};
		int least = share->busy < share->most || share->then < share->least ? share->least
		                                                                    : share->then;

		if (share->busy < share->limit &&
		    stream_choose(queues, in, queues->gains[kind], least, start, &next.choice) &&
		    next_better(queues, &next, best))
			*best = next;
	}
}

static struct next next_find(const struct queues *queues, unsigned group, bool start)
{
	struct next best = {0};

	for (unsigned p = 0; p < queues->nports; p++) {
		const struct queues_port *port = &queues->ports[p];

		if (port->group != group || port_lacks(queues, port))
			continue;
		if (queues->streams[port->in].came.n)
			return (struct next){.port = port, .came = true};
		port_choose(queues, port, start, &best);
	}
	return best;
}

bool queues_may(const struct queues *queues, unsigned group, bool start)
{
	return next_find(queues, group, start).port;
}

/* What comes was kept room for: by the filter that takes it, or another that reads the stream. */
static struct item next_get(struct queues *queues, struct next *next)
{
	struct stream *in = &queues->streams[next->port->in];
	struct item item;

	if (!next->came) {
		queues->filters[next->port->filter].shares[next->kind].busy++;
		return choice_get(in, &next->choice);
	}
	item = ring_get(&in->came);
	next->kind = item.kind;
	queues->filters[item.filter].shares[item.kind].busy--;
	queues->filters[next->port->filter].shares[item.kind].busy++;
	return item;
}

bool queues_take(struct queues *queues, unsigned group, bool start, struct queues_event *event)
{
	struct next next = next_find(queues, group, start);
	struct item item;

	if (!next.port)
		return false;
	item = next_get(queues, &next);
	*event = (struct queues_event){.label = item.label,
	                               .port = next.port - queues->ports,
	                               .in = item.buffer,
	                               .out = QUEUES_NONE,
	                               .worker = item.worker,
	                               .kind = next.kind};
	if (next.port->out != QUEUES_NONE && queues->streams[next.port->out].given.buffers) {
		struct stream *out = &queues->streams[next.port->out];

		event->out = out->free[--out->nfree];
	}
	queues->under_way++;
	return true;
}

static void buffer_free(struct queues *queues, unsigned stream, uint32_t buffer)
{
	struct stream *of = &queues->streams[stream];

	if (buffer != QUEUES_NONE)
		of->free[of->nfree++] = buffer;
}

int queues_end(struct queues *queues, const struct queues_event *event, bool sent, uint64_t label,
               int worker)
{
	const struct queues_port *port = &queues->ports[event->port];
	struct share *share = &queues->filters[port->filter].shares[event->kind];

	queues->under_way--;
	share->busy--;
	share->ended++;
	buffer_free(queues, port->in, event->in);
	if (port->out == QUEUES_NONE)
		return 0;
	if (sent && queues->streams[port->out].read)
		return own_put(
		    queues, port->out,
		    (struct item){.label = label, .buffer = event->out, .worker = worker});
	buffer_free(queues, port->out, event->out);
	return 0;
}

/* ---- the end ---- */

enum queues_state queues_state(const struct queues *queues)
{
	bool waits = false;

	if (queues->under_way)
		return QUEUES_GO_ON;
	for (unsigned p = 0; p < queues->nports; p++) {
		const struct queues_port *port = &queues->ports[p];

		if (!port_waits(queues, port))
			continue;
		if (port_open(queues, port))
			return QUEUES_GO_ON;
		waits = true;
	}
	return waits ? QUEUES_STUCK : QUEUES_OVER;
}

unsigned queues_stuck(const struct queues *queues)
{
	for (unsigned p = 0; p < queues->nports; p++) {
		const struct queues_port *port = &queues->ports[p];

		if (port_waits(queues, port))
			return port->out;
	}
	return QUEUES_NONE;
}

size_t queues_under_way(const struct queues *queues)
{
	return queues->under_way;
}

/* ---- several ranks ---- */

void queues_set_type(struct queues *queues, queues_type type, void *arg)
{
	queues->type = type;
	queues->arg = arg;
}

void queues_set_gain(struct queues *queues, unsigned kind, unsigned type, int gain)
{
	queues->gains[kind][type] = gain;
}

int queues_gain(const struct queues *queues, unsigned kind, unsigned type)
{
	return queues->gains[kind][type];
}

void queues_limit(struct queues *queues, unsigned filter, unsigned kind, unsigned limit)
{
	struct filter *of = &queues->filters[filter];

	of->shares[kind].limit = limit;
	of->kinds &= ~(1u << kind);
	of->kinds |= (limit > 0) << kind;
}

void queues_hold(struct queues *queues, unsigned filter, unsigned kind, int least, unsigned most,
                 int then)
{
	struct share *share = &queues->filters[filter].shares[kind];

	share->least = least;
	share->most = most;
	share->then = then;
}

unsigned queues_busy(const struct queues *queues, unsigned filter, unsigned kind)
{
	return queues->filters[filter].shares[kind].busy;
}

size_t queues_ended(const struct queues *queues, unsigned filter, unsigned kind)
{
	return queues->filters[filter].shares[kind].ended;
}

void queues_deal(struct queues *queues, unsigned stream, uint64_t first, uint64_t n)
{
	queues->streams[stream].first = first;
	queues->streams[stream].n = n;
	start_forget(&queues->streams[stream]);
}

uint64_t queues_waiting(const struct queues *queues, unsigned stream)
{
	const struct stream *of = &queues->streams[stream];

	return of->nwait + of->n + of->came.n;
}

uint64_t queues_surplus(const struct queues *queues, unsigned stream)
{
	struct stream *of = &queues->streams[stream];

	return of->types | (of->n ? UINT64_C(1) << start_type(queues, of) : 0);
}

uint64_t queues_surplus_of(const struct queues *queues, unsigned stream, unsigned type)
{
	struct stream *of = &queues->streams[stream];

	return start_count(queues, of, type) + (type < of->nown ? of->own[type].n : 0);
}

uint64_t queues_surplus_from(const struct queues *queues, unsigned stream, unsigned kind, int least)
{
	struct stream *of = &queues->streams[stream];
	const int *gains = queues->gains[kind];
	uint64_t n = of->n && gains[start_type(queues, of)] >= least ? of->n : 0;

	for (uint64_t left = of->types; left; left &= left - 1) {
		unsigned t = __builtin_ctzll(left);

		n += gains[t] >= least ? of->own[t].n : 0;
	}
	return n;
}

bool queues_lacks(const struct queues *queues, unsigned port)
{
	return port_lacks(queues, &queues->ports[port]);
}

bool queues_give(struct queues *queues, unsigned stream, const int *gains, int least,
                 uint64_t *label, uint32_t *buffer)
{
	struct stream *from = &queues->streams[stream];
	struct choice choice;
	struct item item;

	if (!stream_choose(queues, from, gains, least, true, &choice))
		return false;
	item = choice_get(from, &choice);
	*label = item.label;
	*buffer = item.buffer;
	queues->under_way++;
	return true;
}

void queues_given(struct queues *queues, unsigned stream, uint32_t buffer)
{
	queues->under_way--;
	buffer_free(queues, stream, buffer);
}

bool queues_reserve(struct queues *queues, const struct queues_order *order, uint32_t *buffer)
{
	struct stream *of = &queues->streams[order->stream];

	*buffer = QUEUES_NONE;
	if (of->given.buffers && !of->nfree)
		return false;
	if (of->given.buffers)
		*buffer = of->free[--of->nfree];
	queues->filters[order->filter].shares[order->kind].busy++;
	return true;
}

void queues_unreserve(struct queues *queues, const struct queues_order *order, uint32_t buffer)
{
	queues->filters[order->filter].shares[order->kind].busy--;
	buffer_free(queues, order->stream, buffer);
}

int queues_came(struct queues *queues, const struct queues_order *order, uint32_t buffer,
                uint64_t label)
{
	return ring_put(&queues->streams[order->stream].came, (struct item){.label = label,
	                                                                    .buffer = buffer,
	                                                                    .worker = -1,
	                                                                    .filter = order->filter,
	                                                                    .kind = order->kind});
}
