#!/bin/sh
# The loop's tests again, with one CPU worker and one OpenCL worker on the CPU.
# Time limit: 300 s
STARPU_NCPU=1 STARPU_NOPENCL=1 STARPU_OPENCL_ON_CPUS=1
export STARPU_NCPU STARPU_NOPENCL STARPU_OPENCL_ON_CPUS
exec "$top_builddir/tests/starpu/loop"
