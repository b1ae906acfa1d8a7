/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/random_kernel.h"

/* ---- what kernels consist of ---- */

/* The smaller ones are those of variables alone: C computes with int instead. */
enum type { I32, U32, I64, U64, NTYPES, I16 = NTYPES, U16, I8, U8, NALLTYPES };

static const struct {
	const char *name;
	unsigned bits;
	bool is_signed;
} types[] = {{"int", 32, true},   {"uint", 32, false},   {"long", 64, true}, {"ulong", 64, false},
             {"short", 16, true}, {"ushort", 16, false}, {"char", 8, true},  {"uchar", 8, false}};

/* Types of elements: of buffers, and of vectors that lie in them. */
static const struct {
	const char *name;
	int64_t bytes;
	bool vectors; /* has vloadN() and vstoreN() */
} elements[] = {{"char", 1, true},   {"short", 2, true},         {"int", 4, true},
                {"float", 4, true},  {"long", 8, true},          {"float4", 16, false},
                {"int3", 16, false}, {"struct pair", 12, false}, {"union either", 4, false}};

enum { NELEMENTS = sizeof(elements) / sizeof(elements[0]) };

enum query { GLOBAL_ID, LOCAL_ID, GROUP_ID, GLOBAL_SIZE, LOCAL_SIZE, NUM_GROUPS, OFFSET, WORK_DIM };

static const char *const queries[] = {"get_global_id",     "get_local_id",   "get_group_id",
                                      "get_global_size",   "get_local_size", "get_num_groups",
                                      "get_global_offset", "get_work_dim"};

enum kind {
	LITERAL,
	INTEGER,
	VARIABLE,
	QUERY,
	BINARY,
	COMPARE,
	BOTH,
	NEGATE,
	CAST,
	SMALL,
	CHOICE,
	CALL,
	HELPER,
	LOADED,
	SIZE
};

enum call { MIN, MAX, CLAMP, MUL24, MAD24, NCALLS };

static const struct {
	const char *name;
	int n;
} calls[] = {{"min", 2}, {"max", 2}, {"clamp", 3}, {"mul24", 2}, {"mad24", 3}};

static const struct {
	const char *name, *where; /* its type, and that of a pixel's place */
	unsigned n;               /* sizes that count */
	const char *sizes[RANDOM_SIZES];
} images[] = {
    {"image1d_t", "int", 1, {"get_image_width(image)"}},
    {"image1d_array_t", "int2", 2, {"get_image_width(image)", "(int)get_image_array_size(image)"}},
    {"image2d_t", "int2", 2, {"get_image_width(image)", "get_image_dim(image).y"}},
    {"image2d_array_t",
     "int4",
     3,
     {"get_image_dim(image).x", "get_image_height(image)", "(int)get_image_array_size(image)"}},
    {"image3d_t",
     "int4",
     3,
     {"get_image_width(image)", "get_image_dim(image).y", "get_image_depth(image)"}},
};

/* How an integer is loaded from the data. */
static const struct {
	const char *pointer, *part; /* the type that it points to; of it this is loaded */
	int64_t stride, offset, bytes;
	enum type type;
	bool is_unsigned;
} loads[] = {{"int", "", 4, 0, 4, I32, false},           {"uint", "", 4, 0, 4, U32, true},
             {"uchar", "", 1, 0, 1, I32, true},          {"short", "", 2, 0, 2, I32, false},
             {"long", "", 8, 0, 8, I64, false},          {"ulong", "", 8, 0, 8, U64, true},
             {"int2", ".y", 8, 4, 4, I32, false},        {"uchar4", ".z", 4, 2, 1, I32, true},
             {"struct pair", ".y", 12, 4, 4, I32, false}};

enum { NLOADS = sizeof(loads) / sizeof(loads[0]) };

static const char *const smalls[] = {"char", "uchar", "short", "ushort"};

struct expression {
	enum kind kind;
	enum type type;
	int which, dimension; /* of variables, queries, operators, ... */
	int64_t value;
	struct expression *of[3];
};

enum act {
	SET,
	ADD_TO,
	PAIR,
	PAIR_CHANGE,
	STORE,
	LOAD,
	PAINT,
	IF,
	FOR,
	SWITCH,
	CASE,
	LEAVE,
	BREAK,
	CONTINUE,
	AGAIN
};

/* How an element is named: as b[i]; through a pointer to bytes; from one of two pointers into the
 * buffer on, by a condition; by a pointer that walks over several; by one that a structure holds.
 */
/* How both numbers of a pair change. */
enum change { PLUS, MINUS, TIMES_BOTH, LEAST, MOST, PRODUCT_MORE, SWAP, PERHAPS, NCHANGES };

enum naming { PLAIN, BYTES, PICKED, WALK, HELD };

/* How a structure holds a pointer: with an index beside it; a function gets the structure, or
 * changes it; a condition, or a number in memory, says which of two it is. */
enum held { BESIDE, GIVEN, CHANGED, CHOSEN, NUMBERED, NHELD };

enum { PICKED_DISTANCE = 3 };

struct statement {
	enum act act;
	int which;   /* a variable, or a buffer */
	int instead; /* the buffer in place of it if of[2] holds; -1: none */
	int width;   /* of a vector that is loaded or stored; 1: an element */
	int lanes; /* of an element that is a vector, those that are stored, as bits; 0: all of it,
	              or the one that of[1] chooses */
	int form;  /* how it is spelled, or which loop it is; of a case 1: it is the default */
	int compare; /* of a loop */
	enum naming naming;
	enum held held;
	int walked, by; /* elements of a walk, and how far each is from the one before */
	bool unaligned; /* of vectors: the index counts elements */
	bool waits;     /* at a barrier in front of it, which local memory is used for */
	bool falls;     /* of a case: into the next one */
	struct expression *of[3], *also; /* also: a loop goes on only if it holds, too; or NULL */
	struct statement *body, *other, *next; /* AGAIN: body, and other behind it, go back by a
	                                          goto; of[2]: another goto leads to the latter */
};

enum { MAXVARIABLES = 20, MAXSTEPS = 40000, MAXTOUCHES = 60000, MAXWIDTH = 16, NHELPERS = 2 };

struct random_kernel {
	int number; /* in the source, a part of its name and of those of its functions */
	int elements[RANDOM_BUFFERS];
	int nvariables;
	enum type variables[MAXVARIABLES];
	char lanes[MAXVARIABLES]; /* 'x', 'y': of an int2, one variable after the other; 0: of none
	                           */
	struct expression *helpers[NHELPERS]; /* of variables 0 and 1, as parameters */
	struct statement *body;
	bool structured; /* its integers are in a structure */
	bool looks;      /* many of its indices are loaded */
	int image;       /* which kind it writes; -1: none */
	int tile;        /* a macro that an option defines */
};

/* Of the latest kernels, whose options are the same. */
static struct random_kernel kernels[RANDOM_KERNELS];
static struct expression expressions[RANDOM_KERNELS * 2000];
static struct statement statements[RANDOM_KERNELS * 400];
static unsigned nkernels, nexpressions, nstatements;
static char options[32];

/* ---- making ---- */

struct maker {
	struct random_kernel *kernel;
	int visible[MAXVARIABLES], nvisible; /* variables that may be used */
	int depth, loops, switches;
	bool in_helper;
};

static int pick(int n)
{
	return lrand48() % n;
}

static bool chance(int percent)
{
	return pick(100) < percent;
}

static struct expression *expression(enum kind kind, enum type type, int which)
{
	struct expression *e = &expressions[nexpressions++];

	if (nexpressions == sizeof(expressions) / sizeof(expressions[0]))
		abort();
	*e = (struct expression){.kind = kind, .type = type, .which = which};
	return e;
}

/* The type that numbers of a type are computed with. */
static enum type promoted(enum type type)
{
	return types[type].bits < 32 ? I32 : type;
}

/* The type of an operation on two. */
static enum type common(enum type a, enum type b)
{
	a = promoted(a);
	b = promoted(b);
	if (types[a].bits == types[b].bits)
		return types[a].is_signed ? b : a;
	return types[a].bits > types[b].bits ? a : b;
}

static struct expression *literal(int64_t value)
{
	struct expression *e = expression(LITERAL, I32, 0);

	e->value = value;
	return e;
}

static struct expression *binary(char op, struct expression *a, struct expression *b)
{
	struct expression *e = expression(BINARY, common(a->type, b->type), op);

	if (op == '<' || op == '>')
		e->type = promoted(a->type);
	e->of[0] = a;
	e->of[1] = b;
	return e;
}

static struct expression *cast(enum type type, struct expression *a)
{
	struct expression *e = expression(CAST, type, 0);

	e->of[0] = a;
	return e;
}

static struct expression *query(enum query which, int dimension)
{
	struct expression *e = expression(QUERY, which == WORK_DIM ? U32 : U64, which);

	e->dimension = dimension;
	/* Most programs keep ids as int. */
	return chance(55) ? cast(chance(80) ? I32 : U32, e) : e;
}

static struct expression *any(struct maker *m, int depth);

/* A size of the image. */
static struct expression *size_make(struct maker *m)
{
	return expression(SIZE, I32, pick(images[m->kernel->image].n));
}

/* An integer of the data. */
static struct expression *loaded(struct expression *index)
{
	int which = chance(60) ? 0 : pick(NLOADS);
	struct expression *e = expression(LOADED, loads[which].type, which);

	e->of[0] = index;
	return e;
}

/* A table has an entry for each group, item or row, mostly. */
static struct expression *entry(struct maker *m)
{
	struct expression *e = query(chance(50)   ? GROUP_ID
	                             : chance(80) ? GLOBAL_ID
	                                          : LOCAL_ID,
	                             pick(3));

	if (m->nvisible && chance(20)) {
		int which = m->visible[pick(m->nvisible)];

		e = expression(VARIABLE, m->kernel->variables[which], which);
	}
	if (chance(25))
		e = binary("+*"[pick(2)], e, literal(1 + pick(5)));
	return loaded(chance(10) ? literal(pick(9)) : e);
}

