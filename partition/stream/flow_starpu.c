/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A flow is checked and made: its graph, and the buffers of its streams.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <heddle/heddle.h>

#include "flow_private.h"
#include "estimator/platform_starpu.h"
#include "partition/common/workers_starpu.h"
#include "support/message.h"

/* Parts begin on cache lines of their own. */
#define ALIGNMENT 64
#define LEAST_BUFFERS 16
#define BUFFERS_PER_WORKER 4
#define MOST_BUFFERS (1u << 24)

static const char *stream_name(const struct heddle_stream *stream)
{
	return stream->name ? stream->name : "without a name";
}

const char *flow_stream_name(const struct flow_stream *stream)
{
	return stream_name(stream->given);
}

/* ---- the graph ---- */

static unsigned parts_count(const struct heddle_stream *stream)
{
	unsigned n = 0;

	while (n < HEDDLE_STREAM_PARTS && stream->parts[n].elemsize)
		n++;
	return n;
}

static int parts_check(const struct heddle_stream *stream, unsigned nparts)
{
	for (unsigned p = 0; p < HEDDLE_STREAM_PARTS; p++) {
		const struct heddle_part *part = &stream->parts[p];

		if (p >= nparts ? part->elemsize || part->nx || part->ny : part->ny && !part->nx)
			return heddle_refuse(-EINVAL,
			                     "stream %s: part %u has %zu x %zu elements of %zu "
			                     "bytes",
			                     stream_name(stream), p, part->nx, part->ny,
			                     part->elemsize);
		if (part->nx > UINT32_MAX || part->ny > UINT32_MAX)
			return heddle_refuse(-EINVAL, "stream %s: part %u is too large",
			                     stream_name(stream), p);
	}
	return 0;
}

static int stream_check(const struct heddle_stream *stream, unsigned nparts)
{
	const char *name = stream_name(stream);
	int status = parts_check(stream, nparts);

	if (status)
		return status;
	if (nparts && stream->data)
		return heddle_refuse(-EINVAL, "stream %s has both parts and data", name);
	if (stream->home && !stream->data)
		return heddle_refuse(-EINVAL, "stream %s has a home, but no data", name);
	if (nparts && stream->n)
		return heddle_refuse(
		    -EINVAL, "stream %s: labels of the start have no data for its parts", name);
	if (!nparts && stream->buffers)
		return heddle_refuse(-EINVAL, "stream %s has %u buffers, but no parts", name,
		                     stream->buffers);
	if (stream->buffers > MOST_BUFFERS)
		return heddle_refuse(-EINVAL, "stream %s: %u buffers; the most is %u", name,
		                     stream->buffers, MOST_BUFFERS);
	if (stream->n && stream->first > UINT64_MAX - (stream->n - 1))
		return heddle_refuse(-EINVAL, "stream %s: labels beyond 64 bits", name);
	return 0;
}

/* Finds a stream of the flow, or adds it. */
static int stream_find(struct heddle_flow *flow, const struct heddle_stream *given,
                       struct flow_stream **stream)
{
	struct flow_stream *found = flow->streams;
	int status;

	while (found < flow->streams + flow->nstreams && found->given != given)
		found++;
	if (found == flow->streams + flow->nstreams) {
		if (flow->nstreams == HEDDLE_FLOW_MAX)
			return heddle_refuse(-EINVAL, "a flow of more than %d streams",
			                     HEDDLE_FLOW_MAX);
		*found = (struct flow_stream){.given = given, .nparts = parts_count(given)};
		status = stream_check(given, found->nparts);
		if (status)
			return status;
		flow->nstreams++;
	}
	*stream = found;
	return 0;
}

