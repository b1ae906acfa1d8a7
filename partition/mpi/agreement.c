/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "agreement.h"
#include "protocol.h"

/* Where a comparison puts what it finds. */
struct finding {
	char *text;
	size_t size;
	unsigned rank, other;
	bool differs;
};

static __attribute__((format(printf, 2, 3))) void found(struct finding *finding, const char *format,
                                                        ...)
{
	va_list arguments;

	if (finding->differs)
		return;
	va_start(arguments, format);
	vsnprintf(finding->text, finding->size, format, arguments);
	va_end(arguments);
	finding->differs = true;
}

static void same_number(struct finding *finding, const char *what, uint64_t a, uint64_t b)
{
	if (a != b)
		found(finding, "%s is %ju on rank %u and %ju on rank %u", what, (uintmax_t)a,
		      finding->rank, (uintmax_t)b, finding->other);
}

static void same_text(struct finding *finding, const char *what, const char *a, const char *b)
{
	if (strcmp(a, b))
		found(finding, "%s is \"%s\" on rank %u and \"%s\" on rank %u", what, a,
		      finding->rank, b, finding->other);
}

static void same_of_array(struct finding *finding, unsigned array, const char *what, uint64_t a,
                          uint64_t b)
{
	char text[64];

	snprintf(text, sizeof(text), "%s of array %u", what, array + 1);
	same_number(finding, text, a, b);
}

/* One of some words; what is beyond them has none. */
static void same_word(struct finding *finding, unsigned array, const char *what,
                      const char *const *words, unsigned n, uint64_t a, uint64_t b)
{
	char text[64];

	snprintf(text, sizeof(text), "%s of array %u", what, array + 1);
	if (a >= n || b >= n)
		same_number(finding, text, a, b);
	else if (a != b)
		found(finding, "%s is %s on rank %u and %s on rank %u", text, words[a],
		      finding->rank, words[b], finding->other);
}

static const char *const modes[] = {"none", "R", "W", "RW"};
static const char *const shares[] = {"SLICE", "HALO", "WHOLE", "REDUCE", "INDEXED"};
static const char *const places[] = {"EVERYWHERE", "ON_RANK", "BLOCKS"};

static void compare_arrays(struct finding *finding, const struct mpi_description *a,
                           const struct mpi_description *b, unsigned i)
{
	const struct mpi_array_description *x = &a->arrays[i], *y = &b->arrays[i];

	same_word(finding, i, "the mode", modes, 4, x->mode, y->mode);
	same_word(finding, i, "the share", shares, 5, x->share, y->share);
	same_of_array(finding, i, "per_iteration", x->per_iteration, y->per_iteration);
	same_of_array(finding, i, "the halo", x->halo, y->halo);
	same_word(finding, i, "the layout", places, 3, x->place, y->place);
	same_of_array(finding, i, "the rank", x->owner, y->owner);
	if (!(a->own & b->own & 1u << i))
		return;
	same_of_array(finding, i, "the shape", x->shape, y->shape);
	same_of_array(finding, i, "the size of an element", x->elemsize, y->elemsize);
	same_of_array(finding, i, "the length of a row", x->nx, y->nx);
	if (x->place == MPI_PLACE_EVERYWHERE)
		same_of_array(finding, i, "the length", x->units, y->units);
}

static void compare(struct finding *finding, const struct mpi_description *a,
                    const struct mpi_description *b)
{
	same_number(finding, "the number of ranks", a->nranks, b->nranks);
	same_text(finding, "what begins", a->begins, b->begins);
	same_text(finding, "the codelet", a->codelet, b->codelet);
	same_number(finding, "n", a->n, b->n);
	same_number(finding, "the alignment", a->alignment, b->alignment);
	same_number(finding, "the number of arrays", a->naccesses, b->naccesses);
	for (unsigned i = 0; !finding->differs && i < a->naccesses; i++)
		compare_arrays(finding, a, b, i);
}

/* Which ranks have a version: "rank 1", "ranks 0, 2-3". */
static void ranks_list(const struct mpi_description *all, unsigned nranks, const char *version,
                       char *text, size_t size)
{
	const size_t room = sizeof(", 4294967295-4294967295, ...");
	unsigned n = 0, end;
	size_t length;

	for (unsigned r = 0; r < nranks; r++)
		n += !strcmp(all[r].version, version);
	length = snprintf(text, size, "%s", n > 1 ? "ranks " : "rank ");
	for (unsigned r = 0, begun = 0; r < nranks; r = end + 1) {
		for (end = r; end < nranks && !strcmp(all[end].version, version);)
			end++;
		if (end == r)
			continue;
		if (length + room > size) {
			snprintf(text + length, size - length, ", ...");
			return;
		}
		length += snprintf(text + length, size - length, "%s%u", begun++ ? ", " : "", r);
		if (end - r > 1)
			length += snprintf(text + length, size - length, "-%u", end - 1);
	}
}