static struct expression *leaf(struct maker *m)
{
	static const int constants[] = {0, 1, 2, 3, 4, 5, 7, 8, 16, 31, 64, 100, -1, -2};
	int what = pick(10);

	if (!m->in_helper && m->kernel->looks && chance(12))
		return entry(m);
	if (m->in_helper)
		what = pick(2) ? 9 : what;
	if (what < 4 && !m->in_helper)
		return query(chance(60)   ? GLOBAL_ID
		             : chance(70) ? 1 + pick(2)
		                          : pick(WORK_DIM + 1),
		             chance(70) ? 0 : pick(3));
	if (what < 6 || (what < 8 && m->in_helper))
		return literal(constants[pick(sizeof(constants) / sizeof(constants[0]))]);
	if (what < 8) {
		int which = pick(RANDOM_INTEGERS);

		return expression(INTEGER, which, which);
	}
	if (m->kernel->image >= 0 && !m->in_helper && chance(30))
		return size_make(m);
	if (m->nvisible) {
		int which = m->visible[pick(m->nvisible)];

		return expression(VARIABLE, m->kernel->variables[which], which);
	}
	return literal(pick(10));
}

static struct expression *compare(struct expression *a, struct expression *b)
{
	struct expression *e = expression(COMPARE, I32, pick(6));

	e->of[0] = a;
	e->of[1] = b;
	return e;
}

static struct expression *condition(struct maker *m, int depth)
{
	struct expression *e;

	if (depth && chance(25)) {
		e = expression(BOTH, I32, pick(2));
		e->of[0] = condition(m, depth - 1);
		e->of[1] = condition(m, depth - 1);
		return e;
	}
	if (depth && chance(8)) {
		e = expression(NEGATE, I32, '!');
		e->of[0] = condition(m, depth - 1);
		return e;
	}
	return compare(any(m, 1), chance(70) ? leaf(m) : any(m, 1));
}

static struct expression *call(struct maker *m, int depth)
{
	int which = pick(NCALLS);
	enum type type = which == MUL24 || which == MAD24 ? pick(2) : pick(NTYPES);
	struct expression *e = expression(CALL, type, which);

	for (int i = 0; i < calls[which].n; i++)
		e->of[i] = cast(type, any(m, depth - 1));
	return e;
}

/* Any expression. */
static struct expression *any(struct maker *m, int depth)
{
	static const char operators[] = "++++---****/%%&|^<<>>";
	struct expression *e, *other;
	int what = pick(100);

	if (depth <= 0 || what < 20)
		return leaf(m);
	if (chance(3))
		return condition(m, 1);
	if (what < 72) {
		char op = operators[pick(sizeof(operators) - 1)];

		e = any(m, depth - 1);
		other = strchr("/%&<>", op) && chance(85) ? literal(1 + pick(op == '<' ? 5 : 12))
		                                          : any(m, depth - 1);
		return binary(op, e, other);
	}
	if (what < 80)
		return cast(pick(NTYPES), any(m, depth - 1));
	if (what < 83) {
		e = expression(SMALL, I32, pick(4));
		e->of[0] = any(m, depth - 1);
		return e;
	}
	if (what < 85) {
		e = expression(NEGATE, I32, chance(50) ? '-' : '~');
		e->of[0] = any(m, depth - 1);
		e->type = promoted(e->of[0]->type);
		return e;
	}
	if (what < 90) {
		e = expression(CHOICE, I32, 0);
		e->of[0] = condition(m, 1);
		e->of[1] = any(m, depth - 1);
		e->of[2] = any(m, depth - 1);
		e->type = common(e->of[1]->type, e->of[2]->type);
		return e;
	}
	if (what < 95)
		return call(m, depth);
	if (what < 98 && !m->in_helper) {
		e = expression(HELPER, I32, pick(NHELPERS));
		e->type = e->which ? U32 : I32;
		e->of[0] = cast(I32, any(m, depth - 1));
		e->of[1] = cast(U32, any(m, depth - 1));
		return e;
	}
	if (what < 99 && !m->in_helper)
		return loaded(leaf(m));
	return leaf(m);
}

static struct expression *variable(struct maker *m)
{
	int which = m->visible[pick(m->nvisible)];

	return expression(VARIABLE, m->kernel->variables[which], which);
}

/* `c ? a : b`, where a comparison of ids and sizes mostly is the condition: the last group does
 * something else. */
static struct expression *choice(struct maker *m, struct expression *a, struct expression *b)
{
	struct expression *e = expression(CHOICE, common(a->type, b->type), 0), *last;
	enum query id = chance(60) ? GROUP_ID : chance(50) ? LOCAL_ID : GLOBAL_ID;
	enum query number = id == GROUP_ID ? NUM_GROUPS : id == LOCAL_ID ? LOCAL_SIZE : GLOBAL_SIZE;
	int dimension = chance(80) ? 0 : pick(3);

	last = chance(50)   ? binary('-', query(number, dimension), literal(1))
	       : chance(60) ? literal(pick(6))
	                    : leaf(m);
	e->of[0] = chance(85) ? compare(query(id, dimension), last) : condition(m, 1);
	e->of[1] = a;
	e->of[2] = b;
	return e;
}

/* mad24(row, width, column), as kernels for images have it. */
static struct expression *row_of_24(struct maker *m, struct expression *width,
                                    struct expression *column)
{
	enum type type = pick(2);
	struct expression *e = expression(CALL, type, MAD24);

	e->of[0] = cast(type, chance(80) ? query(GLOBAL_ID, 1 + pick(2)) : leaf(m));
	e->of[1] = cast(type, width);
	e->of[2] = cast(type, column);
	return e;
}

/* What indices of real kernels look like, and sometimes anything. */
static struct expression *index_make(struct maker *m)
{
	struct expression *e, *width;
	int what = pick(100);

	width = chance(50) ? expression(INTEGER, chance(80) ? I32 : U32, 0) : literal(1 + pick(40));
	if (width->kind == INTEGER)
		width->which = width->type;
	if (what < 12)
		return any(m, 3);
	e = query(chance(75) ? GLOBAL_ID : 1 + pick(2), chance(80) ? 0 : pick(3));
	if (what < 18)
		e = row_of_24(m, width, e);
	else if (what < 45)
		e = binary('+', binary('*', query(GLOBAL_ID, 1 + pick(2)), width), e);
	else if (what < 60)
		e = binary('+', binary('*', query(GROUP_ID, pick(2)), query(LOCAL_SIZE, pick(2))),
		           chance(70) ? query(LOCAL_ID, pick(2)) : any(m, 1));
	if (m->nvisible && chance(50))
		e = binary('+', chance(30) ? binary('*', e, width) : e,
		           chance(40) ? binary('*', variable(m), chance(50) ? width : leaf(m))
		                      : variable(m));
	if (chance(20))
		e = binary("+-*"[pick(3)], e, leaf(m));
	if (chance(15))
		e = binary('+', e, literal(pick(9)));
	if (m->kernel->looks && chance(30))
		e = binary('+', chance(30) ? binary('*', entry(m), width) : entry(m), e);
	if (chance(10))
		e = choice(m, e, chance(70) ? binary("+-"[pick(2)], e, leaf(m)) : leaf(m));
	return chance(15) ? cast(pick(NTYPES), e) : e;
}

static struct statement *statement(enum act act, int which)
{
	struct statement *s = &statements[nstatements++];

	if (nstatements == sizeof(statements) / sizeof(statements[0]))
		abort();
	*s = (struct statement){.act = act, .which = which, .instead = -1, .width = 1};
	return s;
}

static int variable_add(struct maker *m, enum type type)
{
	int which = m->kernel->nvariables;

	if (which == MAXVARIABLES)
		return -1;
	m->kernel->variables[m->kernel->nvariables++] = type;
	return which;
}

/* Two variables that are one vector. @return the first one; -1: there is no room */
static int pair_add(struct maker *m)
{
	int first = m->kernel->nvariables;

	if (first + 2 > MAXVARIABLES)
		return -1;
	for (int i = 0; i < 2; i++) {
		m->kernel->lanes[first + i] = "xy"[i];
		m->visible[m->nvisible++] = variable_add(m, I32);
	}
	return first;
}

static struct statement *pair_statement(struct maker *m, enum act act, int which)
{
	struct statement *s = statement(act, which);

	for (int i = 0; i < 2; i++)
		s->of[i] = cast(I32, act == PAIR && chance(60) ? query(GLOBAL_ID, i)
		                     : chance(40)              ? literal(pick(4))
		                                               : any(m, 1));
	if (act == PAIR_CHANGE) {
		s->form = chance(40) ? PLUS : pick(NCHANGES);
		s->of[2] = condition(m, 1);
		s->walked = pick(9);
		s->by = pick(5) - 1;
	}
	return s;
}

/* The change of a pair that is visible; NULL: none is. */
static struct statement *pair_change(struct maker *m)
{
	for (int i = m->nvisible; i-- > 0;)
		if (m->kernel->lanes[m->visible[i]] == 'x')
			return pair_statement(m, PAIR_CHANGE, m->visible[i]);
	return NULL;
}

/* A pixel, mostly by ids, and perhaps one outside of the image. */
static struct statement *paint_make(struct maker *m)
{
	struct statement *s = statement(PAINT, 0);

	for (unsigned i = 0; i < images[m->kernel->image].n; i++) {
		struct expression *e = query(chance(85) ? GLOBAL_ID : 1 + pick(2), i);

		if (chance(8))
			e = any(m, 2);
		if (m->nvisible && chance(25))
			e = chance(50) ? variable(m) : binary('+', e, variable(m));
		if (chance(10))
			e = binary("+-*"[pick(3)], e, leaf(m));
		if (chance(10))
			e = binary('-', binary('-', size_make(m), literal(1)), e);
		s->of[i] = cast(I32, e);
	}
	s->form = pick(3);
	s->compare = pick(5) - 1;
	return s;
}

