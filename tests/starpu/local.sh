#!/bin/sh
# Short tasks under heddle, on one core and two alike OpenCL devices.
POCL_DEVICES='basic basic' HEDDLE_VERBOSE=2
export POCL_DEVICES HEDDLE_VERBOSE
"$top_builddir/tests/starpu/local" heddle 1 2
