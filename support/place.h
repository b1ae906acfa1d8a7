/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where the files of the installation are.
 */
#ifndef HEDDLE_SUPPORT_PLACE_H
#define HEDDLE_SUPPORT_PLACE_H

/** Says where a file or folder of the installation is, told by where another of its folders is:
 * `make install prefix=DIR` may have put all elsewhere than configure said.
 * @param here where the folder `known` is
 * @param prefix, known, wanted as configure said
 * @return where `wanted` is, to be freed; NULL: `here` is not where `known` may have been put, one
 * of them is not below the prefix, or there is no memory */
char *heddle_place_moved(const char *here, const char *prefix, const char *known,
                         const char *wanted);

#endif
