# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
"""How a loop or a kernel uses its arrays."""

import ctypes
import operator
from dataclasses import dataclass
from typing import Any, Optional, Sequence

import numpy
from numpy.typing import NDArray

from . import _library as c


def whole_number(value: Any, what: str, least: int = 0, bits: int = 64) -> int:
    """A number as C has it: ctypes cuts what does not fit."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{what} is a {type(value).__name__}, not a whole number") from None
    if number < least:
        raise ValueError(
            f"{what} is {number}, and must not be " + ("negative" if not least else f"below {least}")
        )
    if number >> bits:
        raise ValueError(f"{what} is {number}, too large for C")
    return number


def text(value: Any, what: str) -> bytes:
    if not isinstance(value, str):
        raise TypeError(f"{what} is a {type(value).__name__}, not text")
    return value.encode()


def ids(workers: Sequence[int]) -> Any:
    """Workers as an array of C."""
    try:
        found = [whole_number(worker, "an id", bits=31) for worker in workers]
    except (TypeError, ValueError):
        raise TypeError(
            f"workers is {workers!r}; it is a list of ids, as heddle.workers() has them"
        ) from None
    return (ctypes.c_int * len(found))(*found)


@dataclass(frozen=True)
class Array:
    """An array and its use; In, Out, InOut and Sum are what programs write."""

    array: NDArray[Any]
    mode: int
    halo: int = 0
    whole: bool = False
    keep: bool = False
    sum: bool = False
    index: Optional[NDArray[Any]] = None


def In(
    array: NDArray[Any],
    *,
    halo: int = 0,
    whole: bool = False,
    index: Optional[NDArray[Any]] = None,
    keep: bool = False,
) -> Array:
    """An array that is read only.

    halo: of a loop: an iteration also reads as many elements (or rows) on either side.
    whole: of a loop: every iteration may read all of it.
    index: of a loop: iteration i has elements (or rows) index[i] to index[i + 1] - 1.
    keep: of a kernel: it may stay on the devices between launches; see changed().
    """
    halo = whole_number(halo, "halo")
    if bool(halo) + whole + (index is not None) > 1:
        raise ValueError("halo, whole and index exclude each other")
    return Array(array, c.STARPU_R, halo=halo, whole=whole, keep=keep, index=index)


def Out(
    array: NDArray[Any], *, index: Optional[NDArray[Any]] = None, keep: bool = False
) -> Array:
    """An array that is written only, completely; index and keep as of In."""
    return Array(array, c.STARPU_W, keep=keep, index=index)


def InOut(
    array: NDArray[Any], *, index: Optional[NDArray[Any]] = None, keep: bool = False
) -> Array:
    """An array that is read and written; index and keep as of In. It is what an array without a
    word is."""
    return Array(array, c.STARPU_RW, keep=keep, index=index)


def Sum(array: NDArray[Any]) -> Array:
    """An array that all iterations of a loop add to. Each block has one of zeros, which is added
    to the array at the end. On devices a block's iterations run at the same time: they add by
    atomic functions."""
    return Array(array, c.STARPU_RW, sum=True)


@dataclass(frozen=True)
class Local:
    """Local memory of a kernel's work-group."""

    bytes: int

    def __post_init__(self) -> None:
        whole_number(self.bytes, "heddle.Local's number of bytes", 1)


def check_order(array: NDArray[Any], name: str) -> None:
    if not array.dtype.isnative:
        raise ValueError(
            f"{name} has its bytes in the order of other processors; give a copy "
            "(.astype(dtype.newbyteorder('=')))"
        )


def as_array(value: Any, name: str) -> Array:
    """Checks an array, with a message that names the argument."""
    use = value if isinstance(value, Array) else InOut(value)
    array = use.array
    if not isinstance(array, numpy.ndarray):
        raise TypeError(f"{name} is a {type(array).__name__}, not a NumPy array")
    if isinstance(array, numpy.ma.MaskedArray):
        raise TypeError(f"{name} has a mask, which kernels do not know; give its data (.data)")
    if array.dtype.hasobject:
        raise TypeError(f"{name} has Python objects as elements")
    if array.ndim == 0:
        raise ValueError(
            f"{name} is an array without dimensions; give its value ([()]), or an array of one "
            "element (.reshape(1))"
        )
    if array.size == 0:
        raise ValueError(f"{name} has no elements")
    check_order(array, name)
    if not array.flags.c_contiguous:
        raise ValueError(f"{name} is not contiguous; give a copy (numpy.ascontiguousarray)")
    if use.mode != c.STARPU_R and not array.flags.writeable:
        raise ValueError(
            f"{name} is written and its array is read-only; say heddle.In if it is not"
        )
    return use


def is_array(value: Any) -> bool:
    return isinstance(value, (Array, numpy.ndarray))
