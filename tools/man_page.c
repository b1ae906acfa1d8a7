/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Prints the man page heddle(7) during the build. It needs no StarPU, so that it also runs in
 * builds that simulate machines.
 */
#include "config.h"

#include <stdio.h>

#include "tools/info.h"

int main(void)
{
	info_print_man_page();
	return fflush(stdout) ? 1 : 0;
}
