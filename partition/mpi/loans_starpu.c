/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <heddle/memory.h>

#include "partition/mpi/loans_starpu.h"
#include "support/message.h"

/* MPI counts bytes with int. */
#define PART_MOST ((size_t)1 << 30)

/* Loans of a rank at once. Each has two channels, which are tags of MPI: to the borrower, and back.
 * MPI has 32767 of them at the least. */
#define SLOTS 4096

struct shape {
	uint64_t interface, elemsize, nx, ny;
};

/* What the home says of a label's data. */
struct answer {
	int32_t status; /* 0, or a negative errno value: it lends nothing */
	uint32_t n;
	struct shape shapes[HEDDLE_STREAM_PARTS];
};

/* Memory of this rank for data of another one. */
struct copy {
	struct shape shape;
	size_t bytes;
	void *memory;
	starpu_data_handle_t handle;
	struct copy *next;
};

enum state { ASKED, ACQUIRES, COMES, HERE, FETCHES, GOES_BACK };

/* Either side of a loan. */
struct loan {
	struct loans *loans;
	struct loan *next;
	enum state state;
	unsigned peer, slot, side;
	unsigned writes;     /* bits: handles that the borrower writes */
	unsigned under_way;  /* transfers */
	atomic_uint pending; /* handles that are not in main memory yet, and who asks for them */
	struct answer answer;
	starpu_data_handle_t handles[HEDDLE_STREAM_PARTS];
	/* the borrower's */
	struct flow_event *event;
	struct copy *copies[HEDDLE_STREAM_PARTS];
	/* the home's */
	unsigned stream;
	uint64_t label;
	uint64_t number; /* of the borrower's event: it uses slots again before all is here */
	bool alone;      /* the event's other loan is of another rank, or has come, too */
};

struct loans {
	struct heddle_flow *flow;
	struct mpi_link *link;
	struct mpi_demand *demand;
	struct copy *copies; /* that nobody uses */
	struct loan *borrowed, *lent;
	unsigned short slots[SLOTS]; /* a stack of those that are free */
	unsigned nslots;
	uint64_t number; /* of the latest event that borrows */
	size_t received, sent;
	/* The flow's mutex is held for these. */
	struct flow_event *wanted, **wanted_end;
	struct flow_event *done;
	struct loan *asked, **asked_end;
};

/* ---- making ---- */

struct loans *loans_create(struct heddle_flow *flow, struct mpi_link *link,
                           struct mpi_demand *demand)
{
	struct loans *loans = calloc(1, sizeof(*loans));

	if (!loans)
		return NULL;
	loans->flow = flow;
	loans->link = link;
	loans->demand = demand;
	loans->wanted_end = &loans->wanted;
	loans->asked_end = &loans->asked;
	while (loans->nslots < SLOTS) {
		loans->slots[loans->nslots] = SLOTS - 1 - loans->nslots;
		loans->nslots++;
	}
	return loans;
}

static void copy_drop(struct copy **at)
{
	struct copy *copy = *at;

	*at = copy->next;
	starpu_data_unregister_no_coherency(copy->handle);
	heddle_free(copy->memory, copy->bytes);
	free(copy);
}

void loans_destroy(struct loans *loans)
{
	while (loans && loans->copies)
		copy_drop(&loans->copies);
	free(loans);
}

void loans_bytes(const struct loans *loans, size_t *received, size_t *sent)
{
	*received = loans->received;
	*sent = loans->sent;
}

static struct loan *loan_make(struct loans *loans, unsigned peer, unsigned slot)
{
	struct loan *loan = calloc(1, sizeof(*loan));

	if (!loan)
		mpi_link_abort(loans->link, "no memory for data that is sent");
	loan->loans = loans;
	loan->peer = peer;
	loan->slot = slot;
	return loan;
}

/* ---- shapes and copies ---- */

static size_t shape_bytes(const struct shape *shape)
{
	return shape->nx * shape->ny * shape->elemsize;
}

