/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Computes what each node of a description is for the groups and items of a space.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "partition/kernel/access/affine.h"
#include "partition/kernel/access/guards.h"
#include "partition/kernel/access/index.h"
#include "partition/kernel/access/index_values.h"

static struct affine value_of(const struct evaluation *e, const struct index_node *node, int i)
{
	return e->values[node->operands[i]];
}

/* ---- loops ---- */

/* Whether going on is decided by "less" (1) or "greater" (-1), and if equality counts. */
static bool direction(const struct index_node *node, int *sign, bool *equal, bool *is_unsigned)
{
	switch (node->predicate) {
	case INDEX_SLT:
		*sign = 1, *equal = false, *is_unsigned = false;
		return true;
	case INDEX_SLE:
		*sign = 1, *equal = true, *is_unsigned = false;
		return true;
	case INDEX_SGT:
		*sign = -1, *equal = false, *is_unsigned = false;
		return true;
	case INDEX_SGE:
		*sign = -1, *equal = true, *is_unsigned = false;
		return true;
	case INDEX_ULT:
		*sign = 1, *equal = false, *is_unsigned = true;
		return true;
	case INDEX_ULE:
		*sign = 1, *equal = true, *is_unsigned = true;
		return true;
	case INDEX_UGT:
		*sign = -1, *equal = false, *is_unsigned = true;
		return true;
	case INDEX_UGE:
		*sign = -1, *equal = true, *is_unsigned = true;
		return true;
	default:
		return false;
	}
}

/* Whether the first count for which a loop does not go on is one that its bits hold: else it goes
 * on from the other end of what they hold. That count is the first one tested, or a step at most
 * behind the bound.
 * @param by what it counts by, upwards where the sign is 1 */
static bool ends(const struct evaluation *e, const struct index_node *node, int sign, int64_t by,
                 bool equal, bool is_unsigned)
{
	wide most = ((wide)1 << (node->bits - !is_unsigned)) - 1,
	     least = is_unsigned ? 0 : -most - 1;
	wide beyond = equal ? by : by - 1, first = node->after ? by : 0, lo, hi, from, to;
	struct affine initial = value_of(e, node, 0), bound = value_of(e, node, 2);

	if (!affine_bounds(&e->space, &bound, &lo, &hi) ||
	    !affine_bounds(&e->space, &initial, &from, &to))
		return false;
	return sign > 0 ? hi + beyond <= most && to + first <= most
	                : lo - beyond >= least && from - first >= least;
}

/* Whether the count still is one that its bits hold after its first step. */
static bool first_step_fits(const struct evaluation *e, const struct index_node *node)
{
	struct affine first = affine_add(value_of(e, node, 0), value_of(e, node, 1), 1);

	return affine_fit(&e->space, first, node->bits, false).known;
}

/* Rounds, from none to a number, as a step where each item makes as many of them. */
static struct affine rounds_make(const struct evaluation *e, const struct index_node *node,
                                 wide most, bool all)
{
	struct affine rounds = affine_range(0, most);

	if (rounds.known && all && most) {
		rounds.nsteps = 1;
		rounds.steps[0] = (struct affine_step){1, most, (int)(node - e->kernel->nodes)};
	}
	return rounds;
}

/* How often at most a loop goes back, from 0, as a range, and as a step where it is the same for
 * all. It counts from `initial` by `step` and goes on while the count, before or after its step,
 * compares to `bound`. */
static struct affine trips(const struct evaluation *e, const struct index_node *node)
{
	struct affine initial = value_of(e, node, 0), step = value_of(e, node, 1);
	struct affine bound = value_of(e, node, 2), distance;
	bool equal = false, is_unsigned = false;
	wide lo, hi, most, least, ignored, count;
	int64_t by;
	int sign;

