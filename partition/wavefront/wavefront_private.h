/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the files of the wavefront over StarPU share.
 *
 * A wavefront is a control task, which holds its data in main memory and is ended when
 * all is home; lanes, one a worker; and strips, one a band of rows, each with a lane
 * that owns it. A strip submits its tiles in their order, each when the strips beside
 * it are far enough. One mutex guards all that changes.
 *
 * A lane is at home when its worker computes in main memory: its tiles use the arrays
 * in place and have no handles. A strip of another lane has its part of each array as
 * a handle on that device. Boundaries between two strips, one of which is away, are
 * handles of their own on just these elements in main memory, written by the tile that
 * finishes them and read by one tile of the other strip: StarPU moves them, and a
 * strip that is away copies them to and from its own part.
 */
#ifndef HEDDLE_WAVEFRONT_PRIVATE_H
#define HEDDLE_WAVEFRONT_PRIVATE_H

#include <stdbool.h>

#include <heddle/wavefront.h>

#include "estimator/robust.h"
#include "partition/common/array_starpu.h"
#include "partition/common/control_starpu.h"
#include "partition/common/task_starpu.h"
#include "choice.h"
#include "cost.h"
#include "crew.h"
#include "interval.h"
#include "tiles.h"

#ifdef HEDDLE_USE_SIMGRID
#define WAVE_SIMULATED 1
#else
#define WAVE_SIMULATED 0
#endif

#define WAVE_MAXARRAYS HEDDLE_WAVEFRONT_MAXARRAYS
/* Two more for what written rows and columns imply. */
#define WAVE_MAXVECTORS (HEDDLE_WAVEFRONT_MAXVECTORS + 2)

/* ---- arrays: array_starpu.c ---- */

struct array {
	struct heddle_wave_array given; /* per_iteration at least 1 */
	struct home_array home;
	starpu_data_handle_t whole; /* shared by all devices; NULL until needed */
};

/* Some of an array: rows of a field, and columns of it or elements of a vector. */
struct patch {
	size_t row, rows; /* vector: 0, 1 */
	struct interval columns;
};

int array_init(struct array *array, const struct heddle_wavefront *wavefront, unsigned index,
               const char *name);
int arrays_check_overlap(const struct array *arrays, unsigned narrays, const char *name);
/* Bytes of one row that a device must hold. */
size_t array_row_bytes(const struct array *array);
/* Whether every tile sees all of it, as it is. */
bool array_is_shared(const struct array *array);
/* Whether what one band writes of it, the next one reads. */
bool array_crosses(const struct array *array);
/* The array for the kernel, as a band sees it in main memory. */
void array_interface(const struct array *array, const struct band *band,
                     union array_interface *interface);
/* Registers a band's part: ghost rows above and below it come along to a device, and do
 * not return. */
starpu_data_handle_t array_register_band(const struct array *array, const struct band *band,
                                         size_t above, size_t below);
starpu_data_handle_t array_register_patch(const struct array *array, const struct patch *patch);
starpu_data_handle_t array_register_whole(const struct array *array);
/* On a device, by the calling worker: makes the kernel's interface of the band's
 * buffer, which has `above` ghost rows. */
void array_enter(const struct array *array, const struct band *band, size_t above,
                 const void *buffer, union array_interface *interface);
/* Copies between a patch's buffer and the band's part, both on the calling worker's
 * device, in its stream or queue. */
int array_copy(const struct array *array, const struct patch *patch, const struct band *band,
               const union array_interface *part, void *patch_buffer, bool to_part);

/* ---- lanes, strips and tiles ---- */

struct lane {
	struct heddle_worker_stats stats;
	unsigned index;
	unsigned kind; /* of the model */
	bool home;     /* its worker computes in main memory */
	bool excluded; /* does not pay */
	bool waiting;  /* in the crew */
	unsigned implementation;
	unsigned depth; /* tiles of a strip it may have in flight */
	double owed;    /* rows that rounding has kept from its bands so far */
	size_t maximum; /* rows of a band that its memory holds, 0: no bound */
	unsigned in_flight;
	double busy_since_us, last_done_us;
	struct tile_cost cost;       /* of its tiles; iteration 0: not known */
	double plan_cp;              /* µs an iteration of its bands, all counted, by the plan */
	double cp;                   /* and as its tiles have shown; 0: not known */
	struct heddle_robust us;     /* of an iteration, in its latest tiles */
	struct heddle_robust pace;   /* these tiles' time in relation to their cost */
	double took_us, expected_us; /* of all of them */
	unsigned fresh;              /* tiles since a width was decided by them */
	/* At home: µs from when a tile could have begun to its beginning. */
	struct heddle_robust handover;
};

