/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What is known of the tasks of one codelet: for each set of parameters (a point)
 * the time on each class of devices, and what follows from it for the times that
 * are not known.
 *
 * Pure and not synchronised: the caller serialises.
 */
#ifndef HEDDLE_ESTIMATOR_HISTORY_H
#define HEDDLE_ESTIMATOR_HISTORY_H

#include <stdbool.h>
#include <stddef.h>

#include "estimator/knn.h"
#include "estimator/profile.h"

#define HEDDLE_HISTORY_DIMENSIONS 8
#define HEDDLE_HISTORY_CLASSES 8
#define HEDDLE_HISTORY_NAME 32 /**< of a parameter, with its end */
#define HEDDLE_HISTORY_WORD 64 /**< of a category, with its end */
#define HEDDLE_HISTORY_SIZES 4 /**< of a task's data that are kept */

/** Between which times one is expected, µs; 0 to 0: not known. */
struct heddle_history_range {
	double low, high;
};

/** Samples of which the least and the largest are a range. */
#define HEDDLE_HISTORY_SAMPLES 4

/** Predictions lie between these, us, wherever what was measured leads: a nanosecond, decades. */
#define HEDDLE_HISTORY_SHORTEST_US 1e-3
#define HEDDLE_HISTORY_LONGEST_US 1e15

struct heddle_history_point {
	double values[HEDDLE_HISTORY_DIMENSIONS]; /**< NaN: missing */
	double logs[HEDDLE_HISTORY_DIMENSIONS];   /**< of numbers above 0; NaN: there is none */
	double us[HEDDLE_HISTORY_CLASSES];        /**< 0: not known */
	/** The least and the largest of the times that a profile has, of HEDDLE_HISTORY_SAMPLES at
	 * least. */
	struct heddle_history_range samples[HEDDLE_HISTORY_CLASSES];
	double sizes[HEDDLE_HISTORY_SIZES]; /**< of its data, bytes; 0: no more, or not known */
	double operations;                  /**< that the task states; 0: none */
};

/** How times on a class follow from parameters, as far as that was learned from them. All zero: as
 * of codelets in general. */
struct heddle_history_law {
	double noise;                                /**< above 0: of times, as logarithms */
	double start;                                /**< of each time, µs; 0: none */
	double relevance[HEDDLE_HISTORY_DIMENSIONS]; /**< logarithms: how much steps count */
};

/** A surface through all points with a time on a class. */
struct heddle_history_surface;

/** Most of them. */
#define HEDDLE_HISTORY_SURFACE 128

/** All zero: nothing known. */
struct heddle_history {
	unsigned ndimensions;
	struct heddle_knn_dimension dimensions[HEDDLE_HISTORY_DIMENSIONS];
	char names[HEDDLE_HISTORY_DIMENSIONS][HEDDLE_HISTORY_NAME];
	size_t npoints, points_room;
	struct heddle_history_point *points;
	/** The words of all categories; a point's value is the index of one. */
	size_t nwords, words_room;
	char (*words)[HEDDLE_HISTORY_WORD];
	size_t known[HEDDLE_HISTORY_CLASSES]; /**< points with a time on each class */
	struct heddle_history_law laws[HEDDLE_HISTORY_CLASSES]; /**< heddle_history_learn() */
	/** The same; NULL: there is none. */
	struct heddle_history_surface *surfaces[HEDDLE_HISTORY_CLASSES];
	/** Bit c: class c is a device that small tasks do not fill, such as a GPU;
	 * heddle_history_load() sets it of all but cores. */
	unsigned wide;
};

void heddle_history_free(struct heddle_history *history);

/** The dimension of that name, made if there is none.
 * @return 0; -EINVAL when the name is none, is one that profiles need (device, us,
 * samples, at), or already that of a parameter of
 * the other sort; -ENOSPC when there are too many. */
int heddle_history_dimension(struct heddle_history *history, const char *name, bool categorical,
                             unsigned *dimension);

/** The value that stands for a word of a category.
 * @return 0; -EINVAL when the word is empty or too long; -ENOMEM. */
int heddle_history_word(struct heddle_history *history, const char *word, double *value);

/** Adds a point without times.
 * @param values HEDDLE_HISTORY_DIMENSIONS of them
 * @return 0; -ENOMEM. */
