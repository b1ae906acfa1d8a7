/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A flow over ranks. The thread that runs it serves the other ranks: it hands messages to the
 * counting (demand.c), and sends and receives the data of buffers. Workers only wake it.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <heddle/heddle.h>
#include <heddle/mpi.h>

#include "partition/mpi/agree_mpi.h"
#include "partition/mpi/demand.h"
#include "partition/mpi/flow_agreement.h"
#include "partition/mpi/flow_types_starpu.h"
#include "partition/mpi/loans_starpu.h"
#include "partition/common/workers_starpu.h"
#include "partition/stream/flow_private.h"
#include "support/message.h"
#include "support/variables.h"

_Static_assert((int)HEDDLE_FLOW_MAX == (int)MPI_FLOW_MAX &&
                   (int)HEDDLE_FILTER_PORTS == (int)MPI_FLOW_PORTS &&
                   (int)HEDDLE_STREAM_PARTS == (int)MPI_FLOW_PARTS &&
                   (int)HEDDLE_FLOW_MAX <= (int)MPI_DEMAND_STREAMS,
               "every flow can be described");

/* MPI counts bytes with int. */
#define PART_MOST ((size_t)1 << 30)

/* Where workers have tasks and ranks ring, it looks no more often than this at what has changed.
 * Accelerators may have nothing to do so long, and beside them the thread has a core of its own. */
#define STEP_US 500

/* A buffer on its way from or to another rank. */
struct parcel {
	struct net *net;
	unsigned peer;
	struct queues_order order; /* of what comes; of what goes, the stream */
	uint64_t label;
	uint32_t buffer;
	bool asked;          /* its parts are on their way to main memory */
	bool posted;         /* it is sent, or received */
	unsigned under_way;  /* transfers */
	atomic_uint pending; /* parts that are not in main memory yet, and who asks for them */
	int status;
	struct parcel *next;
};

/* In the order in which they are to be sent, or received. */
struct parcels {
	struct parcel *first, **end;
};

/* A rank's side of a flow. */
struct net {
	struct heddle_flow *flow;
	struct mpi_link *link;
	struct flow_net hooks;
	struct mpi_demand_problem problem;
	struct mpi_demand *demand;
	struct queues_port ports[FLOW_PORTS];
	struct queues_stream streams[HEDDLE_FLOW_MAX];
	unsigned capacities[HEDDLE_FLOW_MAX][HEDDLE_NKINDS];
	struct flow_types types;
	struct loans *loans;
	bool accelerators; /* some rank has them */
	bool changed;      /* something here, since it was looked */
	bool soon;         /* it is looked soon after that: nobody need wake the thread for more */
	struct parcels going, coming;
	struct heddle_mpi_flow_rank stats;
	int status, failed; /* of the run; the rank that failed */
};

/* ---- the counting's side; the flow's mutex is held ---- */

static void net_tell(void *arg, unsigned to, const struct mpi_message *message)
{
	struct net *net = arg;

	mpi_link_tell(net->link, to, message);
}

static void parcel_add(struct net *net, struct parcels *parcels, const struct parcel *given)
{
	struct parcel *parcel = malloc(sizeof(*parcel));

	if (!parcel)
		mpi_link_abort(net->link, "no memory for a buffer that is sent");
	*parcel = *given;
	parcel->net = net;
	*parcels->end = parcel;
	parcels->end = &parcel->next;
}

static void net_give(void *arg, unsigned to, unsigned stream, uint64_t label, uint32_t buffer)
{
	struct net *net = arg;

	parcel_add(net, &net->going,
	           &(struct parcel){
	               .peer = to, .order = {.stream = stream}, .label = label, .buffer = buffer});
}

static void net_come(void *arg, unsigned from, const struct queues_order *order, uint64_t label,
                     uint32_t buffer)
{
	struct net *net = arg;

	parcel_add(
	    net, &net->coming,
	    &(struct parcel){.peer = from, .order = *order, .label = label, .buffer = buffer});
}

static void net_lend(void *arg, unsigned to, const struct mpi_message *message)
{
	struct net *net = arg;

	loans_lend(net->loans, to, message);
}

static void net_stop(void *arg, int status)
{
	struct net *net = arg;

	if (!net->flow->status)
		net->flow->status = status;
}

static void net_heard(void *arg, unsigned from, const struct mpi_message *message)
{
	struct net *net = arg;

	starpu_pthread_mutex_lock(&net->flow->mutex);
	mpi_demand_hear(net->demand, from, message, starpu_timing_now());
	starpu_pthread_mutex_unlock(&net->flow->mutex);
}

