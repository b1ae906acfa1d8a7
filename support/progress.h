/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a program is at, for people who wait: one line on standard error, written over again and
 * again, and only where that is a terminal. For programs, not for the library.
 */
#ifndef HEDDLE_SUPPORT_PROGRESS_H
#define HEDDLE_SUPPORT_PROGRESS_H

/** Replaces the line. It is cut to the terminal's width. Silent with HEDDLE_VERBOSE=0. */
void heddle_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** Removes the line, before other output. */
void heddle_progress_end(void);

#endif