	if (!affine_single(&step) || !step.c)
		return affine_unknown();
	sign = step.c > 0 ? 1 : -1;
	by = step.c * sign;
	distance = affine_scale(affine_add(bound, initial, -1), sign);
	if (!affine_bounds(&e->space, &distance, &lo, &hi))
		return affine_unknown();
	if (node->predicate == INDEX_EQ) {
		/* It goes on once at most, since a step leaves the bound. */
		wide now = node->after ? by : 0;

		if (node->after && !first_step_fits(e, node))
			return affine_unknown();
		return rounds_make(e, node, lo <= now && hi >= now, lo == hi);
	}
	if (node->predicate == INDEX_NE) {
		/* Counting that steps over its bound has no end that is known. */
		if (lo < (node->after ? 1 : 0) || (by != 1 && (lo != hi || hi % by)))
			return affine_unknown();
	} else {
		int asked;

		if (!direction(node, &asked, &equal, &is_unsigned) || asked != sign)
			return affine_unknown();
	}
	if (node->predicate != INDEX_NE && !ends(e, node, sign, by, equal, is_unsigned))
		return affine_unknown();
	if (is_unsigned && (!affine_bounds(&e->space, &initial, &least, &ignored) || least < 0 ||
	                    !affine_bounds(&e->space, &bound, &least, &ignored) || least < 0))
		return affine_unknown();
	/* Largest j with j * by < distance, or <=; that many times it goes back. */
	most = equal ? hi : hi - 1;
	count = most < 0 ? 0 : most / by + (node->after ? 0 : 1);
	return rounds_make(e, node, count, lo == hi);
}

/* A value with what its items add made part of its interval. */
static struct affine items_fold(const struct evaluation *e, struct affine a)
{
	for (int i = 3; i < 6; i++) {
		wide first = (wide)a.k[i] * e->space.least[i];
		wide last = (wide)a.k[i] * e->space.most[i];
		struct affine term =
		    affine_range(first < last ? first : last, first < last ? last : first);

		a.k[i] = 0;
		a = affine_add(a, term, 1);
	}
	return a;
}

/* Whether a group's items, stepping on together from where each begins, come by every value
 * from the least one's beginning to the last for which the test goes on. */
static bool takes_all(const struct evaluation *e, const struct index_node *tested, wide values)
{
	struct affine initial = value_of(e, tested, 0), bound = value_of(e, tested, 2);
	struct affine step = value_of(e, tested, 1);
	struct guards_terms items = {.n = 0};
	wide width = 1, pitch, rows;

	if (!tested->after || initial.lo != initial.hi || bound.lo != bound.hi || bound.k[3] ||
	    bound.k[4] || bound.k[5])
		return false;
	for (int i = 3; i < 6; i++)
		items.terms[items.n++] =
		    (struct guards_term){initial.k[i], e->space.least[i], e->space.most[i]};
	return guards_rows(&items, &width, &pitch, &rows) && !pitch &&
	       (width >= step.c || width >= values);
}

/* A count that goes by its loop's own test, of one step upwards, lies between where it
 * starts and the last value for which the test goes on: items that start later do fewer
 * steps. */
static struct affine counter(const struct evaluation *e, const struct index_node *tested,
                             struct affine value)
{
	struct affine initial = items_fold(e, value_of(e, tested, 0));
	struct affine bound = items_fold(e, value_of(e, tested, 2)), between;
	struct affine step = value_of(e, tested, 1), folded = items_fold(e, value);
	bool equal, is_unsigned, all;
	wide lo, hi;
	int sign;

	if (!direction(tested, &sign, &equal, &is_unsigned) || sign < 0 || !initial.known ||
	    !bound.known || !folded.known || memcmp(initial.k, bound.k, sizeof(bound.k)))
		return value;
	lo = (wide)initial.c + initial.lo;
	hi = (wide)bound.c + bound.hi - (equal ? 0 : 1) + (tested->after ? 0 : step.c);
	/* Nobody starts behind the end, and whoever starts makes all steps to it. */
	all = (wide)initial.c + initial.hi <= hi && takes_all(e, tested, hi - lo + 1);
	if ((wide)initial.c + initial.hi > hi)
		hi = (wide)initial.c + initial.hi;
	between = affine_range(lo, hi);
	if (memcmp(folded.k, initial.k, sizeof(initial.k)) || !between.known ||
	    hi > (wide)folded.c + folded.hi || (!all && hi == (wide)folded.c + folded.hi))
		return value;
	memcpy(between.k, initial.k, sizeof(between.k));
	if (all && hi > lo) {
		between.nsteps = 1;
		between.together = true;
		between.steps[0] = (struct affine_step){1, hi - lo, -1};
	}
	return between;
}

