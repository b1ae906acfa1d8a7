#!/bin/sh
# kernel_buses over two OpenCL devices, which are made to look like others.
set -u
: "${top_srcdir:?}"
: "${top_builddir:?}"
STARPU_OPENCL_ON_CPUS=1 STARPU_NCPU=1 STARPU_NOPENCL=2 POCL_DEVICES='pthread basic'
export STARPU_OPENCL_ON_CPUS STARPU_NCPU STARPU_NOPENCL POCL_DEVICES
unset HEDDLE_KERNEL_BUSES HEDDLE_KERNEL_IN_PLACE
"$top_builddir/tests/starpu/kernel_buses" "$top_srcdir/tests/starpu/switch.xml"
