/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The profiles of this process, one for each codelet, for every part of Heddle: a file is read
 * once, at the first question, and written when the process ends (not by a forked child). Any
 * thread. Call profile_store_ask() and profile_store_write() without a lock of your own: they wait
 * for files, profile_store_add() does not.
 */
#ifndef HEDDLE_ESTIMATOR_PROFILE_STORE_H
#define HEDDLE_ESTIMATOR_PROFILE_STORE_H

#include "estimator/profile.h"

/** Whether profiles are to be read and written, as HEDDLE_PROFILE says; in simulated runs only
 * where it is set. Users ask: the store reads what is asked for and writes what is added. */
bool profile_store_wanted(void);

/** Looks at what is known of a codelet: what earlier runs measured and this one has added.
 * @param path of the profile, for messages; empty: there is no folder for it
 * @param look called once, to copy what it needs: the profile holds still meanwhile and may change
 * afterwards. It may take a mutex of pthread's, but none of StarPU's, where simulated threads wait.
 * @return 0; -ENOMEM, then `look` was not called */
int profile_store_ask(const char *codelet,
                      void (*look)(const struct heddle_profile *known, const char *path, void *arg),
                      void *arg);

/** Adds a record to what is known of a codelet, and to its file when the process ends. Neither
 * reads nor writes a file.
 * @return 0; -ENOMEM */
int profile_store_add(const char *codelet, const struct heddle_profile_record *record);

/** Has a function called before files are written: it adds what was measured and not added. The
 * same function counts once; there is room for 8. */
void profile_store_collect(void (*collect)(void));

/** Calls the functions that collect, and writes what was added since the last time. What cannot be
 * written is kept for the next time.
 * @return 0, or the last error; messages say which */
int profile_store_write(void);

#endif
