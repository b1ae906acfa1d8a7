#!/bin/sh
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A dozen of StarPU's examples under hdss and odds; examples-all runs them all.
# Time limit: 300 s
set -- hello_world vector_scal incrementer cholesky_implicit lu_implicit_example_double \
	cg heat tag_example task_end_dep fmatrix nf_sched_ctx prio sgemm
for sched in hdss odds; do
	sh "$top_srcdir/tests/tools/examples-all" --sched $sched "$@" || exit
done