/* ---- parcels ---- */

static struct flow_stream *parcel_stream(const struct parcel *parcel)
{
	return &parcel->net->flow->streams[parcel->order.stream];
}

static starpu_data_handle_t *parcel_handles(const struct parcel *parcel)
{
	struct flow_stream *stream = parcel_stream(parcel);

	return stream->handles + parcel->buffer * (size_t)stream->nparts;
}

static void part_acquired(void *arg)
{
	struct parcel *parcel = arg;
	struct mpi_link *link = parcel->net->link;

	/* Afterwards the parcel may be gone. */
	if (atomic_fetch_sub(&parcel->pending, 1) == 1)
		mpi_link_wake(link);
}

/* Asks for the parts in main memory. */
static void parcel_acquire(struct parcel *parcel, enum starpu_data_access_mode mode)
{
	unsigned nparts = parcel_stream(parcel)->nparts;

	parcel->asked = true;
	atomic_store(&parcel->pending, nparts);
	for (unsigned p = 0; p < nparts; p++)
		if (starpu_data_acquire_on_node_cb(parcel_handles(parcel)[p], STARPU_MAIN_RAM, mode,
		                                   part_acquired, parcel))
			mpi_link_abort(parcel->net->link,
			               "the data of a buffer cannot be in main memory");
}

static void part_transferred(void *arg)
{
	struct parcel *parcel = arg;

	parcel->under_way--;
}

/* The rows of a part of the buffer. */
static struct mpi_rows part_rows(const struct parcel *parcel, unsigned part, size_t *bytes)
{
	struct flow_stream *stream = parcel_stream(parcel);
	const struct heddle_part *shape = &stream->given->parts[part];
	size_t n = (shape->nx ? shape->nx : 1) * (shape->ny ? shape->ny : 1);

	*bytes = n * shape->elemsize;
	return (struct mpi_rows){(char *)stream->memory[part] +
	                             parcel->buffer * stream->stride[part],
	                         n, shape->elemsize, shape->elemsize};
}

static void parcel_post(struct parcel *parcel, bool goes)
{
	struct net *net = parcel->net;

	parcel->posted = true;
	if (goes) {
		starpu_pthread_mutex_lock(&net->flow->mutex);
		mpi_demand_item(net->demand, parcel->peer, parcel->order.stream, parcel->label);
		starpu_pthread_mutex_unlock(&net->flow->mutex);
	}
	for (unsigned p = 0; p < parcel_stream(parcel)->nparts; p++) {
		size_t bytes;
		struct mpi_rows rows = part_rows(parcel, p, &bytes);

		parcel->under_way++;
		if (goes) {
			mpi_link_send(net->link, parcel->peer, MPI_CHANNEL_IN, &rows,
			              part_transferred, parcel);
			net->stats.bytes_sent += bytes;
		} else {
			mpi_link_receive(net->link, parcel->peer, MPI_CHANNEL_IN, &rows,
			                 part_transferred, parcel);
			net->stats.bytes_received += bytes;
		}
	}
}

static void parcel_end(struct parcel *parcel, bool goes)
{
	struct net *net = parcel->net;
	int status = 0;

	for (unsigned p = 0; p < parcel_stream(parcel)->nparts; p++)
		starpu_data_release_on_node(parcel_handles(parcel)[p], STARPU_MAIN_RAM);
	starpu_pthread_mutex_lock(&net->flow->mutex);
	if (goes)
		queues_given(net->flow->queues, parcel->order.stream, parcel->buffer);
	else
		status = mpi_demand_came(net->demand, &parcel->order, parcel->label, parcel->buffer,
		                         starpu_timing_now());
	starpu_pthread_mutex_unlock(&net->flow->mutex);
	if (status)
		mpi_link_abort(net->link, "no memory for buffers that wait");
	free(parcel);
}

/* What comes from a rank is received in the order in which it is told: one that is not ready stops
 * those behind it.
 * @return whether something changed */