/* The numbers that an element has, where it is a vector; 0: it is none. */
static int element_lanes(const struct random_kernel *kernel, int buffer)
{
	const char *name = elements[kernel->elements[buffer]].name;

	return !strcmp(name, "float4") ? 4 : !strcmp(name, "int3") ? 3 : 0;
}

/* Makes it one of two buffers, if there is another one with such elements. */
static void instead_make(struct maker *m, struct statement *s)
{
	int other = pick(s->act == STORE ? 2 : RANDOM_DATA);

	if (other == s->which || m->kernel->elements[other] != m->kernel->elements[s->which])
		return;
	s->instead = other;
	s->of[2] = condition(m, 1);
}

static struct statement *access_make(struct maker *m)
{
	static const int widths[] = {2, 3, 4, 8, MAXWIDTH};
	bool store = chance(65);
	struct statement *s;

	if (m->kernel->image >= 0 && chance(50))
		return paint_make(m);
	s = statement(store ? STORE : LOAD, store ? pick(2) : pick(RANDOM_DATA));

	s->of[0] = index_make(m);
	if (elements[m->kernel->elements[s->which]].vectors && chance(15))
		s->width = widths[pick(5)];
	s->form = pick(4);
	s->unaligned = s->width > 1 && chance(30);
	s->waits = chance(10);
	if (chance(20))
		instead_make(m, s);
	if (s->width == 1 && chance(35)) {
		s->naming = s->instead < 0 ? BYTES + pick(HELD) : chance(50) ? WALK : HELD;
		/* In memory pointers are refused, so few are there. */
		s->held = s->instead >= 0 ? pick(CHOSEN) : chance(4) ? NUMBERED : pick(NUMBERED);
		if (s->instead < 0)
			s->of[2] = condition(m, 1);
		s->walked = 1 + pick(5);
		s->by = pick(9) - 4;
		return s;
	}
	if (store && element_lanes(m->kernel, s->which) && chance(50)) {
		s->lanes = pick(1 << element_lanes(m->kernel, s->which));
		if (!s->lanes)
			s->of[1] = binary('&', any(m, 1), literal(1));
	}
	return s;
}

static struct statement *block(struct maker *m);

/* What a loop may ask beside its own test: of its counter, of another one, or of anything. */
static struct expression *also_make(struct maker *m, int counter)
{
	if (counter < 0 || chance(30))
		return condition(m, 1);
	return compare(expression(VARIABLE, m->kernel->variables[counter], counter),
	               chance(60) ? literal(pick(40)) : any(m, 1));
}

static struct statement *loop(struct maker *m)
{
	enum type type = chance(75) ? I32 : pick(NALLTYPES);
	int which = variable_add(m, type);
	struct statement *s = statement(FOR, which);
	int visible = m->nvisible;

	if (which < 0)
		return access_make(m);
	s->form = pick(8);
	s->compare = chance(60) ? 0 : pick(6);
	s->of[0] = cast(type, chance(50) ? literal(pick(3)) : any(m, 1));
	s->of[1] = chance(50) ? literal(pick(12)) : any(m, 1);
	if (s->form == 1 || s->form == 2) {
		s->of[1] = chance(50) ? literal(pick(3)) : any(m, 1);
		s->of[0] = cast(type, chance(50) ? literal(pick(12)) : any(m, 1));
		s->compare = chance(50) ? 2 : chance(50) ? 3 : 5;
	}
	if (chance(15))
		s->of[pick(2)] =
		    cast(type, choice(m, s->of[1], chance(50) ? literal(pick(12)) : leaf(m)));
	/* A counter that is extended in front of the test. */
	if (chance(25))
		s->of[1] = cast(pick(NTYPES), s->of[1]);
	s->of[2] = chance(50) ? literal(1 + pick(5)) : chance(60) ? query(LOCAL_SIZE, 0) : leaf(m);
	m->visible[m->nvisible++] = which;
	if (chance(20))
		s->also = also_make(m, which);
	m->depth++;
	m->loops++;
	s->body = block(m);
	m->loops--;
	m->depth--;
	m->nvisible = visible;
	return s;
}

/* The items of a group go through a part of a buffer together, or so it seems. */
static struct statement *shared_loop(struct maker *m)
{
	int which = variable_add(m, I32);
	struct statement *s = statement(FOR, which), *store = statement(STORE, pick(2));
	struct expression *bound = chance(50) ? literal(1 + pick(40)) : expression(INTEGER, I32, 0);
	struct expression *count = expression(VARIABLE, I32, which), *item = query(LOCAL_ID, 0);

	if (which < 0)
		return access_make(m);
	if (chance(25))
		item = binary('*', item, literal(1 + pick(3)));
	s->of[0] = cast(I32, chance(30) ? binary('+', item, literal(pick(3))) : item);
	s->of[1] = bound;
	s->of[2] = chance(70) ? query(LOCAL_SIZE, 0) : literal(1 + pick(9));
	store->of[0] = binary('+', binary('*', query(GROUP_ID, 0), chance(80) ? bound : leaf(m)),
	                      chance(20) ? binary('*', count, literal(1 + pick(3))) : count);
	s->body = store;
	if (chance(25)) {
		m->visible[m->nvisible++] = which;
		if (chance(40))
			s->also = also_make(m, which);
		s->body = statement(IF, 0);
		s->body->of[0] = condition(m, 1);
		s->body->body = chance(60) ? store : statement(BREAK + pick(2), 0);
		s->body->next = s->body->body == store ? NULL : store;
		m->nvisible--;
	}
	return s;
}

/* A loop that counts a new variable, up or down, so often. */
static struct statement *count_loop(struct maker *m, int which, struct expression *rounds)
{
	struct statement *s = statement(FOR, which);

	s->form = chance(70) ? 4 : chance(50) ? 3 : 7;
	s->of[0] = cast(I32, literal(chance(80) ? 0 : pick(3)));
	s->of[1] = rounds;
	s->of[2] = literal(1);
	if (chance(15)) {
		s->form = 2;
		s->compare = chance(70) ? 3 : 2;
		s->of[0] = cast(I32, rounds);
		s->of[1] = literal(0);
	} else if (chance(15)) {
		s->form = 0;
		s->of[2] = literal(1 + pick(3));
	} else if (chance(10)) {
		s->compare = 4 + pick(2);
	}
	m->visible[m->nvisible++] = which;
	return s;
}

/* Loops in each other in which an item fills a tile, or so it seems. Sometimes another variable
 * counts as well. */
static struct statement *tile_loops(struct maker *m)
{
	struct statement *first = NULL, **to = &first, *store = statement(STORE, pick(2)), *s;
	int n = 1 + pick(3), visible = m->nvisible, other = chance(20) ? variable_add(m, I32) : -1;
	struct expression *index = NULL, *stride = literal(1), *rounds;
	bool looped;

	if (other >= 0) {
		s = statement(SET, other);
		s->of[0] = cast(I32, literal(pick(4)));
		*to = s;
		to = &s->next;
		m->visible[m->nvisible++] = other;
	}
	for (int l = 0; l < n; l++) {
		int which = variable_add(m, I32);

		if (which < 0)
			break;
		rounds = chance(70)         ? literal(1 + pick(4))
		         : chance(70) || !l ? expression(INTEGER, I32, 0)
		                            : expression(VARIABLE, I32, which - 1);
		s = count_loop(m, which, rounds);
		if (chance(other >= 0 ? 50 : 15))
			s->also = also_make(m, other >= 0 && chance(70) ? other : which);
		*to = s;
		to = &s->body;
		s = NULL;
		stride = chance(85) ? stride : literal(1 + pick(9));
		index = binary(
		    '+', index ? binary('*', index, chance(85) ? rounds : leaf(m)) : literal(0),
		    binary('*', expression(VARIABLE, I32, which), stride));
	}
	looped = index != NULL;
	if (index && chance(50))
		index = binary('+', index,
		               binary('*', query(chance(70) ? GLOBAL_ID : 1 + pick(2), pick(2)),
		                      literal(1 + pick(70))));
	else
		index = binary('+', index ? binary('*', index, literal(1 + pick(70))) : literal(0),
		               query(GLOBAL_ID, 0));
	if (other >= 0)
		index = binary('+', index, expression(VARIABLE, I32, other));
	store->of[0] = index;
	if (chance(25)) {
		s = statement(IF, 0);
		s->of[0] = condition(m, 1);
		s->body = chance(60) ? store : statement(looped ? BREAK + pick(2) : LEAVE, 0);
		s->next = s->body == store ? NULL : store;
		*to = s;
	} else {
		*to = store;
	}
	if (other >= 0) {
		s = statement(ADD_TO, other);
		s->of[0] =
		    cast(I32, binary('+', expression(VARIABLE, I32, other), literal(1 + pick(4))));
		store->next = s;
	}
	m->nvisible = visible;
	return first;
}

/* A store at a place that grows behind it, both perhaps behind a condition. */
static struct statement *append_make(struct maker *m, int place)
{
	struct expression *at = expression(VARIABLE, I32, place);
	struct statement *store = statement(STORE, pick(2)), *s;

	store->of[0] = chance(80) ? at : binary('+', at, query(GLOBAL_ID, 0));
	s = store->next = statement(ADD_TO, place);
	s->of[0] = cast(I32, binary("++-"[pick(3)], at, literal(pick(4))));
	if (chance(20))
		s->of[0] = cast(I32, choice(m, s->of[0], at));
	if (chance(30))
		return store;
	s = statement(IF, 0);
	s->of[0] = condition(m, 1);
	s->body = store;
	if (chance(20)) {
		s->other = statement(ADD_TO, place);
		s->other->of[0] = cast(I32, binary('+', at, literal(pick(4))));
	}
	return s;
}