static int port_make(struct heddle_flow *flow, struct flow_filter *filter, unsigned number)
{
	const struct heddle_port *given = &filter->given.ports[number];
	struct flow_port *port = &flow->ports[flow->nports];
	int status;

	if (!given->in)
		return heddle_refuse(-EINVAL, "filter %s: port %u has no stream to read",
		                     filter->name, number);
	*port = (struct flow_port){.filter = filter, .given = given};
	status = stream_find(flow, given->in, &port->in);
	if (!status && given->out)
		status = stream_find(flow, given->out, &port->out);
	if (status)
		return status;
	port->in->read = true;
	if (port->out)
		port->out->written = true;
	flow->nports++;
	return 0;
}

/* Streams that no buffer leaves, or enters. Labels come from functions, too. */
static int streams_check(const struct heddle_flow *flow)
{
	for (const struct flow_stream *s = flow->streams; s < flow->streams + flow->nstreams; s++) {
		if (!s->read && !s->given->data)
			return heddle_refuse(-EINVAL, "stream %s: no filter reads it",
			                     stream_name(s->given));
		if (s->nparts && !s->written)
			return heddle_refuse(-EINVAL, "stream %s: no filter writes it",
			                     stream_name(s->given));
	}
	return 0;
}

/* ---- filters ---- */

static int filter_check(const struct flow_filter *filter)
{
	const struct heddle_filter *given = &filter->given;

	if (!given->codelet == !given->function)
		return heddle_refuse(-EINVAL, "filter %s has %s codelet %s function", filter->name,
		                     given->codelet ? "both a" : "neither a",
		                     given->codelet ? "and a" : "nor a");
	if (given->codelet && given->threads)
		return heddle_refuse(-EINVAL, "filter %s: threads are for functions", filter->name);
	if (given->function && (given->task || given->constants[0]))
		return heddle_refuse(-EINVAL, "filter %s: %s for codelets", filter->name,
		                     given->task ? "task is" : "constants are");
	return filter->capacity || given->elsewhere
	           ? 0
	           : heddle_refuse(-ENODEV, "filter %s: no worker can run its codelet",
	                           filter->name);
}

static void capacity_find(struct flow_filter *filter)
{
	const struct heddle_filter *given = &filter->given;

	if (given->elsewhere)
		return;
	if (!given->codelet)
		filter->capacities[HEDDLE_KIND_CPU] = given->threads ? given->threads : 1;
	for (int w = 0; given->codelet && w < (int)starpu_worker_get_count(); w++)
		filter->capacities[heddle_worker_kind(w)] +=
		    work_codelet_serves(given->codelet, w, NULL) >= 0;
	for (unsigned k = 0; k < HEDDLE_NKINDS; k++)
		filter->capacity += filter->capacities[k];
}

static int mode_check(const struct flow_filter *filter, unsigned buffer,
                      enum starpu_data_access_mode mode, const char *of)
{
	const struct starpu_codelet *codelet = filter->given.codelet;
	enum starpu_data_access_mode has = codelet->modes[buffer];

	if (has == mode || (mode == STARPU_R && has == STARPU_RW && !strcmp(of, "in")))
		return 0;
	return heddle_refuse(-EINVAL, "filter %s: buffer %u of the codelet, %s, has not mode %s",
	                     filter->name, buffer, of, mode == STARPU_R ? "STARPU_R" : "STARPU_W");
}

int flow_port_check(const struct flow_port *port, unsigned nin, unsigned nout)
{
	const struct flow_filter *filter = port->filter;
	const struct starpu_codelet *codelet = filter->given.codelet;
	unsigned constants = nin + filter->nconstants, n = constants + nout;
	int status = 0;

	if (codelet->nbuffers < 0 || (unsigned)codelet->nbuffers != n || n > STARPU_NMAXBUFS)
		return heddle_refuse(-EINVAL,
		                     "filter %s: the codelet has %d buffers, but there are %u "
		                     "parts of stream %s, %u constants and %u parts of the "
		                     "result; the most is %d",
		                     filter->name, codelet->nbuffers, nin,
		                     stream_name(port->in->given), filter->nconstants, nout,
		                     STARPU_NMAXBUFS);
	for (unsigned b = 0; b < n && !status; b++)
		status = b < nin         ? mode_check(filter, b, STARPU_R, "in")
		         : b < constants ? mode_check(filter, b, STARPU_R, "a constant")
		                         : mode_check(filter, b, STARPU_W, "out");
	return status;
}

