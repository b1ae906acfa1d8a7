# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Loops and launches under way.

Each registers its arrays with StarPU by itself, so that StarPU does not see that two of them use
the same memory. What needs an array that another one writes waits for that one first.
"""

import threading
from typing import Any, Callable, Generic, List, Optional, Sequence, TypeVar

import numpy

from . import _library as c
from ._arguments import Array
from ._session import at_end, check_caller

Stats = TypeVar("Stats")

_under_way: List["Request[Any]"] = []
_lock = threading.Lock()


class Request(Generic[Stats]):
    """A loop or a launch under way. Its arrays are not to be changed before wait() returns, and
    those that it writes not to be read."""

    def __init__(self, uses: Sequence[Array]) -> None:
        self._uses = list(uses)
        self._finish: Optional[Callable[[], Stats]] = None
        self._stats: Optional[Stats] = None
        self._error: Optional[BaseException] = None
        self._mutex = threading.Lock()

    def wait(self) -> Stats:
        """Waits for the end. Returns statistics, each time it is called, or raises what failed."""
        check_caller()
        self._settle()
        if self._error is not None:
            raise self._error
        assert self._stats is not None
        return self._stats

    def _settle(self) -> None:
        with self._mutex:
            if self._finish is None:
                return
            try:
                self._stats = self._finish()
            except BaseException as error:
                self._error = error
            self._finish = None
            _forget(self)

    def _meets(self, other: "Request[Any]") -> bool:
        return any(
            (a.mode != c.STARPU_R or b.mode != c.STARPU_R)
            and numpy.may_share_memory(a.array, b.array)
            for a in self._uses
            for b in other._uses
        )


def _forget(request: "Request[Any]") -> None:
    with _lock:
        _under_way.remove(request)


def begin(uses: Sequence[Array], submit: Callable[[], Callable[[], Stats]]) -> "Request[Stats]":
    """Submits something when its arrays are free. submit() returns what waits for it."""
    request: "Request[Stats]" = Request(uses)
    with request._mutex:  # who finds it waits until it is submitted
        while True:
            with _lock:
                others = [other for other in _under_way if request._meets(other)]
                if not others:
                    _under_way.append(request)
                    break
            for other in others:
                other._settle()
        try:
            request._finish = submit()
        except BaseException:
            _forget(request)
            raise
    return request


def _settle_all() -> None:
    with _lock:
        left = list(_under_way)
    for request in left:
        request._settle()


at_end(_settle_all)