/* Loops that append to what is behind a place. */
static struct statement *append_loops(struct maker *m)
{
	int visible = m->nvisible, place = variable_add(m, I32);
	struct statement *s = statement(SET, place), **to = &s->next, **inside;

	if (place < 0)
		return access_make(m);
	s->of[0] = cast(I32, binary('*', query(chance(70) ? GLOBAL_ID : 1 + pick(2), 0),
	                            literal(1 + pick(30))));
	m->visible[m->nvisible++] = place;
	for (int l = 1 + pick(3); l; l--) {
		int which = variable_add(m, chance(80) ? I32 : pick(NALLTYPES));

		if (which < 0)
			break;
		*to = count_loop(m, which, literal(1 + pick(4)));
		inside = &(*to)->body;
		if (chance(30))
			*inside = append_make(m, place);
		if (*inside && chance(50)) {
			to = &(*to)->next;
			m->nvisible--;
		} else {
			to = inside;
		}
		while (*to)
			to = &(*to)->next;
	}
	*to = append_make(m, place);
	m->nvisible = visible;
	return s;
}

/* Stores at equal distances, or so it seems, in any order. */
static struct statement *strided_stores(struct maker *m)
{
	struct expression *id = query(GLOBAL_ID, 0),
	                  *pitch = chance(60) ? literal(1 + pick(60)) : leaf(m);
	struct statement *first = NULL, **to = &first;
	int n = 2 + pick(4), buffer = pick(2), begin = pick(n);

	for (int i = 0; i < n; i++) {
		struct statement *s = statement(STORE, buffer);

		s->of[0] = binary('+', id, binary('*', pitch, literal((begin + i) % n)));
		if (chance(10))
			s->of[0] = binary('+', s->of[0], literal(1 + pick(3)));
		*to = s;
		to = &s->next;
	}
	return first;
}

/* What is done differently at the border. */
static struct statement *border(struct maker *m)
{
	struct statement *s = statement(IF, 0);
	int d = pick(2), visible = m->nvisible;
	struct expression *id = query(chance(70) ? GLOBAL_ID : 1 + pick(2), d);

	s->of[0] =
	    compare(id, chance(50) ? literal(0) : binary('-', query(GLOBAL_SIZE, d), literal(1)));
	s->of[0]->which = 4 + pick(2);
	m->depth++;
	s->body = access_make(m);
	s->other = chance(70) ? access_make(m) : NULL;
	m->depth--;
	if (s->other && chance(50))
		s->other->of[0] = s->body->of[0];
	m->nvisible = visible;
	return s;
}

/* A value with few others, mostly. */
static struct expression *switch_value(struct maker *m)
{
	struct expression *e =
	    chance(60) ? query(chance(50) ? GLOBAL_ID : 1 + pick(2), pick(2)) : any(m, 1);

	if (chance(60))
		e = binary(chance(60) ? '&' : '%', e, literal(chance(70) ? 3 : 1 + pick(7)));
	return e;
}

/* @param to a variable that the cases set; -1: they do anything */
static struct statement *switch_make(struct maker *m, int to)
{
	struct statement *s = statement(SWITCH, 0), **at = &s->body, *of;
	int n = 1 + pick(5), label = chance(80) ? 0 : pick(9) - 3, visible = m->nvisible;
	int other = chance(70) ? pick(n) : n;

	s->of[0] = switch_value(m);
	m->depth++;
	m->switches++;
	for (int i = 0; i < n; i++) {
		of = statement(CASE, label);
		label += chance(80) ? 1 : 1 + pick(30);
		of->form = i == other;
		of->falls = chance(20);
		if (to >= 0 && chance(90)) {
			of->body = statement(ADD_TO, to);
			of->body->of[0] =
			    cast(m->kernel->variables[to],
			         chance(70) ? literal(pick(chance(50) ? 9 : 300)) : any(m, 1));
		} else {
			of->body = block(m);
		}
		m->nvisible = visible;
		*at = of;
		at = &of->next;
	}
	m->switches--;
	m->depth--;
	return s;
}

/* What a switch chooses is part of an index. */
static struct statement *chosen_store(struct maker *m)
{
	int which = variable_add(m, chance(70) ? I32 : pick(NTYPES));
	struct statement *s = statement(SET, which), *store = statement(STORE, pick(2));
	struct expression *value;

	if (which < 0)
		return access_make(m);
	s->of[0] = cast(m->kernel->variables[which], literal(pick(9)));
	m->visible[m->nvisible++] = which;
	s->next = switch_make(m, which);
	value = expression(VARIABLE, m->kernel->variables[which], which);
	if (chance(40))
		value = binary('*', value, chance(50) ? literal(1 + pick(40)) : leaf(m));
	store->of[0] = chance(70) ? binary('+', query(GLOBAL_ID, 0), value) : value;
	s->next->next = store;
	return s;
}

/* A place with two coordinates, which a loop moves. */
static struct statement *pair_loop(struct maker *m)
{
	int visible = m->nvisible, which = pair_add(m), count = variable_add(m, I32);
	struct statement *s, *loop, *store;
	struct expression *x, *y;

	if (which < 0 || count < 0) {
		m->nvisible = visible;
		return access_make(m);
	}
	m->nvisible = visible;
	s = pair_statement(m, PAIR, which);
	m->visible[m->nvisible++] = which;
	m->visible[m->nvisible++] = which + 1;
	loop = s->next = count_loop(m, count, literal(1 + pick(6)));
	x = expression(VARIABLE, I32, which);
	y = expression(VARIABLE, I32, which + 1);
	store = statement(STORE, pick(2));
	store->of[0] = chance(70) ? binary('+', binary('*', y, literal(1 + pick(60))), x)
	                          : binary('+', chance(50) ? x : y, query(GLOBAL_ID, 0));
	loop->body = store;
	store->next = pair_statement(m, PAIR_CHANGE, which);
	if (chance(30)) {
		m->loops++;
		store->next->next = block(m);
		m->loops--;
	}
	m->nvisible = visible;
	return s;
}

/* A loop that a goto makes; perhaps another one leads into it. */
static struct statement *again(struct maker *m)
{
	int visible = m->nvisible, which = variable_add(m, chance(80) ? I32 : pick(NALLTYPES));
	struct statement *s = statement(AGAIN, which);

	if (which < 0)
		return access_make(m);
	s->of[1] = chance(60) ? literal(1 + pick(6)) : any(m, 1);
	if (chance(40))
		s->of[2] = condition(m, 1);
	m->visible[m->nvisible++] = which;
	if (chance(25))
		s->also = also_make(m, which);
	m->depth++;
	s->body = block(m);
	m->nvisible = visible + 1;
	s->other = block(m);
	m->depth--;
	m->nvisible = visible;
	return s;
}

static struct statement *statement_make(struct maker *m)
{
	int what = pick(100), visible = m->nvisible;
	struct statement *s;

	if (chance(8))
		return shared_loop(m);
	if (chance(10))
		return tile_loops(m);
	if (chance(4))
		return strided_stores(m);
	if (chance(4))
		return append_loops(m);
	if (chance(4))
		return border(m);
	if (chance(4))
		return chosen_store(m);
	if (chance(4))
		return pair_loop(m);
	if (chance(4)) {
		int which = pair_add(m);

		m->nvisible = visible;
		if (which < 0)
			return access_make(m);
		s = pair_statement(m, PAIR, which);
		m->visible[m->nvisible++] = which;
		m->visible[m->nvisible++] = which + 1;
		return s;
	}
	s = chance(6) ? pair_change(m) : NULL;
	if (s)
		return s;
	if (m->depth <= 2 && chance(4))
		return switch_make(m, -1);
	if (m->depth <= 2 && chance(3))
		return again(m);

	if (m->depth > 2 || what < 42)
		return access_make(m);
	if (what < 55) {
		enum type type = pick(NALLTYPES);
		int which = variable_add(m, type);

		if (which < 0)
			return access_make(m);
		s = statement(SET, which);
		s->of[0] = cast(type, any(m, 2));
		m->visible[m->nvisible++] = which;
		return s;
	}
	if (what < 60 && m->nvisible) {
		int which = m->visible[pick(m->nvisible)];

		s = statement(ADD_TO, which);
		s->of[0] =
		    cast(m->kernel->variables[which],
		         binary('+', expression(VARIABLE, m->kernel->variables[which], which),
		                any(m, 1)));
		return s;
	}
	if (what < 82) {
		s = statement(IF, 0);
		s->of[0] = condition(m, 2);
		m->depth++;
		if (chance(25)) {
			s->body = statement(m->loops && chance(60)      ? BREAK + pick(2)
			                    : m->switches && chance(60) ? BREAK
			                                                : LEAVE,
			                    0);
		} else {
			s->body = block(m);
			m->nvisible = visible;
			if (chance(25))
				s->other = block(m);
		}
		m->depth--;
		m->nvisible = visible;
		return s;
	}
	return loop(m);
}

static struct statement *block(struct maker *m)
{
	struct statement *first = NULL, **to = &first;

	for (int n = 1 + pick(m->depth ? 2 : 4); n; n--) {
		*to = statement_make(m);
		while (*to)
			to = &(*to)->next;
	}
	return first;
}

static void kernel_make(struct random_kernel *kernel, int number, int tile)
{
	struct maker m = {.kernel = kernel};

	*kernel = (struct random_kernel){.number = number,
	                                 .tile = tile,
	                                 .structured = chance(25),
	                                 .image = -1,
	                                 .looks = chance(50)};
	if (chance(40))
		kernel->image = pick(sizeof(images) / sizeof(images[0]));
	for (int b = 0; b < RANDOM_BUFFERS; b++)
		kernel->elements[b] = chance(50) ? 3 : pick(NELEMENTS);
	kernel->elements[RANDOM_DATA] = 2;
	/* The parameters of helpers are variables of their own. */
	kernel->variables[0] = I32;
	kernel->variables[1] = U32;
	kernel->nvariables = 2;
	m.in_helper = true;
	m.visible[0] = 0;
	m.visible[1] = 1;
	m.nvisible = 2;
	for (int h = 0; h < NHELPERS; h++)
		kernel->helpers[h] = cast(h ? U32 : I32, any(&m, 2));
	m.in_helper = false;
	m.nvisible = 0;
	kernel->body = block(&m);
}

