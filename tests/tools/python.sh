#!/bin/sh
# The Python package: its tests, by pytest, and its example on two OpenCL devices.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
# Time limit: 300 s
. "$top_srcdir/tests/tools/common.sh"
value() { sed -n "s/^$1 = //p" "$top_builddir/Makefile"; }
top_srcdir=$(cd "$top_srcdir" && pwd) top_builddir=$(cd "$top_builddir" && pwd)
# A Python of the user's may stand before Debian's, which has the packages.
for python in python3 /usr/bin/python3 none; do
	"$python" -c 'import numpy, pytest' 2>/dev/null && break
done
[ "$python" != none ] || { echo "no Python with NumPy and pytest"; exit 77; }
[ -e "$top_builddir/.libs/libheddle.so.0" ] || { echo "no shared library"; exit 77; }
case $(value HEDDLE_LDFLAGS) in *sanitize*) echo "Python is not sanitized"; exit 77 ;; esac
CC=$(value CC)
LAYOUT_CFLAGS=$(PKG_CONFIG_PATH=$top_builddir pkg-config --cflags --libs heddle) || fail pkg-config
LD_LIBRARY_PATH=$top_builddir/.libs:$(value starpu_libdir) PYTHONPATH=$top_srcdir/python
export CC LAYOUT_CFLAGS LD_LIBRARY_PATH PYTHONPATH PYTHONDONTWRITEBYTECODE=1 MPLCONFIGDIR="$work"
"$python" -m pytest -q -rs -p no:cacheprovider --rootdir="$top_srcdir/python" "$top_srcdir/python/tests" ||
	fail "pytest"
# As the page of the manual says.
grep -q 'define HEDDLE_USE_OPENCL' "$top_builddir/config.h" || { [ "$failures" = 0 ]; exit; }
export STARPU_OPENCL_ON_CPUS=1 STARPU_NOPENCL=2 STARPU_NCPU=0 POCL_DEVICES='pthread basic'
expect 0 '^0 points differ' "$python" "$top_srcdir/python/examples/mandelbrot.py"
sed -n '/^A /,$p' "$work/out"
if "$python" -c 'import matplotlib' 2>/dev/null; then
	MPLBACKEND=svg expect 0 '^0 points' "$python" "$top_srcdir/python/examples/mandelbrot.py" --plot "$work/m"
	[ -s "$work/m-loop.svg" ] && [ -s "$work/m-kernel.svg" ] || fail "no pictures"
fi
# Where no worker is left, or none for the body.
STARPU_NOPENCL=0 expect 1 'Error: .*no worker is left (STARPU_NCPU' \
	"$python" -c 'import heddle; heddle.init()'
STARPU_NCPU=1 STARPU_NOPENCL=0 expect 1 'its body is for opencl.*STARPU_OPENCL_ON_CPUS=1' \
	"$python" "$top_srcdir/python/examples/mandelbrot.py"
# Without the library the message says what to do. Heddle may be installed beside this tree.
LD_LIBRARY_PATH='' "$python" -c 'import ctypes; ctypes.CDLL("libheddle.so.0")' 2>"$work/messages" ||
	LD_LIBRARY_PATH='' expect 1 'libheddle.so.0 cannot be loaded.*LD_LIBRARY_PATH' \
		"$python" -c 'import heddle; heddle.init()'
[ "$failures" = 0 ]
