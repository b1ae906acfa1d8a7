/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Sequences in FASTA files: a line ">name …", then lines of letters. No StarPU.
 */
#ifndef APPS_COMMON_FASTA_H
#define APPS_COMMON_FASTA_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct sequence {
	char *name;       /**< up to the first blank */
	size_t n;         /**< letters, at least 1 */
	uint8_t *letters; /**< as numbers */
};

/** Reads a file of exactly so many sequences. Blank lines, and blanks at the end of
 * lines, are passed over.
 * @param number what a letter stands for, negative for one that is none
 * @param longest letters of a sequence at most
 * @param[out] sequences `count` of them, to be freed with sequence_free()
 * @return 0; -EINVAL after a message with file, line and reason; -errno. */
int fasta_read(const char *path, unsigned count, size_t longest, int (*number)(char letter),
               struct sequence *sequences);

/** Writes a sequence. @param name the letter of a number */
void fasta_write(FILE *stream, const struct sequence *sequence, char (*name)(uint8_t number));

void sequence_free(struct sequence *sequence);

#endif
