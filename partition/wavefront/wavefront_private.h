/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the files of the wavefront over StarPU share. A wavefront is a control task, which
 * holds its data in main memory and ends when all is written back; the workers that take
 * part; and strips. A strip is a band of rows, the worker that owns it, and how far it is.
 * One mutex guards all that changes.
 */
#ifndef HEDDLE_WAVEFRONT_PRIVATE_H
#define HEDDLE_WAVEFRONT_PRIVATE_H

/* A CPU worker computes in main memory: its tiles use the arrays in place and have no
 * handles. A strip of another worker has its part of each array as a handle on that device.
 * Boundaries between two strips, at least one of which is on a device, are handles of their
 * own on these elements in main memory. The tile that finishes them writes them, and one tile
 * of the other strip reads them. StarPU moves them, and a strip on a device copies them from
 * and to its own part. */

#include <stdbool.h>

#include <heddle/wavefront.h>

#include "estimator/robust.h"
#include "partition/common/array_starpu.h"
#include "partition/common/control_starpu.h"
#include "partition/common/task_starpu.h"
#include "support/starpu_compat.h"
#include "part.h"
#include "balance.h"
#include "choice.h"
#include "cost.h"
#include "team.h"
#include "model.h"
#include "tiles.h"

#define WAVE_MAXARRAYS HEDDLE_WAVEFRONT_MAXARRAYS
/* Two more for what written rows and columns imply. */
#define WAVE_MAXVECTORS (HEDDLE_WAVEFRONT_MAXVECTORS + 2)

/* ---- arrays: array_starpu.c ---- */

struct wave_array {
	struct heddle_wave_array given; /* per_iteration at least 1 */
	struct work_array main;
	const struct wave_range *ranges; /* whose rows it has, each with the `above` before it */
	unsigned nranges, index;         /* its own in theirs; 0 ranges: a sample's */
	size_t above;
	starpu_data_handle_t whole; /* shared by all devices; NULL until needed */
};

/* Some of an array: rows of a field, and columns of it or elements of a vector. */
struct wave_patch {
	size_t row, rows; /* vector: 0, 1 */
	struct wave_columns columns;
};

/* ---- workers, strips and tiles ---- */

struct wave_worker {
	struct heddle_worker_stats stats;
	unsigned index;
	unsigned kind; /* of the model */
	bool host;     /* computes in main memory */
	bool excluded; /* the loop is faster without it */
	bool waiting;  /* in the team's queue */
	unsigned implementation;
	unsigned depth; /* tiles of a strip it may have in flight */
	double owed;    /* rows that rounding has kept from its bands so far */
	unsigned dealt; /* ranges of rows until the latest that it has a band of */
	size_t maximum; /* rows of a band that its memory holds, 0: no bound */
	unsigned in_flight;
	double busy_since_us, last_done_us;
	struct wave_tile_cost cost;  /* of its tiles; iteration 0: not known */
	double plan_cp;              /* µs an iteration of its bands, all counted, by the plan */
	double cp;                   /* and as its tiles have shown; 0: not known */
	struct heddle_robust us;     /* of an iteration, in its latest tiles */
	struct heddle_robust pace;   /* these tiles' time in relation to their cost */
	double took_us, expected_us; /* of all of them */
	unsigned fresh;              /* tiles since a width was decided by them */
	struct wave_speed speed;     /* several sweeps: since bands were dealt */
	/* On a CPU worker: µs from when a tile could have begun to its beginning. */
	struct heddle_robust handover;
};

/* A boundary on its way from one strip to the next. */
struct wave_message {
	struct wave_message *next;
	size_t number;                             /* the tile it comes from, all sweeps counted */
	struct wave_patch patches[WAVE_MAXARRAYS]; /* columns.begin == end: none */
	starpu_data_handle_t handles[WAVE_MAXARRAYS];
};

