#!/bin/sh
# The estimator's tests with policies again, with one CPU worker and one OpenCL
# worker on the CPU: two classes of devices.
STARPU_NCPU=1 STARPU_NOPENCL=1 STARPU_OPENCL_ON_CPUS=1
export STARPU_NCPU STARPU_NOPENCL STARPU_OPENCL_ON_CPUS
exec "$top_builddir/tests/starpu/estimate_policies"
