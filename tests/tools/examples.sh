#!/bin/sh
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A dozen of StarPU's examples under hdss; examples-all runs them all.
exec sh "$top_srcdir/tests/tools/examples-all" --sched hdss \
	hello_world vector_scal incrementer cholesky_implicit lu_implicit_example_double \
	cg heat tag_example task_end_dep fmatrix nf_sched_ctx prio sgemm
