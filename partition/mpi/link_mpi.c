/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "partition/mpi/bell.h"
#include "partition/mpi/link_mpi.h"
#include "partition/mpi/watch.h"
#include "support/message.h"
#include "support/variables.h"

/* MPI cannot tell a thread that sleeps that a message has come. Ranks of the machine ring its bell.
 * Else the thread looks, soon after the latest message and less and less often: at once the first
 * time, as messages come in groups. */
#define LOOK_LEAST_NS 20000L
#define LOOK_MOST_NS 500000L
/* After a short message of our own has gone: an answer may come. */
#define LOOK_SENT_NS 80000L
/* Where no worker wants the core. */
#define LOOK_IDLE_NS LOOK_LEAST_NS
/* It does so until it would look this much later elsewhere. Then it waits for a bell. */
#define LOOK_IDLE_MOST_NS 300000L
/* Where all that may come rings. */
#define LOOK_RUNG_NS 10000000L
/* Without shared memory a message may come later than the bell that was rung for it. */
#define LATE_LOOKS 3
#define LATE_NS 40000L
/* Linux wakes a thread up to 50 us late unless it asks for better. */
#define LOOK_SLACK_NS 1000L

/* A transfer has no more bytes than this: MPI counts with int. */
#define TRANSFER_MOST ((size_t)1 << 30)

/* Short messages that are expected at once, of each rank and in all. Of those that nobody expects
 * yet some MPIs transfer the contents only when somebody does: many ranks that ask rank 0 would
 * wait for one another. SMPI does so with all, and simulated ranks send several while one is on its
 * way.
 */
#ifdef HEDDLE_USE_SIMGRID
enum { EXPECTED_EACH = 8, EXPECTED_MOST = 1024 };
#else
enum { EXPECTED_EACH = 2, EXPECTED_MOST = 64 };
#endif

/* More simulated ranks say to rank 0 alone what all are to know. */
#define GATHERED_MOST 32

/* doc/mpi.md states it. */
#define ABORT_MOST_S 5

struct expected {
	MPI_Request request;
	struct mpi_message message;
};

struct pending {
	void (*done)(void *arg);
	void *arg;
	void *copy; /* of a short message, freed at the end */
	int peer;   /* hears of the end; below 0: nobody */
};

/* A short message of a rank to itself: MPI has no part in it. */
struct own_message {
	struct own_message *next;
	struct mpi_message message;
};

/* What loops have told. The latest used comes first. */
struct kept {
	struct kept *next;
	size_t n;
	void *what;
	char name[];
};
#define KEPT_MOST 64

struct mpi_link {
	MPI_Comm of;   /* the program's, ... */
	MPI_Comm comm; /* ... and one of our own: the program's messages are not in the way */
	unsigned rank, nranks;
	struct mpi_watch watch;
	const char *what, *name;
	void (*handle)(void *arg, unsigned from, const struct mpi_message *message);
	void *arg;
	/* The next short messages, from `oldest` on: a ring, so that they keep their order. */
	struct expected expected[EXPECTED_MOST];
	unsigned nexpected, oldest;
	struct own_message *own, **own_end; /* in the order in which they were told */
	bool posts_own;                     /* they go by MPI, too */
	MPI_Request alive;                  /* the next one of ... */
	enum mpi_channel alive_channel;     /* ... this one, which this rank tells on, too */
	MPI_Request *requests;
	struct pending *pending; /* as many */
	unsigned n, capacity;
	/* Of them, all but short messages that nobody waits for; and what mpi_link_hold() said. */
	unsigned awaited;
	struct kept *kept;
	void *room; /* see mpi_link_room() */
	void (*room_free)(void *room);
	long look_ns;  /* until the next look */
	long slack_ns; /* of the thread before it ran this; 0: not known */

	struct bell *bell;   /* its thread's */
	struct bell **bells; /* of each rank, its own one, too; NULL: not looked for */
	bool rung;           /* all ranks have those of all */
	unsigned late;       /* so many short looks, until what a rank rang for has come */
};

double mpi_link_now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e6 + now.tv_nsec * 1e-3;
}

/* MPI_Abort() may wait for a launcher that does not answer, or in what it runs at exit. Then the
 * kernel ends this process, and the launcher sees that. */
