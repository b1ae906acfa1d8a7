/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "partition/kernel/access/guards.h"
#include "partition/kernel/access/index.h"

static wide floor_divide(wide number, wide divisor)
{
	return number / divisor - (number % divisor < 0);
}

/* ---- limits ---- */

/* Adds difference <= most, of two values that need not be known.
 * @return whether the limit, as it stands, is all that the comparison says */
static bool limit_add(struct guards_space *behind, const struct affine *difference, wide most)
{
	struct guards_limit *limit = &behind->limits[behind->nlimits];

	if (!difference->known)
		return false;
	behind->nlimits++;
	memcpy(limit->k, difference->k, sizeof(limit->k));
	/* The interval of the value counts with its least. */
	limit->most = most - difference->c - difference->lo;
	return difference->lo == difference->hi;
}

/* Least and greatest sum of a limit, without one of the numbers (-1: with all). */
static void limit_bounds(const struct guards_limit *limit, const struct affine_space *space,
                         int without, wide *lo, wide *hi)
{
	*lo = *hi = 0;
	for (int i = 0; i < 6; i++) {
		wide first = (wide)limit->k[i] * space->least[i];
		wide last = (wide)limit->k[i] * space->most[i];

		if (i == without)
			continue;
		*lo += first < last ? first : last;
		*hi += first < last ? last : first;
	}
}

/* Narrows each number to what can keep the limit.
 * @return false when nothing is left */
static bool limit_apply(const struct guards_limit *limit, struct affine_space *space)
{
	wide lo, hi, bound;

	limit_bounds(limit, space, -1, &lo, &hi);
	if (lo > limit->most)
		return false;
	for (int i = 0; i < 6; i++) {
		if (!limit->k[i])
			continue;
		limit_bounds(limit, space, i, &lo, &hi);
		if (limit->k[i] > 0) {
			bound = floor_divide(limit->most - lo, limit->k[i]);
			if (bound < space->most[i])
				space->most[i] = bound;
		} else {
			bound = -floor_divide(limit->most - lo, -limit->k[i]);
			if (bound > space->least[i])
				space->least[i] = bound;
		}
	}
	return true;
}

/* ---- guards ---- */

static bool not_negative(const struct affine_space *space, const struct affine *a)
{
	wide lo, hi;

	return affine_bounds(space, a, &lo, &hi) && lo >= 0;
}

/* Of two values that are not equal. At an end of what their difference can be, that is a limit.
 * @param less, more the difference and its negative */
static bool unequal_apply(struct guards_space *behind, const struct affine_space *box,
                          const struct affine *less, const struct affine *more)
{
	wide lo, hi;

	if (!affine_bounds(box, less, &lo, &hi))
		return false;
	if (lo > 0 || hi < 0)
		return true;
	return lo == 0 ? limit_add(behind, more, -1) : hi == 0 && limit_add(behind, less, -1);
}

/* An unsigned comparison is a signed one where neither side is negative. Of one below a
 * number that is not, it is one, too, and says that the smaller side is not negative.
 * @param[in,out] exact whether the limits say all */
static bool unsigned_apply(struct guards_space *behind, const struct affine_space *box,
                           const struct affine *small, const struct affine *large, bool *exact)
{
	struct affine below;

	if (!not_negative(box, large))
		return false;
	if (!not_negative(box, small)) {
		below = affine_scale(*small, -1);
		*exact = limit_add(behind, &below, 0) && *exact;
	}
	return true;
}

/* @return whether its limits say all of what a guard does */
static bool guard_apply(const struct index_guard *guard, const struct affine *values,
                        const struct affine_space *box, struct guards_space *behind)
{
	const struct affine *a = &values[guard->nodes[0]], *b = &values[guard->nodes[1]];
	struct affine less = affine_add(*a, *b, -1), more = affine_add(*b, *a, -1);
	bool exact = true;

	switch (guard->predicate) {
	case INDEX_ULT:
	case INDEX_ULE:
		if (!unsigned_apply(behind, box, a, b, &exact))
			return false;
		return limit_add(behind, &less, guard->predicate == INDEX_ULT ? -1 : 0) && exact;
	case INDEX_SLT:
	case INDEX_SLE:
		return limit_add(behind, &less, guard->predicate == INDEX_SLT ? -1 : 0);
	case INDEX_UGT:
	case INDEX_UGE:
		if (!unsigned_apply(behind, box, b, a, &exact))
			return false;
		return limit_add(behind, &more, guard->predicate == INDEX_UGT ? -1 : 0) && exact;
	case INDEX_SGT:
	case INDEX_SGE:
		return limit_add(behind, &more, guard->predicate == INDEX_SGT ? -1 : 0);
	case INDEX_EQ:
		exact = limit_add(behind, &less, 0);
		return limit_add(behind, &more, 0) && exact;
	default:
		return unequal_apply(behind, box, &less, &more);
	}
}

