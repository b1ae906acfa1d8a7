#!/bin/sh
# The driver's tests under helgrind: no race in it.
# Time limit: 600 s
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
command -v valgrind >/dev/null || exit 77
[ -e "$top_builddir/bin/fpga/histogram.fpga" ] || { echo "no designs: no verilator"; exit 77; }
OCL_ICD_VENDORS=$top_builddir/bin/fpga/vendors/heddle.icd
export OCL_ICD_VENDORS
exec "$top_builddir/libtool" --mode=execute valgrind --tool=helgrind --quiet \
	--suppressions="$top_srcdir/tests/fpga/helgrind.supp" --error-exitcode=9 \
	"$top_builddir/tests/fpga/driver"