static void end_in_time(void)
{
#ifndef HEDDLE_USE_SIMGRID
	sigset_t alarms;

	signal(SIGALRM, SIG_DFL);
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
	alarm(ABORT_MOST_S);
#endif
}

void mpi_link_abort(struct mpi_link *link, const char *format, ...)
{
	va_list arguments;
	char text[512];

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	heddle_warn("%s %s over ranks: rank %u: %s; the run ends on all ranks", link->what,
	            link->name, link->rank, text);
	end_in_time();
	fflush(NULL);
	MPI_Abort(MPI_COMM_WORLD, 1);
	abort();
}

static void check(struct mpi_link *link, int error)
{
	char text[MPI_MAX_ERROR_STRING];
	int length;

	if (error == MPI_SUCCESS)
		return;
	MPI_Error_string(error, text, &length);
	mpi_link_abort(link, "MPI: %s", text);
}

/* ---- silence ---- */

static void alive_expect(struct mpi_link *link)
{
	check(link, MPI_Irecv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, link->alive_channel, link->comm,
	                      &link->alive));
}

static void alive_tell(struct mpi_link *link)
{
	unsigned first, end;

	mpi_watch_others(&link->watch, &first, &end);
	for (unsigned r = first; r < end; r++) {
		MPI_Request request;

		/* Nobody waits for these to arrive. */
		check(link,
		      MPI_Isend(NULL, 0, MPI_BYTE, r, link->alive_channel, link->comm, &request));
		check(link, MPI_Request_free(&request));
	}
}

static void watch(struct mpi_link *link)
{
	double now = mpi_link_now_us();
	MPI_Status status;
	int silent, flag;

	mpi_watch_look(&link->watch, now);
	for (;;) {
		check(link, MPI_Test(&link->alive, &flag, &status));
		if (!flag)
			break;
		mpi_watch_heard(&link->watch, status.MPI_SOURCE, now);
		alive_expect(link);
	}
	if (mpi_watch_due(&link->watch, now))
		alive_tell(link);
	silent = mpi_watch_silent(&link->watch, now);
	if (silent >= 0)
		mpi_link_abort(link,
		               "rank %d has not been heard of for %g s (HEDDLE_NODE_TIMEOUT): it "
		               "hangs, has ended, or has not begun this %s",
		               silent, link->watch.limit_us * 1e-6, link->what);
}

/* ---- the link of a communicator ---- */

/* Communicators that a loop, wavefront or flow uses. */
struct used {
	struct used *next;
	MPI_Comm comm;
};
static pthread_mutex_t used_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct used *used;

static struct used **used_find(MPI_Comm comm)
{
	struct used **at = &used;

	while (*at && (*at)->comm != comm)
		at = &(*at)->next;
	return at;
}

/* @return 0; -EBUSY; -ENOMEM */
static int use(MPI_Comm comm)
{
	struct used **at, *one = malloc(sizeof(*one));
	int status = one ? 0 : -ENOMEM;

	pthread_mutex_lock(&used_mutex);
	at = used_find(comm);
	if (*at)
		status = -EBUSY;
	if (!status) {
		*one = (struct used){NULL, comm};
		*at = one;
	}
	pthread_mutex_unlock(&used_mutex);
	if (status)
		free(one);
	return status;
}

static void use_no_more(MPI_Comm comm)
{
	struct used **at, *one;

	pthread_mutex_lock(&used_mutex);
	at = used_find(comm);
	one = *at;
	if (one)
		*at = one->next;
	pthread_mutex_unlock(&used_mutex);
	free(one);
}

int mpi_link_check(MPI_Comm comm, const char *what)
{
	int ready = 0, over = 0, level, main_thread = 0, inter = 0;

	MPI_Initialized(&ready);
	MPI_Finalized(&over);
	if (!ready || over)
		return heddle_refuse(-EINVAL, "a %s over ranks %s", what,
		                     over ? "after MPI_Finalize()" : "before MPI_Init()");
	MPI_Query_thread(&level);
	MPI_Is_thread_main(&main_thread);
#ifdef HEDDLE_USE_SIMGRID
	main_thread = 1; /* SMPI says no; of all its threads one runs at a time */
#endif
	if (level < MPI_THREAD_SERIALIZED && !main_thread)
		return heddle_refuse(-EINVAL,
		                     "a %s over ranks on a thread that must not call MPI "
		                     "(MPI_Init_thread())",
		                     what);
	if (comm != MPI_COMM_NULL)
		MPI_Comm_test_inter(comm, &inter);
	if (comm == MPI_COMM_NULL || inter)
		return heddle_refuse(-EINVAL, "a %s over ranks of %s", what,
		                     inter ? "an inter-communicator" : "MPI_COMM_NULL");
	return 0;
}