static bool shape_find(starpu_data_handle_t handle, struct shape *shape)
{
	*shape = (struct shape){starpu_data_get_interface_id(handle), 0, 1, 1};
	switch (shape->interface) {
	case STARPU_VARIABLE_INTERFACE_ID:
		shape->elemsize = starpu_variable_get_elemsize(handle);
		return true;
	case STARPU_VECTOR_INTERFACE_ID:
		shape->elemsize = starpu_vector_get_elemsize(handle);
		shape->nx = starpu_vector_get_nx(handle);
		return true;
	case STARPU_MATRIX_INTERFACE_ID:
		shape->elemsize = starpu_matrix_get_elemsize(handle);
		shape->nx = starpu_matrix_get_nx(handle);
		shape->ny = starpu_matrix_get_ny(handle);
		return true;
	default:
		return false;
	}
}

/* It is in main memory. */
static struct mpi_rows rows_of(starpu_data_handle_t handle, const struct shape *shape)
{
	char *at = starpu_data_handle_to_pointer(handle, STARPU_MAIN_RAM);
	size_t row = shape->nx * shape->elemsize, pitch = row;

	if (shape->interface == STARPU_MATRIX_INTERFACE_ID)
		pitch = starpu_matrix_get_local_ld(handle) * shape->elemsize;
	return (struct mpi_rows){at, shape->ny, row, pitch};
}

static void copy_register(struct copy *copy)
{
	const struct shape *shape = &copy->shape;
	uintptr_t at = (uintptr_t)copy->memory;

	if (shape->interface == STARPU_VARIABLE_INTERFACE_ID)
		starpu_variable_data_register(&copy->handle, STARPU_MAIN_RAM, at, shape->elemsize);
	else if (shape->interface == STARPU_VECTOR_INTERFACE_ID)
		starpu_vector_data_register(&copy->handle, STARPU_MAIN_RAM, at, shape->nx,
		                            shape->elemsize);
	else
		starpu_matrix_data_register(&copy->handle, STARPU_MAIN_RAM, at, shape->nx,
		                            shape->nx, shape->ny, shape->elemsize);
}

/* One that nobody uses, or another one in place of that which was used least lately: there are
 * never more than were in use at once. */
static struct copy *copy_get(struct loans *loans, const struct shape *shape)
{
	struct copy **at = &loans->copies, **last = NULL, *copy;

	for (; *at && memcmp(&(*at)->shape, shape, sizeof(*shape)); at = &(*at)->next)
		last = at;
	copy = *at;
	if (copy) {
		*at = copy->next;
		return copy;
	}
	if (last)
		copy_drop(last);
	copy = calloc(1, sizeof(*copy));
	if (copy) {
		copy->shape = *shape;
		copy->bytes = shape_bytes(shape);
	}
	if (!copy || heddle_malloc(&copy->memory, copy->bytes))
		mpi_link_abort(loans->link, "no memory for data of another rank");
	memset(copy->memory, 0, copy->bytes);
	copy_register(copy);
	return copy;
}

/* ---- both sides ---- */

static unsigned channel_out(const struct loan *loan)
{
	return MPI_CHANNEL_LOAN + 2 * loan->slot;
}

static unsigned channel_back(const struct loan *loan)
{
	return MPI_CHANNEL_LOAN + 2 * loan->slot + 1;
}

static void transferred(void *arg)
{
	struct loan *loan = arg;

	loan->under_way--;
}

static void acquired(void *arg)
{
	struct loan *loan = arg;
	struct mpi_link *link = loan->loans->link;

	/* Afterwards the loan may be gone. */
	if (atomic_fetch_sub(&loan->pending, 1) == 1)
		mpi_link_wake(link);
}

static bool is_written(const struct loan *loan, unsigned handle)
{
	return loan->writes >> handle & 1;
}

/* Whether the data of a handle is sent to the borrower: it reads it. */
static bool is_read(const struct loan *loan, unsigned handle)
{
	return handle < loan->answer.n && !loan->side;
}

/* @param back only those that are sent back */
static void acquire(struct loan *loan, bool back, enum starpu_data_access_mode mode)
{
	atomic_store(&loan->pending, loan->answer.n + 1);
	for (unsigned h = 0; h < loan->answer.n; h++) {
		if (back && !is_written(loan, h))
			acquired(loan);
		else if (starpu_data_acquire_on_node_cb(loan->handles[h], STARPU_MAIN_RAM, mode,
		                                        acquired, loan))
			mpi_link_abort(loan->loans->link, "data cannot be in main memory");
	}
	acquired(loan);
}