struct wave_strip {
	struct heddle_wavefront_request *wave;
	struct wave_band band;
	size_t index;
	unsigned range;            /* that its rows are of */
	struct wave_worker *owner; /* NULL until StarPU's policy has placed it */
	size_t tiles;              /* of one sweep */
	size_t total;              /* of all sweeps */
	size_t submitted, done;
	bool submitting;       /* a thread is about to */
	bool on_device;        /* has handles */
	bool flushed;          /* written back or dropped */
	bool beyond;           /* another process computes it */
	size_t ghosts[NSIDES]; /* rows beside it that its fields with halo have */
	starpu_data_handle_t handles[WAVE_MAXARRAYS];
	bool written[WAVE_MAXARRAYS]; /* scratch of HEDDLE_COLUMNS: holds something */
	/* Boundaries sent upwards and downwards that no tile has received yet. */
	struct wave_message *sent[NSIDES], **sent_end[NSIDES];
	size_t received[NSIDES]; /* tiles of the strip there whose boundaries were received */
	size_t initial;          /* first strip: columns of the initial state that have */
	double us;               /* of all its tiles */
	size_t asked;            /* rows that the strategy gave for it */
	/* Several sweeps: strips beside each other of one part become one when equally far. */
	size_t part;
	bool gone;               /* cut, or joined to another one */
	struct wave_strip *next; /* of those that are gone */
};

/* A patch that a tile's task reads or writes. */
struct wave_exchange {
	unsigned array;
	struct wave_patch patch;
	starpu_data_handle_t handle;
	bool in; /* read, and not needed again */
};

struct wave_tile {
	struct heddle_tile given; /* first, so that cl_arg is the tile */
	struct wave_strip *strip;
	size_t number;  /* in the strip, all sweeps counted */
	bool on_device; /* its task has the strip's handles */
	unsigned nexchanges, room;
	struct wave_exchange *exchanges;
	double iterations;
	double submit_us, begin_us;
	struct wave_tile *next; /* in the list of spare tiles */
};

enum wave_placement {
	PLACE_BY_SPEED,    /* widths follow measured speeds */
	PLACE_BY_STRATEGY, /* a block strategy cuts the rows */
	PLACE_BY_STOCK     /* equal bands, StarPU's policy places the first tile of each */
};

struct heddle_wavefront_request {
	struct heddle_wavefront given;
	char *name; /* a sample's is that of the whole */
	struct heddle_dependence vectors[WAVE_MAXVECTORS];
	struct wave_space space;
	size_t rows;                     /* that are computed here */
	const struct wave_range *ranges; /* of them */
	struct wave_range whole_range;   /* the only one if all are */
	unsigned nranges;
	const struct wave_part *part;            /* NULL: all are */
	struct wave_frontier *frontiers[NSIDES]; /* of each range, to rows elsewhere; NULL: none */
	struct wave_reach reach;
	size_t sweeps;
	struct wave_array arrays[WAVE_MAXARRAYS];
	unsigned nworkers;
	struct wave_worker *workers;
	short worker_of_id[STARPU_NMAXWORKERS];
	struct work_ids ids; /* StarPU's, of the workers */
	struct starpu_codelet tile_codelet;
	struct control control;
	enum wave_placement placement;
	char *strategy; /* specification; NULL: stock policy */

