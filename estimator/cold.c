/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <limits.h>
#include <math.h>

#include "estimator/cold.h"
#include "estimator/robust.h"

/* A core reads so many bytes in a microsecond, and no task is shorter than that, us. */
#define BYTES_A_US 1000.
#define SHORTEST 10.
/* While no time is known, a slower class counts as so much slower: what it begins may be long, and
 * nobody can tell. So it begins nothing unless very many tasks wait. */
#define BLIND 8
/* What has run for a while is expected to take so many times as long; on the fastest classes it may
 * be loading the kernel, which says nothing of tasks to come. */
#define LASTS 2
/* A class may be so many times slower than its speed says. Trials may take so long, us, and so
 * large a part of the time that the codelet has been in use. */
#define UNSURE 5
#define BEARABLE 20000.
#define PART 0.25
/* So many tasks keep a device busy while it loads the kernel, and until its second one has told. */
#define BUSY 4
/* Once all classes are known, all devices have tasks for so many times as long as one takes the
 * slowest. With less, a device waits now and then for its next one. More are placed before tasks
 * tell that those to come are not like the first. */
#define AHEAD 2

/* The class other than one where the task's time is known and shortest; that one itself: none. */
static unsigned fastest_other(const struct cold_class *classes, unsigned n, unsigned class)
{
	unsigned best = class;

	for (unsigned c = 0; c < n; c++)
		if (c != class && classes[c].us > 0 &&
		    (best == class || classes[c].us < classes[best].us))
			best = c;
	return best;
}

static bool any_faster(const struct cold_class *classes, unsigned n, unsigned class)
{
	for (unsigned c = 0; c < n; c++)
		if (classes[c].speed > classes[class].speed)
			return true;
	return false;
}

double cold_expect(const struct cold_class *classes, unsigned n, unsigned class, double bytes)
{
	const struct cold_class *own = &classes[class];
	unsigned other = fastest_other(classes, n, class);
	double us;

	if (own->us > 0 && (!own->first || other == class))
		return own->us;
	if (other != class)
		us = classes[other].us * classes[other].speed / own->speed;
	else
		us = fmax(bytes / BYTES_A_US, SHORTEST) / own->speed *
		     (any_faster(classes, n, class) ? BLIND : 1);
	us += own->load;
	if (any_faster(classes, n, class))
		us = fmax(us, LASTS * own->running_us);
	return own->us > 0 ? fmin(us, own->us) : us;
}

double cold_trial(const struct cold_class *classes, unsigned n, unsigned class)
{
	const struct cold_class *own = &classes[class];
	unsigned other = fastest_other(classes, n, class);

	if ((own->us > 0 && !own->first) || other == class || classes[other].first ||
	    own->speed > classes[other].speed)
		return INFINITY;
	return UNSURE * classes[other].us * classes[other].speed / own->speed +
	       (own->us > 0 ? 0 : own->load);
}

bool cold_try(double us, double tried_us, double ran_us)
{
	return tried_us + us <= BEARABLE + PART * ran_us;
}

double cold_unequal(double us, unsigned samples, double spread, unsigned overdue, double overdue_us)
{
	double n = fmin(fmax(samples, 1), HEDDLE_ROBUST_RECENT);

	return exp(spread) * (n * us + overdue_us) / (n + overdue);
}

unsigned cold_ahead(const struct cold_class *classes, unsigned n, bool *probe)
{
	double slowest = INFINITY, fastest = 0, longest = 0, rate = 0;
	unsigned ahead = 0;
	bool all = true;

	*probe = false;
	for (unsigned c = 0; c < n; c++)
		if (classes[c].workers) {
			slowest = fmin(slowest, classes[c].speed);
			fastest = fmax(fastest, classes[c].speed);
		}
	for (unsigned c = 0; c < n; c++) {
		bool known = classes[c].us > 0 && !classes[c].first;

		/* Cores by another name are not waited for: they may have no task. */
		if (!classes[c].workers || classes[c].load > 0)
			continue;
		all &= known;
		if (known) {
			longest = fmax(longest, classes[c].us);
			rate += classes[c].workers / classes[c].us;
		}
		*probe |= !known && classes[c].speed < fastest;
		if (classes[c].speed == fastest)
			ahead += BUSY * classes[c].workers;
	}
	if (slowest == fastest)
		return UINT_MAX;
	return all ? ceil(fmin(fmax(ahead, AHEAD * longest * rate), UINT_MAX)) : ahead;
}