static void release(struct loan *loan, bool back)
{
	for (unsigned h = 0; h < loan->answer.n; h++)
		if (!back || is_written(loan, h))
			starpu_data_release_on_node(loan->handles[h], STARPU_MAIN_RAM);
}

/* @param back what the borrower has written; else what it reads */
static void transfer(struct loan *loan, bool sends, bool back)
{
	struct loans *loans = loan->loans;
	unsigned channel = back ? channel_back(loan) : channel_out(loan);

	for (unsigned h = 0; h < loan->answer.n; h++) {
		const struct shape *shape = &loan->answer.shapes[h];
		struct mpi_rows rows;

		if (back ? !is_written(loan, h) : !is_read(loan, h))
			continue;
		rows = rows_of(loan->handles[h], shape);
		loan->under_way++;
		*(sends ? &loans->sent : &loans->received) += shape_bytes(shape);
		(sends ? mpi_link_send : mpi_link_receive)(loans->link, loan->peer, channel, &rows,
		                                           transferred, loan);
	}
}

static struct mpi_rows answer_rows(struct loan *loan)
{
	return (struct mpi_rows){&loan->answer, 1, sizeof(loan->answer), sizeof(loan->answer)};
}

/* ---- the home ---- */

void loans_lend(struct loans *loans, unsigned to, const struct mpi_message *message)
{
	struct loan *loan = loan_make(loans, to, message->rank);

	loan->stream = message->array;
	loan->label = message->first;
	loan->writes = message->status;
	loan->side = message->n & 1;
	loan->alone = message->n & 2;
	loan->number = message->n >> 2;
	*loans->asked_end = loan;
	loans->asked_end = &loan->next;
}

static int refuse(const struct loan *loan, const char *what)
{
	const struct flow_stream *stream = &loan->loans->flow->streams[loan->stream];

	return heddle_refuse(-EINVAL, "stream %s, label %" PRIu64 ": its data has %s",
	                     flow_stream_name(stream), loan->label, what);
}

static bool has(const struct loan *loan, unsigned n, starpu_data_handle_t handle)
{
	for (unsigned h = 0; h < n; h++)
		if (loan->handles[h] == handle)
			return true;
	return false;
}

/* What the same event of the borrower has of this rank already; NULL: nothing. */
static struct loan *other_of(const struct loan *loan)
{
	struct loan *other = loan->loans->lent;

	while (other && (other->peer != loan->peer || other->number != loan->number))
		other = other->next;
	return other;
}

static int handles_find(struct loan *loan)
{
	const struct heddle_flow *flow = loan->loans->flow;
	int n = flow->streams[loan->stream].given->data(loan->label, loan->handles, flow->arg);
	struct loan *other = other_of(loan);

	if (other)
		other->alone = loan->alone = true;
	if (n < 0)
		return n;
	if (n > HEDDLE_STREAM_PARTS)
		return refuse(loan, "too many handles");
	for (int h = 0; h < n; h++) {
		struct shape *shape = &loan->answer.shapes[h];

		if (!loan->handles[h])
			return refuse(loan, "no handle");
		if (has(loan, h, loan->handles[h]) ||
		    (other && has(other, other->answer.n, loan->handles[h])))
			return refuse(loan, "a handle twice");
		if (!shape_find(loan->handles[h], shape))
			return refuse(loan, "a handle that is no variable, vector or matrix, "
			                    "which cannot be sent");
		if (shape_bytes(shape) > PART_MOST)
			return refuse(loan, "more than 1 GiB in a handle, which cannot be sent");
	}
	return n;
}

static void lend_acquire(struct loan *loan)
{
	loan->state = ACQUIRES;
	atomic_store(&loan->pending, loan->answer.n);
	for (unsigned h = 0; h < loan->answer.n; h++) {
		enum starpu_data_access_mode mode = loan->side            ? STARPU_W
		                                    : is_written(loan, h) ? STARPU_RW
		                                                          : STARPU_R;

		if (starpu_data_acquire_on_node_cb(loan->handles[h], STARPU_MAIN_RAM, mode,
		                                   acquired, loan))
			mpi_link_abort(loan->loans->link, "data cannot be in main memory");
	}
}