int mpi_link_claim(MPI_Comm comm, const char *what)
{
	int status = mpi_link_check(comm, what);

	if (status)
		return status;
	status = use(comm);
	if (status == -EBUSY)
		status = heddle_refuse(-EINVAL,
		                       "a %s over ranks beside another one on the same "
		                       "communicator: in a kernel, or on two threads",
		                       what);
	return status;
}

/* ---- sleeping ---- */

static void look_less(struct mpi_link *link)
{
	link->look_ns = 2 * link->look_ns < LOOK_MOST_NS ? 2 * link->look_ns : LOOK_MOST_NS;
}

static bool transfer_end(struct mpi_link *link);

/* Whether all that may come rings: MPI keeps nothing back that this rank has sent, ... */
static bool all_rings(struct mpi_link *link)
{
	if (!link->rung || link->awaited)
		return false;
	if (link->late) {
		link->late--;
		return false;
	}
	while (transfer_end(link))
		;
	return !link->n;
}

/* ... else how long the next wait may be. */
static long look_next(struct mpi_link *link)
{
	long ns = link->look_ns;

	if (all_rings(link))
		return LOOK_RUNG_NS;
	look_less(link);
	return ns;
}

static void sleep_ns(struct mpi_link *link, long ns)
{
	if (link->own || !(bell_wait(link->bell, ns) & BELL_PEER))
		return;
	link->late = LATE_LOOKS;
	link->look_ns = link->look_ns < LATE_NS ? link->look_ns : LATE_NS;
}

void mpi_link_wait(struct mpi_link *link)
{
	sleep_ns(link, look_next(link));
}

void mpi_link_wake(struct mpi_link *link)
{
	bell_ring(link->bell, BELL_OWN);
}

void mpi_link_ring(struct mpi_link *link, unsigned rank)
{
	if (link->rung)
		bell_ring(link->bells[rank], BELL_PEER);
}

static int link_keyval = MPI_KEYVAL_INVALID;

static void kept_free(struct kept *kept)
{
	while (kept) {
		struct kept *next = kept->next;

		free(kept->what);
		free(kept);
		kept = next;
	}
}

static void bells_free(struct mpi_link *link)
{
	for (unsigned r = 0; link->bells && r < link->nranks; r++) {
		if (r != link->rank)
			bell_free(link->bells[r]);
		link->bells[r] = NULL;
	}
}

/* The oldest message to itself; NULL: there is none. */
static struct own_message *own_pop(struct mpi_link *link)
{
	struct own_message *oldest = link->own;

	if (!oldest)
		return NULL;
	link->own = oldest->next;
	if (!link->own)
		link->own_end = &link->own;
	return oldest;
}

static void own_drop(struct mpi_link *link)
{
	while (link->own)
		free(own_pop(link));
}

static void link_free(struct mpi_link *link)
{
	kept_free(link->kept);
	bells_free(link);
	free(link->bells);
	bell_free(link->bell);
	if (link->room)
		link->room_free(link->room);
	mpi_watch_fini(&link->watch);
	free(link->requests);
	free(link->pending);
	free(link);
}

/* The program frees its communicator, or ends MPI. */
static int link_forget(MPI_Comm comm, int keyval, void *value, void *extra)
{
	struct mpi_link *link = value;

	MPI_Comm_free(&link->comm);
	link_free(link);
	return MPI_SUCCESS;
}

#ifdef HEDDLE_USE_SIMGRID
/* SMPI has no MPI_Comm_idup(). It says itself who is absent, when nothing moves any more. */
static int comm_dup(struct mpi_link *link, MPI_Comm comm)
{
	return MPI_Comm_dup(comm, &link->comm);
}
#else
/* Which ranks have not come, as far as rank 0 can tell: those that have, and are tired of waiting,
 * tell it. Nothing else is lost then: the program ends. */
