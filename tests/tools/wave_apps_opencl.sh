#!/bin/sh
# The apps of wavefronts, on an OpenCL worker on the CPU, alone and beside a CPU worker.
exec sh "$top_srcdir/tests/tools/wave_apps.sh" opencl
