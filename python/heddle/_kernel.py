# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
"""OpenCL kernels on all OpenCL devices (include/heddle/kernel.h)."""

import ctypes
from ctypes import byref
from typing import Any, Callable, List, Optional, Sequence, Tuple, Union

import numpy
from numpy.typing import NDArray

from . import _library as c
from ._arguments import Array, Local, as_array, ids, is_array, text, whole_number
from ._requests import Request, begin
from ._session import init
from ._sources import Parameter, parameters
from ._stats import KernelStats, kernel_stats

Size = Union[int, Sequence[int]]


def _sizes(size: Size, what: str) -> Tuple[int, ...]:
    several = hasattr(size, "__iter__") and not isinstance(size, str)
    sizes = tuple(size) if several else (size,)  # type: ignore[arg-type]
    if not 1 <= len(sizes) <= 3:
        raise ValueError(f"{what} has {len(sizes)} dimensions; there are 1 to 3")
    return tuple(whole_number(s, what) for s in sizes)


class Kernel:
    """A kernel of OpenCL C. Calling it launches it and waits for its results; submit() does not
    wait."""

    def __init__(self, source: str, name: str, options: Optional[str] = None) -> None:
        for what, value in (("source", source), ("name", name), ("options", options or "")):
            text(value, what)
        self.source, self.name, self.options = source, name, options
        self._parameters = parameters(source, name, options or "")

    def __call__(
        self,
        global_size: Size,
        local_size: Optional[Size],
        *arguments: Any,
        split: str = "always",
        method: Optional[str] = None,
        workers: Optional[Sequence[int]] = None,
        offset: Optional[Size] = None,
    ) -> KernelStats:
        """Launches the kernel on all OpenCL devices.

        global_size, local_size: one to three numbers, as in clEnqueueNDRangeKernel();
        local_size None: Heddle chooses. arguments: as the kernel's: arrays (also In, Out, InOut
        of one), NumPy scalars, Local. split: "always", "policy" (as STARPU_SCHED says) or
        "never". method, workers, offset: as in struct heddle_kernel.
        """
        launch, uses, kept = self._launch(
            global_size, local_size, arguments, split, method, workers, offset
        )

        def run() -> Callable[[], KernelStats]:
            stats = c.scratch("KernelStats")
            c.call(
                "heddle_kernel_run", byref(launch), byref(stats), what=f"kernel {self.name}"
            )
            del kept[:]
            found = kernel_stats(stats)
            return lambda: found

        return begin(uses, run).wait()

    def submit(
        self,
        global_size: Size,
        local_size: Optional[Size],
        *arguments: Any,
        split: str = "always",
        method: Optional[str] = None,
        workers: Optional[Sequence[int]] = None,
        offset: Optional[Size] = None,
    ) -> "Request[KernelStats]":
        """Launches the kernel as a call does, and returns at once. The request's wait() has the
        results."""
        launch, uses, kept = self._launch(
            global_size, local_size, arguments, split, method, workers, offset
        )
        what = f"kernel {self.name}"
        kept.append(launch)

        def submit() -> Callable[[], KernelStats]:
            request = ctypes.c_void_p()
            c.call("heddle_kernel_submit", byref(launch), byref(request), what=what)

            def finish() -> KernelStats:
                stats = c.scratch("KernelStats")
                c.call("heddle_kernel_wait", request, byref(stats), what=what)
                del kept[:]
                return kernel_stats(stats)

            return finish

        return begin(uses, submit)

    def _launch(
        self,
        global_size: Size,
        local_size: Optional[Size],
        arguments: Sequence[Any],
        split: str,
        method: Optional[str],
        workers: Optional[Sequence[int]],
        offset: Optional[Size],
    ) -> Tuple[c.Kernel, List[Array], List[Any]]:
        """The launch, its arrays, and what must live until the end."""
        sizes = _sizes(global_size, "global_size")
        launch = c.Kernel(
            source=self.source.encode(),
            name=self.name.encode(),
            options=self.options.encode() if self.options else None,
            dimensions=len(sizes),
            method=text(method, "method") if method else None,
        )
        if split not in c.SPLITS:
            raise ValueError(f"split is {split!r}; known are {', '.join(c.SPLITS)}")
        launch.split = c.SPLITS[split]
        getattr(launch, "global")[: len(sizes)] = sizes
        for what, size in (("local", local_size), ("offset", offset)):
            if size is not None:
                numbers = _sizes(size, what)
                if len(numbers) != len(sizes):
                    raise ValueError(f"{what} has {len(numbers)} dimensions, global {len(sizes)}")
                getattr(launch, what)[: len(sizes)] = numbers
        uses, kept = self._arguments(launch, arguments)
        if workers is not None:
            launch.workers = ids(workers)
            launch.nworkers = len(workers)
        init()
        return launch, uses, kept

    def _arguments(
        self, launch: c.Kernel, arguments: Sequence[Any]
    ) -> Tuple[List[Array], List[Any]]:
        """Fills in the arguments; returns arrays, and what must live until the end."""
        if len(arguments) > c.KERNEL_MAXARGUMENTS:
            raise TypeError(f"{len(arguments)} arguments; a kernel has {c.KERNEL_MAXARGUMENTS}")
        launch.narguments = len(arguments)
        uses: List[Array] = []
        kept: List[Any] = []
        for number, value in enumerate(arguments, 1):
            entry, what = launch.arguments[number - 1], f"argument {number} of {self.name}"
            if is_array(value):
                use = as_array(value, what)
                if use.halo or use.whole or use.sum or use.index is not None:
                    raise ValueError(f"{what}: halo, whole, index and Sum are for loops")
                entry.type, entry.mode, entry.keep = c.ARGUMENT_HOST, use.mode, use.keep
                entry.pointer, entry.bytes = use.array.ctypes.data, use.array.nbytes
                self._check_type(number, use.array.dtype, what, "has elements of type")
                uses.append(use)
            elif isinstance(value, Local):
                entry.type, entry.bytes = c.ARGUMENT_LOCAL, value.bytes
            elif isinstance(value, numpy.generic):
                self._check_type(number, value.dtype, what, "is of type")
                held = numpy.array(value)
                entry.type, entry.pointer = c.ARGUMENT_VALUE, held.ctypes.data
                entry.bytes = held.nbytes
                kept.append(held)
            else:
                raise TypeError(
                    f"{what} is a {type(value).__name__}; OpenCL needs its exact type: a NumPy "
                    "array, a NumPy scalar such as numpy.float32(2), or heddle.Local(bytes)"
                )
        return uses, kept

    def _check_type(
        self, number: int, dtype: "numpy.dtype[Any]", what: str, verb: str
    ) -> None:
        """Where the source tells what the kernel takes: arrays have only bytes for OpenCL."""
        if len(self._parameters) < number:
            return
        parameter: Optional[Parameter] = self._parameters[number - 1]
        if parameter is None or parameter.pointer != verb.startswith("has"):
            return
        if not parameter.takes(dtype):
            star = " *" if parameter.pointer else ""
            raise TypeError(
                f"{what} {verb} {dtype}, and the kernel takes {parameter.type}{star} "
                f"(numpy.{parameter.number})"
            )


def kernel(source: str, name: str, options: Optional[str] = None) -> Kernel:
    """A kernel by its name in OpenCL C source; options are the compiler's.

    kernel(source, name)(global_size, local_size, *arguments) launches it.
    """
    return Kernel(source, name, options)


def changed(array: NDArray[Any]) -> None:
    """The program has changed an array that kernels keep on devices: it is sent again."""
    if not isinstance(array, numpy.ndarray):
        raise TypeError(f"what changed is a {type(array).__name__}, not a NumPy array")
    # A view may leave elements out, and begin at the end.
    steps = [(n - 1) * stride for n, stride in zip(array.shape, array.strides) if array.size]
    first = sum(step for step in steps if step < 0)
    bytes_ = sum(abs(step) for step in steps) + (array.itemsize if array.size else 0)
    c.library().heddle_kernels_changed(array.ctypes.data + first, bytes_)