	starpu_pthread_mutex_t mutex;
	struct wave_model model;
	double paces[WAVE_MAXKINDS]; /* that its costs have been multiplied with */
	bool free;                   /* tile_columns and bands_per_worker are the model's choice */
	struct heddle_strategy *blocks; /* PLACE_BY_STRATEGY */
	struct wave_team team;
	size_t tile_columns;                  /* of tiles of bands to come */
	size_t chosen_columns, model_columns; /* when it began: tile_columns, and the model's */
	unsigned bands_per_worker;
	size_t nstrips, room;
	struct wave_strip **strips;
	unsigned range;    /* of which the next band is */
	size_t rows_given; /* row of the loop that it begins with */
	size_t rows_left;  /* for it and those after it */
	double owed;       /* several sweeps: rows that rounding has kept from bands so far */
	size_t references; /* tiles and outputs under way, and one while it starts */
	/* Several sweeps: bands are about to be dealt again. Until strips are cut that is one of
	 * the references. */
	bool dealing, cutting, held;
	bool again;       /* bands get other heights; else their strips on devices are joined */
	size_t returning; /* arrays of strips on their way to main memory, and one to begin with */
	unsigned ndealt, npauses;     /* how often they were, and strips were stopped */
	double stopped_us, paused_us; /* when strips were stopped, and how long in all */
	struct wave_strip *gone;
	struct wave_tile *spare;
	int status;
	double start_us, end_us, measuring_us, overhead_us, predicted_us, model_us;
	size_t ntiles, nmessages;
	bool logged; /* a log of tiles is wanted */
	struct wave_record *records;
	size_t nrecords, records_room;
	size_t nunlogged; /* tiles, no memory for their records */
	unsigned nexcluded;
	void (*ended)(struct heddle_wavefront_request *wave);
	struct heddle_wavefront_request *whole; /* a sample: the wavefront it is of; else NULL */
	struct wave_measurement *measurement;   /* of this one's costs, while it goes on */
	bool measures;                          /* and does nothing else */
	bool over;                              /* a part: it has ended */
};

/* Mutex held: rows of the present range that no band has yet. */
static inline size_t wave_range_left(const struct heddle_wavefront_request *wave)
{
	const struct wave_range *range = &wave->ranges[wave->range];

	return range->first + range->rows - wave->rows_given;
}

/* ---- array_starpu.c ---- */

int wave_array_init(struct wave_array *array, const struct heddle_wavefront *wavefront,
                    unsigned index, const char *name);
/* Bytes of one row that a device must hold. */
size_t wave_array_row_bytes(const struct wave_array *array);
/* Whether every tile sees all of it, as it is. */
bool wave_array_is_shared(const struct wave_array *array);
/* Whether what one band writes of it, the next one reads. */
bool wave_array_crosses(const struct wave_array *array);
/* The array for the kernel, as a band sees it in main memory. */
void wave_array_interface(const struct wave_array *array, const struct wave_band *band,
                          union work_array_interface *interface);
/* Where a row of it, or the elements of HEDDLE_COLUMNS, begin at a column in main memory. */
char *wave_array_place(const struct wave_array *array, size_t row, size_t column);
/* Registers a band's part: ghost rows above and below it are copied to a device, and are not
 * written back. */
starpu_data_handle_t wave_array_register_band(const struct wave_array *array,
                                              const struct wave_band *band, size_t above,
                                              size_t below);
starpu_data_handle_t wave_array_register_patch(const struct wave_array *array,
                                               const struct wave_patch *patch);
starpu_data_handle_t wave_array_register_whole(const struct wave_array *array);
/* On a device, by the calling worker: makes the kernel's interface of the band's buffer,
 * which has `above` ghost rows. */
void wave_array_enter(const struct wave_array *array, const struct wave_band *band, size_t above,
                      const void *buffer, union work_array_interface *interface);
/* Copies between a patch's buffer and the band's part, both on the calling worker's device,
 * in its stream or queue. */
int wave_array_copy(const struct wave_array *array, const struct wave_patch *patch,
                    const struct wave_band *band, const union work_array_interface *part,
                    void *patch_buffer, bool to_part);

/* ---- setup_starpu.c ---- */

/* @param part NULL: all rows
 * @param start what the control task runs
 * @param ended called when all is written back, or after a failure
 * @return 0; -ENOMEM, or another error after a message */
int wave_make(const struct heddle_wavefront *given, const struct wave_part *part,
              void (*start)(void *wave), void (*ended)(struct heddle_wavefront_request *wave),
              struct heddle_wavefront_request **made);
void wave_free(void *wave);
/* The vectors, and those that written rows and columns imply.
 * @param[out] vectors WAVE_MAXVECTORS of them
 * @return how many */