static void absent_name(struct mpi_link *link, MPI_Comm comm, char *text, size_t size)
{
	double end = mpi_link_now_us() + link->watch.limit_us / 4 + 1e6;
	struct timespec nap = {0, LOOK_MOST_NS};
	size_t length = 0;
	int flag;

	for (unsigned r = 0; r < link->nranks && !link->rank; r++)
		link->watch.heard[r] = 0;
	while (!link->rank && mpi_link_now_us() < end) {
		MPI_Status status;

		MPI_Iprobe(MPI_ANY_SOURCE, MPI_CHANNEL_ALIVE, comm, &flag, &status);
		if (!flag) {
			nanosleep(&nap, NULL);
			continue;
		}
		MPI_Recv(NULL, 0, MPI_BYTE, status.MPI_SOURCE, MPI_CHANNEL_ALIVE, comm,
		         MPI_STATUS_IGNORE);
		link->watch.heard[status.MPI_SOURCE] = 1;
	}
	text[0] = '\0';
	for (unsigned r = 1; r < link->nranks && !link->rank && length < size; r++)
		if (!link->watch.heard[r])
			length += snprintf(text + length, size - length, " %u", r);
}

/* Not all ranks have come in time. Rank 0 names them; where it is missing itself, another does. */
static void absent_abort(struct mpi_link *link, MPI_Comm comm)
{
	double limit = link->watch.limit_us;
	struct timespec patience = {2 + limit / 4e6 * 2, 0};
	char text[256];

	if (link->rank) {
		MPI_Request request;

		MPI_Isend(NULL, 0, MPI_BYTE, 0, MPI_CHANNEL_ALIVE, comm, &request);
		nanosleep(&patience, NULL);
		mpi_link_abort(link,
		               "rank 0, or a rank that it waits for, has not begun this %s "
		               "within %g s (HEDDLE_NODE_TIMEOUT)",
		               link->what, (limit + patience.tv_sec * 1e6) * 1e-6);
	}
	absent_name(link, comm, text, sizeof(text));
	mpi_link_abort(link,
	               "after %g s (HEDDLE_NODE_TIMEOUT) these ranks have not begun this "
	               "%s:%s",
	               limit * 1e-6, link->what, text);
}

/* A communicator of our own takes all ranks to be there. */
static int comm_dup(struct mpi_link *link, MPI_Comm comm)
{
	double begin = mpi_link_now_us(), now;
	MPI_Request request;
	int flag = 0, error = MPI_Comm_idup(comm, &link->comm, &request);

	mpi_watch_begin(&link->watch, begin);
	while (error == MPI_SUCCESS) {
		error = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
		if (flag)
			break;
		now = mpi_link_now_us();
		begin += mpi_watch_look(&link->watch, now);
		if (link->watch.limit_us > 0 && now - begin > link->watch.limit_us)
			absent_abort(link, comm);
		mpi_link_wait(link);
	}
	return error;
}
#endif

static void message_expect(struct mpi_link *link, struct expected *one)
{
	check(link, MPI_Irecv(&one->message, sizeof(one->message), MPI_BYTE, MPI_ANY_SOURCE,
	                      MPI_CHANNEL_MESSAGE, link->comm, &one->request));
}

static int link_make(MPI_Comm comm, double limit_us, const char *what, const char *name,
                     struct mpi_link **into)
{
	struct mpi_link *link = calloc(1, sizeof(*link));
	int rank, nranks;

	if (!link)
		return -ENOMEM;
	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &nranks);
	link->rank = rank;
	link->nranks = nranks;
	link->of = comm;
	link->what = what;
	link->name = name;
	/* A rank that has asked may also say what it has computed. */
	link->nexpected = EXPECTED_EACH * link->nranks;
	if (link->nexpected > EXPECTED_MOST)
		link->nexpected = EXPECTED_MOST;
	link->look_ns = LOOK_LEAST_NS;
	link->own_end = &link->own;
	link->bell = bell_new();
	if (!link->bell || mpi_watch_init(&link->watch, rank, nranks, limit_us)) {
		link_free(link);
		return -ENOMEM;
	}
	check(link, comm_dup(link, comm));
	check(link, MPI_Comm_set_errhandler(link->comm, MPI_ERRORS_RETURN));
	*into = link;
	return 0;
}