static void lend_begin(struct loan *loan)
{
	struct mpi_rows rows = answer_rows(loan);
	int n = handles_find(loan);

	loan->answer.status = n < 0 ? n : 0;
	loan->answer.n = n < 0 ? 0 : n;
	loan->writes &= (1u << loan->answer.n) - 1;
	loan->under_way++;
	mpi_link_send(loan->loans->link, loan->peer, channel_out(loan), &rows, transferred, loan);
	loan->next = loan->loans->lent;
	loan->loans->lent = loan;
	lend_acquire(loan);
}

/* @return whether something changed */
static bool lend_step(struct loan *loan, bool *over)
{
	switch (loan->state) {
	case ACQUIRES:
		if (atomic_load(&loan->pending))
			return false;
		transfer(loan, true, false);
		loan->state = COMES;
		return true;
	case COMES:
		if (loan->under_way)
			return false;
		transfer(loan, false, true);
		loan->state = GOES_BACK;
		/* fall through */
	default:
		*over = !loan->under_way && loan->alone;
		return *over;
	}
}

static void lend_end(struct loan *loan)
{
	struct loans *loans = loan->loans;

	release(loan, false);
	starpu_pthread_mutex_lock(&loans->flow->mutex);
	mpi_demand_lent(loans->demand);
	starpu_pthread_mutex_unlock(&loans->flow->mutex);
	free(loan);
}

/* ---- the borrower ---- */

void loans_borrow(struct loans *loans, struct flow_event *event)
{
	event->next = NULL;
	*loans->wanted_end = event;
	loans->wanted_end = &event->next;
	mpi_link_wake(loans->link);
}

void loans_give_back(struct loans *loans, struct flow_event *event)
{
	event->next = loans->done;
	loans->done = event;
	mpi_link_wake(loans->link);
}

static void loan_ask(struct loans *loans, struct flow_event *event, unsigned side, unsigned slot)
{
	const struct flow_stream *stream = side ? event->port->out : event->port->in;
	bool alone = event->loans[0].home != event->loans[1].home;
	struct loan *loan = loan_make(loans, event->loans[side].home, slot);
	struct mpi_rows rows = answer_rows(loan);

	loan->event = event;
	loan->side = side;
	loan->writes = flow_event_writes(event, side);
	loan->next = loans->borrowed;
	loans->borrowed = loan;
	event->loans[side].loan = loan;
	loan->under_way++;
	mpi_link_receive(loans->link, loan->peer, channel_out(loan), &rows, transferred, loan);
	starpu_pthread_mutex_lock(&loans->flow->mutex);
	mpi_demand_borrow(loans->demand, loan->peer,
	                  (struct mpi_message){.array = stream - loans->flow->streams,
	                                       .rank = slot,
	                                       .first = event->taken.label,
	                                       .status = loan->writes,
	                                       .n = loans->number << 2 | (alone ? 2 : 0) | side});
	starpu_pthread_mutex_unlock(&loans->flow->mutex);
}

/* Both loans of an event have slots side by side. */
static void event_ask(struct loans *loans, struct flow_event *event)
{
	unsigned pair = loans->slots[--loans->nslots], n = 0;

	for (unsigned side = 0; side < 2; side++)
		n += event->loans[side].home >= 0;
	atomic_store(&event->pending, n);
	event->asked_us = starpu_timing_now();
	loans->number++;
	for (unsigned side = 0; side < 2; side++)
		if (event->loans[side].home >= 0)
			loan_ask(loans, event, side, 2 * pair + side);
}

/* A loan has come, or cannot come. */
static void loan_here(struct loan *loan)
{
	struct flow_event *event = loan->event;
	struct flow_loan *of = &event->loans[loan->side];

	loan->state = HERE;
	of->n = loan->answer.n;
	memcpy(of->handles, loan->handles, sizeof(of->handles));
	if (loan->answer.status)
		event->event.status = loan->answer.status;
	if (atomic_fetch_sub(&event->pending, 1) > 1)
		return;
	starpu_pthread_mutex_lock(&loan->loans->flow->mutex);
	mpi_demand_borrowed(loan->loans->demand, event->port->filter - loan->loans->flow->filters,
	                    event->taken.kind, starpu_timing_now() - event->asked_us);
	starpu_pthread_mutex_unlock(&loan->loans->flow->mutex);
	flow_event_go(event);
}