/* A boundary on its way from one strip to the next. */
struct message {
	struct message *next;
	size_t number;                        /* the tile it comes from, all sweeps counted */
	struct patch patches[WAVE_MAXARRAYS]; /* columns.begin == end: none */
	starpu_data_handle_t handles[WAVE_MAXARRAYS];
};

enum side { ABOVE, BELOW, NSIDES };

struct strip {
	struct heddle_wavefront_request *wave;
	struct band band;
	size_t index;
	struct lane *owner; /* NULL until StarPU's policy has placed it */
	size_t tiles;       /* of one sweep */
	size_t total;       /* of all sweeps */
	size_t submitted, done;
	bool submitting;       /* a thread is about to */
	bool away;             /* has handles */
	bool flushed;          /* sent home */
	size_t ghosts[NSIDES]; /* rows beside it that its fields with halo have */
	starpu_data_handle_t handles[WAVE_MAXARRAYS];
	bool written[WAVE_MAXARRAYS]; /* scratch of HEDDLE_COLUMNS: holds something */
	/* Boundaries that left this strip upwards and downwards and have not arrived. */
	struct message *sent[NSIDES], **sent_end[NSIDES];
	size_t heard[NSIDES]; /* tiles of the strip there whose boundaries have arrived */
	size_t fed;           /* first strip: columns of the initial state that have */
	double us;            /* of all its tiles */
	size_t asked;         /* rows that the strategy gave for it */
};

/* A patch that a tile's task reads or writes. */
struct exchange {
	unsigned array;
	struct patch patch;
	starpu_data_handle_t handle;
	bool in; /* read, and not needed again */
};

struct tile {
	struct heddle_tile given; /* first, so that cl_arg is the tile */
	struct strip *strip;
	size_t number; /* in the strip, all sweeps counted */
	bool away;     /* its task has the strip's handles */
	unsigned nexchanges, room;
	struct exchange *exchanges;
	double iterations;
	double submit_us, begin_us;
	struct tile *next; /* in the list of spare tiles */
};

enum placement {
	PLACE_BY_SPEED,    /* widths follow measured speeds */
	PLACE_BY_STRATEGY, /* a block strategy cuts the rows */
	PLACE_BY_STOCK     /* equal bands, StarPU's policy places the first tile of each */
};

struct heddle_wavefront_request {
	struct heddle_wavefront given;
	char *name; /* a piece's is that of its whole */
	struct heddle_dependence vectors[WAVE_MAXVECTORS];
	struct space space;
	struct reach reach;
	size_t sweeps;
	struct array arrays[WAVE_MAXARRAYS];
	unsigned nlanes;
	struct lane *lanes;
	short lane_of_worker[STARPU_NMAXWORKERS];
	struct worker_set workers; /* those that have one */
	struct starpu_codelet tile_codelet;
	struct control control;
	enum placement placement;
	char *strategy; /* specification; NULL: stock policy */

	starpu_pthread_mutex_t mutex;
	struct interval_model model;
	double paces[INTERVAL_MAXKINDS]; /* that its costs have been multiplied with */
	bool free;                       /* h and k are the model's choice */
	struct heddle_strategy *blocks;  /* PLACE_BY_STRATEGY */
	struct crew crew;
	size_t h;
	size_t chosen_h, model_h; /* when it began: h, and what the model alone says */
	unsigned k;
	size_t nstrips, room;
	struct strip **strips;
	size_t rows_given;
	double owed;       /* several sweeps: rows that rounding has kept from bands so far */
	size_t references; /* tiles and outputs under way, and one while it starts */
	struct tile *spare;
	int status;
	double start_us, end_us, measuring_us, overhead_us, predicted_us;
	size_t ntiles, nmessages;
	bool logged; /* a log of tiles is wanted */
	struct tile_record *records;
	size_t nrecords, records_room;
	size_t nunlogged; /* tiles, no memory for their records */
	unsigned nexcluded;
	/* A piece that is measured: the wavefront it belongs to. */
	struct heddle_wavefront_request *whole;
	struct measurement *measurement; /* of this one's kernels, while it goes on */
};