/* How late the kernel may wake this thread. Returns what it was; 0: it does not say. */
static long slack_set(long ns)
{
	long before = 0;

#ifdef __linux__
	before = prctl(PR_GET_TIMERSLACK);
	prctl(PR_SET_TIMERSLACK, ns);
#endif
	return before;
}

int mpi_link_open(MPI_Comm comm, double timeout_s, const char *what, const char *name,
                  struct mpi_link **into)
{
	struct mpi_link *link;
	int known = 0, status;

	/* Threads may have a communicator each. */
	pthread_mutex_lock(&used_mutex);
	if (link_keyval == MPI_KEYVAL_INVALID)
		MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, link_forget, &link_keyval, NULL);
	pthread_mutex_unlock(&used_mutex);
	MPI_Comm_get_attr(comm, link_keyval, &link, &known);
	if (!known) {
		status = link_make(comm, timeout_s * 1e6, what, name, &link);
		if (status)
			return status;
		MPI_Comm_set_attr(comm, link_keyval, link);
	}
	link->what = what;
	link->name = name;
	link->watch.limit_us = timeout_s * 1e6;
	mpi_watch_begin(&link->watch, mpi_link_now_us());
	link->slack_ns = slack_set(LOOK_SLACK_NS);
	link->oldest = 0;
	link->alive_channel = MPI_CHANNEL_ALIVE;
	for (unsigned i = 0; i < link->nexpected; i++)
		message_expect(link, &link->expected[i]);
	alive_expect(link);
	*into = link;
	return 0;
}

static void expect_no_more(struct mpi_link *link, MPI_Request *request)
{
	check(link, MPI_Cancel(request));
	check(link, MPI_Wait(request, MPI_STATUS_IGNORE));
}

void mpi_link_at_end(struct mpi_link *link)
{
	expect_no_more(link, &link->alive);
	link->alive_channel = MPI_CHANNEL_AT_END;
	alive_expect(link);
}

void mpi_link_close(struct mpi_link *link)
{
	for (unsigned i = 0; i < link->nexpected; i++)
		expect_no_more(link, &link->expected[i].request);
	expect_no_more(link, &link->alive);
	own_drop(link);
	link->posts_own = false;
	if (link->slack_ns > 0)
		slack_set(link->slack_ns);
	link->handle = NULL;
	link->name = NULL;
	use_no_more(link->of);
}

/* Takes it out of the list, if it is there, and forgets all beyond the most. */
static struct kept *kept_take(struct mpi_link *link, const char *name, size_t n)
{
	struct kept **at = &link->kept, *found = NULL;

	for (unsigned i = 0; *at && i < KEPT_MOST; i++) {
		if (found || (*at)->n != n || strcmp((*at)->name, name)) {
			at = &(*at)->next;
			continue;
		}
		found = *at;
		*at = found->next;
	}
	kept_free(*at);
	*at = NULL;
	return found;
}

void **mpi_link_keeps(struct mpi_link *link, const char *name, size_t n)
{
	struct kept *kept = kept_take(link, name, n);

	if (!kept) {
		kept = calloc(1, sizeof(*kept) + strlen(name) + 1);
		if (!kept)
			return NULL;
		kept->n = n;
		strcpy(kept->name, name);
	}
	kept->next = link->kept;
	link->kept = kept;
	return &kept->what;
}

void **mpi_link_room(struct mpi_link *link, void (*room_free)(void *room))
{
	link->room_free = room_free;
	return &link->room;
}

unsigned mpi_link_rank(const struct mpi_link *link)
{
	return link->rank;
}

unsigned mpi_link_ranks(const struct mpi_link *link)
{
	return link->nranks;
}

MPI_Comm mpi_link_comm(const struct mpi_link *link)
{
	return link->comm;
}

/* ---- transfers ---- */

/* Whether something waits for its end. */
static bool is_awaited(const struct pending *one)
{
	return !one->copy || one->done;
}

static MPI_Request *pending_add(struct mpi_link *link, struct pending one)
{
	if (link->n == link->capacity) {
		unsigned capacity = link->capacity ? 2 * link->capacity : 64;
		MPI_Request *requests = realloc(link->requests, capacity * sizeof(*requests));
		struct pending *pending;

		if (requests)
			link->requests = requests;
		pending = requests ? realloc(link->pending, capacity * sizeof(*pending)) : NULL;
		if (!pending)
			mpi_link_abort(link, "no memory for %u transfers", capacity);
		link->pending = pending;
		link->capacity = capacity;
	}
	link->awaited += is_awaited(&one);
	link->pending[link->n] = one;
	return &link->requests[link->n++];
}

