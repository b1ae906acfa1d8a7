/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Direction numbers of Sobol's sequences. Pure.
 */
#ifndef APPS_KERNELS_SOBOL_H
#define APPS_KERNELS_SOBOL_H

#include <stdint.h>

#define SOBOL_BITS 32

/** Makes the direction numbers of so many dimensions, 32 each: the first is van der Corput's
 * sequence, each other one has a primitive polynomial of its own, in the order of their
 * degrees, and initial numbers drawn at random (P. Bratley and B. Fox, "Algorithm 659",
 * ACM TOMS 14, 1988, section 2, tells how the others follow).
 * @param directions 32 for each dimension; bit 31 stands for one half */
void sobol_directions(unsigned dimensions, uint64_t seed, uint32_t *directions);

/** Whether a polynomial over the field of two elements is primitive.
 * @param polynomial bit i is the coefficient of x^i; degree 1 to 16 */
int sobol_primitive(uint32_t polynomial);

#endif
