/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "partition/kernel/access/affine.h"

#define LIMIT ((wide)1 << 61) /* results beyond it are unknown */

int64_t affine_gcd(int64_t a, int64_t b)
{
	while (b) {
		int64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a < 0 ? -a : a;
}

struct affine affine_unknown(void)
{
	return (struct affine){.known = false};
}

struct affine affine_range(wide lo, wide hi)
{
	if (lo < -LIMIT || hi > LIMIT)
		return affine_unknown();
	return (struct affine){.known = true, .lo = lo, .hi = hi};
}

struct affine affine_constant(int64_t value)
{
	struct affine a = affine_range(value, value);

	a.c = a.known ? value : 0;
	a.lo = a.hi = 0;
	return a;
}

/* The sum of the terms of the numbers, least and greatest. */
static void terms(const struct affine_space *space, const struct affine *a, wide *lo, wide *hi)
{
	*lo = *hi = 0;
	for (int i = 0; i < 6; i++) {
		wide first = (wide)a->k[i] * space->least[i], last = (wide)a->k[i] * space->most[i];

		*lo += first < last ? first : last;
		*hi += first < last ? last : first;
	}
}

bool affine_bounds(const struct affine_space *space, const struct affine *a, wide *lo, wide *hi)
{
	if (!a->known)
		return false;
	terms(space, a, lo, hi);
	*lo += (wide)a->c + a->lo;
	*hi += (wide)a->c + a->hi;
	return true;
}

static bool numberless(const struct affine *a)
{
	for (int i = 0; i < 6; i++)
		if (a->k[i])
			return false;
	return true;
}

bool affine_single(const struct affine *a)
{
	return a->known && a->lo == a->hi && !a->lo && numberless(a);
}

static bool in_limits(wide number)
{
	return number >= -LIMIT && number <= LIMIT;
}

/* The same for all items of a group. */
static bool plain(const struct affine *a)
{
	return a->lo == a->hi && !a->nsteps && !a->k[3] && !a->k[4] && !a->k[5];
}

/* ---- steps ---- */

int64_t affine_start(const struct affine *a)
{
	wide start = a->lo;

	for (unsigned s = 0; s < a->nsteps; s++)
		if (a->steps[s].by < 0)
			start -= (wide)a->steps[s].by * a->steps[s].most;
	return start;
}

/* Whether its steps say all of it. */
static bool stepped(const struct affine *a)
{
	return a->nsteps ? !a->together : a->lo == a->hi;
}

/* Adds a step. Those of one loop are made together. @return whether there is room */
static bool step_add(struct affine *to, struct affine_step step)
{
	for (unsigned s = 0; s < to->nsteps; s++) {
		struct affine_step *other = &to->steps[s];

		if (other->loop != step.loop)
			continue;
		if (other->most != step.most || (other->by < 0) != (step.by < 0) ||
		    !in_limits((wide)other->by + step.by))
			return false;
		other->by += step.by;
		return true;
	}
	if (to->nsteps == AFFINE_MAXSTEPS)
		return false;
	to->steps[to->nsteps++] = step;
	return true;
}

static void steps_copy(struct affine *to, const struct affine *from, int64_t factor)
{
	to->nsteps = from->nsteps;
	to->together = from->together;
	for (unsigned s = 0; s < from->nsteps; s++) {
		to->steps[s] = from->steps[s];
		to->steps[s].by *= factor;
	}
}

/* The steps of a sum. */
static void steps_sum(struct affine *sum, const struct affine *a, const struct affine *b, int sign)
{
	bool all = true;

	if (plain(b)) {
		steps_copy(sum, a, 1);
	} else if (plain(a)) {
		steps_copy(sum, b, sign);
	} else if (stepped(a) && stepped(b)) {
		steps_copy(sum, a, 1);
		for (unsigned s = 0; s < b->nsteps && all; s++) {
			struct affine_step step = b->steps[s];

			step.by *= sign;
			all = step_add(sum, step);
		}
		sum->nsteps = all ? sum->nsteps : 0;
	}
}

/* ---- arithmetic ---- */

struct affine affine_add(struct affine a, struct affine b, int sign)
{
	wide c = (wide)a.c + (wide)sign * b.c;
	wide lo = (wide)a.lo + (sign > 0 ? b.lo : -(wide)b.hi);
	wide hi = (wide)a.hi + (sign > 0 ? b.hi : -(wide)b.lo);
	struct affine sum = {.known = true, .c = c, .lo = lo, .hi = hi};
	bool fits = a.known && b.known && in_limits(c) && in_limits(lo) && in_limits(hi);

	for (int i = 0; i < 6 && fits; i++) {
		wide k = (wide)a.k[i] + (wide)sign * b.k[i];

		fits = in_limits(k);
		sum.k[i] = k;
	}
	if (fits)
		steps_sum(&sum, &a, &b, sign);
	return fits ? sum : affine_unknown();
}

struct affine affine_scale(struct affine a, int64_t factor)
{
	wide c = (wide)a.c * factor, lo = (wide)a.lo * factor, hi = (wide)a.hi * factor;
	struct affine product = {
	    .known = true, .c = c, .lo = lo < hi ? lo : hi, .hi = lo < hi ? hi : lo};
	bool fits = a.known && in_limits(c) && in_limits(lo) && in_limits(hi);

	for (int i = 0; i < 6 && fits; i++) {
		wide k = (wide)a.k[i] * factor;

		fits = in_limits(k);
		product.k[i] = k;
	}
	for (unsigned s = 0; s < a.nsteps; s++)
		fits = fits && in_limits((wide)a.steps[s].by * factor);
	if (fits && factor)
		steps_copy(&product, &a, factor);
	return fits ? product : affine_unknown();
}

struct affine affine_multiply(const struct affine_space *space, struct affine a, struct affine b)
{
	wide al, ah, bl, bh, corner[4], lo, hi;

	if (affine_single(&a))
		return affine_scale(b, a.c);
	if (affine_single(&b))
		return affine_scale(a, b.c);
	if (!affine_bounds(space, &a, &al, &ah) || !affine_bounds(space, &b, &bl, &bh) ||
	    !in_limits(al) || !in_limits(ah) || !in_limits(bl) || !in_limits(bh))
		return affine_unknown();
	corner[0] = al * bl, corner[1] = al * bh, corner[2] = ah * bl, corner[3] = ah * bh;
	lo = hi = corner[0];
	for (int i = 1; i < 4; i++) {
		lo = corner[i] < lo ? corner[i] : lo;
		hi = corner[i] > hi ? corner[i] : hi;
	}
	return affine_range(lo, hi);
}

static wide floor_divide(wide number, int64_t divisor)
{
	return number / divisor - (number % divisor < 0);
}

/* Splits a into divisor * multiple + rest. The rest has the terms that the divisor does not
 * divide. */
static void split(struct affine a, int64_t divisor, struct affine *multiple, struct affine *rest)
{
	*multiple = affine_constant(floor_divide(a.c, divisor));
	*rest = a;
	rest->c = a.c - multiple->c * divisor;
	for (int i = 0; i < 6; i++)
		if (a.k[i] % divisor == 0) {
			multiple->k[i] = a.k[i] / divisor;
			rest->k[i] = 0;
		}
}

struct affine affine_divide(const struct affine_space *space, struct affine a, int64_t divisor)
{
	struct affine multiple, rest;
	wide lo, hi;

	if (divisor <= 0 || !affine_bounds(space, &a, &lo, &hi) || lo < 0)
		return affine_unknown();
	split(a, divisor, &multiple, &rest);
	affine_bounds(space, &rest, &lo, &hi);
	return affine_add(multiple,
	                  affine_range(floor_divide(lo, divisor), floor_divide(hi, divisor)), 1);
}

struct affine affine_remainder(const struct affine_space *space, struct affine a, int64_t divisor)
{
	struct affine multiple, rest;
	wide lo, hi;

	if (divisor <= 0 || !affine_bounds(space, &a, &lo, &hi) || lo < 0)
		return affine_unknown();
	if (hi < divisor)
		return a;
	split(a, divisor, &multiple, &rest);
	affine_bounds(space, &rest, &lo, &hi);
	if (lo >= 0 && hi < divisor)
		return rest;
	return affine_range(0, divisor - 1);
}

struct affine affine_join(const struct affine_space *space, struct affine a, struct affine b)
{
	wide al, ah, bl, bh;

	if (!affine_bounds(space, &a, &al, &ah) || !affine_bounds(space, &b, &bl, &bh))
		return affine_unknown();
	if (!memcmp(a.k, b.k, sizeof(a.k))) {
		wide lo = (wide)a.c + a.lo, hi = (wide)a.c + a.hi;
		wide other_lo = (wide)b.c + b.lo, other_hi = (wide)b.c + b.hi;
		struct affine joined =
		    affine_range(lo < other_lo ? lo : other_lo, hi > other_hi ? hi : other_hi);

		memcpy(joined.k, a.k, sizeof(a.k));
		return joined;
	}
	return affine_range(al < bl ? al : bl, ah > bh ? ah : bh);
}

struct affine affine_least(const struct affine_space *space, struct affine a, struct affine b,
                           int sign)
{
	wide al, ah, bl, bh;

	if (sign < 0) {
		a = affine_least(space, affine_scale(a, -1), affine_scale(b, -1), 1);
		return affine_scale(a, -1);
	}
	if (!affine_bounds(space, &a, &al, &ah) || !affine_bounds(space, &b, &bl, &bh))
		return affine_unknown();
	if (ah <= bl)
		return a;
	if (bh <= al)
		return b;
	return affine_range(al < bl ? al : bl, ah < bh ? ah : bh);
}

struct affine affine_fit(const struct affine_space *space, struct affine a, unsigned bits,
                         bool is_unsigned)
{
	wide lo, hi, least, most;

	if (!bits || bits > 64 || !affine_bounds(space, &a, &lo, &hi))
		return affine_unknown();
	most = ((wide)1 << (is_unsigned ? bits : bits - 1)) - 1;
	least = is_unsigned ? 0 : -most - 1;
	return lo >= least && hi <= most ? a : affine_unknown();
}
