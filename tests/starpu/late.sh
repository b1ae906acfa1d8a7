#!/bin/sh
# Late accelerators: two CPU workers, and an OpenCL worker on the CPU.
# Time limit: 400 s
STARPU_NCPU=2 STARPU_NOPENCL=1 STARPU_OPENCL_ON_CPUS=1 HEDDLE_LATE=10 HEDDLE_VERBOSE=0
export STARPU_NCPU STARPU_NOPENCL STARPU_OPENCL_ON_CPUS HEDDLE_LATE HEDDLE_VERBOSE
STARPU_SCHED=heteroprio "$top_builddir/tests/starpu/late" || exit
exec "$top_builddir/tests/starpu/late"
