/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How fast a task graph can be at best. Pure.
 */
#ifndef HEDDLE_BENCH_BOUND_H
#define HEDDLE_BENCH_BOUND_H

/* Tasks by type, workers by class. */
struct bound_problem {
	unsigned ntypes, nclasses;
	const double *tasks;   /* of each type */
	const double *workers; /* of each class */
	const double *us;      /* of a task of type t on class c: us[t * nclasses + c]; at most 0:
	                          it cannot run there */
};

/** The area bound: the least time in which the workers can do all tasks if no task waits for
 * another one, no data is moved, and tasks can be cut.
 * @return µs; 0: unknown, as some type runs nowhere, or Heddle was built without GLPK */
double bound_area_us(const struct bound_problem *problem);

#endif
