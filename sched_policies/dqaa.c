/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include "sched_policies/dqaa.h"

#define MEMORY 16

void heddle_dqaa_init(struct heddle_dqaa *dqaa, unsigned most)
{
	*dqaa = (struct heddle_dqaa){.target = 1, .most = most ? most : 1};
}

void heddle_dqaa_received(struct heddle_dqaa *dqaa, double us)
{
	if (!(us > 0))
		us = 0;
	if (us > dqaa->latency_us)
		dqaa->latency_us = us;
	else
		dqaa->latency_us += (us - dqaa->latency_us) / MEMORY;
}

void heddle_dqaa_processed(struct heddle_dqaa *dqaa, double us)
{
	double wanted;

	if (!(us > 0))
		return;
	if (!(dqaa->process_us > 0) || us < dqaa->process_us)
		dqaa->process_us = us;
	else
		dqaa->process_us += (us - dqaa->process_us) / MEMORY;
	wanted = dqaa->latency_us / dqaa->process_us;
	if (wanted > dqaa->target && dqaa->target < dqaa->most)
		dqaa->target++;
	else if (wanted <= dqaa->target - 1. && dqaa->target > 1)
		dqaa->target--;
}