void mpi_link_serve(struct mpi_link *link,
                    void (*handle)(void *arg, unsigned from, const struct mpi_message *message),
                    void *arg)
{
	link->handle = handle;
	link->arg = arg;
}

static struct mpi_message *message_copy(struct mpi_link *link, const struct mpi_message *message)
{
	struct mpi_message *copy = malloc(sizeof(*copy));

	if (!copy)
		mpi_link_abort(link, "no memory for a message");
	*copy = *message;
	return copy;
}

static void own_tell(struct mpi_link *link, const struct mpi_message *message)
{
	struct own_message *told = malloc(sizeof(*told));

	if (!told)
		mpi_link_abort(link, "no memory for a message");
	*told = (struct own_message){NULL, *message};
	*link->own_end = told;
	link->own_end = &told->next;
}

void mpi_link_tell_later(struct mpi_link *link, unsigned to, const struct mpi_message *message)
{
	void *copy;

	if (to == link->rank && !link->posts_own) {
		own_tell(link, message);
		return;
	}
	copy = message_copy(link, message);
	check(link, MPI_Isend(copy, sizeof(*message), MPI_BYTE, to, MPI_CHANNEL_MESSAGE, link->comm,
	                      pending_add(link, (struct pending){NULL, NULL, copy, -1})));
}

void mpi_link_post_own(struct mpi_link *link, bool posts)
{
	link->posts_own = posts;
}

void mpi_link_tell(struct mpi_link *link, unsigned to, const struct mpi_message *message)
{
	mpi_link_tell_later(link, to, message);
	if (to != link->rank || link->posts_own)
		mpi_link_ring(link, to);
}

void mpi_link_tell_surely(struct mpi_link *link, unsigned to, const struct mpi_message *message,
                          void (*done)(void *arg), void *arg)
{
	void *copy = message_copy(link, message);

	check(link,
	      MPI_Issend(copy, sizeof(*message), MPI_BYTE, to, MPI_CHANNEL_MESSAGE, link->comm,
	                 pending_add(link, (struct pending){done, arg, copy, -1})));
	mpi_link_ring(link, to);
}

size_t mpi_rows_most(size_t row)
{
	return row < TRANSFER_MOST ? TRANSFER_MOST / row : 1;
}

/* Rows as MPI knows them: so many of a type. */
struct piece {
	int n;
	MPI_Datatype type;
};

/* Rows that lie close are one piece of memory. */
static struct piece piece_of(struct mpi_link *link, const struct mpi_rows *rows)
{
	struct piece piece = {rows->n * rows->row, MPI_BYTE};

	if (rows->row > INT_MAX)
		mpi_link_abort(link, "rows of more than %d bytes cannot be sent", INT_MAX);
	if (rows->row == rows->pitch || rows->n == 1)
		return piece;
	piece.n = 1;
	check(link,
	      MPI_Type_create_hvector(rows->n, rows->row, rows->pitch, MPI_BYTE, &piece.type));
	check(link, MPI_Type_commit(&piece.type));
	return piece;
}

static void piece_free(struct mpi_link *link, struct piece *piece)
{
	if (piece->type != MPI_BYTE)
		check(link, MPI_Type_free(&piece->type));
}

void mpi_link_send(struct mpi_link *link, unsigned to, unsigned channel,
                   const struct mpi_rows *rows, void (*done)(void *arg), void *arg)
{
	struct piece piece = piece_of(link, rows);

	check(link, MPI_Issend(rows->at, piece.n, piece.type, to, channel, link->comm,
	                       pending_add(link, (struct pending){done, arg, NULL, -1})));
	mpi_link_ring(link, to);
	piece_free(link, &piece);
}

void mpi_link_send_off(struct mpi_link *link, unsigned to, unsigned channel,
                       const struct mpi_rows *rows, void (*done)(void *arg), void *arg)
{
	struct piece piece = piece_of(link, rows);

	check(link, MPI_Isend(rows->at, piece.n, piece.type, to, channel, link->comm,
	                      pending_add(link, (struct pending){done, arg, NULL, -1})));
	mpi_link_ring(link, to);
	piece_free(link, &piece);
}