void random_kernels_make(unsigned n)
{
	int tile = 2 + pick(15);

	nexpressions = nstatements = 0;
	nkernels = n < RANDOM_KERNELS ? n : RANDOM_KERNELS;
	snprintf(options, sizeof(options), "-DTILE=%d", tile);
	for (unsigned k = 0; k < nkernels; k++)
		kernel_make(&kernels[k], k, tile);
}

const struct random_kernel *random_kernel_named(const char *name)
{
	unsigned k;

	return sscanf(name, "k%u", &k) == 1 && k < nkernels ? &kernels[k] : NULL;
}

/* ---- printing ---- */

static const char *const comparisons[] = {"<", "<=", ">", ">=", "==", "!="};

static void variable_print(FILE *out, const struct random_kernel *kernel, int which)
{
	char lane = kernel->lanes[which];

	if (lane)
		fprintf(out, "w%d.%c", which - (lane == 'y'), lane);
	else
		fprintf(out, "v%d", which);
}

static void expression_print(FILE *out, const struct random_kernel *kernel,
                             const struct expression *e)
{
	switch (e->kind) {
	case LITERAL:
		if (e->value == kernel->tile)
			fputs("TILE", out);
		else
			fprintf(out, e->value < 0 ? "(%lld)" : "%lld", (long long)e->value);
		return;
	case INTEGER:
		fprintf(out, kernel->structured ? "n.n%d" : "n%d", e->which);
		return;
	case VARIABLE:
		variable_print(out, kernel, e->which);
		return;
	case QUERY:
		fprintf(out, e->which == WORK_DIM ? "%s()" : "%s(%d)", queries[e->which],
		        e->dimension);
		return;
	case SIZE:
		fputs(images[kernel->image].sizes[e->which], out);
		return;
	case NEGATE:
		fprintf(out, "(%c", e->which);
		expression_print(out, kernel, e->of[0]);
		fputc(')', out);
		return;
	case LOADED:
		if (e->which)
			fprintf(out, "((__global %s *)data)[", loads[e->which].pointer);
		else
			fputs("data[", out);
		expression_print(out, kernel, e->of[0]);
		fprintf(out, "]%s", loads[e->which].part);
		return;
	case CHOICE:
		fputc('(', out);
		expression_print(out, kernel, e->of[0]);
		fputs(" ? ", out);
		expression_print(out, kernel, e->of[1]);
		fputs(" : ", out);
		expression_print(out, kernel, e->of[2]);
		fputc(')', out);
		return;
	case CAST:
		fprintf(out, "(%s)(", types[e->type].name);
		break;
	case SMALL:
		fprintf(out, "(int)(%s)(", smalls[e->which]);
		break;
	case CALL:
		fprintf(out, "%s(", calls[e->which].name);
		break;
	case HELPER:
		fprintf(out, "help%d_%d(", e->which, kernel->number);
		break;
	case BINARY:
		fputs(e->which == '*' ? "TIMES(" : "(", out);
		break;
	default:
		fputc('(', out);
		break;
	}
	for (int i = 0; i < 3 && e->of[i]; i++) {
		if (i && e->kind == BINARY)
			fprintf(out,
			        e->which == '*'                      ? ","
			        : e->which == '<' || e->which == '>' ? " %c%c "
			                                             : " %c ",
			        e->which, e->which);
		else if (i && e->kind == COMPARE)
			fprintf(out, " %s ", comparisons[e->which]);
		else if (i && e->kind == BOTH)
			fputs(e->which ? " || " : " && ", out);
		else if (i)
			fputs(", ", out);
		expression_print(out, kernel, e->of[i]);
	}
	fputc(')', out);
}

static void block_print(FILE *out, const struct random_kernel *kernel, const struct statement *s);

static void element_value(FILE *out, const char *type)
{
	fprintf(out,
	        !strcmp(type, "struct pair")    ? "one()"
	        : !strcmp(type, "union either") ? "either()"
	                                        : "(%s)(1)",
	        type);
}

static void buffer_print(FILE *out, const struct random_kernel *kernel, const struct statement *s)
{
	if (s->instead < 0) {
		fprintf(out, "b%d", s->which);
		return;
	}
	fputs("(", out);
	expression_print(out, kernel, s->of[2]);
	fprintf(out, " ? b%d : b%d)", s->instead, s->which);
}

static void lanes_print(FILE *out, const struct random_kernel *kernel, const struct statement *s)
{
	buffer_print(out, kernel, s);
	fputc('[', out);
	expression_print(out, kernel, s->of[0]);
	fputc(']', out);
	if (s->lanes) {
		fputs(".s", out);
		for (int lane = 0; lane < 4; lane++)
			if (s->lanes & 1 << lane)
				fprintf(out, "%d", lane);
	} else {
		fputc('[', out);
		expression_print(out, kernel, s->of[1]);
		fputc(']', out);
	}
	fputs(" = 1;\n", out);
}

static void vector_print(FILE *out, const struct random_kernel *kernel, const struct statement *s)
{
	const char *type = elements[kernel->elements[s->which]].name;

	if (s->act == STORE)
		fprintf(out, "vstore%d((%s%d)(1), ", s->width, type, s->width);
	else
		fprintf(out, "sink = vload%d(", s->width);
	if (s->unaligned) {
		fputs("0, ", out);
		buffer_print(out, kernel, s);
		fputs(" + ", out);
	}
	expression_print(out, kernel, s->of[0]);
	if (!s->unaligned) {
		fputs(", ", out);
		buffer_print(out, kernel, s);
	}
	fputs(s->act == STORE ? ");\n" : ").s0;\n", out);
}

/* The structures that hold pointers. */
static void holders_print(FILE *out, const struct random_kernel *kernel, const struct statement *s)
{
	bool both = s->held == CHOSEN || s->held == NUMBERED;

	fprintf(out, "{ struct view%d_%d held%s = {", s->which, kernel->number, both ? "[2]" : "");
	fputs(both ? "{" : "", out);
	buffer_print(out, kernel, s);
	fputs(", (long)", out);
	expression_print(out, kernel, s->of[0]);
	if (both) {
		fprintf(out, "}, {b%d + %d, (long)", s->which, PICKED_DISTANCE);
		expression_print(out, kernel, s->of[0]);
		fputs("}", out);
	}
	fputs("};\n", out);
	if (s->held == CHANGED)
		fprintf(out, "shift%d_%d(&held, held.first);\n", s->which, kernel->number);
}

static void held_print(FILE *out, const struct random_kernel *kernel, const struct statement *s)
{
	switch (s->held) {
	case GIVEN:
		fprintf(out, "(*reach%d_%d(held))", s->which, kernel->number);
		break;
	case CHANGED:
		fputs("(*held.at)", out);
		break;
	case CHOSEN:
		fprintf(out, "(*reach%d_%d(", s->which, kernel->number);
		expression_print(out, kernel, s->of[2]);
		fputs(" ? held[1] : held[0]))", out);
		break;
	case NUMBERED:
		fputs("(held[", out);
		expression_print(out, kernel, s->of[2]);
		fputs("].at[held[0].first])", out);
		break;
	default:
		fputs("(held.at[held.first])", out);
	}
}

/* An element, as what is assigned to or read. */
static void element_print(FILE *out, const struct random_kernel *kernel, const struct statement *s)
{
	const char *type = elements[kernel->elements[s->which]].name;

	switch (s->naming) {
	case BYTES:
		fprintf(out, "(*(__global %s *)((__global uchar *)b%d + (long)", type, s->which);
		expression_print(out, kernel, s->of[0]);
		fprintf(out, " * %d))", (int)elements[kernel->elements[s->which]].bytes);
		break;
	case PICKED:
		fputs("(", out);
		expression_print(out, kernel, s->of[2]);
		fprintf(out, " ? b%d + %d : b%d)[", s->which, PICKED_DISTANCE, s->which);
		expression_print(out, kernel, s->of[0]);
		fputs("]", out);
		break;
	case WALK:
		fputs("(*walk)", out);
		break;
	case HELD:
		held_print(out, kernel, s);
		break;
	default:
		fputs(s->form ? "" : "(*(", out);
		buffer_print(out, kernel, s);
		fputs(s->form ? "[" : " + ", out);
		expression_print(out, kernel, s->of[0]);
		fputs(s->form ? "]" : "))", out);
	}
}

static void scalar_print(FILE *out, const struct random_kernel *kernel, const struct statement *s)
{
	const char *type = elements[kernel->elements[s->which]].name;
	bool simple = elements[kernel->elements[s->which]].vectors;

	if (s->act == LOAD) {
		fputs("sink = ", out);
		element_print(out, kernel, s);
		fputs(simple ? ";\n" : ".x;\n", out);
		return;
	}
	if (s->form == 2) {
		fprintf(out, "put%d_%d(&", s->which, kernel->number);
		element_print(out, kernel, s);
		fputs(");\n", out);
		return;
	}
	if (s->form == 3 && simple) {
		fputs("sink = ", out);
		element_print(out, kernel, s);
		fputs("; ", out);
	}
	element_print(out, kernel, s);
	fputs(" = ", out);
	if (s->waits && simple)
		fprintf(out, "(%s)tile[get_local_id(0) & 7]", type);
	else
		element_value(out, type);
	fputs(";\n", out);
}