static bool parcels_step(struct parcels *parcels, bool goes)
{
	struct parcel **at = &parcels->first, *parcel;
	bool acted = false, may_post = true;

	while ((parcel = *at)) {
		if (!parcel->asked)
			parcel_acquire(parcel, goes ? STARPU_R : STARPU_W);
		if (!parcel->posted && may_post && !atomic_load(&parcel->pending)) {
			parcel_post(parcel, goes);
			acted = true;
		}
		may_post = parcel->posted;
		if (!parcel->posted || parcel->under_way) {
			at = &parcel->next;
			continue;
		}
		*at = parcel->next;
		if (!*at)
			parcels->end = at;
		parcel_end(parcel, goes);
		acted = true;
	}
	return acted;
}

/* ---- the flow's side ---- */

static void net_begin(void *arg)
{
	struct net *net = arg;

	if (net->problem.select)
		net->problem.gains = mpi_gains_create(net->problem.nranks, net->accelerators);
	net->demand =
	    net->problem.select && !net->problem.gains ? NULL : mpi_demand_create(&net->problem);
	net->loans = net->demand ? loans_create(net->flow, net->link, net->demand) : NULL;
	if (!net->loans)
		mpi_link_abort(net->link, "no memory for its streams");
	net->types = (struct flow_types){.flow = net->flow, .demand = net->demand};
	if (net->problem.select)
		queues_set_type(net->flow->queues, flow_types_of, &net->types);
}

static void net_changed(void *arg)
{
	struct net *net = arg;

	net->changed = true;
	/* What may begin here has begun. */
	if (!net->soon || !queues_under_way(net->problem.queues))
		mpi_link_wake(net->link);
}

static void net_borrow(void *arg, struct flow_event *event)
{
	struct net *net = arg;

	loans_borrow(net->loans, event);
}

static void net_give_back(void *arg, struct flow_event *event)
{
	struct net *net = arg;

	loans_give_back(net->loans, event);
}

/* @param[out] idle whether the workers have nothing to do
 * @return whether there may be more to do at once */
static bool net_step(struct net *net, bool *over, bool *idle)
{
	bool more = parcels_step(&net->coming, false);

	more |= parcels_step(&net->going, true);
	more |= loans_step(net->loans);
	more |= flow_go(net->flow);
	starpu_pthread_mutex_lock(&net->flow->mutex);
	if (net->flow->status)
		mpi_demand_fail(net->demand, net->flow->status);
	if (net->problem.select)
		flow_types_tell(&net->types);
	more |= mpi_demand_step(net->demand, starpu_timing_now());
	*over = mpi_demand_over(net->demand, &net->status, &net->failed);
	*idle = !queues_under_way(net->problem.queues);
	net->soon = net->changed && !*idle && !net->accelerators && mpi_link_is_rung(net->link);
	net->changed = false;
	starpu_pthread_mutex_unlock(&net->flow->mutex);
	return more;
}

static void net_run(void *arg)
{
	struct net *net = arg;
	bool over = false, idle;

	mpi_link_serve(net->link, net_heard, net);
	while (!over) {
		mpi_link_progress(net->link);
		if (net_step(net, &over, &idle) || over)
			continue;
		if (idle)
			mpi_link_wait_idle(net->link, HUGE_VAL);
		else
			mpi_link_wait_most(net->link, net->soon ? STEP_US : HUGE_VAL);
	}
}

/* ---- what ranks agree on ---- */

static int stream_check(const struct flow_stream *stream)
{
	const char *name = flow_stream_name(stream);

	if (stream->given->data && !stream->given->home)
		return heddle_refuse(-EINVAL,
		                     "stream %s has data of the program's, and does not say on "
		                     "which rank it lies (home)",
		                     name);
	for (unsigned p = 0; p < stream->nparts; p++)
		if (stream->stride[p] > PART_MOST)
			return heddle_refuse(-EINVAL,
			                     "stream %s: a part of more than %zu bytes cannot be "
			                     "sent to another rank",
			                     name, PART_MOST);
	return 0;
}

static int flow_check(struct heddle_flow *flow)
{
	int status = heddle_starpu_check();

	if (!status)
		status = heddle_variables_check(environ);
	if (status)
		return status;
	if (!flow)
		return heddle_refuse(-EINVAL, "a flow over ranks without a flow");
	if (atomic_load(&flow->running))
		return heddle_refuse(-EBUSY, "a flow that runs already is run again");
	for (unsigned s = 0; s < flow->nstreams && !status; s++)
		status = stream_check(&flow->streams[s]);
	return status;
}