/* Forgets the limits that all of the space keeps. */
static void limits_settle(struct guards_space *behind)
{
	unsigned kept = 0;

	for (unsigned l = 0; l < behind->nlimits; l++) {
		wide lo, hi;

		limit_bounds(&behind->limits[l], &behind->space, -1, &lo, &hi);
		if (hi > behind->limits[l].most)
			behind->limits[kept++] = behind->limits[l];
	}
	behind->nlimits = kept;
}

/* Whether a guard holds for all of a box, whatever its values are made of. */
static bool holds_for_all(const struct index_guard *guard, const struct affine *values,
                          const struct affine_space *box)
{
	struct guards_space alone = {.space = *box};
	struct affine less = affine_add(values[guard->nodes[0]], values[guard->nodes[1]], -1);
	wide lo, hi;

	if (!affine_bounds(box, &less, &lo, &hi))
		return false;
	switch (guard->predicate) {
	case INDEX_ULT:
	case INDEX_SLT:
		hi++;
		/* fall through */
	case INDEX_ULE:
	case INDEX_SLE:
		break;
	case INDEX_UGT:
	case INDEX_SGT:
		lo--;
		/* fall through */
	case INDEX_UGE:
	case INDEX_SGE:
		hi = -lo;
		break;
	default:
		return guard_apply(guard, values, box, &alone) && !alone.nlimits;
	}
	if (guard->predicate >= INDEX_ULT && guard->predicate <= INDEX_UGE &&
	    (!not_negative(box, &values[guard->nodes[0]]) ||
	     !not_negative(box, &values[guard->nodes[1]])))
		return false;
	return hi <= 0;
}

/* Narrows a space to what can keep all limits. Each may narrow the numbers for the next one.
 * @return false when nothing is left */
static bool limits_apply(struct guards_space *behind)
{
	for (int round = 0; round < 3; round++)
		for (unsigned l = 0; l < behind->nlimits; l++)
			if (!limit_apply(&behind->limits[l], &behind->space))
				return false;
	return true;
}

bool guards_narrow(const struct index_guard *guard, const struct affine *values,
                   struct affine_space *space)
{
	struct guards_space behind = {.space = *space};

	guard_apply(guard, values, space, &behind);
	if (!limits_apply(&behind))
		return false;
	*space = behind.space;
	return true;
}

bool guards_apply(const struct index_kernel *kernel, const struct index_access *access,
                  const struct affine *values, const struct affine_space *box,
                  struct guards_space *behind)
{
	memset(behind, 0, sizeof(*behind));
	behind->space = *box;
	behind->exact = true;
	for (unsigned g = 0; g < access->nguards; g++) {
		const struct index_guard *guard = &kernel->guards[access->guards[g]];

		if (!holds_for_all(guard, values, box))
			behind->exact = guard_apply(guard, values, box, behind) && behind->exact;
	}
	if (!limits_apply(behind))
		return false;
	limits_settle(behind);
	return true;
}

/* ---- terms ---- */

/* Whether a limit is of the same sum as another one (1), or of its negative (-1). */
static int same_sum(const struct guards_limit *a, const struct guards_limit *b)
{
	bool same = true, negative = true;

	for (int i = 0; i < 6; i++) {
		same = same && a->k[i] == b->k[i];
		negative = negative && a->k[i] == -b->k[i];
	}
	return same ? 1 : negative ? -1 : 0;
}

/* A limit's sum as one number with steps of `step`, if it takes on each of them.
 * @param behind this limit, and others that may be of the same sum
 * @param[out] term the number, as far as the limits let it go
 * @param[out] done which limits these are */
static bool limit_number(const struct guards_space *behind, unsigned limit,
                         const struct affine_space *space, struct guards_term *term, bool *done)
{
	const struct guards_limit *first = &behind->limits[limit];
	struct guards_terms sum = {.n = 0};
	wide lo, hi, width = 1, pitch, rows;
	int64_t step = 0;

	for (int i = 0; i < 6; i++)
		step = affine_gcd(step, first->k[i]);
	for (int i = 0; i < 6; i++)
		sum.terms[sum.n++] =
		    (struct guards_term){first->k[i] / step, space->least[i], space->most[i]};
	if (!guards_rows(&sum, &width, &pitch, &rows) || pitch)
		return false;
	limit_bounds(first, space, -1, &lo, &hi);
	lo /= step;
	hi /= step;
	for (unsigned l = limit; l < behind->nlimits; l++) {
		int sign = same_sum(first, &behind->limits[l]);
		wide most = floor_divide(behind->limits[l].most, step);

		done[l] = done[l] || sign;
		hi = sign > 0 && most < hi ? most : hi;
		lo = sign < 0 && -most > lo ? -most : lo;
	}
	*term = (struct guards_term){step, lo, hi};
	return lo <= hi;
}

