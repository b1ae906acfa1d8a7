# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A CPU core and two OpenCL devices (PoCL's, of the same cores)."""

import ctypes
import os
import pathlib
import subprocess

import numpy
import pytest

import heddle

SEED = int(os.environ.get("HEDDLE_TEST_SEED", numpy.random.SeedSequence().entropy % 2**32))

# Compiled functions, as a user's compiler makes them.
FUNCTIONS = r"""
#include <stddef.h>
void axpy(size_t start, size_t n, const float *x, float *y, float a)
{ for (size_t i = 0; i < n; i++) y[i] += a * x[i]; }
void neighbours(size_t start, size_t n, const double *x, double *y, long total)
{ for (size_t i = 0; i < n; i++)
    y[i] = (start + i > 0 ? x[(long)i - 1] : 0) + x[i] + (start + i + 1 < total ? x[i + 1] : 0); }
void number(size_t start, size_t n, long *y)
{ for (size_t i = 0; i < n; i++) y[i] = start + i; }
int direct(size_t start, size_t n, void *const arrays[], const void *arg)
{ const struct { int factor; double term; } *values = arg; long *y = arrays[0];
  for (size_t i = 0; i < n; i++) y[i] = (start + i) * values->factor + values->term;
  return 0; }
int no_room(size_t start, size_t n, void *const arrays[], const void *arg)
{ return -12; }
void spmv(size_t start, size_t n, const unsigned *starts, const int *columns, const double *values,
          const double *x, double *y)
{ for (size_t i = 0; i < n; i++) { y[i] = 0;
    for (unsigned e = starts[i] - *starts; e < starts[i + 1] - *starts; e++)
      y[i] += values[e] * x[columns[e]]; } }
void rows(size_t start, size_t n, const int *table, int *y, long columns)
{ for (size_t i = 0; i < n; i++) for (long j = 0; j < columns; j++)
    y[i * columns + j] = table[j] * (int)(start + i); }
void count(size_t start, size_t n, const unsigned char *x, long *counts)
{ for (size_t i = 0; i < n; i++) counts[x[i]]++; }
"""


def pytest_report_header():
    return f"seed: HEDDLE_TEST_SEED={SEED}"


@pytest.fixture(scope="session", autouse=True)
def session():
    heddle.init(
        STARPU_NCPU=1,
        STARPU_NOPENCL=2,
        STARPU_NCUDA=0,
        STARPU_OPENCL_ON_CPUS=1,
        STARPU_WORKERS_NOBIND=1,
        POCL_DEVICES="pthread basic",
    )
    yield
    heddle.shutdown()


@pytest.fixture
def random():
    return numpy.random.default_rng(SEED)


@pytest.fixture(scope="session")
def opencl():
    """Ids of two OpenCL workers."""
    found = [worker.id for worker in heddle.workers() if worker.name.startswith("OpenCL")]
    if len(found) < 2:
        pytest.skip("not two OpenCL devices (PoCL) for this StarPU")
    return found


@pytest.fixture(scope="session")
def functions(tmp_path_factory):
    folder = pathlib.Path(tmp_path_factory.mktemp("functions"))
    (folder / "functions.c").write_text(FUNCTIONS)
    library = folder / "functions.so"
    try:
        subprocess.run(
            [
                os.environ.get("CC", "cc"),
                "-O2",
                "-shared",
                "-fPIC",
                "-o",
                str(library),
                str(folder / "functions.c"),
            ],
            check=True,
        )
    except FileNotFoundError:
        pytest.skip("no C compiler")
    return ctypes.CDLL(str(library))
