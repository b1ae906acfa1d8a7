/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * heddle estimate: what its subcommands share.
 */
#ifndef TOOLS_ESTIMATE_H
#define TOOLS_ESTIMATE_H

#include <stdbool.h>

#include <jansson.h>

#include "estimator/history.h"
#include "estimator/profile.h"

/** What `heddle sample` adds to the name of a codelet for another sampling. */
#define ESTIMATE_AGAIN "-again"

/** Exit status of wrong use and bad input. */
#define ESTIMATE_USAGE 2

struct arguments {
	const char *profile;
	const char *reference; /**< device; NULL: the first CPU */
	char **params;         /**< NAME=VALUE */
	int nparams;
	unsigned folds, seed;
	struct heddle_history_rule rule;
	bool json;
	const char *csv; /**< file for the table; NULL: none */
	bool without;    /**< no profile is needed */
};

/** A profile that has been read. */
struct estimates {
	struct heddle_profile profile;
	struct heddle_history history;
	struct heddle_history again; /**< another sampling of the same jobs; may be empty */
	unsigned nclasses;
	const char *classes[HEDDLE_HISTORY_CLASSES];
	unsigned reference;
};

/** Subcommands. @return exit status */
int estimate_cv(const struct arguments *arguments, struct estimates *e);
int estimate_predict(const struct arguments *arguments, struct estimates *e);

/** Errors by the paper's rule and by the fit, for all codelets of `heddle sample` that have a
 * profile. @return exit status */
int estimate_table(const struct arguments *arguments);

/** Reads arguments->profile.
 * @param anything tasks' times are not needed
 * @param[out] e to be freed by estimates_free()
 * @return 0; a negative errno value after a message. */
int estimates_read(const struct arguments *arguments, bool anything, struct estimates *e);
void estimates_free(struct estimates *e);

/** Prints JSON, which is freed. @return 0; 1 where that fails */
int estimate_json(json_t *json);

#endif
