/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include "apps/factor/factor.h"

int main(int argc, char **argv)
{
	return factor_main(GRAPH_LU, argc, argv);
}