/* Of the tests of a loop, of which each may end it, the one that ends it first. */
static int test_first(const struct evaluation *e, int trips)
{
	wide ignored, rounds, least;
	int first = -1, other = trips;

	/* The first of an EITHER may be another one. Of equal ones the innermost counts. */
	for (bool more = true; more; trips = e->kernel->nodes[trips].operands[0]) {
		more = e->kernel->nodes[trips].op == INDEX_EITHER;
		other = more ? e->kernel->nodes[trips].operands[1] : trips;
		if (!affine_bounds(&e->space, &e->values[other], &ignored, &rounds) ||
		    (first >= 0 && rounds > least))
			continue;
		first = other, least = rounds;
	}
	return first < 0 ? other : first;
}

/* What rounds add that add something between two numbers each: a step that is another one for
 * other groups, or in other rounds. */
static struct affine rounds_add(const struct evaluation *e, const struct affine *step,
                                const struct affine *rounds)
{
	wide least, most, none, n;

	if (!affine_bounds(&e->space, step, &least, &most) ||
	    !affine_bounds(&e->space, rounds, &none, &n))
		return affine_unknown();
	return affine_range(least < 0 ? least * n : 0, most > 0 ? most * n : 0);
}

static struct affine loop(const struct evaluation *e, const struct index_node *node)
{
	int test = test_first(e, node->operands[2]);
	const struct index_node *trips = &e->kernel->nodes[test];
	struct affine initial = value_of(e, node, 0), step = value_of(e, node, 1);
	struct affine count = e->values[test], value;

	if (!affine_single(&step)) {
		value = affine_add(initial, rounds_add(e, &step, &count), 1);
		return affine_fit(&e->space, value, node->bits, false);
	}
	value = affine_add(initial, affine_scale(count, step.c), 1);
	if (value.known && !count.nsteps && trips->op == INDEX_TRIPS && step.c > 0 &&
	    trips->operands[0] == node->operands[0] && trips->operands[1] == node->operands[1])
		value = counter(e, trips, value);
	return affine_fit(&e->space, value, node->bits, false);
}

/* ---- bits ---- */

/* The narrower interval of two values. */
static struct affine narrower(struct affine a, struct affine b)
{
	if (!a.known || !b.known)
		return a.known ? a : b;
	return (wide)b.hi - b.lo < (wide)a.hi - a.lo ? b : a;
}

/* Bits of two numbers. Both have their sign in all bits above. */
static int64_t bits_of(enum index_op op, int64_t a, int64_t b)
{
	return op == INDEX_AND ? a & b : op == INDEX_OR ? a | b : a ^ b;
}

/* And, with a mask: its ones in one row take away what is above and below them. A number that is
 * known is within LIMIT of affine.c, so that nothing overflows. */
static struct affine mask(const struct evaluation *e, struct affine a, struct affine b)
{
	uint64_t ones, lowest, above;
	struct affine any;
	wide lo, hi;

	if (!affine_single(&b))
		return affine_unknown();
	if (!affine_bounds(&e->space, &a, &lo, &hi) || lo < 0)
		return b.c >= 0 ? affine_range(0, b.c) : affine_unknown();
	any = affine_range(0, b.c >= 0 && b.c < hi ? b.c : hi);
	ones = b.c;
	lowest = ones & -ones;
	above = ones + lowest; /* 0 where the ones go on to the sign */
	if (!ones || above & (above - 1))
		return any;
	if (above)
		a = affine_remainder(&e->space, a, above);
	return narrower(affine_add(a, affine_remainder(&e->space, a, lowest), -1), any);
}

/* Or, and exclusive or, of what is not negative; the latter also with -1, which compilers have for
 * -1 - a. */