static void filters_describe(const struct heddle_flow *flow, struct mpi_flow_description *says)
{
	for (unsigned f = 0; f < flow->nfilters; f++) {
		struct mpi_flow_filter *filter = &says->filters[f];

		snprintf(filter->name, sizeof(filter->name), "%s", flow->filters[f].name);
		filter->here = flow->filters[f].capacity > 0;
		filter->accelerated =
		    flow->filters[f].capacity > flow->filters[f].capacities[HEDDLE_KIND_CPU];
		for (unsigned p = 0; p < HEDDLE_FILTER_PORTS; p++)
			filter->in[p] = filter->out[p] = UINT32_MAX;
	}
	for (const struct flow_port *port = flow->ports; port < flow->ports + flow->nports;
	     port++) {
		struct mpi_flow_filter *filter = &says->filters[port->filter - flow->filters];
		unsigned p = port->given - port->filter->given.ports;

		filter->in[p] = port->in - flow->streams;
		if (port->out)
			filter->out[p] = port->out - flow->streams;
	}
}

static void streams_describe(const struct heddle_flow *flow, struct mpi_flow_description *says)
{
	for (unsigned s = 0; s < flow->nstreams; s++) {
		const struct heddle_stream *given = flow->streams[s].given;
		struct mpi_flow_stream *stream = &says->streams[s];

		snprintf(stream->name, sizeof(stream->name), "%s",
		         flow_stream_name(&flow->streams[s]));
		stream->data = given->data != NULL;
		stream->home = given->home != NULL;
		stream->first = given->first;
		stream->n = given->n;
		for (unsigned p = 0; p < HEDDLE_STREAM_PARTS; p++) {
			stream->elemsize[p] = given->parts[p].elemsize;
			stream->nx[p] = given->parts[p].nx;
			stream->ny[p] = given->parts[p].ny;
		}
	}
}

static void *allocate(struct net *net, size_t n, size_t size)
{
	void *memory = calloc(n, size);

	if (!memory)
		mpi_link_abort(net->link, "no memory for %u ranks", net->problem.nranks);
	return memory;
}

/* Whether all have the same flow. @param[out] reads of each rank, which streams: bits */
static int flows_agree(struct net *net, const char *name, uint64_t *reads)
{
	const struct heddle_flow *flow = net->flow;
	unsigned nranks = net->problem.nranks;
	struct mpi_flow_description *all = allocate(net, nranks + 1, sizeof(*all));
	struct mpi_flow_description *own = &all[nranks];
	char text[256];
	int status;

	snprintf(own->policy, sizeof(own->policy), "%s", work_policy_name(0));
	own->nfilters = flow->nfilters;
	own->nstreams = flow->nstreams;
	filters_describe(flow, own);
	streams_describe(flow, own);
	mpi_agree_gather(net->link, own, all, sizeof(*own));
	status = mpi_flow_check(all, nranks, text, sizeof(text));
	for (unsigned r = 0; r < nranks; r++)
		reads[r] = mpi_flow_reads(&all[r]);
	net->accelerators = mpi_flow_accelerated(all, nranks);
	free(all);
	return status ? heddle_refuse(status, "flow %s over ranks: %s", name, text) : 0;
}

static int net_agree(struct net *net, const char *name, uint64_t *reads)
{
	struct mpi_description says = {.status = flow_check(net->flow), .codelet = "none: a flow"};
	struct mpi_description *all;
	int status;

	snprintf(says.host, sizeof(says.host), "%s", net->stats.host);
	says.nranks = net->problem.nranks;
	status = mpi_agree(net->link, "flow", name, &says, &all);
	free(all);
	return status ? status : flows_agree(net, name, reads);
}

/* ---- a run ---- */

static void net_describe(struct net *net, const uint64_t *reads)
{
	const struct heddle_flow *flow = net->flow;
	bool select = flow_types_select();

	for (unsigned s = 0; s < flow->nstreams; s++)
		net->streams[s] = (struct queues_stream){flow->streams[s].given->first,
		                                         flow->streams[s].given->n, 0};
	for (unsigned p = 0; p < flow->nports; p++) {
		const struct flow_port *port = &flow->ports[p];

		net->ports[p] =
		    (struct queues_port){.in = port->in - flow->streams,
		                         .out = port->out ? port->out - flow->streams : QUEUES_NONE,
		                         .filter = port->filter - flow->filters};
	}
	for (unsigned f = 0; f < flow->nfilters; f++) {
		const struct flow_filter *filter = &flow->filters[f];

		if (select)
			memcpy(net->capacities[f], filter->capacities, sizeof(*net->capacities));
		else
			net->capacities[f][HEDDLE_KIND_CPU] = filter->capacity;
	}
	net->problem = (struct mpi_demand_problem){.rank = mpi_link_rank(net->link),
	                                           .nranks = mpi_link_ranks(net->link),
	                                           .nstreams = flow->nstreams,
	                                           .nports = flow->nports,
	                                           .nfilters = flow->nfilters,
	                                           .ports = net->ports,
	                                           .streams = net->streams,
	                                           .reads = reads,
	                                           .capacities = net->capacities,
	                                           .select = select,
	                                           .queues = flow->queues,
	                                           .tell = net_tell,
	                                           .give = net_give,
	                                           .come = net_come,
	                                           .lend = net_lend,
	                                           .stop = net_stop,
	                                           .arg = net};
}