unsigned wave_vectors_all(const struct heddle_wavefront *given, struct heddle_dependence *vectors);
/* A wavefront of one worker, on copies of the first rows and columns of another one's arrays.
 * It has no control task.
 * @return NULL: no memory */
struct heddle_wavefront_request *
wave_make_sample(struct heddle_wavefront_request *whole, const struct wave_worker *worker,
                 size_t rows, size_t columns, size_t tile_columns,
                 void (*ended)(struct heddle_wavefront_request *sample));
void wave_free_sample(struct heddle_wavefront_request *sample);

/* ---- calibration_starpu.c ---- */

/* Measures the costs that are not known on samples of the loop, then begins the wavefront and
 * releases it. */
void wave_calibrate(struct heddle_wavefront_request *wave);

/* ---- plan_starpu.c ---- */

/* Decides the columns of a tile, the bands per worker and who takes part. */
int wave_plan(struct heddle_wavefront_request *wave);
/* Mutex held: rows of the next band of a worker; 0: none now.
 * @param[out] asked whether the strategy has said so, and is to be told of its time */
size_t wave_worker_width(struct heddle_wavefront_request *wave, struct wave_worker *worker,
                         bool *asked);

/* ---- history_starpu.c ---- */

/* What tiles cost a worker, by its device class.
 * @return false: not known */
bool wave_cost_find(const struct heddle_wavefront_request *wave, const struct wave_worker *worker,
                    struct wave_tile_cost *cost);
void wave_cost_set(const struct heddle_wavefront_request *wave, const struct wave_worker *worker,
                   struct wave_tile_cost cost);
/* Corrects costs by what the tiles of a whole wavefront have taken. */
void wave_costs_learn(struct heddle_wavefront_request *wave);
/* What tiles of a kind take in relation to their cost, by those of its workers that have done
 * `enough` of them; 1: none has. */
double wave_kind_pace(const struct heddle_wavefront_request *wave, unsigned kind, unsigned enough);
/* A factor by which these costs seemed to be wrong in the last wavefront, and which the one before
 * has not confirmed; 1: none. */
double wave_cost_doubt(const struct heddle_wavefront_request *wave,
                       const struct wave_worker *worker);
/* What wavefronts about as large as this one took teams of its kinds.
 * @param asked those whose h or k was given; else those whose h and k were chosen
 * @return how many there are, `room` at the most */
unsigned wave_runs_find(struct heddle_wavefront_request *wave, bool asked, struct wave_run *runs,
                        unsigned room);
/* Whether this process has added to them. A process that runs the loop only once is to run
 * the best known plan. */
bool wave_runs_are_fresh(const struct heddle_wavefront_request *wave);
/* Keeps what this one took. */
void wave_run_keep(struct heddle_wavefront_request *wave);

/* ---- run_starpu.c ---- */

/* Plans and deals out the first bands. The caller has a reference. */
void wave_begin(struct heddle_wavefront_request *wave);
/* Drops a reference: the last one ends the wavefront. */
void wave_release(struct heddle_wavefront_request *wave);
/* Mutex held. It is not among the wavefront's strips. NULL: no memory. */
struct wave_strip *wave_strip_make(struct heddle_wavefront_request *wave,
                                   struct wave_worker *worker, const struct wave_band *band);
/* Makes handles of its part of every array. */
void wave_strip_register(struct wave_strip *strip);
/* Writes back what is no longer needed of a strip and those beside it. */
void wave_strip_flush_around(struct wave_strip *strip);
/* Submits the tiles of a strip that are ready. NULL: nothing. */
void wave_strip_advance(struct wave_strip *strip);

/* ---- wavefront_starpu.c ---- */

/* As heddle_wavefront_submit(), of some rows. */
int wave_submit(const struct heddle_wavefront *given, const struct wave_part *part,
                struct heddle_wavefront_request **request);

/* Only calibrates. */
int wave_measure(const struct heddle_wavefront *given, const struct wave_part *part,
                 struct heddle_wavefront_request **request);

