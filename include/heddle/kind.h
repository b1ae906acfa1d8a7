/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Kinds of worker.
 *
 * Heddle assumes that workers of one kind are alike: they run the same implementation of a
 * codelet, and strategies may share measured rates among them. Start with
 * heddle_kind_name().
 */
#ifndef HEDDLE_KIND_H
#define HEDDLE_KIND_H

#ifdef __cplusplus
extern "C" {
#endif

/** The kind of a worker. What is not HEDDLE_KIND_CPU has a memory of its own. Loops and
 * wavefronts run on the kinds up to HEDDLE_KIND_HIP, tasks on all. */
enum heddle_kind {
	HEDDLE_KIND_CPU,    /**< a CPU core */
	HEDDLE_KIND_CUDA,   /**< a CUDA device */
	HEDDLE_KIND_OPENCL, /**< an OpenCL device of another type than accelerator */
	HEDDLE_KIND_FPGA,   /**< an OpenCL device of type accelerator: an FPGA, real or simulated */
	HEDDLE_KIND_HIP,    /**< a HIP device (StarPU 1.4) */
	HEDDLE_KIND_MAX_FPGA, /**< a Maxeler FPGA (StarPU 1.4) */
	HEDDLE_KIND_MPI_MS,   /**< a slave of StarPU's over MPI */
	HEDDLE_KIND_TCPIP_MS, /**< a slave of StarPU's over TCP/IP (StarPU 1.4) */
	HEDDLE_KIND_OTHER,    /**< a type of worker that this Heddle does not know */
	HEDDLE_NKINDS         /**< the number of kinds; not a kind */
};

/** Returns the name of a kind. Any thread may call it at any time.
 * @param kind below HEDDLE_NKINDS; the effect of other values is undefined
 * @return "cpu", "cuda", "opencl", "fpga", "hip", "max_fpga", "mpi_ms", "tcpip_ms" or "other", a
 * constant string; all outputs use these names */
const char *heddle_kind_name(enum heddle_kind kind);

/** Finds the kind of a name. Any thread may call it at any time.
 * @param name as heddle_kind_name() returns it, not NULL
 * @param[out] kind the kind
 * @return 0; -EINVAL if no kind has this name (without a message) */
int heddle_kind_parse(const char *name, enum heddle_kind *kind);

#ifdef __cplusplus
}
#endif
#endif