void mpi_link_receive(struct mpi_link *link, unsigned from, unsigned channel,
                      const struct mpi_rows *rows, void (*done)(void *arg), void *arg)
{
	struct piece piece = piece_of(link, rows);

	check(link, MPI_Irecv(rows->at, piece.n, piece.type, from, channel, link->comm,
	                      pending_add(link, (struct pending){done, arg, NULL, from})));
	piece_free(link, &piece);
}

void mpi_link_broadcast(struct mpi_link *link, unsigned root, const struct mpi_rows *rows,
                        void (*done)(void *arg), void *arg)
{
	struct piece piece = piece_of(link, rows);

	check(link, MPI_Ibcast(rows->at, piece.n, piece.type, root, link->comm,
	                       pending_add(link, (struct pending){done, arg, NULL, -1})));
	piece_free(link, &piece);
}

void mpi_link_spread(struct mpi_link *link, void *at, size_t bytes, size_t room)
{
	struct pending one = {NULL, NULL, NULL, -1};

	if (link->rank)
		check(link, MPI_Irecv(at, room, MPI_BYTE, 0, MPI_CHANNEL_AGREE, link->comm,
		                      pending_add(link, one)));
	for (unsigned r = 1; !link->rank && r < link->nranks; r++) {
		check(link, MPI_Isend(at, bytes, MPI_BYTE, r, MPI_CHANNEL_AGREE, link->comm,
		                      pending_add(link, one)));
		mpi_link_ring(link, r);
	}
}

void mpi_link_reduce(struct mpi_link *link, void *values, size_t n, MPI_Datatype type, MPI_Op op)
{
	check(link, MPI_Iallreduce(MPI_IN_PLACE, values, n, type, op, link->comm,
	                           pending_add(link, (struct pending){NULL, NULL, NULL, -1})));
}

void mpi_link_gather(struct mpi_link *link, const void *own, void *all, size_t bytes,
                     void (*done)(void *arg), void *arg)
{
#ifdef HEDDLE_USE_SIMGRID
	/* SMPI's MPI_Iallgather() sends a message from each rank to each, and SimGrid looks for the
	 * end of one among all. */
	if (link->nranks > GATHERED_MOST) {
		check(link, MPI_Igather(own, bytes, MPI_BYTE, all, bytes, MPI_BYTE, 0, link->comm,
		                        pending_add(link, (struct pending){NULL, NULL, NULL, -1})));
		mpi_link_finish(link);
		check(link, MPI_Ibcast(all, bytes * link->nranks, MPI_BYTE, 0, link->comm,
		                       pending_add(link, (struct pending){done, arg, NULL, -1})));
		return;
	}
#endif
	check(link, MPI_Iallgather(own, bytes, MPI_BYTE, all, bytes, MPI_BYTE, link->comm,
	                           pending_add(link, (struct pending){done, arg, NULL, -1})));
}

unsigned mpi_link_under_way(const struct mpi_link *link)
{
	return link->n;
}

/* ---- progress ---- */

/* Finds a transfer that is over, if there is one. */
static bool transfer_find(struct mpi_link *link, int *index)
{
	int flag = 0;

#ifdef HEDDLE_USE_SIMGRID
	/* SMPI's MPI_Testany() ends no collective operation. */
	for (*index = 0; *index < (int)link->n && !flag; *index += !flag)
		check(link, MPI_Test(&link->requests[*index], &flag, MPI_STATUS_IGNORE));
#else
	check(link, MPI_Testany(link->n, link->requests, index, &flag, MPI_STATUS_IGNORE));
#endif
	return flag && *index != MPI_UNDEFINED;
}

/* Ends one transfer that is over, if there is one. */
static bool transfer_end(struct mpi_link *link)
{
	struct pending ended;
	int index;

	if (!link->n || !transfer_find(link, &index))
		return false;
	ended = link->pending[index];
	link->n--;
	link->pending[index] = link->pending[link->n];
	link->requests[index] = link->requests[link->n];
	link->awaited -= is_awaited(&ended);
	if (ended.peer >= 0)
		mpi_link_ring(link, ended.peer);
	if (is_awaited(&ended))
		mpi_link_busy(link, true);
	else if (link->look_ns > LOOK_SENT_NS)
		link->look_ns = LOOK_SENT_NS;
	free(ended.copy);
	if (ended.done)
		ended.done(ended.arg);
	return true;
}