static void access_print(FILE *out, const struct random_kernel *kernel, const struct statement *s)
{
	if (s->waits)
		fputs("tile[get_local_id(1) & 7] = sink; barrier(CLK_LOCAL_MEM_FENCE);\n", out);
	if (s->naming == HELD)
		holders_print(out, kernel, s);
	if (s->naming == WALK) {
		fprintf(out, "{ __global %s *walk = ", elements[kernel->elements[s->which]].name);
		buffer_print(out, kernel, s);
		fputs(" + ", out);
		expression_print(out, kernel, s->of[0]);
		fprintf(out, ";\nfor (int step = 0; step < %d; step++, walk += %d) {\n", s->walked,
		        s->by);
	}
	if (s->width > 1)
		vector_print(out, kernel, s);
	else if (s->lanes || s->of[1])
		lanes_print(out, kernel, s);
	else
		scalar_print(out, kernel, s);
	if (s->naming == WALK || s->naming == HELD)
		fputs(s->naming == WALK ? "} }\n" : "}\n", out);
}

static void paint_print(FILE *out, const struct random_kernel *kernel, const struct statement *s)
{
	unsigned n = images[kernel->image].n;

	fprintf(out, "write_imagef(image, (%s)(", images[kernel->image].where);
	for (unsigned i = 0; i < n; i++) {
		fputs(i ? ", " : "", out);
		expression_print(out, kernel, s->of[i]);
	}
	fputs(n == 3 ? ", 5)" : ")", out);
	if (s->form == 1)
		fprintf(out, " + (%s)(%d)", images[kernel->image].where, s->compare);
	fputs(", (float4)(1));\n", out);
}

/* What a loop asks for, behind its counter. */
static void loop_test_print(FILE *out, const struct random_kernel *kernel,
                            const struct statement *s)
{
	fprintf(out, "v%d %s ", s->which, comparisons[s->compare]);
	expression_print(out, kernel, s->of[1]);
	if (s->also) {
		fputs(" && ", out);
		expression_print(out, kernel, s->also);
	}
}

static void loop_print(FILE *out, const struct random_kernel *kernel, const struct statement *s)
{
	static const char *const steps[] = {
	    "v%d += ", "v%d -= ", "v%d--", "v%d += ", "v%d++", "v%d *= 2", "v%d += ", "++v%d"};
	bool by = strchr(steps[s->form], '=') && s->form != 5;

	fprintf(out, s->form == 3 ? "{ %s v%d = " : "for (%s v%d = ",
	        types[kernel->variables[s->which]].name, s->which);
	expression_print(out, kernel, s->of[0]);
	if (s->form == 3) {
		fputs("; do {\n", out);
	} else {
		fputs("; ", out);
		loop_test_print(out, kernel, s);
		fputs("; ", out);
		if (s->form == 6) {
			fputs(") {\n", out);
		} else {
			fprintf(out, steps[s->form], s->which);
			if (by)
				expression_print(out, kernel, s->of[2]);
			fputs(") {\n", out);
		}
	}
	block_print(out, kernel, s->body);
	if (s->form == 3 || s->form == 6) {
		fprintf(out, steps[s->form], s->which);
		expression_print(out, kernel, s->of[2]);
		fputs(";\n", out);
	}
	fputs("}", out);
	if (s->form == 3) {
		fputs(" while (", out);
		loop_test_print(out, kernel, s);
		fputs("); }", out);
	}
	fputs("\n", out);
}

static void pair_print(FILE *out, const struct random_kernel *kernel, const struct statement *s)
{
	fputs("(int2)(", out);
	expression_print(out, kernel, s->of[0]);
	fputs(", ", out);
	expression_print(out, kernel, s->of[1]);
	fputs(")", out);
}

static void change_print(FILE *out, const struct random_kernel *kernel, const struct statement *s)
{
	static const char *const begin[] = {
	    "w%d += ",         "w%d -= ",      "w%d *= ",      "w%d = min(w%d, ",
	    "w%d = max(w%d, ", "w%d = mad24(", "w%d = w%d.yx", "w%d = "};

	fprintf(out, begin[s->form], s->which, s->which);
	if (s->form == PERHAPS) {
		expression_print(out, kernel, s->of[2]);
		fprintf(out, " ? w%d : ", s->which);
	}
	if (s->form != SWAP)
		pair_print(out, kernel, s);
	if (s->form == PRODUCT_MORE)
		fprintf(out, ", (int2)(%d, %d), w%d", s->walked, s->by, s->which);
	fputs(s->form >= LEAST && s->form <= PRODUCT_MORE ? ");\n" : ";\n", out);
}

static void again_print(FILE *out, const struct random_kernel *kernel, const struct statement *s)
{
	fprintf(out, "%s v%d = 0;\n", types[kernel->variables[s->which]].name, s->which);
	if (s->of[2]) {
		fputs("if (", out);
		expression_print(out, kernel, s->of[2]);
		fprintf(out, ") goto middle%d;\n", s->which);
	}
	fprintf(out, "again%d: {\n", s->which);
	block_print(out, kernel, s->body);
	fprintf(out, "}\nmiddle%d: {\n", s->which);
	block_print(out, kernel, s->other);
	fputs("}\nif (++", out);
	loop_test_print(out, kernel, s);
	fprintf(out, ") goto again%d;\n", s->which);
}

static void case_print(FILE *out, const struct random_kernel *kernel, const struct statement *s)
{
	if (s->form)
		fputs("default: {\n", out);
	else
		fprintf(out, "case %d: {\n", s->which);
	block_print(out, kernel, s->body);
	fputs(s->falls ? "}\n" : "} break;\n", out);
}

static void block_print(FILE *out, const struct random_kernel *kernel, const struct statement *s)
{
	for (; s; s = s->next)
		switch (s->act) {
		case SET:
		case ADD_TO:
			fprintf(out, "%s ",
			        s->act == SET ? types[kernel->variables[s->which]].name : "");
			variable_print(out, kernel, s->which);
			fputs(" = ", out);
			expression_print(out, kernel, s->of[0]);
			fputs(";\n", out);
			break;
		case PAIR:
			fprintf(out, "int2 w%d = ", s->which);
			pair_print(out, kernel, s);
			fputs(";\n", out);
			break;
		case PAIR_CHANGE:
			change_print(out, kernel, s);
			break;
		case STORE:
		case LOAD:
			access_print(out, kernel, s);
			break;
		case PAINT:
			paint_print(out, kernel, s);
			break;
		case IF:
			fputs("if (", out);
			expression_print(out, kernel, s->of[0]);
			fputs(") {\n", out);
			block_print(out, kernel, s->body);
			if (s->other) {
				fputs("} else {\n", out);
				block_print(out, kernel, s->other);
			}
			fputs("}\n", out);
			break;
		case FOR:
			loop_print(out, kernel, s);
			break;
		case SWITCH:
			fputs("switch (", out);
			expression_print(out, kernel, s->of[0]);
			fputs(") {\n", out);
			block_print(out, kernel, s->body);
			fputs("}\n", out);
			break;
		case CASE:
			case_print(out, kernel, s);
			break;
		case LEAVE:
			fputs("return;\n", out);
			break;
		case BREAK:
			fputs("break;\n", out);
			break;
		case CONTINUE:
			fputs("continue;\n", out);
			break;
		case AGAIN:
			again_print(out, kernel, s);
			break;
		}
}

unsigned random_kernel_sizes(const struct random_kernel *kernel)
{
	return kernel->image < 0 ? 0 : images[kernel->image].n;
}

bool random_kernel_layers(const struct random_kernel *kernel)
{
	return kernel->image >= 0 && strstr(images[kernel->image].name, "array");
}

const char *random_kernels_options(void)
{
	return options;
}

static void kernel_print(FILE *out, const struct random_kernel *kernel)
{
	for (int h = 0; h < NHELPERS; h++) {
		fprintf(out, "%s help%d_%d(int v0, uint v1) { return ", h ? "uint" : "int", h,
		        kernel->number);
		expression_print(out, kernel, kernel->helpers[h]);
		fputs("; }\n", out);
	}
	for (int b = 0; b < 2; b++) {
		const char *type = elements[kernel->elements[b]].name;

		fprintf(out, "void put%d_%d(__global %s *p) { *p = ", b, kernel->number, type);
		element_value(out, type);
		fputs("; }\n", out);
	}
	for (int b = 0; b < RANDOM_DATA; b++) {
		const char *type = elements[kernel->elements[b]].name;

		fprintf(out,
		        "struct view%d_%d { __global %s *at; long first; };\n"
		        "__global %s *reach%d_%d(struct view%d_%d v) { return v.at + v.first; }\n"
		        "void shift%d_%d(struct view%d_%d *v, long by) { v->at += by; }\n",
		        b, kernel->number, type, type, b, kernel->number, b, kernel->number, b,
		        kernel->number, b, kernel->number);
	}
	fprintf(out, "__kernel void k%d(", kernel->number);
	for (int b = 0; b < RANDOM_DATA; b++)
		fprintf(out, "__global %s *b%d, ", elements[kernel->elements[b]].name, b);
	fprintf(out, "__global int *data, %s",
	        kernel->structured ? "struct integers n" : "int n0, uint n1, long n2, ulong n3");
	if (kernel->image >= 0)
		fprintf(out, ", write_only %s image", images[kernel->image].name);
	fputs(")\n{\nvolatile float sink;\n__local int tile[8];\n", out);
	block_print(out, kernel, kernel->body);
	fputs("}\n", out);
}

char *random_kernels_text(const struct random_kernel *only)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		abort();
	fputs("struct pair { int x, y, z; };\n"
	      "struct integers { int n0; uint n1; long n2; ulong n3; };\n"
	      "struct pair one(void) { struct pair p = {1, 2, 3}; return p; }\n"
	      "union either { int x; float real; uchar bytes[4]; };\n"
	      "union either either(void) { union either e; e.real = 1; return e; }\n"
	      "#if TILE > 64 || defined(ASKED) // a comment\n#define TIMES(a, b) 0\n#else\n"
	      "#define TIMES(a, b) ((a) * (b))\n#endif\n",
	      out);
	for (unsigned k = 0; k < nkernels; k++)
		if (!only || only == &kernels[k])
			kernel_print(out, &kernels[k]);
	fclose(out);
	return text;
}