/* All take part, whether they want it or not. */
static void stats_tell(struct net *net, const struct heddle_flow_stats *stats,
                       struct heddle_mpi_flow_rank *ranks)
{
	struct heddle_mpi_flow_rank *all =
	    ranks ? ranks : allocate(net, net->problem.nranks, sizeof(*all));
	uint64_t came, went;
	size_t received, sent;

	loans_bytes(net->loans, &received, &sent);
	net->stats.bytes_received += received;
	net->stats.bytes_sent += sent;
	mpi_demand_sums(net->demand, &came, &went);
	net->stats.received = came;
	net->stats.sent = went;
	net->stats.tasks = stats->tasks;
	net->stats.calls = stats->calls;
	net->stats.us = stats->us;
	mpi_agree_gather(net->link, &net->stats, all, sizeof(*all));
	if (!ranks)
		free(all);
}

static int net_failed(const struct net *net, const char *name)
{
	if (net->status == -EDEADLK)
		return heddle_refuse(net->status,
		                     "flow %s over ranks: all buffers of a cycle are in use, and "
		                     "each filter waits for another one; give its streams more "
		                     "buffers, or send labels back",
		                     name);
	return heddle_refuse(net->status, "flow %s over ranks: it failed on rank %d: %s", name,
	                     net->failed, strerror(-net->status));
}

static int net_go(struct net *net, const char *name, struct heddle_mpi_flow_rank *ranks,
                  struct heddle_flow_stats *stats)
{
	struct heddle_flow_stats *own = stats ? stats : allocate(net, 1, sizeof(*own));
	uint64_t *reads = allocate(net, net->problem.nranks, sizeof(*reads));
	int status = net_agree(net, name, reads);

	if (!status) {
		net_describe(net, reads);
		status = flow_run_net(net->flow, &net->hooks, own);
		/* It has not begun, and others have. */
		if (!net->demand)
			mpi_link_abort(net->link, "it cannot begin: %s", strerror(-status));
		status = net->status ? net_failed(net, name) : 0;
		stats_tell(net, own, ranks);
	}
	free(reads);
	if (own != stats)
		free(own);
	return status;
}

int heddle_mpi_flow_run(struct heddle_flow *flow, MPI_Comm comm, struct heddle_mpi_flow_rank *ranks,
                        struct heddle_flow_stats *stats)
{
	double timeout = heddle_variable_number(HEDDLE_VARIABLE_NODE_TIMEOUT);
	const char *name = flow ? flow->filters[0].name : "none";
	int status = mpi_link_claim(comm, "flow");
	struct net *net;

	if (status)
		return status;
	net = calloc(1, sizeof(*net));
	if (!net || mpi_link_open(comm, timeout, "flow", name, &net->link)) {
		heddle_warn("a flow over ranks: no memory; the run ends on all ranks");
		MPI_Abort(comm, 1);
	}
	net->flow = flow;
	net->problem.nranks = mpi_link_ranks(net->link);
	net->hooks = (struct flow_net){.begin = net_begin,
	                               .run = net_run,
	                               .changed = net_changed,
	                               .borrow = net_borrow,
	                               .give_back = net_give_back,
	                               .arg = net,
	                               .rank = mpi_link_rank(net->link),
	                               .nranks = net->problem.nranks};
	net->going.end = &net->going.first;
	net->coming.end = &net->coming.first;
	gethostname(net->stats.host, sizeof(net->stats.host) - 1);
	status = net_go(net, name, ranks, stats);
	mpi_link_close(net->link);
	loans_destroy(net->loans);
	mpi_demand_destroy(net->demand);
	mpi_gains_destroy(net->problem.gains);
	free(net);
	return status;
}
