/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * heddle plan: Heddle's algorithms at the command line, without StarPU.
 */
#ifndef HEDDLE_TOOLS_PLAN_H
#define HEDDLE_TOOLS_PLAN_H

#define PLAN_USAGE 2 /**< exit status of wrong use and bad input */

/** Each gets the arguments from its own name on and returns an exit status. */
int plan_main(int argc, char **argv);
int plan_blocks(int argc, char **argv);
int plan_interval(int argc, char **argv);
int plan_kernels(int argc, char **argv);
int plan_skmd(int argc, char **argv);
int plan_split(int argc, char **argv);

#endif