/* The version of rank 0 and the first other one. */
static void compare_versions(struct finding *finding, const struct mpi_description *all,
                             unsigned nranks)
{
	char ranks[2][160];
	unsigned r = 1;

	while (r < nranks && !strcmp(all[r].version, all[0].version))
		r++;
	if (r >= nranks)
		return;
	ranks_list(all, nranks, all[0].version, ranks[0], sizeof(ranks[0]));
	ranks_list(all, nranks, all[r].version, ranks[1], sizeof(ranks[1]));
	found(finding, "the version of Heddle is \"%s\" on %s and \"%s\" on %s", all[0].version,
	      ranks[0], all[r].version, ranks[1]);
}

/* The first rank that has a part of an array; nranks: none has. */
static unsigned first_owner(const struct mpi_description *all, unsigned nranks, unsigned array)
{
	unsigned rank = 0;

	while (rank < nranks && !(all[rank].own & 1u << array))
		rank++;
	return rank;
}

/* Those that lack what others have are compared with rank 0, the others among each other. */
static void compare_owners(struct finding *finding, const struct mpi_description *all,
                           unsigned nranks, unsigned array)
{
	finding->rank = first_owner(all, nranks, array);
	for (unsigned r = finding->rank + 1; !finding->differs && r < nranks; r++) {
		finding->other = r;
		compare_arrays(finding, &all[finding->rank], &all[r], array);
	}
}

/* Of the whole array. */
static uint64_t units_of(const struct mpi_description *all, unsigned nranks, unsigned array)
{
	const struct mpi_array_description *given = &all[0].arrays[array];
	uint64_t units = 0;

	if (given->place == MPI_PLACE_ON_RANK)
		return all[given->owner].arrays[array].units;
	if (given->place == MPI_PLACE_EVERYWHERE)
		return given->units;
	for (unsigned r = 0; r < nranks; r++)
		units += all[r].arrays[array].units;
	return units;
}

/* A whole array may have any length, and what adds up, too. */
static void check_length(struct finding *finding, const struct mpi_description *all,
                         unsigned nranks, unsigned array)
{
	const struct mpi_array_description *given = &all[0].arrays[array];
	uint64_t units = units_of(all, nranks, array);

	if (given->per_iteration && all[0].n > units / given->per_iteration)
		found(finding,
		      "%ju iterations of %ju reach beyond array %u, which has %ju elements or rows "
		      "on all ranks",
		      (uintmax_t)all[0].n, (uintmax_t)given->per_iteration, array + 1,
		      (uintmax_t)units);
}

void mpi_agreement_version(const char *libheddle, char *text, size_t size)
{
	bool other = strcmp(libheddle, PACKAGE_VERSION);

	snprintf(text, size, "%s, protocol %d%s%s", PACKAGE_VERSION, MPI_PROTOCOL,
	         other ? ", libheddle " : "", other ? libheddle : "");
}

int mpi_agreement_check(const struct mpi_description *all, unsigned nranks, const char *what,
                        char *text, size_t size)
{
	struct finding finding = {.text = text, .size = size};

	/* What another version says of itself is not known. */
	compare_versions(&finding, all, nranks);
	for (unsigned r = 0; !finding.differs && r < nranks; r++)
		if (all[r].status) {
			found(&finding, "rank %u on %s refuses its %s: %s", r, all[r].host, what,
			      strerror(-all[r].status));
			return all[r].status;
		}
	for (unsigned r = 1; !finding.differs && r < nranks; r++) {
		finding.other = r;
		compare(&finding, &all[0], &all[r]);
	}
	for (unsigned i = 0; !finding.differs && i < all[0].naccesses; i++) {
		compare_owners(&finding, all, nranks, i);
		check_length(&finding, all, nranks, i);
	}
	return finding.differs ? -EINVAL : 0;
}

void mpi_agreement_array(const struct mpi_description *all, unsigned nranks, unsigned array,
                         struct mpi_array_agreed *agreed, size_t *first)
{
	const struct mpi_array_description *given = &all[0].arrays[array];
	unsigned owner = first_owner(all, nranks, array);
	const struct mpi_array_description *whole = &all[owner < nranks ? owner : 0].arrays[array];

	*agreed = (struct mpi_array_agreed){.shape = whole->shape,
	                                    .elemsize = whole->elemsize,
	                                    .nx = whole->nx,
	                                    .units = units_of(all, nranks, array)};
	first[0] = 0;
	for (unsigned r = 0; r < nranks; r++) {
		bool has = given->place == MPI_PLACE_BLOCKS ||
		           r == (given->place == MPI_PLACE_ON_RANK ? given->owner : 0);

		first[r + 1] = first[r] + (has ? all[r].arrays[array].units : 0);
	}
}