/* ---- part_starpu.c ---- */

/* Mutex held: the strip beyond the rows that are computed here, if this one is the last on that
 * side; NULL: none. */
struct wave_strip *wave_part_beyond(const struct wave_strip *strip, enum wave_side side);
/* Mutex held: whether a strip's next tile would overwrite what was not sent yet. */
bool wave_part_holds(const struct wave_strip *strip);
/* Mutex held: a tile is done.
 * @return whether wave_part_leave() is to be called */
bool wave_part_computed(const struct wave_tile *tile);
/* Brings boundaries of tiles that are done to main memory. */
void wave_part_leave(struct heddle_wavefront_request *wave);
int wave_part_init(struct heddle_wavefront_request *wave);
void wave_part_fini(struct heddle_wavefront_request *wave);
/* All is written back. */
void wave_part_ended(struct heddle_wavefront_request *wave);

/* ---- balance_starpu.c ---- */

/* Mutex held: what a tile took in relation to its cost. */
void wave_balance_add(struct wave_worker *worker, double pace);
/* Mutex held: joins a strip to those beside it that belong to it and are as far.
 * @return the strip that has its rows */
struct wave_strip *wave_balance_join(struct wave_strip *strip);
/* Mutex held: a worker's tile is done. If it has become slower or faster, bands are to be dealt
 * again. */
void wave_balance_look(struct heddle_wavefront_request *wave, struct wave_worker *worker);
/* Mutex held: a strip's tile is done. If strips on devices that have been cut can be joined, they
 * are to be. */
void wave_balance_tidy(struct heddle_wavefront_request *wave, const struct wave_strip *strip);
/* Mutex held: whether a strip must not go on: bands are about to be dealt again, or a strip that
 * it is to be joined with is behind. */
bool wave_balance_holds(const struct wave_strip *strip);
/* Mutex held: whether all strips have stopped. The caller then deals, without the mutex. */
bool wave_balance_is_due(struct heddle_wavefront_request *wave);
void wave_balance_deal(struct heddle_wavefront_request *wave);

/* ---- message_starpu.c ---- */

/* Mutex held: what a tile's task exchanges with the strips beside it. */
int wave_tile_exchanges(struct wave_tile *tile);
/* Drops what was not received. */
void wave_messages_free(struct wave_strip *strip);
/* The part of an array that a tile of a band sends to a side. @return false: nothing */
bool wave_message_patch(const struct heddle_wavefront_request *wave, const struct wave_band *band,
                        const struct wave_array *array, size_t tile, enum wave_side to,
                        struct wave_patch *patch);
/* Mutex held: how far the strip on a side must be before a tile may start. */
size_t wave_tile_waits(const struct wave_strip *strip, size_t number, enum wave_side side);
/* Mutex held. NULL: none. */
struct wave_strip *wave_strip_beside(const struct wave_strip *strip, enum wave_side side);

/* ---- tile_starpu.c ---- */

/* Mutex held: the strip's next tile; NULL: no memory. */
struct wave_tile *wave_tile_new(struct wave_strip *strip);
void wave_tile_free(struct wave_tile *tile);
/* @param done the task's callback
 * @return 0; otherwise StarPU refuses the task */
int wave_tile_submit(struct wave_tile *tile, void (*done)(void *tile));
/* Of the codelet of tiles. */
void wave_tile_function(void *buffers[], void *arg);

/* Its arrays, as partition/common knows them. */
static inline struct work_arrays wave_arrays(struct heddle_wavefront_request *wave)
{
	return (struct work_arrays){&wave->arrays[0].main, sizeof(wave->arrays[0]),
	                            wave->given.narrays, "wavefront", wave->name};
}

static inline size_t strip_tile(const struct wave_strip *strip, size_t number)
{
	return number % strip->tiles;
}

static inline size_t strip_sweep(const struct wave_strip *strip, size_t number)
{
	return number / strip->tiles;
}

#endif