/* Replaces the numbers of a limit in an address by the limit's sum.
 * @param[in,out] left coefficients of the address that are not replaced yet
 * @param[in,out] used numbers that are in limits
 * @param[in,out] done limits that are replaced */
static bool limit_replace(const struct guards_space *behind, unsigned limit,
                          const struct affine_space *space, int64_t *left, bool *used, bool *done,
                          struct guards_terms *terms)
{
	const int64_t *k = behind->limits[limit].k;
	struct guards_term term;
	int64_t factor = 0;
	bool found = false;

	if (done[limit])
		return true;
	if (!limit_number(behind, limit, space, &term, done))
		return false;
	for (int i = 0; i < 6; i++) {
		int64_t unit = k[i] / term.step;

		if (!unit)
			continue;
		if (used[i] || left[i] % unit || (found && left[i] / unit != factor))
			return false;
		factor = left[i] / unit;
		found = used[i] = true;
	}
	/* An address that does not depend on the sum is the same for all that pass. */
	term.step = factor;
	if (factor)
		terms->terms[terms->n++] = term;
	for (int i = 0; i < 6; i++)
		left[i] = k[i] ? 0 : left[i];
	return true;
}

bool guards_terms(const struct affine *address, const struct affine_space *space,
                  const struct guards_space *behind, bool every, struct guards_terms *terms)
{
	bool exact = !behind || behind->exact, used[6] = {false};
	bool done[2 * INDEX_MAXGUARDS] = {false};
	int64_t left[6];

	*terms = (struct guards_terms){.base = address->c, .lo = address->lo, .hi = address->hi};
	memcpy(left, address->k, sizeof(left));
	for (unsigned l = 0; behind && l < behind->nlimits; l++)
		if (!limit_replace(behind, l, space, left, used, done, terms))
			exact = false;
	/* Items that do not pass leave gaps in what all do together. */
	if (address->nsteps && every && exact &&
	    !(address->together && behind && behind->nlimits)) {
		for (unsigned s = 0; s < address->nsteps; s++)
			terms->terms[terms->n++] =
			    (struct guards_term){address->steps[s].by, 0, address->steps[s].most};
		terms->lo = terms->hi = affine_start(address);
	}
	for (int i = 0; i < 6; i++)
		if (left[i])
			terms->terms[terms->n++] =
			    (struct guards_term){left[i], space->least[i], space->most[i]};
	return exact;
}

void guards_bounds(const struct guards_terms *terms, wide *lo, wide *hi)
{
	*lo = terms->base + terms->lo;
	*hi = terms->base + terms->hi;
	for (unsigned t = 0; t < terms->n; t++) {
		wide first = (wide)terms->terms[t].step * terms->terms[t].least;
		wide last = (wide)terms->terms[t].step * terms->terms[t].most;

		*lo += first < last ? first : last;
		*hi += first < last ? last : first;
	}
}

/* The term not done that moves a sum least; -1: none. */
static int term_least(const struct guards_terms *terms, const bool *done)
{
	int least = -1;

	for (unsigned t = 0; t < terms->n; t++)
		if (!done[t] && terms->terms[t].step &&
		    terms->terms[t].most > terms->terms[t].least &&
		    (least < 0 || llabs(terms->terms[t].step) < llabs(terms->terms[least].step)))
			least = t;
	return least;
}

bool guards_rows(const struct guards_terms *terms, wide *width, wide *pitch, wide *rows)
{
	bool done[6 + AFFINE_MAXSTEPS] = {false};
	int next;

	*pitch = 0;
	*rows = 1;
	while ((next = term_least(terms, done)) >= 0) {
		wide step = llabs(terms->terms[next].step);
		wide steps = (wide)terms->terms[next].most - terms->terms[next].least;

		if (!*pitch && step > *width)
			*pitch = step;
		if (!*pitch)
			*width += step * steps;
		else if (step % *pitch || step / *pitch > *rows)
			return false;
		else
			*rows += step / *pitch * steps;
		done[next] = true;
	}
	return true;
}
