/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Command lines of apps and tools as tables, on argp: a row for each option says what it takes,
 * and where the value goes. Not in the library.
 */
#ifndef HEDDLE_SUPPORT_OPTIONS_H
#define HEDDLE_SUPPORT_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum option_kind {
	OPTION_SET = 1, /**< takes no value: the variable becomes `least` */
	OPTION_TEXT,
	OPTION_NUMBER, /**< a whole one from least to most, as options_number() reads it */
	OPTION_REAL,   /**< from low to high */
	OPTION_NAMED,  /**< the variable becomes the index of one of names */
	OPTION_PARSED  /**< parse() takes the text, and refuses it by argp_error() */
};

/** An option. The last row of a table, which has 32 others at most, is all zero. More of them, as
 * more than three tables, end the program. */
struct option_row {
	const char *name;  /**< NULL: none but the letter */
	const char *value; /**< what --help calls its value; NULL: it takes none */
	const char *doc;   /**< NULL: another name for the row before */
	size_t offset;     /**< of the variable in the data */
	size_t size;       /**< of the variable, in bytes */
	enum option_kind kind;
	uint64_t least, most;
	double low, high;
	const char *const *names; /**< `most` of them; NULL: that index is none */
	void (*parse)(void *data, char *text, struct argp_state *state);
	int letter;       /**< its short form; 0: none */
	int flags, group; /**< as of argp's options */
	bool random;      /**< of random input: see `random` of the set */
};

/* What follows name, value and doc in a row: a field f of struct T, and its range. Fields of other
 * types are errors of the compiler. */
#define OPTION_WHOLE(v)                                                                            \
	_Generic((v), bool                                                                         \
	         : sizeof(v), int                                                                  \
	         : sizeof(v), unsigned                                                             \
	         : sizeof(v), long                                                                 \
	         : sizeof(v), unsigned long                                                        \
	         : sizeof(v), unsigned long long                                                   \
	         : sizeof(v))
#define OPTION_FIELD(T, f) offsetof(T, f), OPTION_WHOLE(((T *)0)->f)
#define SETS(T, f, to) OPTION_FIELD(T, f), OPTION_SET, .least = (to)
#define TEXT(T, f)                                                                                 \
	offsetof(T, f), _Generic(((T *)0)->f, const char * : sizeof(char *)), OPTION_TEXT, .least = 0
#define NUMBER(T, f, from, to) OPTION_FIELD(T, f), OPTION_NUMBER, .least = (from), .most = (to)
#define REAL(T, f, from, to)                                                                       \
	offsetof(T, f),                                                                            \
	    _Generic(((T *)0)->f, float                                                            \
	             : sizeof(float), double                                                       \
	             : sizeof(double)),                                                            \
	    OPTION_REAL, .low = (from), .high = (to)
#define NAMED(T, f, list)                                                                          \
	OPTION_FIELD(T, f), OPTION_NAMED, .names = (list), .most = sizeof(list) / sizeof(*(list))
#define PARSED(function) 0, 0, OPTION_PARSED, .parse = (function)

/** A command line, or a part of one. */
struct option_set {
	const struct option_row *rows;
	void *data; /**< of which the variables are */
	/** Takes arguments; key is ARGP_KEY_ARG, _ARGS, _NO_ARGS, and others of argp's to leave.
	 * @return as of argp's parsers. NULL: there are none. */
	error_t (*argument)(void *data, int key, char *text, struct argp_state *state);
	/** Looks at the whole, completes it or refuses it by argp_error(); NULL: nothing. */
	void (*check)(void *data, struct argp_state *state);
	struct option_set *next;  /**< further options, listed after these; NULL: none */
	const char *title;        /**< of these in --help; NULL: none */
	void (*extra)(FILE *out); /**< prints what stands at the end of --help; NULL: nothing */
	const struct option_row *random; /**< out: the latest such row that was given; or NULL */
};

/** What --help says of a program. */
struct option_program {
	const char *name;      /**< "heddle plan blocks" */
	const char *arguments; /**< as argp's args_doc */
	const char *doc;       /**< as argp's doc */
	unsigned flags;        /**< of argp_parse() */
};

/** Reads a command line. Ends the process with exit status 2 at a mistake, with 0 after
 * --help. */
void options_parse(const struct option_program *program, struct option_set *set, int argc,
                   char **argv);

/** Reads a whole number with an optional suffix K, M, G or T (powers of 1024).
 * @return 0; -EINVAL when it is none, -ERANGE outside min…max. */
int options_number(const char *text, uint64_t min, uint64_t max, uint64_t *number);

/** The whole number that an option was given, as options_number() reads it; else argp_error()
 * says what is wanted.
 * @param option its long name, without dashes */
uint64_t options_take_number(const char *text, uint64_t min, uint64_t max, const char *option,
                             struct argp_state *state);

/** Reads a finite real number. @return 0; -EINVAL, -ERANGE. */
int options_real(const char *text, double min, double max, double *number);

#endif
