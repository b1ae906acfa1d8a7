/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What `heddle bench --program` and the library that it preloads agree on. The library writes
 * a file with one JSON object:
 *
 *	"starpu"   the version
 *	"workers"  number of workers of each kind
 *	"ns"       from the submission of the first task to the end of the last one
 *	"tasks"    number of tasks, without those that run nowhere
 *	"flops"    their operations; 0 where a task does not state them
 *
 * and, where the graph is recorded,
 *
 *	"path_ns"  the longest path through the graph with each task on its fastest worker;
 *	           0 where a time is unknown
 *	"classes"  numbers of workers whose tasks take equally long
 *	"types"    for the tasks of one codelet and size: [number, ns on each class...];
 *	           a class that cannot run them: null; an unknown time: 0
 *
 * All numbers are integers: the program's locale may have another decimal point.
 */
#ifndef HEDDLE_BENCH_RECORD_H
#define HEDDLE_BENCH_RECORD_H

#define RECORD_LIBRARY "libheddle-record.so"
/* The file's name. It is no variable of users: hence the underscore. */
#define RECORD_FILE "_HEDDLE_RECORD"
/* Set: the graph is recorded. */
#define RECORD_GRAPH "_HEDDLE_RECORD_GRAPH"

/* Set: priorities are replaced by those that StarPU 1.3's heteroprio wants. */
#define RECORD_ORDERS "_HEDDLE_RECORD_ORDERS"

#endif