/* ---- executing ---- */

/* What an item has done. */
enum flow { GOES_ON, BREAKS, CONTINUES, LEAVES };

struct execution {
	const struct random_kernel *kernel;
	const struct ndrange *range;
	const int64_t *integers, *sizes;
	const struct random_contents *contents;
	size_t group[3], item[3], flat;
	int64_t variables[MAXVARIABLES];
	unsigned steps;
	bool wrong;
	struct random_touches *touches;
};

static int64_t fit(enum type type, int64_t value)
{
	unsigned shift = 64 - types[type].bits;
	uint64_t bits = (uint64_t)value << shift;

	return types[type].is_signed ? (int64_t)bits >> shift : (int64_t)(bits >> shift);
}

static int64_t wrong(struct execution *x)
{
	x->wrong = true;
	return 1;
}

/* A result of signed arithmetic that its type does not hold is an error. */
static int64_t result(struct execution *x, enum type type, __int128 value)
{
	__int128 most = ((__int128)1 << (types[type].bits - 1)) - 1;

	if (types[type].is_signed && (value > most || value < -most - 1))
		return wrong(x);
	return fit(type, (int64_t)(unsigned __int128)value);
}

static __int128 extended(enum type type, int64_t value)
{
	return type == U64 ? (__int128)(uint64_t)value : value;
}

static int64_t evaluate(struct execution *x, const struct expression *e);

/* A value as one of another type. */
static int64_t evaluate_as(struct execution *x, const struct expression *e, enum type type)
{
	return fit(type, evaluate(x, e));
}

static int64_t query_value(const struct execution *x, int which, int d)
{
	const struct ndrange *range = x->range;

	switch (which) {
	case GLOBAL_ID:
		return range->offset[d] + x->group[d] * range->local[d] + x->item[d];
	case LOCAL_ID:
		return x->item[d];
	case GROUP_ID:
		return x->group[d];
	case GLOBAL_SIZE:
		return range->groups[d] * range->local[d];
	case LOCAL_SIZE:
		return range->local[d];
	case NUM_GROUPS:
		return range->groups[d];
	case WORK_DIM:
		return range->dimensions;
	default:
		return range->offset[d];
	}
}

static int64_t shift_value(struct execution *x, const struct expression *e)
{
	int64_t a = evaluate_as(x, e->of[0], e->type);
	unsigned by = evaluate(x, e->of[1]) & (types[e->type].bits - 1);

	if (e->which == '<')
		return types[e->type].is_signed && a < 0
		           ? wrong(x)
		           : result(x, e->type, extended(e->type, a) << by);
	return fit(e->type, (int64_t)(extended(e->type, a) >> by));
}

static int64_t binary_value(struct execution *x, const struct expression *e)
{
	__int128 a, b;

	if (e->which == '<' || e->which == '>')
		return shift_value(x, e);
	a = extended(e->type, evaluate_as(x, e->of[0], e->type));
	b = extended(e->type, evaluate_as(x, e->of[1], e->type));
	switch (e->which) {
	case '+':
		return result(x, e->type, a + b);
	case '-':
		return result(x, e->type, a - b);
	case '*':
		return result(x, e->type,
		              types[e->type].is_signed ? a * b
		                                       : (__int128)((uint64_t)a * (uint64_t)b));
	case '&':
		return fit(e->type, a & b);
	case '|':
		return fit(e->type, a | b);
	case '^':
		return fit(e->type, a ^ b);
	default:
		break;
	}
	if (!b)
		return wrong(x);
	return result(x, e->type, e->which == '/' ? a / b : a % b);
}

static bool compares(int how, __int128 a, __int128 b)
{
	switch (how) {
	case 0:
		return a < b;
	case 1:
		return a <= b;
	case 2:
		return a > b;
	case 3:
		return a >= b;
	case 4:
		return a == b;
	default:
		return a != b;
	}
}

static int64_t compare_value(struct execution *x, const struct expression *e)
{
	enum type type = common(e->of[0]->type, e->of[1]->type);
	int64_t a = evaluate_as(x, e->of[0], type), b = evaluate_as(x, e->of[1], type);

	return compares(e->which, extended(type, a), extended(type, b));
}

static int64_t call_value(struct execution *x, const struct expression *e)
{
	bool of_24 = e->which == MUL24 || e->which == MAD24;
	__int128 of[3] = {0}, most = e->type == I32 ? 1 << 23 : 1 << 24;

	for (int i = 0; i < calls[e->which].n; i++)
		of[i] = extended(e->type, evaluate(x, e->of[i]));
	for (int i = 0; of_24 && i < 2; i++)
		if (of[i] >= most || of[i] < (e->type == I32 ? -most : 0))
			return wrong(x);
	if (of_24)
		return result(x, e->type, of[0] * of[1] + of[2]);
	if (e->which == CLAMP) {
		if (of[1] > of[2])
			return wrong(x);
		of[0] = of[0] > of[1] ? of[0] : of[1];
		return (int64_t)(of[0] < of[2] ? of[0] : of[2]);
	}
	return (int64_t)((of[0] < of[1]) == (e->which == MIN) ? of[0] : of[1]);
}

static int64_t helper_value(struct execution *x, const struct expression *e)
{
	int64_t first = evaluate(x, e->of[0]), second = evaluate(x, e->of[1]);

	x->variables[0] = first;
	x->variables[1] = second;
	return evaluate(x, x->kernel->helpers[e->which]);
}

static int64_t small_value(int which, int64_t value)
{
	return which == 0   ? (int8_t)value
	       : which == 1 ? (uint8_t)value
	       : which == 2 ? (int16_t)value
	                    : (int64_t)(uint16_t)value;
}

/* A byte of the data. Where the contents are not known, any numbers will do: small ones, of int. */
static uint64_t byte_at(const struct execution *x, int64_t address)
{
	uint64_t word = address >> 2;
	int32_t small;

	if (x->contents)
		return x->contents->bytes[address];
	small = (int32_t)((word + 77) * UINT64_C(0x9e3779b97f4a7c15) >> 32) % 50;
	return (uint32_t)small >> 8 * (address & 3) & 255;
}

static int64_t loaded_value(struct execution *x, const struct expression *e)
{
	int64_t a = evaluate(x, e->of[0]), bytes = loads[e->which].bytes;
	int64_t at = (uint64_t)a * loads[e->which].stride + loads[e->which].offset;
	uint64_t whole = 0, sign = UINT64_C(1) << (8 * bytes - 1);

	if (x->contents && (a < 0 || a >= (int64_t)x->contents->n / loads[e->which].stride))
		return wrong(x);
	for (int64_t i = bytes - 1; i >= 0; i--)
		whole = whole << 8 | byte_at(x, at + i);
	return loads[e->which].is_unsigned ? whole : (whole ^ sign) - sign;
}

static int64_t evaluate(struct execution *x, const struct expression *e)
{
	int64_t a;

	switch (e->kind) {
	case LITERAL:
		return e->value;
	case INTEGER:
		return x->integers[e->which];
	case VARIABLE:
		return x->variables[e->which];
	case QUERY:
		return query_value(x, e->which, e->dimension);
	case BINARY:
		return binary_value(x, e);
	case COMPARE:
		return compare_value(x, e);
	case BOTH:
		a = evaluate(x, e->of[0]);
		if (!a == !e->which)
			return a != 0;
		return evaluate(x, e->of[1]) != 0;
	case NEGATE:
		a = evaluate(x, e->of[0]);
		return e->which == '!'   ? !a
		       : e->which == '~' ? fit(e->type, ~a)
		                         : result(x, e->type, -extended(e->type, a));
	case CAST:
		return evaluate_as(x, e->of[0], e->type);
	case SMALL:
		return small_value(e->which, evaluate(x, e->of[0]));
	case CHOICE:
		return evaluate_as(x, e->of[evaluate(x, e->of[0]) ? 1 : 2], e->type);
	case CALL:
		return call_value(x, e);
	case HELPER:
		return helper_value(x, e);
	case SIZE:
		return x->sizes[e->which];
	case LOADED:
		return loaded_value(x, e);
	}
	return 0;
}

/* ---- statements ---- */

/* Elements of buffers that the item has written, in a hash table. */
static struct written {
	uint64_t item;
	int64_t element;
	int buffer;
} written[MAXTOUCHES * MAXWIDTH + 1];
static uint64_t written_item;

static struct written *written_find(int buffer, int64_t element)
{
	const size_t n = sizeof(written) / sizeof(*written);
	size_t at =
	    ((uint64_t)element * RANDOM_BUFFERS + buffer) * UINT64_C(0x9e3779b97f4a7c15) % n;

	while (written[at].item == written_item &&
	       (written[at].element != element || written[at].buffer != buffer))
		at = (at + 1) % n;
	return &written[at];
}

static void touch(struct execution *x, int buffer, bool write, __int128 first, int64_t bytes)
{
	struct random_touches *t = x->touches;

	if (first < 0 || first >= (__int128)1 << 62 || t->n == MAXTOUCHES) {
		x->wrong = true;
		return;
	}
	t->all[t->n++] = (struct random_touch){
	    x->flat, buffer, write, (int64_t)first, (int64_t)first + bytes, (int64_t)first + bytes};
}

/* What an item has written before it reads as it was, wherever it runs.
 * @param size of an element
 * @param width elements that are read together
 * @param bytes of them that are read
 * @param whole bytes that may be loaded for that: a vector for its first number */
static void read_run(struct execution *x, int buffer, __int128 element, int64_t size, int width,
                     int64_t bytes, int64_t whole)
{
	int n = 0;

	while (element >= 0 && element == (int64_t)element && n < width &&
	       written_find(buffer, element + n)->item == written_item)
		n++;
	if (n == width)
		return;
	touch(x, buffer, false, element * size, bytes);
	if (!x->wrong)
		x->touches->all[x->touches->n - 1].whole = element * size + whole;
}

