# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
"""StarPU's start and end in this process."""

import atexit
import ctypes
import os
import sys
import threading
from dataclasses import dataclass
from errno import ENODEV
from typing import Callable, List, Optional, Union

from ._library import Error, call, library

_lock = threading.RLock()
_running = False
_ran = False  # at any time: OpenCL's threads live on when StarPU has ended
_forked = False
_at_end: List[Callable[[], None]] = []


@dataclass(frozen=True)
class Worker:
    """A worker: a CPU core or a device."""

    id: int
    name: str


def _forget_threads() -> None:
    """In a forked process: it has no thread but the one that forked."""
    global _lock, _running, _forked
    _lock = threading.RLock()
    _running = False
    _forked = _ran


os.register_at_fork(after_in_child=_forget_threads)


def check_caller() -> None:
    """Refuses what would wait for ever."""
    if _forked:
        raise RuntimeError(
            "this process is a fork of one in which StarPU was started, and has none of its "
            'threads; use multiprocessing.get_context("spawn"), or fork before the first loop '
            "or kernel"
        )
    if _running and library().starpu_worker_get_id() >= 0:
        raise RuntimeError("a loop's body cannot run loops or kernels, nor wait for them")


def version() -> str:
    """The version of the C library."""
    return str(library().heddle_version().decode())


def init(policy: Optional[str] = None, **variables: Union[str, int]) -> None:
    """Starts StarPU. The first loop or kernel calls it, without arguments.

    policy: a scheduling policy, as STARPU_SCHED; without one, that of the environment, else
    "heddle". variables: variables of StarPU, Heddle and PoCL, for example STARPU_NCPU=4; they are
    put into the environment.
    """
    global _running, _ran
    check_caller()
    with _lock:
        if _running:
            if policy is not None or variables:
                raise RuntimeError("StarPU runs already; call heddle.shutdown() first")
            return
        for name in variables:
            if not name.startswith(("STARPU_", "HEDDLE_", "POCL_", "OCL_")):
                raise TypeError(f"{name} is no variable of StarPU, Heddle or OpenCL")
        call("heddle_starpu_check")
        _ran = True
        before = os.environ.get("STARPU_SCHED")
        for name, value in variables.items():
            os.environ[name] = str(value)
        if policy is not None:
            os.environ["STARPU_SCHED"] = policy
        try:
            call("starpu_init", None)
        except Error as error:
            if error.errno != ENODEV:
                raise
            raise Error(ENODEV, "starpu_init: no worker is left (STARPU_NCPU and the like)") from None
        _policy_check(policy, before)
        _running = True


def _policy_check(policy: Optional[str], before: Optional[str]) -> None:
    """StarPU takes its default in place of a policy that it does not know."""
    if policy is None or library().work_policy_name(0).decode() == policy:
        return
    library().starpu_shutdown()
    if before is None:
        del os.environ["STARPU_SCHED"]
    else:
        os.environ["STARPU_SCHED"] = before
    raise ValueError(f"there is no policy {policy!r} ('heddle run --help' lists all)")


def wait_explain(text: str) -> None:
    """Says what takes long before anything is to be seen of it, as the C library does: at a
    terminal, elsewhere with HEDDLE_VERBOSE=2."""
    verbose = os.environ.get("HEDDLE_VERBOSE", "")
    if verbose == "2" or (verbose != "0" and sys.stderr and sys.stderr.isatty()):
        print(f"heddle: {text}", file=sys.stderr, flush=True)


def at_end(function: Callable[[], None]) -> None:
    """Calls a function before StarPU ends."""
    _at_end.append(function)


@atexit.register
def shutdown() -> None:
    """Ends StarPU. The end of the program calls it, too."""
    global _running
    with _lock:
        if not _running:
            return
        for function in _at_end:
            function()
        library().heddle_kernels_unload()
        library().starpu_shutdown()
        _running = False


def workers() -> List[Worker]:
    """The workers, by id."""
    init()
    found = []
    for worker in range(library().starpu_worker_get_count()):
        name = ctypes.create_string_buffer(128)
        library().starpu_worker_get_name(worker, name, len(name))
        found.append(Worker(worker, name.value.decode(errors="replace")))
    return found
