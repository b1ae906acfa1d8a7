/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Alphabets, and the scores of pairs of letters.
 */
#include "config.h"

#include <string.h>

#include "codelets/strmatch/strmatch.h"

static const char dna[] = "ACGTN", protein[] = "ARNDCQEGHILKMFPSTWYVBZX*";

/* The lower half and the diagonal: the matrix is symmetric. */
static const int8_t blosum62[] = {
    /* A */ 4,
    /* R */ -1, 5,
    /* N */ -2, 0,  6,
    /* D */ -2, -2, 1,  6,
    /* C */ 0,  -3, -3, -3, 9,
    /* Q */ -1, 1,  0,  0,  -3, 5,
    /* E */ -1, 0,  0,  2,  -4, 2,  5,
    /* G */ 0,  -2, 0,  -1, -3, -2, -2, 6,
    /* H */ -2, 0,  1,  -1, -3, 0,  0,  -2, 8,
    /* I */ -1, -3, -3, -3, -1, -3, -3, -4, -3, 4,
    /* L */ -1, -2, -3, -4, -1, -2, -3, -4, -3, 2,  4,
    /* K */ -1, 2,  0,  -1, -3, 1,  1,  -2, -1, -3, -2, 5,
    /* M */ -1, -1, -2, -3, -1, 0,  -2, -3, -2, 1,  2,  -1, 5,
    /* F */ -2, -3, -3, -3, -2, -3, -3, -3, -1, 0,  0,  -3, 0,  6,
    /* P */ -1, -2, -2, -1, -3, -1, -1, -2, -2, -3, -3, -1, -2, -4, 7,
    /* S */ 1,  -1, 1,  0,  -1, 0,  0,  0,  -1, -2, -2, 0,  -1, -2, -1, 4,
    /* T */ 0,  -1, 0,  -1, -1, -1, -1, -2, -2, -1, -1, -1, -1, -2, -1, 1,  5,
    /* W */ -3, -3, -4, -4, -2, -2, -3, -2, -2, -3, -2, -3, -1, 1,  -4, -3, -2, 11,
    /* Y */ -2, -2, -2, -3, -2, -1, -2, -3, 2,  -1, -1, -2, -1, 3,  -3, -2, -2, 2,  7,
    /* V */ 0,  -3, -3, -3, -1, -2, -2, -3, -3, 3,  1,  -2, 1,  -1, -2, -2, 0,  -3, -1, 4,
    /* B */ -2, -1, 3,  4,  -3, 0,  1,  -1, 0,  -3, -4, 0,  -3, -3, -2, 0,  -1, -4, -3, -3,
    4,
    /* Z */ -1, 0,  0,  1,  -3, 3,  4,  -2, 0,  -3, -3, 1,  -1, -3, -1, 0,  -1, -3, -2, -2,
    1,          4,
    /* X */ 0,  -1, -1, -1, -2, -1, -1, -1, -1, -1, -1, -1, -1, -1, -2, 0,  0,  -2, -1, -1,
    -1,         -1, -1,
    /* * */ -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4,
    -4,         -4, -4, 1};

static const char *letters_of(enum strmatch_alphabet alphabet)
{
	return alphabet == STRMATCH_DNA ? dna : protein;
}

int strmatch_letter(enum strmatch_alphabet alphabet, char letter)
{
	const char *letters = letters_of(alphabet), *found;

	if (letter >= 'a' && letter <= 'z')
		letter += 'A' - 'a';
	if (alphabet == STRMATCH_DNA && letter == 'U')
		letter = 'T';
	found = letter ? strchr(letters, letter) : NULL;
	return found ? found - letters : -1;
}

char strmatch_name(enum strmatch_alphabet alphabet, uint8_t letter)
{
	return letters_of(alphabet)[letter];
}

void strmatch_scores_simple(struct strmatch_scoring *scoring, enum strmatch_alphabet alphabet,
                            int match, int mismatch)
{
	int unknown = strmatch_letter(STRMATCH_DNA, 'N');

	memset(scoring->scores, mismatch, sizeof(scoring->scores));
	for (int letter = 0; letters_of(alphabet)[letter]; letter++)
		if (alphabet == STRMATCH_PROTEIN || letter != unknown)
			scoring->scores[letter][letter] = match;
}

void strmatch_scores_blosum62(struct strmatch_scoring *scoring)
{
	const int8_t *next = blosum62;

	memset(scoring->scores, 0, sizeof(scoring->scores));
	for (int i = 0; protein[i]; i++)
		for (int j = 0; j <= i; j++)
			scoring->scores[i][j] = scoring->scores[j][i] = *next++;
}