/* Streams with the program's own data say only later how many handles there are. */
static int port_check(const struct flow_port *port)
{
	if (!port->filter->given.codelet || port->in->given->data ||
	    (port->out && port->out->given->data))
		return 0;
	return flow_port_check(port, port->in->nparts, port->out ? port->out->nparts : 0);
}

static int filter_make(struct heddle_flow *flow, const struct heddle_filter *given)
{
	struct flow_filter *filter = &flow->filters[flow->nfilters];
	int status;

	*filter = (struct flow_filter){.given = *given, .flow = flow};
	filter->name = given->name                              ? given->name
	               : given->codelet && given->codelet->name ? given->codelet->name
	                                                        : "without a name";
	filter->group = given->threads ? flow->nfilters + 1 : 0;
	while (filter->nconstants < HEDDLE_FILTER_PORTS && given->constants[filter->nconstants])
		filter->nconstants++;
	capacity_find(filter);
	starpu_pthread_cond_init(&filter->work, NULL);
	flow->nfilters++;
	status = filter_check(filter);
	if (!status && !given->ports[0].in)
		status = heddle_refuse(-EINVAL, "filter %s reads no stream", filter->name);
	for (unsigned p = 0; p < HEDDLE_FILTER_PORTS && !status; p++)
		if (given->ports[p].in || given->ports[p].out)
			status = port_make(flow, filter, p);
	return status;
}

static int graph_make(struct heddle_flow *flow, const struct heddle_filter *filters, unsigned n)
{
	int status = 0;

	if (!n || n > HEDDLE_FLOW_MAX)
		return heddle_refuse(-EINVAL, "a flow of %u filters; it has 1 to %d", n,
		                     HEDDLE_FLOW_MAX);
	for (unsigned f = 0; f < n && !status; f++)
		status = filter_make(flow, &filters[f]);
	if (!status)
		status = streams_check(flow);
	for (unsigned p = 0; p < flow->nports && !status; p++)
		status = port_check(&flow->ports[p]);
	return status;
}

/* ---- buffers ---- */

static size_t part_bytes(const struct heddle_part *part)
{
	size_t bytes = part->elemsize;

	if (part->nx && __builtin_mul_overflow(bytes, part->nx, &bytes))
		return SIZE_MAX / 2;
	if (part->ny && __builtin_mul_overflow(bytes, part->ny, &bytes))
		return SIZE_MAX / 2;
	return bytes;
}

static void part_register(const struct heddle_part *part, uintptr_t memory,
                          starpu_data_handle_t *handle)
{
	if (part->ny)
		starpu_matrix_data_register(handle, STARPU_MAIN_RAM, memory, part->nx, part->nx,
		                            part->ny, part->elemsize);
	else if (part->nx)
		starpu_vector_data_register(handle, STARPU_MAIN_RAM, memory, part->nx,
		                            part->elemsize);
	else
		starpu_variable_data_register(handle, STARPU_MAIN_RAM, memory, part->elemsize);
}

