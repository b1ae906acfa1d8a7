# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Loops and OpenCL kernels on all processors of a machine, from NumPy arrays.

Heddle's C library does the work. Start with loop() or kernel(); In, Out, InOut, Sum and Local
say how an array is used.
"""

from ._arguments import In, InOut, Local, Out, Sum
from ._kernel import Kernel, changed, kernel
from ._library import Error
from ._loop import Body, loop, submit
from ._requests import Request
from ._session import Worker, init, shutdown, version, workers
from ._stats import KernelStats, KernelWorkerStats, LoopStats, WorkerStats, plot

__all__ = [
    "Body",
    "Error",
    "In",
    "InOut",
    "Kernel",
    "KernelStats",
    "KernelWorkerStats",
    "Local",
    "LoopStats",
    "Out",
    "Request",
    "Sum",
    "Worker",
    "WorkerStats",
    "changed",
    "init",
    "kernel",
    "loop",
    "plot",
    "shutdown",
    "submit",
    "version",
    "workers",
]
__version__ = "0.1.0"
