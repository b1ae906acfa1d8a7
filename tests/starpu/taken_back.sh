#!/bin/sh
# Inputs that were asked for in vain, with one CPU worker and one OpenCL worker on the CPU: once
# with memory for all, once where what has been used fills it.
STARPU_NCPU=1 STARPU_NOPENCL=1 STARPU_OPENCL_ON_CPUS=1
# With a limit StarPU counts.
STARPU_LIMIT_CPU_MEM=1000
export STARPU_NCPU STARPU_NOPENCL STARPU_OPENCL_ON_CPUS STARPU_LIMIT_CPU_MEM
"$top_builddir/tests/starpu/taken_back" &&
	STARPU_LIMIT_OPENCL_MEM=48 "$top_builddir/tests/starpu/taken_back"