/* Handles one that this rank has told itself, if there is one. */
static bool own_take(struct mpi_link *link)
{
	struct own_message *oldest = link->handle ? own_pop(link) : NULL;

	if (!oldest)
		return false;
	mpi_link_busy(link, true);
	link->handle(link->arg, link->rank, &oldest->message);
	free(oldest);
	return true;
}

/* Handles one short message, if there is one. */
static bool message_take(struct mpi_link *link)
{
	struct expected *oldest = &link->expected[link->oldest];
	struct mpi_message message;
	MPI_Status status;
	int flag;

	if (!link->handle)
		return false;
	check(link, MPI_Test(&oldest->request, &flag, &status));
	if (!flag)
		return false;
	message = oldest->message;
	message_expect(link, oldest);
	link->oldest = (link->oldest + 1) % link->nexpected;
	mpi_watch_heard(&link->watch, status.MPI_SOURCE, mpi_link_now_us());
	mpi_link_busy(link, true);
	link->handle(link->arg, status.MPI_SOURCE, &message);
	return true;
}

void mpi_link_progress(struct mpi_link *link)
{
	while (transfer_end(link) || own_take(link) || message_take(link))
		;
	watch(link);
}

void mpi_link_busy(struct mpi_link *link, bool all)
{
	link->look_ns = LOOK_LEAST_NS;
	if (all)
		link->late = 0;
}

void mpi_link_hold(struct mpi_link *link, bool begins)
{
	link->awaited += begins ? 1 : -1;
	if (begins)
		link->look_ns = link->rung ? LOOK_SENT_NS : LOOK_LEAST_NS;
}

bool mpi_link_is_rung(const struct mpi_link *link)
{
	return link->rung;
}

void mpi_link_wait_most(struct mpi_link *link, double us)
{
	long most = fmin(fmax(us * 1000, LOOK_LEAST_NS), LOOK_RUNG_NS), ns;

	if (link->look_ns > most)
		link->look_ns = most;
	ns = look_next(link);
	sleep_ns(link, ns < most ? ns : most);
}

void mpi_link_wait_idle(struct mpi_link *link, double us)
{
	if (!link->rung) {
		mpi_link_wait_most(link, LOOK_IDLE_NS / 1000);
	} else if (link->look_ns < LOOK_IDLE_MOST_NS || !all_rings(link)) {
		sleep_ns(link, LOOK_IDLE_NS);
		look_less(link);
	} else {
		mpi_link_wait_most(link, us);
	}
}

void mpi_link_finish(struct mpi_link *link)
{
	for (mpi_link_progress(link); mpi_link_under_way(link); mpi_link_progress(link))
		mpi_link_wait_idle(link, HUGE_VAL);
}

/* ---- bells ---- */

#ifndef HEDDLE_USE_SIMGRID
static bool bells_open(struct mpi_link *link)
{
	struct bell_address own, *all = calloc(link->nranks, sizeof(*all));
	bool found = true;

	link->bells = calloc(link->nranks, sizeof(*link->bells));
	if (!all || !link->bells)
		mpi_link_abort(link, "no memory for %u ranks", link->nranks);
	bell_tell(link->bell, &own);
	if (!heddle_variable_number(HEDDLE_VARIABLE_NODE_BELLS))
		own.machine[0] = '\0';
	mpi_link_gather(link, &own, all, sizeof(own), NULL, NULL);
	mpi_link_finish(link);
	for (unsigned r = 0; r < link->nranks; r++)
		found = found && bell_is_near(&all[0], &all[r]);
	for (unsigned r = 0; found && r < link->nranks; r++) {
		link->bells[r] = r == link->rank ? link->bell : bell_open(&all[r]);
		found = link->bells[r];
	}
	free(all);
	return found;
}

void mpi_link_bells(struct mpi_link *link)
{
	int all;

	if (link->bells)
		return;
	all = bells_open(link);
	mpi_link_reduce(link, &all, 1, MPI_INT, MPI_MIN);
	mpi_link_finish(link);
	bell_close(link->bell);
	link->rung = all;
	if (!all)
		bells_free(link);
}
#else
/* Simulated ranks are on machines of their own. */
void mpi_link_bells(struct mpi_link *link)
{
}
#endif
