/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

const char *heddle_version(void);

const char *heddle_version(void)
{
	return PACKAGE_VERSION;
}
