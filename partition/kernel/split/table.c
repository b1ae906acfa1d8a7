/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "partition/kernel/split/table.h"

static double line(const struct kernel_point *a, const struct kernel_point *b, double groups)
{
	return a->us + (groups - a->groups) * (b->us - a->us) / (b->groups - a->groups);
}

double kernel_table_time(const struct kernel_table *table, double groups)
{
	const struct kernel_point *first = table->points, *last = first + table->npoints - 1;

	if (groups <= 0)
		return 0;
	if (table->npoints == 1)
		return first->us * groups / first->groups;
	if (groups <= first->groups) {
		double least = first->us * groups / first->groups;
		double us = line(first, first + 1, groups);

		return us > least ? us : least;
	}
	if (groups >= last->groups) {
		double us = line(last - 1, last, groups);

		return us > last->us ? us : last->us;
	}
	while (last - first > 1) {
		const struct kernel_point *middle = first + (last - first) / 2;

		if (middle->groups < groups)
			first = middle;
		else
			last = middle;
	}
	return line(first, last, groups);
}

static void point_remove(struct kernel_table *table, unsigned at)
{
	memmove(&table->points[at], &table->points[at + 1],
	        (table->npoints - at - 1) * sizeof(table->points[0]));
	table->npoints--;
}

/* The inner point that is closest to its left neighbour: least is lost without it. */
static unsigned point_closest(const struct kernel_table *table)
{
	unsigned closest = 1;

	for (unsigned p = 2; p + 1 < table->npoints; p++)
		if (table->points[p].groups - table->points[p - 1].groups <
		    table->points[closest].groups - table->points[closest - 1].groups)
			closest = p;
	return closest;
}

static void point_add(struct kernel_table *table, double groups, double us)
{
	unsigned at;

	if (table->npoints == KERNEL_TABLE_POINTS)
		point_remove(table, point_closest(table));
	for (at = table->npoints; at > 0 && table->points[at - 1].groups > groups; at--)
		table->points[at] = table->points[at - 1];
	table->points[at] = (struct kernel_point){groups, us};
	table->npoints++;
}

int kernel_table_measured(struct kernel_table *table, double groups, double us, double weight)
{
	struct kernel_point *nearest = NULL;
	double reach;

	if (!(groups > 0 && us > 0) || !isfinite(groups) || !isfinite(us))
		return -EINVAL;
	for (unsigned p = 0; p < table->npoints; p++)
		if (!nearest ||
		    fabs(table->points[p].groups - groups) < fabs(nearest->groups - groups))
			nearest = &table->points[p];
	reach = nearest ? table->points[table->npoints - 1].groups / KERNEL_TABLE_POINTS / 2 : 0;
	if (nearest && fabs(nearest->groups - groups) <= reach)
		/* The measured time corrects the table's time at that number of groups. The point
		 * takes the same factor. */
		nearest->us *= 1 + weight * (us / fmax(kernel_table_time(table, groups), 1e-9) - 1);
	else
		point_add(table, groups, us);
	return 0;
}

void kernel_table_scale(struct kernel_table *table, double factor)
{
	for (unsigned p = 0; p < table->npoints; p++)
		table->points[p].us *= factor;
}

/* ---- what sharing costs ---- */

/* Weight of a launch in the estimates, and bounds of the slowdown; FIRST bounds the first one. */
#define FOLLOW 0.5
#define LEAST 0.5
#define MOST 8.0
#define FIRST 3.0
/* A part that takes so many times as long as the ones before does not count for more. */
#define HELD_UP 1.5
/* A part that waits so many times as long as usual was held up by something else. */
#define LATE 3.0

void kernel_costs_measured(struct kernel_costs *costs, double late_us, double alone_us, double us)
{
	double factor = us / alone_us, weight = costs->n ? FOLLOW : 1;

	if (!(late_us >= 0 && alone_us > 0 && us > 0) || !isfinite(late_us) || !isfinite(factor))
		return;
	if (costs->n && late_us > LATE * costs->part_us)
		late_us = LATE * fmax(costs->part_us, 1);
	factor =
	    fmin(fmax(factor, LEAST), costs->n ? fmin(HELD_UP * costs->slowdown, MOST) : FIRST);
	costs->part_us += weight * (late_us - costs->part_us);
	costs->slowdown += weight * (factor - costs->slowdown);
	costs->n++;
}
