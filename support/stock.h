/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Names of policies, StarPU's own first of all. The file that asks StarPU is apart from the one
 * with main(), which StarPU's headers would rename in a build for simulations. Not in the library.
 */
#ifndef HEDDLE_SUPPORT_STOCK_H
#define HEDDLE_SUPPORT_STOCK_H

#include <stdbool.h>
#include <stdio.h>

/** The name and description of StarPU's p-th policy, from 0 on.
 * @param[out] doc NULL: not wanted
 * @return NULL: there are no more */
const char *stock_policy(unsigned p, const char **doc);

/** Whether Heddle or StarPU has a policy of that name. With libheddle, heddle_policy_displaced()
 * knows more of StarPU's. */
bool policy_exists(const char *name);

/** Says that a policy does not exist, or what the name is otherwise, and prints the names of
 * Heddle's policies and StarPU's: so few lines that the message above them stays in sight. */
void policy_unknown_print(FILE *out, const char *name);

#endif
