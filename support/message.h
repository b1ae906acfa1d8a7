/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Messages to the user, on standard error, one line each, after "heddle: ".
 */
#ifndef HEDDLE_SUPPORT_MESSAGE_H
#define HEDDLE_SUPPORT_MESSAGE_H

/** A refusal: the text, then `error` comes back, so that a caller can say
 * `return heddle_refuse(-EINVAL, "…")`. Silent with HEDDLE_VERBOSE=0; heddle_message_take() has
 * the text in any case. */
int heddle_refuse(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** This thread's last refusal, once; NULL: none since the last call. heddle_message_take() of the
 * library, of whose refusals this is. */
const char *heddle_refusal_take(void);

/** The same for another thread, and not once.
 * @return to be freed; NULL: there is none, or no memory */
char *heddle_refusal_copy(void);

/** Makes a refusal of another thread this thread's last one, without printing it again. */
void heddle_refusal_set(const char *text);

/** Something the user should know although work goes on. Silent with
 * HEDDLE_VERBOSE=0. */
void heddle_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** What takes long before anything is to be seen of it: at a terminal, elsewhere with
 * HEDDLE_VERBOSE=2. */
void heddle_wait_explain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** What only HEDDLE_VERBOSE=2 prints. */
void heddle_explain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** Replaces control characters, which a bad file may hold: a terminal obeys them. */
void heddle_message_clean(char *text);

/** That a process has another StarPU than the one Heddle was built against: the latter's version
 * and folder; major, minor, release and file of what there is. */
#define HEDDLE_OTHER_STARPU                                                                        \
	"this Heddle was built against StarPU %s in %s, but runs with StarPU %d.%d.%d in %s, "     \
	"whose structures differ; rebuild Heddle against that StarPU, or run with the one it "     \
	"knows"

#endif