static struct affine unite(const struct evaluation *e, struct affine a, struct affine b,
                           bool exclusive)
{
	wide al, ah, bl, bh, most = 1;

	if (exclusive && affine_single(&b) && b.c == -1)
		return affine_add(b, a, -1);
	if (!affine_bounds(&e->space, &a, &al, &ah) || !affine_bounds(&e->space, &b, &bl, &bh) ||
	    al < 0 || bl < 0)
		return affine_unknown();
	while (most <= ah || most <= bh)
		most <<= 1;
	if (affine_single(&b)) {
		int64_t above = 1;
		struct affine low;

		while (above <= b.c)
			above <<= 1;
		low = affine_remainder(&e->space, a, above);
		if (affine_single(&low) && !low.c)
			return affine_add(a, b, 1); /* no bit in common */
	}
	return affine_range(0, most - 1);
}

static struct affine bitwise(const struct evaluation *e, const struct index_node *node)
{
	struct affine a = value_of(e, node, 0), b = value_of(e, node, 1);

	if (affine_single(&a) && affine_single(&b))
		return affine_constant(bits_of(node->op, a.c, b.c));
	if (affine_single(&a)) {
		struct affine swapped = a;

		a = b;
		b = swapped;
	}
	return node->op == INDEX_AND ? mask(e, a, b) : unite(e, a, b, node->op == INDEX_XOR);
}

static struct affine shift(const struct evaluation *e, const struct index_node *node)
{
	struct affine a = value_of(e, node, 0), b = value_of(e, node, 1);

	if (!affine_single(&b) || b.c < 0 || b.c > 60)
		return affine_unknown();
	return node->op == INDEX_SHL ? affine_scale(a, (int64_t)1 << b.c)
	                             : affine_divide(&e->space, a, (int64_t)1 << b.c);
}

static struct affine divided(const struct evaluation *e, const struct index_node *node)
{
	struct affine a = value_of(e, node, 0), b = value_of(e, node, 1);

	if (!affine_single(&b))
		return affine_unknown();
	return node->op == INDEX_DIV ? affine_divide(&e->space, a, b.c)
	                             : affine_remainder(&e->space, a, b.c);
}

/* Reading as unsigned. In an address (INDEX_IN_BOUNDS) a negative number of 32 bits is left as it
 * is, though 2^32 more is meant: whoever uses the address has to tell (access_window()). */
static struct affine extended(const struct evaluation *e, const struct index_node *node)
{
	struct affine a = value_of(e, node, 0);
	wide lo, hi;

	if (affine_bounds(&e->space, &a, &lo, &hi) && hi < 0 && node->bits <= 32)
		return affine_add(a, affine_constant((int64_t)1 << node->bits), 1);
	if (node->op == INDEX_IN_BOUNDS && a.known)
		return a;
	a = affine_fit(&e->space, a, node->bits, true);
	if (!a.known && node->bits <= 32)
		return affine_range(0, ((wide)1 << node->bits) - 1);
	return a;
}

/* ---- choices ---- */

static struct index_guard guard_not(const struct index_guard *guard)
{
	static const unsigned char opposite[INDEX_NPREDICATES] = {
	    [INDEX_NE] = INDEX_EQ,   [INDEX_EQ] = INDEX_NE,   [INDEX_SLT] = INDEX_SGE,
	    [INDEX_SGE] = INDEX_SLT, [INDEX_SLE] = INDEX_SGT, [INDEX_SGT] = INDEX_SLE,
	    [INDEX_ULT] = INDEX_UGE, [INDEX_UGE] = INDEX_ULT, [INDEX_ULE] = INDEX_UGT,
	    [INDEX_UGT] = INDEX_ULE};
	struct index_guard negated = *guard;

	negated.predicate = opposite[guard->predicate];
	return negated;
}

/* One value, and what another one is more where that counts. */
static struct affine with_other(const struct evaluation *e, unsigned bits, struct affine one,
                                struct affine other, const struct affine_space *counts)
{
	struct affine more = affine_add(other, one, -1);
	wide lo, hi;

	if (!affine_bounds(counts, &more, &lo, &hi))
		return affine_unknown();
	more = affine_range(lo < 0 ? lo : 0, hi > 0 ? hi : 0);
	return affine_fit(&e->space, affine_add(one, more, 1), bits, false);
}

