/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What helgrind cannot see: data that threads hand to each other by atomic operations.
 * Nothing where valgrind's headers are missing, and a few instructions without effect
 * where a program does not run under it.
 */
#ifndef HEDDLE_SUPPORT_HELGRIND_H
#define HEDDLE_SUPPORT_HELGRIND_H

#if defined(__has_include)
#if __has_include(<valgrind/helgrind.h>)
#include <valgrind/helgrind.h>
#endif
#endif

#ifdef ANNOTATE_HAPPENS_BEFORE
/** All that this thread has done is seen by who takes over by the same address. */
#define HELGRIND_HAND_OVER(address) ANNOTATE_HAPPENS_BEFORE(address)
#define HELGRIND_TAKE_OVER(address) ANNOTATE_HAPPENS_AFTER(address)
/** A variable that is accessed by atomic operations. */
#define HELGRIND_ATOMIC(variable) VALGRIND_HG_DISABLE_CHECKING(&(variable), sizeof(variable))
#else
#define HELGRIND_HAND_OVER(address) ((void)0)
#define HELGRIND_TAKE_OVER(address) ((void)0)
#define HELGRIND_ATOMIC(variable) ((void)0)
#endif

#endif
