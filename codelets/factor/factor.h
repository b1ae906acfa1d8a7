/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Operations on tiles, of which the factorisations of a matrix are made: G. H. Golub and
 * C. F. Van Loan, "Matrix Computations", 4th edition, sections 3.2 (LU) and 4.2 (Cholesky). All
 * work in single and in double precision. OpenBLAS, cuBLAS with cuSOLVER, and CLBlast compute.
 */
#ifndef CODELETS_FACTOR_H
#define CODELETS_FACTOR_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The operations; their tiles in the order of the task's data, the written one last. L is lower
 * and U upper triangular; what lies on the other side of the diagonal is left as it is. */
enum factor_op {
	/* Cholesky's, A = L L^T: only the lower half of tiles on the diagonal counts. */
	FACTOR_POTRF, /**< A: A becomes L */
	FACTOR_TRSM,  /**< L, B: B becomes B L^-T */
	FACTOR_SYRK,  /**< A, A, C: C becomes C - A A^T */
	FACTOR_GEMM,  /**< A, B, C: C becomes C - A B^T */
	/* Those of A = L U without pivoting, where the diagonal of L is 1 and not stored. */
	FACTOR_GETRF,  /**< A: A becomes U, and L below the diagonal */
	FACTOR_ROW,    /**< L, B: B, on the right of the diagonal, becomes L^-1 B */
	FACTOR_COLUMN, /**< U, B: B, below the diagonal, becomes B U^-1 */
	FACTOR_UPDATE, /**< A, B, C: C becomes C - A B */
	FACTOR_NOPS
};

enum { FACTOR_MAXTILES = 3 };

/** A tile: `columns` columns of `rows` numbers, `ld` numbers apart. */
struct factor_tile {
	void *at;      /**< for OpenCL: its cl_mem */
	size_t offset; /**< numbers from there to the tile */
	size_t rows, columns, ld;
};

/** What a task is given as its cl_arg. */
struct factor_call {
	enum factor_op op;
	/** For potrf and getrf: set to 0, or to the column, counted from 1, in which the
	 * factorisation breaks down; in memory from heddle_malloc(), which devices may write. */
	int *broken;
	int *status; /**< becomes -errno when a launch fails */
};

/** Number of tiles of an operation, from 1 to FACTOR_MAXTILES. */
unsigned factor_ntiles(enum factor_op op);

/** Number of floating-point operations.
 * @param rows,columns of the written tile @param depth columns of the tile that is read */
double factor_flops(enum factor_op op, double rows, double columns, double depth);

/** Computes an operation by OpenBLAS. factor_cpu_prepare() comes first. */
void factor_cpu(enum factor_op op, bool wide, const struct factor_tile *tiles, int *broken);

/** Makes OpenBLAS use the calling thread alone: StarPU runs a task on every core. */
void factor_cpu_prepare(void);

/** Makes the handles of cuBLAS and cuSOLVER for the calling worker. @return 0; -EIO. */
int factor_cuda_open(unsigned worker, void *stream);
void factor_cuda_close(unsigned worker);

/** Launches an operation on the stream of the worker, without waiting. @return 0; -EIO, -ENOMEM. */
int factor_cuda(unsigned worker, void *stream, enum factor_op op, bool wide,
                const struct factor_tile *tiles, int *broken);

/** Enqueues an operation by CLBlast, which has neither potrf nor getrf.
 * @param queue a cl_command_queue
 * @return 0; -EIO after a message. */
int factor_opencl(void *queue, enum factor_op op, bool wide, const struct factor_tile *tiles);

struct starpu_codelet;

/** An operation's codelet for StarPU, whose data are matrices of floats or, if `wide`, doubles,
 * and whose arg is a struct factor_call. After factor_codelets_open(). */
struct starpu_codelet *factor_codelet(enum factor_op op, bool wide);

/** Fills in the codelets and opens the libraries on all workers, between starpu_init() and the
 * first task. @return 0; -EIO after a message. */
int factor_codelets_open(void);

/** Before starpu_shutdown(). */
void factor_codelets_close(void);

#ifdef HEDDLE_USE_SIMGRID
/** Whether a simulated worker's times are measurements that StarPU ships, which exist for some
 * sizes of tiles only; else those of HEDDLE_PLATFORM. */
bool factor_times_measured(void);

/** States whether there are times of an operation on a worker. Without, it gets no such task. */
void factor_allow(enum factor_op op, unsigned worker, bool allowed);
#endif

#ifdef __cplusplus
}
#endif
#endif