static void loan_copies(struct loan *loan)
{
	for (unsigned h = 0; h < loan->answer.n; h++) {
		loan->copies[h] = copy_get(loan->loans, &loan->answer.shapes[h]);
		loan->handles[h] = loan->copies[h]->handle;
	}
	loan->writes &= (1u << loan->answer.n) - 1;
}

/* @return whether something changed */
static bool loan_step(struct loan *loan, bool *over)
{
	if (loan->under_way || atomic_load(&loan->pending))
		return false;
	switch (loan->state) {
	case ASKED:
		loan_copies(loan);
		acquire(loan, false, STARPU_W);
		loan->state = ACQUIRES;
		return true;
	case ACQUIRES:
		transfer(loan, false, false);
		loan->state = COMES;
		return true;
	case COMES:
		release(loan, false);
		loan_here(loan);
		return true;
	case HERE:
		return false;
	case FETCHES:
		transfer(loan, true, true);
		loan->state = GOES_BACK;
		return true;
	default:
		*over = true;
		return true;
	}
}

static void loan_end(struct loan *loan)
{
	struct loans *loans = loan->loans;
	struct flow_event *event = loan->event;

	release(loan, true);
	for (unsigned h = 0; h < loan->answer.n; h++) {
		loan->copies[h]->next = loans->copies;
		loans->copies = loan->copies[h];
	}
	if (atomic_fetch_sub(&event->pending, 1) == 1) {
		loans->slots[loans->nslots++] = loan->slot / 2;
		flow_event_over(event);
	}
	free(loan);
}

/* The event has ended. */
static void event_return(struct flow_event *event)
{
	unsigned n = 0;

	for (unsigned side = 0; side < 2; side++)
		n += event->loans[side].home >= 0;
	atomic_store(&event->pending, n);
	for (unsigned side = 0; side < 2; side++) {
		struct loan *loan = event->loans[side].loan;

		if (event->loans[side].home < 0)
			continue;
		acquire(loan, true, STARPU_R);
		loan->state = FETCHES;
	}
}

/* ---- what there is to do ---- */

static struct flow_event *wanted_take(struct loans *loans)
{
	struct flow_event *event;

	starpu_pthread_mutex_lock(&loans->flow->mutex);
	event = loans->nslots ? loans->wanted : NULL;
	if (event && !(loans->wanted = event->next))
		loans->wanted_end = &loans->wanted;
	starpu_pthread_mutex_unlock(&loans->flow->mutex);
	return event;
}

static struct flow_event *done_take(struct loans *loans)
{
	struct flow_event *event;

	starpu_pthread_mutex_lock(&loans->flow->mutex);
	event = loans->done;
	if (event)
		loans->done = event->next;
	starpu_pthread_mutex_unlock(&loans->flow->mutex);
	return event;
}

static struct loan *asked_take(struct loans *loans)
{
	struct loan *loan;

	starpu_pthread_mutex_lock(&loans->flow->mutex);
	loan = loans->asked;
	if (loan && !(loans->asked = loan->next))
		loans->asked_end = &loans->asked;
	starpu_pthread_mutex_unlock(&loans->flow->mutex);
	return loan;
}

/* Looks at all loans of a list, and ends those that are over. @return whether something changed */
static bool list_step(struct loan **at, bool (*step)(struct loan *loan, bool *over),
                      void (*end)(struct loan *loan))
{
	bool acted = false;

	while (*at) {
		struct loan *loan = *at;
		bool over = false;

		acted |= step(loan, &over);
		if (!over) {
			at = &loan->next;
			continue;
		}
		*at = loan->next;
		end(loan);
	}
	return acted;
}

bool loans_step(struct loans *loans)
{
	struct flow_event *event;
	struct loan *loan;
	bool acted = false;

	for (; (loan = asked_take(loans)); acted = true)
		lend_begin(loan);
	for (; (event = done_take(loans)); acted = true)
		event_return(event);
	for (; (event = wanted_take(loans)); acted = true)
		event_ask(loans, event);
	acted |= list_step(&loans->lent, lend_step, lend_end);
	return list_step(&loans->borrowed, loan_step, loan_end) || acted;
}
