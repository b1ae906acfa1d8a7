/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Profiles: what was measured of a codelet in earlier runs, as text. A line is a record,
 *
 *	task device="cuda NVIDIA H200" size=512 : at=1763646184 samples=21 us=12.5,12.7
 *
 * its kind, the fields that say what was measured, a colon, and the results. Start with
 * heddle_profile_parse(). Pure: files are estimator/profile_file.h's.
 */
#ifndef HEDDLE_ESTIMATOR_PROFILE_H
#define HEDDLE_ESTIMATOR_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A field is a word in double quotes or up to seven numbers with commas between. Lines that begin
 * with # are comments.
 *
 * Two records measure the same if their kinds and the fields before the colon, in whatever order,
 * are the same. They are merged field by field: "samples" are added, "at" (when, seconds since
 * 1970) is the later one, and of other numbers the latest seven are kept, the last ones last, for a
 * median to be taken of. So every kind of record is kept, also one that the reader does not
 * know. */

#define HEDDLE_PROFILE_NUMBERS 7
#define HEDDLE_PROFILE_FIELDS 20
#define HEDDLE_PROFILE_KEY 32   /**< with its end; also of a kind */
#define HEDDLE_PROFILE_TEXT 128 /**< of a word, with its end */
/** Records that are kept; of more, those measured longest ago go. */
#define HEDDLE_PROFILE_RECORDS 4096
/** Lines that were not understood that are kept, as comments. */
#define HEDDLE_PROFILE_REMARKS 16

struct heddle_profile_field {
	char key[HEDDLE_PROFILE_KEY];
	unsigned n; /**< numbers; 0: a word */
	union {
		double numbers[HEDDLE_PROFILE_NUMBERS];
		char text[HEDDLE_PROFILE_TEXT];
	};
};

struct heddle_profile_record {
	char kind[HEDDLE_PROFILE_KEY];
	unsigned nfields; /**< all of them */
	unsigned nwhat;   /**< those before the colon, which come first */
	struct heddle_profile_field fields[HEDDLE_PROFILE_FIELDS];
};

/** All zero: empty. */
struct heddle_profile {
	size_t n, room;
	struct heddle_profile_record **records;
	unsigned nremarks;
	char *remarks[HEDDLE_PROFILE_REMARKS];
};

void heddle_profile_free(struct heddle_profile *profile);

/** Whether that can be the key of a field: a word of letters, digits and _. */
bool heddle_profile_key_valid(const char *name);

/** Begins a record; fields are to be added, what was measured first. */
void heddle_profile_record_init(struct heddle_profile_record *record, const char *kind);

/** Adds a field with a word: characters that a line cannot hold become blanks,
 * what is too long is cut off.
 * @return 0; -EINVAL for a key that is none; -ENOSPC. */
int heddle_profile_record_text(struct heddle_profile_record *record, const char *key,
                               const char *text);
/** Adds a field with a number.
 * @return 0; -EINVAL for a key that is none or a number that is not finite; -ENOSPC. */
int heddle_profile_record_number(struct heddle_profile_record *record, const char *key,
                                 double number);
/** Says that the fields that follow are results. */
void heddle_profile_record_results(struct heddle_profile_record *record);

/** The field of that key; NULL when there is none. */
const struct heddle_profile_field *
heddle_profile_record_field(const struct heddle_profile_record *record, const char *key);

/** The median of a field's numbers; 0 for a word, or NULL. */
double heddle_profile_field_median(const struct heddle_profile_field *field);

/** Parses a line, without its end.
 * @param[out] record
 * @param[out] why set on failure: what is wrong with it
 * @return 0; -EINVAL. */
int heddle_profile_record_parse(const char *line, size_t length,
                                struct heddle_profile_record *record, const char **why);

/** Adds a record, merging it into one that measures the same.
 * @return 0; -ENOMEM. */
int heddle_profile_add(struct heddle_profile *profile, const struct heddle_profile_record *record);

/** Adds all records and remarks of another profile.
 * @return 0; -ENOMEM. */
int heddle_profile_merge(struct heddle_profile *profile, const struct heddle_profile *other);

/** Adds what a text holds. Lines that make no sense are skipped, each with a
 * message, and kept as remarks.
 * @param name of the text, for messages
 * @param[out] skipped how many; NULL: not wanted
 * @return 0; -ENOMEM. */
int heddle_profile_parse(struct heddle_profile *profile, const char *text, size_t length,
                         const char *name, unsigned *skipped);

/** Writes the records in order of what they measure.
 * @return 0; -EIO when the stream says so. */
int heddle_profile_print(const struct heddle_profile *profile, FILE *out);

#endif
