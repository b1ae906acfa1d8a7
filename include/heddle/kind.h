/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Kinds of processor. Workers of one kind are taken to be alike: they run the
 * same version of a codelet and share what is believed of their speed.
 */
#ifndef HEDDLE_KIND_H
#define HEDDLE_KIND_H

#ifdef __cplusplus
extern "C" {
#endif

enum heddle_kind {
	HEDDLE_KIND_CPU,
	HEDDLE_KIND_CUDA,
	HEDDLE_KIND_OPENCL,
	HEDDLE_KIND_FPGA,
	HEDDLE_NKINDS
};

/** Name of a kind, as it stands in every output: "cpu", "cuda", "opencl",
 * "fpga". */
const char *heddle_kind_name(enum heddle_kind kind);

/** The kind with that name.
 * @return 0; -EINVAL where there is none. */
int heddle_kind_parse(const char *name, enum heddle_kind *kind);

#ifdef __cplusplus
}
#endif
#endif