static int stream_make(struct flow_stream *stream)
{
	const struct heddle_stream *given = stream->given;
	uint32_t buffers = given->buffers;

	if (!stream->nparts)
		return 0;
	if (!buffers)
		buffers = BUFFERS_PER_WORKER * starpu_worker_get_count();
	if (!given->buffers && buffers < LEAST_BUFFERS)
		buffers = LEAST_BUFFERS;
	stream->handles = calloc(buffers * (size_t)stream->nparts, sizeof(*stream->handles));
	if (!stream->handles)
		return -ENOMEM;
	for (unsigned p = 0; p < stream->nparts; p++) {
		size_t stride = (part_bytes(&given->parts[p]) + ALIGNMENT - 1) & -(size_t)ALIGNMENT;
		size_t bytes;
		int status;

		if (__builtin_mul_overflow(stride, buffers, &bytes))
			return -ENOMEM;
		status = heddle_malloc(&stream->memory[p], bytes);
		if (status)
			return status;
		stream->stride[p] = stride;
		stream->buffers = buffers;
		for (uint32_t b = 0; b < buffers; b++)
			part_register(&given->parts[p], (uintptr_t)stream->memory[p] + b * stride,
			              &stream->handles[b * (size_t)stream->nparts + p]);
	}
	return 0;
}

static void stream_free(struct flow_stream *stream)
{
	for (size_t h = 0; stream->handles && h < stream->buffers * (size_t)stream->nparts; h++)
		if (stream->handles[h])
			starpu_data_unregister_no_coherency(stream->handles[h]);
	for (unsigned p = 0; p < stream->nparts; p++)
		heddle_free(stream->memory[p], stream->buffers * stream->stride[p]);
	free(stream->handles);
}

static int buffers_make(struct heddle_flow *flow)
{
	struct queues_stream streams[HEDDLE_FLOW_MAX];
	struct queues_port ports[FLOW_PORTS];

	for (unsigned s = 0; s < flow->nstreams; s++) {
		struct flow_stream *stream = &flow->streams[s];
		int status = stream_make(stream);

		if (status)
			return heddle_refuse(status, "stream %s: no memory for its buffers",
			                     stream_name(stream->given));
		streams[s] =
		    (struct queues_stream){stream->given->first, stream->given->n, stream->buffers};
	}
	for (unsigned p = 0; p < flow->nports; p++) {
		const struct flow_port *port = &flow->ports[p];

		ports[p] = (struct queues_port){port->in - flow->streams,
		                                port->out ? port->out - flow->streams : QUEUES_NONE,
		                                port->filter->group, port->filter - flow->filters};
	}
	flow->queues = queues_create(streams, flow->nstreams, ports, flow->nports);
	return flow->queues ? 0 : heddle_refuse(-ENOMEM, "no memory for a flow");
}

/* ---- the flow ---- */

int heddle_flow_create(const struct heddle_filter *filters, unsigned n, void *arg,
                       struct heddle_flow **flow)
{
	int status = heddle_starpu_check();
	struct heddle_flow *made;

	if (status)
		return status;
	if (!starpu_is_initialized())
		return heddle_refuse(-ENODEV, "a flow before starpu_init()");
	made = calloc(1, sizeof(*made));
	if (!made)
		return heddle_refuse(-ENOMEM, "no memory for a flow");
	made->arg = arg;
	starpu_pthread_mutex_init(&made->mutex, NULL);
	starpu_pthread_cond_init(&made->end, NULL);
	starpu_pthread_cond_init(&made->come, NULL);
	status = graph_make(made, filters, n);
	if (!status)
		status = buffers_make(made);
	if (status) {
		heddle_flow_destroy(made);
		return status;
	}
	*flow = made;
	return 0;
}

void heddle_flow_destroy(struct heddle_flow *flow)
{
	if (!flow)
		return;
	for (unsigned s = 0; s < flow->nstreams; s++)
		stream_free(&flow->streams[s]);
	while (flow->spare) {
		struct flow_event *event = flow->spare;

		flow->spare = event->next;
		free(event);
	}
	queues_destroy(flow->queues);
	for (unsigned f = 0; f < flow->nfilters; f++)
		starpu_pthread_cond_destroy(&flow->filters[f].work);
	starpu_pthread_cond_destroy(&flow->end);
	starpu_pthread_cond_destroy(&flow->come);
	starpu_pthread_mutex_destroy(&flow->mutex);
	free(flow);
}