/* strip_starpu.c */
/* Gives bands to lanes that wait, as far as there are rows. */
void strips_deal(struct heddle_wavefront_request *wave);
/* Submits tiles of a strip that are ready. NULL is allowed. */
void strip_advance(struct strip *strip);
struct strip *strip_beside(const struct strip *strip, enum side side);
void strip_finished(struct strip *strip);
void strip_flush(struct strip *strip);
/* Places the strip where StarPU's policy has put its first tile. */
void strip_settle(struct strip *strip, struct lane *lane);
void wave_release(struct heddle_wavefront_request *wave);

/* message_starpu.c */
/* Mutex held: what a tile's task exchanges with the strips beside it. */
int tile_exchanges(struct tile *tile);
void messages_free(struct strip *strip);
/* Mutex held: how far the strip on a side must be before a tile may start. */
size_t tile_waits(const struct strip *strip, size_t number, enum side side);

/* tile_starpu.c */
int tile_submit(struct tile *tile);
void tile_function(void *buffers[], void *arg);
struct tile *tile_new(struct strip *strip);
void tile_free(struct tile *tile);

/* plan_starpu.c */
/* Groups lanes into kinds; costs are what is known of them. */
void wave_kinds(struct heddle_wavefront_request *wave);
/* Decides h, k and who takes part. */
int wave_plan(struct heddle_wavefront_request *wave);
/* Rows of the next band of a lane; 0: none now. Mutex held.
 * @param[out] asked whether the strategy has said so, and is to hear of it */
size_t lane_width(struct heddle_wavefront_request *wave, struct lane *lane, bool *asked);
/* What tiles of a kind take in relation to their cost, by those of its lanes that have
 * done `enough` of them; 1: none has. */
double kind_pace(const struct heddle_wavefront_request *wave, unsigned kind, unsigned enough);

/* measure_starpu.c */
/* Measures kernels of which nothing is known on small pieces of the loop, one after the
 * other, and calls wave_go() when all is known. */
void wave_measure(struct heddle_wavefront_request *wave);
/* A piece has come to its end. */
void piece_measured(struct heddle_wavefront_request *piece);

/* known_starpu.c */
/* What tiles cost a lane, in its class of devices.
 * @return false: nothing is known */
bool speed_find(const struct heddle_wavefront_request *wave, const struct lane *lane,
                struct tile_cost *cost);
void speed_set(const struct heddle_wavefront_request *wave, const struct lane *lane,
               struct tile_cost cost);
/* What the tiles of a whole wavefront have taken; stored where it no longer fits. */
void speeds_learn(struct heddle_wavefront_request *wave);
/* What wavefronts about as large as this one took crews of its kinds.
 * @return how many there are, `room` at the most */
unsigned trials_find(struct heddle_wavefront_request *wave, struct choice_trial *trials,
                     unsigned room);
/* Whether this process has added to them: what it does once only is to be the best known. */
bool trials_are_fresh(const struct heddle_wavefront_request *wave);
/* What this one took. */
void trial_keep(struct heddle_wavefront_request *wave);

/* log_starpu.c */
/* Mutex held. */
void log_tile(struct heddle_wavefront_request *wave, const struct tile *tile,
              const struct lane *lane, double begin_us, double end_us);
void log_tiles(struct heddle_wavefront_request *wave);

/* wavefront_starpu.c */
/* A wavefront that is part of another one: `piece` of its arrays is given, on one lane,
 * and `measured` is called at its end. */
struct heddle_wavefront_request *wave_piece(struct heddle_wavefront_request *whole,
                                            const struct lane *lane, size_t rows, size_t columns,
                                            size_t h);
void wave_free(void *wave);
/* Plans and starts; one reference is the caller's. */
void wave_go(struct heddle_wavefront_request *wave);
void wave_end(struct heddle_wavefront_request *wave);

static inline size_t strip_tile(const struct strip *strip, size_t number)
{
	return number % strip->tiles;
}

static inline size_t strip_sweep(const struct strip *strip, size_t number)
{
	return number / strip->tiles;
}

#endif
