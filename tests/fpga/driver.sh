#!/bin/sh
# The driver of simulated FPGAs behind OpenCL's loader, alone: our test, and clinfo.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
set -u
[ -e "$top_builddir/bin/fpga/histogram.fpga" ] || { echo "no designs: no verilator"; exit 77; }
OCL_ICD_VENDORS=$top_builddir/bin/fpga/vendors/heddle.icd
export OCL_ICD_VENDORS
"$top_builddir/tests/fpga/driver" || exit
command -v clinfo >/dev/null || exit 0
HEDDLE_FPGA_DEVICES=3 clinfo >fpga_driver.$$ 2>&1
status=$?
[ $status = 0 ] && [ "$(grep -c 'Device Type  *Accelerator' fpga_driver.$$)" = 3 ] &&
	! grep -q 'error' fpga_driver.$$ || { cat fpga_driver.$$; status=1; }
rm -f fpga_driver.$$
exit $status
