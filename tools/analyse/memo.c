/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What is known of values: a value is looked at once, however many ways lead to it.
 */
#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/analyse/analyse.h"

enum { SLOTS = 1 << 16 };

static struct memo memos[SLOTS];
static unsigned nmemos, walks;

struct memo *memo_of(LLVMValueRef value)
{
	unsigned at = (uintptr_t)value / 16 * 2654435761U % SLOTS;

	while (memos[at].value && memos[at].value != value)
		at = (at + 1) % SLOTS;
	if (!memos[at].value && ++nmemos > SLOTS / 2)
		too_large();
	memos[at].value = value;
	return &memos[at];
}

void walk_begin(void)
{
	walks++;
}

bool walk_first(LLVMValueRef value)
{
	struct memo *memo = memo_of(value);
	bool first = memo->walk != walks;

	memo->walk = walks;
	return first;
}