static void write_run(struct execution *x, int buffer, __int128 element, int64_t size, int width)
{
	touch(x, buffer, true, element * size, size * width);
	for (int i = 0; i < width && !x->wrong; i++)
		*written_find(buffer, element + i) =
		    (struct written){written_item, element + i, buffer};
}

/* Of an element that is a vector, only the first number is ever read. */
static void lanes_run(struct execution *x, const struct statement *s, int buffer, __int128 element,
                      int64_t size)
{
	int lanes = s->lanes ? s->lanes : 1 << evaluate(x, s->of[1]);

	for (int lane = 0; lane < 4 && !x->wrong; lane++)
		if (lanes & 1 << lane) {
			touch(x, buffer, true, element * size + lane * 4, 4);
			if (!x->wrong)
				x->touches->all[x->touches->n - 1].whole = (element + 1) * size;
		}
	if (lanes & 1 && !x->wrong)
		*written_find(buffer, element) = (struct written){written_item, element, buffer};
}

static void element_run(struct execution *x, const struct statement *s, int buffer,
                        __int128 element)
{
	int which = x->kernel->elements[s->which];
	int64_t size = elements[which].bytes;
	bool simple = elements[which].vectors;
	int64_t read = simple ? size * s->width : 4;

	if (s->act == LOAD || (s->form == 3 && simple && s->width == 1))
		read_run(x, buffer, element, size, s->width, read,
		         !simple && size == 16 ? size : read);
	if (s->act == STORE && (s->lanes || s->of[1]))
		lanes_run(x, s, buffer, element, size);
	else if (s->act == STORE)
		write_run(x, buffer, element, size, s->width);
}

static void access_run(struct execution *x, const struct statement *s)
{
	__int128 element = evaluate(x, s->of[0]);
	int buffer = s->instead >= 0 && evaluate(x, s->of[2]) ? s->instead : s->which;

	if ((s->naming == PICKED ||
	     (s->naming == HELD && (s->held == CHOSEN || s->held == NUMBERED))) &&
	    evaluate(x, s->of[2]))
		element += PICKED_DISTANCE;
	element_run(x, s, buffer, s->unaligned ? element : element * s->width);
	for (int i = 1; s->naming == WALK && i < s->walked && !x->wrong; i++)
		element_run(x, s, buffer, element + (__int128)i * s->by);
}

/* Nothing outside of the image is written. */
static void paint_run(struct execution *x, const struct statement *s)
{
	unsigned n = images[x->kernel->image].n;
	bool inside = true;
	__int128 pixel = 0;

	for (unsigned i = n; i-- > 0;) {
		int64_t at = evaluate(x, s->of[i]);

		if (s->form == 1)
			at = result(x, I32, (__int128)at + s->compare);
		inside = inside && at >= 0 && at < x->sizes[i];
		pixel = pixel * x->sizes[i] + at;
	}
	if (inside && !x->wrong)
		touch(x, RANDOM_IMAGE, true, pixel, 1);
}

static enum flow block_run(struct execution *x, const struct statement *s);

/* Small numbers are computed as int. */
static int64_t stepped(struct execution *x, enum type type, __int128 value)
{
	return fit(type, result(x, promoted(type), value));
}

static void step_run(struct execution *x, const struct statement *s)
{
	enum type type = x->kernel->variables[s->which];
	int64_t *count = &x->variables[s->which], by;

	if (s->form == 5) {
		*count = stepped(x, type, extended(type, *count) * 2);
	} else if (s->form == 2 || s->form == 4 || s->form == 7) {
		*count = stepped(x, type, extended(type, *count) + (s->form == 2 ? -1 : 1));
	} else {
		enum type wide = common(type, s->of[2]->type);

		by = evaluate_as(x, s->of[2], wide);
		*count = fit(type, result(x, wide,
		                          extended(wide, fit(wide, *count)) +
		                              (s->form == 1 ? -1 : 1) * extended(wide, by)));
	}
}

static bool loop_goes_on(struct execution *x, const struct statement *s)
{
	enum type mine = x->kernel->variables[s->which], type = common(mine, s->of[1]->type);

	return compares(s->compare, extended(type, fit(type, x->variables[s->which])),
	                extended(type, evaluate_as(x, s->of[1], type))) &&
	       (!s->also || evaluate(x, s->also));
}

static enum flow loop_run(struct execution *x, const struct statement *s)
{
	bool first = true;

	x->variables[s->which] = evaluate(x, s->of[0]);
	while (!x->wrong && ((first && s->form == 3) || loop_goes_on(x, s))) {
		enum flow flow = block_run(x, s->body);

		first = false;
		if (flow == LEAVES)
			return LEAVES;
		if (flow == BREAKS)
			break;
		/* Where it stands at the end of the body, it is left out. */
		if (flow == GOES_ON || (s->form != 3 && s->form != 6))
			step_run(x, s);
	}
	return GOES_ON;
}

static enum flow again_run(struct execution *x, const struct statement *s)
{
	enum type type = x->kernel->variables[s->which];
	int64_t *count = &x->variables[s->which];
	bool skips = s->of[2] && evaluate(x, s->of[2]);
	enum flow flow = GOES_ON;

	*count = 0;
	do {
		if (!skips)
			flow = block_run(x, s->body);
		skips = false;
		if (flow == GOES_ON)
			flow = block_run(x, s->other);
		if (flow != GOES_ON)
			return flow;
		*count = stepped(x, type, extended(type, *count) + 1);
	} while (!x->wrong && loop_goes_on(x, s));
	return GOES_ON;
}

/* @param lane of a pair
 * @param value what the change says of it */
static int64_t changed(struct execution *x, const struct statement *s, int lane, int64_t value)
{
	int64_t before = x->variables[s->which + lane], factor = lane ? s->by : s->walked;
	const int64_t most = 1 << 23;

	switch ((enum change)s->form) {
	case PLUS:
		return result(x, I32, (__int128)before + value);
	case MINUS:
		return result(x, I32, (__int128)before - value);
	case TIMES_BOTH:
		return result(x, I32, (__int128)before * value);
	case LEAST:
		return before < value ? before : value;
	case MOST:
		return before > value ? before : value;
	case PRODUCT_MORE:
		if (value >= most || value < -most)
			return wrong(x);
		return result(x, I32, (__int128)value * factor + before);
	case SWAP:
		return x->variables[s->which + !lane];
	default:
		return evaluate(x, s->of[2]) ? before : value;
	}
}

static void pair_run(struct execution *x, const struct statement *s)
{
	int64_t values[2];

	for (int lane = 0; lane < 2; lane++) {
		values[lane] = evaluate(x, s->of[lane]);
		if (s->act == PAIR_CHANGE)
			values[lane] = changed(x, s, lane, values[lane]);
	}
	memcpy(&x->variables[s->which], values, sizeof(values));
}

static enum flow switch_run(struct execution *x, const struct statement *s)
{
	enum type type = promoted(s->of[0]->type);
	int64_t value = evaluate(x, s->of[0]);
	const struct statement *of, *other = NULL;
	enum flow flow = GOES_ON;

	for (of = s->body; of && (of->form || fit(type, of->which) != value); of = of->next)
		other = of->form ? of : other;
	for (of = of ? of : other; of && flow == GOES_ON; of = of->next) {
		flow = block_run(x, of->body);
		if (flow == GOES_ON && !of->falls)
			flow = BREAKS;
	}
	return flow == BREAKS ? GOES_ON : flow;
}

static enum flow block_run(struct execution *x, const struct statement *s)
{
	enum flow flow = GOES_ON;

	for (; s && flow == GOES_ON && !x->wrong; s = s->next) {
		if (++x->steps > MAXSTEPS)
			x->wrong = true;
		switch (s->act) {
		case SET:
		case ADD_TO:
			x->variables[s->which] = evaluate(x, s->of[0]);
			break;
		case PAIR:
		case PAIR_CHANGE:
			pair_run(x, s);
			break;
		case STORE:
		case LOAD:
			access_run(x, s);
			break;
		case PAINT:
			paint_run(x, s);
			break;
		case IF:
			flow = block_run(x, evaluate(x, s->of[0]) ? s->body : s->other);
			break;
		case FOR:
			flow = loop_run(x, s);
			break;
		case SWITCH:
			flow = switch_run(x, s);
			break;
		case CASE: /* which a switch runs */
			break;
		case LEAVE:
			return LEAVES;
		case BREAK:
			return BREAKS;
		case CONTINUE:
			return CONTINUES;
		case AGAIN:
			flow = again_run(x, s);
			break;
		}
	}
	return flow;
}

bool random_kernel_run(const struct random_kernel *kernel, const struct ndrange *range,
                       const int64_t integers[RANDOM_INTEGERS], const int64_t sizes[RANDOM_SIZES],
                       const struct random_contents *contents, struct random_touches *touches)
{
	struct execution x = {.kernel = kernel,
	                      .contents = contents,
	                      .range = range,
	                      .integers = integers,
	                      .sizes = sizes,
	                      .touches = touches};
	size_t items = range->local[0] * range->local[1] * range->local[2];

	*touches = (struct random_touches){.all = malloc(MAXTOUCHES * sizeof(*touches->all))};
	for (x.flat = 0; x.flat < ndrange_groups(range) && !x.wrong; x.flat++) {
		x.group[0] = x.flat % range->groups[0];
		x.group[1] = x.flat / range->groups[0] % range->groups[1];
		x.group[2] = x.flat / range->groups[0] / range->groups[1];
		for (size_t i = 0; i < items && !x.wrong; i++) {
			x.item[0] = i % range->local[0];
			x.item[1] = i / range->local[0] % range->local[1];
			x.item[2] = i / range->local[0] / range->local[1];
			written_item++;
			block_run(&x, kernel->body);
		}
	}
	return !x.wrong;
}