/* One of two values, as a guard says: each counts for those alone who may get it. */
static struct affine choice(const struct evaluation *e, const struct index_node *node)
{
	const struct index_guard *guard = &e->kernel->guards[node->value];
	struct index_guard otherwise = guard_not(guard);
	struct affine a = value_of(e, node, 0), b = value_of(e, node, 1), best;
	struct affine_space first = e->space, second = e->space;

	if (!guards_narrow(guard, e->values, &first))
		return b;
	if (!guards_narrow(&otherwise, e->values, &second))
		return a;
	best = narrower(with_other(e, node->bits, b, a, &first),
	                with_other(e, node->bits, a, b, &second));
	return narrower(best, affine_join(&e->space, a, b));
}

/* ---- nodes ---- */

static struct affine number(unsigned which)
{
	struct affine a = affine_constant(0);

	a.k[which] = 1;
	return a;
}

static struct affine leaf(const struct evaluation *e, const struct index_node *node)
{
	const struct ndrange *range = e->launch->range;

	switch (node->op) {
	case INDEX_CONSTANT:
		return affine_constant(node->value);
	case INDEX_ARGUMENT:
		return affine_constant(e->launch->integers[node->value]);
	case INDEX_FIELD:
		return affine_constant(e->launch->integers[e->kernel->narguments + node->value]);
	case INDEX_GROUP:
		return number(node->value);
	case INDEX_ITEM:
		return number(3 + node->value);
	case INDEX_GROUPS:
		return affine_constant(range->groups[node->value]);
	case INDEX_ITEMS:
		return affine_constant(range->local[node->value]);
	case INDEX_OFFSET:
		return affine_constant(range->offset[node->value]);
	case INDEX_DIMENSIONS:
		return affine_constant(range->dimensions);
	case INDEX_RANGE:
		return affine_range(node->value, node->most);
	default:
		return affine_unknown();
	}
}

static struct affine operation(struct evaluation *e, const struct index_node *node)
{
	struct affine a = node->operands[0] >= 0 ? value_of(e, node, 0) : affine_unknown();
	struct affine b = node->operands[1] >= 0 ? value_of(e, node, 1) : affine_unknown();

	switch (node->op) {
	case INDEX_ADD:
	case INDEX_SUB:
		return affine_add(a, b, node->op == INDEX_ADD ? 1 : -1);
	case INDEX_MUL:
		return affine_multiply(&e->space, a, b);
	case INDEX_SHL:
	case INDEX_SHR:
		return shift(e, node);
	case INDEX_DIV:
	case INDEX_REM:
		return divided(e, node);
	case INDEX_AND:
	case INDEX_OR:
	case INDEX_XOR:
		return bitwise(e, node);
	case INDEX_MIN:
	case INDEX_MAX:
		return affine_least(&e->space, a, b, node->op == INDEX_MIN ? 1 : -1);
	case INDEX_SELECT:
		return affine_join(&e->space, a, b);
	case INDEX_CHOOSE:
		return choice(e, node);
	case INDEX_EITHER:
		return !a.known ? b : !b.known ? a : affine_least(&e->space, a, b, 1);
	case INDEX_FIT:
		return a;
	case INDEX_EXTEND:
	case INDEX_IN_BOUNDS:
		return extended(e, node);
	case INDEX_LOAD:
		return index_load(e, node, a);
	case INDEX_TRIPS:
		return trips(e, node);
	case INDEX_LOOP:
		return loop(e, node);
	default:
		return leaf(e, node);
	}
}

void index_evaluate(struct evaluation *e)
{
	for (unsigned i = 0; i < e->kernel->nnodes; i++) {
		const struct index_node *node = &e->kernel->nodes[i];
		struct affine value = operation(e, node);

		/* Arithmetic of some bits is right as long as nothing overflows. */
		if (node->bits && node->op != INDEX_EXTEND && node->op != INDEX_IN_BOUNDS &&
		    node->op != INDEX_TRIPS)
			value = affine_fit(&e->space, value, node->bits, false);
		e->values[i] = value;
	}
}