int heddle_history_add(struct heddle_history *history, const double *values, size_t *point);

/** The point with just these values; the number of points when there is none. */
size_t heddle_history_find(const struct heddle_history *history, const double *values);

/** Sets the time of a point on a class, µs. */
void heddle_history_set(struct heddle_history *history, size_t point, unsigned class, double us);

/** How far a point is from some values: of numbers above 0 the logarithm of their ratio, of others
 * as heddle_knn_distance(). */
double heddle_history_distance(const struct heddle_history *history, const double *values,
                               size_t point);

/** The class of a device; below 0: not wanted. */
typedef int (*heddle_history_class)(const char *device, void *arg);

/** What is wrong with a profile's record of a task, which nothing can be learned from.
 * @return NULL: nothing, or it is no record of a task */
const char *heddle_history_wrong(const struct heddle_profile_record *record);

/** Adds what a profile's records of tasks say of devices that have a class. A
 * record that makes no sense here is left out. A parameter that is new to the history is a number
 * or a word, as in most records.
 * @return 0; -ENOMEM. */
int heddle_history_load(struct heddle_history *history, const struct heddle_profile *profile,
                        heddle_history_class class, void *arg);

/** Why heddle_history_load() has left a record of that profile out: as heddle_history_wrong(), or
 * it does not go with the records before it. NULL: it has not, or it is no record of a task. */
const char *heddle_history_left_out(const struct heddle_history *history,
                                    const struct heddle_profile_record *record);

/** Learns for each class with HEDDLE_HISTORY_LAW points or more how noisy its times are, how long
 * its tasks take to start and which parameters matter: what makes up to 48 of the points likeliest.
 * Predictions with a fit go by that. Of a class with HEDDLE_HISTORY_SURFACE points or fewer, all of
 * which have the same parameters and numbers above 0, it makes a surface through all of them, which
 * follows heddle_history_set() until one of this ends. It takes about a millisecond for each class.
 */
void heddle_history_learn(struct heddle_history *history);

/** Points that it takes. */
#define HEDDLE_HISTORY_LAW 12

/** How neighbours predict. */
struct heddle_history_rule {
	bool fit;   /**< a power law through them, not their average */
	unsigned k; /**< how many count, 1 to HEDDLE_KNN_MAXK */
};

/** The rule of the paper. */
#define HEDDLE_HISTORY_PUBLISHED ((struct heddle_history_rule){.k = HEDDLE_KNN_K})
/** The one that goes beyond it. */
#define HEDDLE_HISTORY_FIT ((struct heddle_history_rule){.fit = true, .k = HEDDLE_KNN_MAXK})
/** The same for predictions that tasks wait for. Where there is a surface both do the same. */
#define HEDDLE_HISTORY_QUICK ((struct heddle_history_rule){.fit = true, .k = 20})

/** Predicts the times of a task on all classes from the nearest points.
 *
 * As published: Where a time of the task itself is known, another class's is that one times
 * the ratio of both at the nearest points that have both: relative speed is
 * easier to predict than times. Where none is known, the class with most points
 * takes the average of its nearest, and the others follow by their ratios. Where
 * all points have times on all classes, that is the average of the nearest on each,
 * as in the paper. A class that has no point in common with others takes the average
 * of its own nearest.
 *
 * With a fit, numbers above 0 and times count by their logarithms, and each class has
 * its own plane through its nearest points, or through all of which something was learned
 * (surface.h). Its slopes are expected to be those of the class of which most is known. That one's
 * are expected to be 3/4 for each of several numbers. With fewer numbers, times on all classes are
 * expected to grow as the piece of data that grows most, where the sizes of data are known, else as
 * the number. Where all the points and the task state operations, times are expected to grow as
 * these alone. On wide devices all growth is half as steep. What a time that is known of the task
 * lies above or below its own class's plane counts for the others the more, the nearer the points
 * are.
 *
 * @param values of the task
 * @param leave_out the task's own point, which is not looked at but for its sizes and operations
 * (SIZE_MAX: none)
 * @param us of the task, where known: 0 else; the predictions come into the
 * zeros, and those that cannot be predicted stay 0 */
void heddle_history_predict(const struct heddle_history *history, const double *values,
                            struct heddle_history_rule rule, size_t leave_out,
                            double us[HEDDLE_HISTORY_CLASSES]);

#endif
