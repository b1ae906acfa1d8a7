# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Loops on all processors (include/heddle/loop.h).

Functions of this module are called for each block, on the worker's thread: one for CPU cores, and
those of a codelet for devices. They call the compiled function or launch the kernel, without
Python's lock while it runs. A block costs about 50 us so; functions that Heddle calls itself
(Body.direct) cost nothing.
"""

import ctypes
import re
import threading
import warnings
from ctypes import byref, c_size_t, c_void_p
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy

from . import _library as c
from ._arguments import Array, as_array, check_order, ids, is_array, text, whole_number
from ._devices import CUDA, OpenCL, Part
from ._requests import Request, begin
from ._session import at_end, init, wait_explain
from ._sources import Parameter
from ._sources import cuda as cuda_source
from ._sources import opencl as opencl_source
from ._stats import LoopStats, loop_stats

_EIO = 5
_RESERVED = ("i", "n", "start")
# Of C and OpenCL C: as names they give errors of a source that the user does not know.
_KEYWORDS = frozenset(
    "auto bool break case char const continue default do double else enum extern float for goto half "
    "if inline int long register restrict return short signed sizeof static struct switch typedef "
    "union unsigned void volatile while constant global kernel local private read_only read_write "
    "write_only".split()
)


@dataclass(frozen=True)
class Body:
    """The body of a loop, for one kind of processor or more.

    opencl, cuda: statements in OpenCL C, CUDA C that compute iteration i of a block, `start + i`
    of the loop. They use arrays and values by their names. functions: what stands before the
    kernel, in both languages.
    cpu: a compiled C function: of ctypes or cffi, Numba's cfunc, or its address. It computes a
    block: void f(size_t start, size_t n, ...), with arrays (pointers) and values in the order
    in which loop() gets them.
    direct: in place of cpu, a compiled C function as the field function of struct heddle_loop
    (heddle/loop.h): int f(size_t start, size_t n, void *const arrays[], const void *values).
    Heddle calls it without Python. values points to a structure of the values. It returns 0, or a
    negative errno value.
    """

    opencl: Optional[str] = None
    cpu: Any = None
    cuda: Optional[str] = None
    direct: Any = None
    functions: str = ""


def _cffi_address(function: Any) -> Optional[int]:
    if type(function).__module__ != "_cffi_backend":
        return None
    from cffi import FFI

    return int(FFI().cast("uintptr_t", function))


def _address(function: Any) -> int:
    """Where a compiled function is."""
    if isinstance(function, (int, numpy.integer)):
        return int(function)
    if hasattr(function, "address"):  # Numba's cfunc
        return int(function.address)
    try:
        address = ctypes.cast(function, c_void_p).value
    except (ctypes.ArgumentError, TypeError):
        address = _cffi_address(function)
    if not address:
        raise TypeError(
            f"{type(function).__name__} is no compiled function; known are those of "
            "ctypes and cffi, Numba's cfunc, and addresses"
        )
    return address


def _check_declared(
    function: Any, arrays: Mapping[str, Array], values: Mapping[str, Any]
) -> None:
    """Compares the arguments with what a function says that it takes: one of ctypes with
    argtypes, or Numba's cfunc. Else nobody looks at their types."""
    declared = getattr(getattr(function, "ctypes", function), "argtypes", None)
    if declared is None:
        return
    names = ["start", "n", *arrays, *values]
    if len(declared) != len(names):
        raise TypeError(
            f"the function takes {len(declared)} arguments, and this loop gives it "
            f"{len(names)}: {', '.join(names)}"
        )
    given = [(use.array.dtype, True) for use in arrays.values()]
    given += [(numpy.dtype(type(value)), False) for value in values.values()]
    for name, type_, (dtype, pointer) in zip(names[2:], declared[2:], given):
        type_ = getattr(type_, "_type_", None) if pointer else type_
        # Numbers of ctypes have a letter. Others are pointers to anything, or to structures.
        letter = getattr(type_, "_type_", None)
        if not isinstance(letter, str) or letter in "zZPO":
            continue
        takes = numpy.dtype(type_)
        if not Parameter(str(takes), pointer, takes, 1).takes(dtype):
            verb = "has elements" if pointer else "is"
            raise TypeError(f"{name} {verb} of type {dtype}, and the function takes {takes}")


class _Call:
    """What the blocks of one loop need."""

    def __init__(self, names: Sequence[str], uses: Sequence[Array], values: Sequence[Any], n: int):
        self.uses, self.values, self.n = uses, values, n
        self.cpu: Optional[Callable[..., None]] = None
        self.direct: Optional[int] = None
        self.opencl: Optional[OpenCL] = None
        self.cuda: Optional[CUDA] = None
        self.error: Optional[BaseException] = None
        self.progress: Any = None
        self.description: Any = None
        self.names = names
        # Rows of an iteration, and bytes of a row.
        self.rows = [
            1
            if use.whole or use.sum or use.index is not None
            else use.array.shape[0] // n
            for use in uses
        ]
        self.strides = [use.array.nbytes // use.array.shape[0] for use in uses]

    def parts(self, block: c.Block, buffers: Any) -> List[Part]:
        found = []
        for number, use in enumerate(self.uses):
            before = min(block.start * self.rows[number], use.halo) * self.strides[number]
            vector = c.VectorInterface.from_address(buffers[number])
            found.append(Part(vector, before))
        return found

    def on_cpu(self, start: int, n: int, arrays: Any) -> None:
        assert self.cpu
        self.cpu(start, n, *arrays[: len(self.uses)], *self.values)

    def on_opencl(self, block: c.Block, parts: Sequence[Part]) -> None:
        assert self.opencl
        self.opencl.launch(block.start, block.n, parts, self.values)

    def on_cuda(self, block: c.Block, parts: Sequence[Part]) -> None:
        assert self.cuda
        self.cuda.launch(block.start, block.n, parts, self.values)


# By the address of their values, which blocks have as their argument.
_calls: Dict[int, _Call] = {}


def _on_cpu(start: int, n: int, arrays: Any, arg: int) -> int:
    """What Heddle calls for a block. No exception may leave it: the block fails instead."""
    call = _calls[arg]
    try:
        call.on_cpu(start, n, arrays)
        if call.progress is not None:
            call.progress.update(n)
    except BaseException as error:
        call.error = error
        return -_EIO
    return 0


def _implementation(run: Callable[[_Call, c.Block, Sequence[Part]], None]) -> Any:
    """The same for a codelet."""

    def implementation(buffers: Any, arg: int) -> None:
        block = c.Block.from_address(arg)
        call = _calls[block.arg]
        try:
            run(call, block, call.parts(block, buffers))
            if call.progress is not None:
                call.progress.update(block.n)
        except BaseException as error:
            call.error = error
            block.status = -_EIO

    return c.DEVICE_FUNCTION(implementation)


_CPU = c.PLAIN_FUNCTION(_on_cpu)
_OPENCL = _implementation(_Call.on_opencl)
_CUDA = _implementation(_Call.on_cuda)

# Codelets by name and kinds of device: StarPU may look at one after its loop's end.
_codelets: Dict[Tuple[str, bool, bool], int] = {}
# Compiled bodies by their source.
_compiled: Dict[Tuple[str, str], Union[OpenCL, CUDA]] = {}
_lock = threading.Lock()


def _codelet(name: str, call: _Call) -> Optional[int]:
    key = (name, bool(call.opencl), bool(call.cuda))
    if not (call.opencl or call.cuda):
        return None
    if key not in _codelets:
        lib = c.library()
        codelet = lib.fstarpu_codelet_allocate()
        text = ctypes.create_string_buffer(name.encode())
        _kept.append(text)
        lib.fstarpu_codelet_set_name(codelet, text)
        if call.opencl:
            lib.fstarpu_codelet_add_opencl_func(codelet, _OPENCL)
            lib.fstarpu_codelet_add_opencl_flags(codelet, c.constant("OPENCL_ASYNC"))
        if call.cuda:
            lib.fstarpu_codelet_add_cuda_func(codelet, _CUDA)
            lib.fstarpu_codelet_add_cuda_flags(codelet, c.constant("CUDA_ASYNC"))
        _codelets[key] = codelet
    return _codelets[key]


_kept: List[Any] = []


def _unload() -> None:
    for kernel in _compiled.values():
        kernel.unload()
    _compiled.clear()


at_end(_unload)


def _compile(kind: Any, source: str, call: _Call) -> Any:
    """A kernel, compiled on all its devices before a block of it is timed."""
    key = (kind.__name__, source)
    if key in _compiled:
        return _compiled[key]
    wait_explain(f"compiling a loop's {kind.__name__} C for its devices")
    kernel = kind(source)
    problems: List[BaseException] = []

    def prepare(_: Any) -> None:
        try:
            kernel.prepare(len(call.uses), call.values)
        except BaseException as error:
            problems.append(error)

    c.library().starpu_execute_on_each_worker(
        c.EACH_FUNCTION(prepare), None, c.constant(kind.__name__.upper())
    )
    if problems:
        kernel.unload()
        raise problems[0]
    _compiled[key] = kernel
    return kernel


def _sums_warn(text: str, call: _Call) -> None:
    """Plain additions of iterations that run at the same time are lost."""
    for name, use in zip(call.names, call.uses):
        element = rf"\b{name}\s*\[(?:[^][]|\[[^]]*\])*\]"
        if use.sum and re.search(element + r"\s*([-+*/&|^]?=(?!=)|\+\+|--)", text):
            warnings.warn(
                f"{name}: the iterations of a block run at the same time on a device; what they add "
                f"to one element is lost but by an atomic function, as atomic_add(&{name}[0], 1)",
                RuntimeWarning,
                stacklevel=5,
            )


def _kernels(body: Body, call: _Call, value_names: Sequence[str]) -> None:
    """Gives a call its function and kernels, as far as there are workers for them."""
    arrays = [
        (name, use.array.dtype, use.mode == c.STARPU_R) for name, use in zip(call.names, call.uses)
    ]
    values = [(name, numpy.dtype(type(value))) for name, value in zip(value_names, call.values)]
    lib = c.library()
    if body.direct is not None:
        call.direct = _address(body.direct)
    elif body.cpu is not None:
        _check_declared(
            body.cpu, dict(zip(call.names, call.uses)), dict(zip(value_names, call.values))
        )
        types = [c_void_p for _ in arrays] + [type(value) for value in call.values]
        call.cpu = ctypes.CFUNCTYPE(None, c_size_t, c_size_t, *types)(_address(body.cpu))
    with _lock:
        if body.opencl is not None and lib.starpu_opencl_worker_get_count():
            _sums_warn(body.opencl, call)
            call.opencl = _compile(
                OpenCL, opencl_source(body.opencl, body.functions, arrays, values), call
            )
        if body.cuda is not None and lib.starpu_cuda_worker_get_count():
            _sums_warn(body.cuda, call)
            call.cuda = _compile(
                CUDA, cuda_source(body.cuda, body.functions, arrays, values), call
            )
    if not (call.cpu or call.direct or call.opencl or call.cuda):
        given = [kind for kind in ("opencl", "cuda") if getattr(body, kind) is not None]
        if not given:
            raise ValueError("this loop has no body")
        raise RuntimeError(
            f"no worker can run this loop: its body is for {' and '.join(given)} "
            "(heddle.workers() lists the workers"
            + ("; STARPU_OPENCL_ON_CPUS=1 makes cores one of OpenCL's)" if body.opencl else ")")
        )


def _value(value: Any, name: str) -> Any:
    """A value as C has it. Python's own numbers are int64 and double."""
    if not isinstance(value, numpy.generic):
        value = numpy.float64(value) if isinstance(value, float) else value
        try:
            value = numpy.int64(value) if isinstance(value, int) else value
        except OverflowError:
            raise ValueError(f"{name} is {value}, too large for a long of C") from None
    if not isinstance(value, numpy.generic):
        raise TypeError(f"{name} is a {type(value).__name__}, neither array nor number")
    try:
        as_ctypes: Any = numpy.ctypeslib.as_ctypes_type
        return as_ctypes(value.dtype)(value.item())
    except NotImplementedError:
        raise TypeError(f"{name} is of type {value.dtype}, which C functions do not take") from None


def _combine(dtype: "numpy.dtype[Any]") -> Any:
    """A function that adds one vector to another."""

    def combine(into: int, from_: int, size: int, arg: int) -> None:
        sums, part = (
            numpy.frombuffer(memoryview((ctypes.c_char * size).from_address(at)), dtype)
            for at in (into, from_)
        )
        sums += part

    return c.COMBINE_FUNCTION(combine)


def _access(access: Any, use: Array, rows: int) -> None:
    access.mode, access.halo = use.mode, use.halo
    access.share = (
        c.SHARE_INDEXED
        if use.index is not None
        else c.SHARE_WHOLE
        if use.whole
        else c.SHARE_REDUCE
        if use.sum
        else c.SHARE_HALO
        if use.halo
        else c.SHARE_SLICE
    )
    access.per_iteration = rows
    if use.index is not None:
        access.index_array, access.index_bytes = use.index.ctypes.data, use.index.itemsize
    if use.sum:
        access.combine = _combine(use.array.dtype)


def _check_rows(use: Array, n: int, name: str) -> None:
    rows = use.array.shape[0]
    if rows >= 1 << 32:
        raise ValueError(f"{name} has {rows} rows, more than StarPU's vectors")
    if use.index is not None:
        _check_index(use.index, n, name)
    elif not (use.whole or use.sum) and (rows < n or rows % n > use.halo):
        raise ValueError(
            f"{name} has {rows} elements (or rows), no multiple of {n} iterations; "
            "say heddle.In(..., whole=True) if every iteration reads all of it"
        )


def _check_index(index: Any, n: int, name: str) -> None:
    if not isinstance(index, numpy.ndarray) or index.dtype.kind not in "iu":
        raise TypeError(f"the index of {name} is no NumPy array of whole numbers")
    if index.itemsize not in (4, 8) or index.ndim != 1 or not index.flags.c_contiguous:
        raise ValueError(f"the index of {name} is not contiguous, or not of 32 or 64 bits")
    check_order(index, f"the index of {name}")
    if len(index) <= n:
        raise ValueError(
            f"the index of {name} has {len(index)} entries; {n} iterations need {n + 1}"
        )


def _arguments(arguments: Mapping[str, Any], n: int) -> Tuple[Dict[str, Array], Dict[str, Any]]:
    """Arrays and values by their names, checked."""
    arrays: Dict[str, Array] = {}
    values: Dict[str, Any] = {}
    if not isinstance(arguments, Mapping):
        raise TypeError(
            f"arguments is a {type(arguments).__name__}; a loop's have names: {{'x': x, 'a': 2.0}}"
        )
    for name, value in arguments.items():
        if not name.isidentifier() or not name.isascii() or name in {*_RESERVED, *_KEYWORDS}:
            raise ValueError(
                f"{name!r} cannot be the name of an argument in C"
                + (", as the loop has it already" if name in _RESERVED else "")
            )
        if not is_array(value):
            values[name] = _value(value, name)
            continue
        if values:
            raise ValueError(f"{name} is an array behind {', '.join(values)}; arrays come first")
        arrays[name] = as_array(value, name)
        _check_rows(arrays[name], n, name)
        if arrays[name].keep:
            raise ValueError(f"{name}: keep is for kernels")
    if len(arrays) > c.limits().maxhandles:
        raise ValueError(f"{len(arrays)} arrays; this StarPU allows {c.limits().maxhandles}")
    return arrays, values


def _progress(n: int, name: str, wanted: bool) -> Any:
    if not wanted:
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(total=n, desc=name, unit="it", unit_scale=True)


def loop(
    n: int,
    body: Union[Body, str, Any],
    arguments: Mapping[str, Any],
    *,
    name: str = "loop",
    strategy: Optional[str] = None,
    workers: Optional[Sequence[int]] = None,
    parts: int = 0,
    alignment: int = 0,
    progress: bool = False,
) -> LoopStats:
    """Runs n independent iterations on all processors and waits for their end.

    body: a Body; text is OpenCL C, anything else a compiled C function.
    arguments: by their names, arrays before values. Iteration i has element i of an array (row i
    of one with more dimensions; k rows if it has k times n rows). In, Out, InOut and Sum say
    more. An array alone is InOut.
    name: in logs. strategy, workers, parts, alignment: as in struct heddle_loop.
    progress: shows a bar, where tqdm is installed.
    """
    return submit(
        n,
        body,
        arguments,
        name=name,
        strategy=strategy,
        workers=workers,
        parts=parts,
        alignment=alignment,
        progress=progress,
    ).wait()


def submit(
    n: int,
    body: Union[Body, str, Any],
    arguments: Mapping[str, Any],
    *,
    name: str = "loop",
    strategy: Optional[str] = None,
    workers: Optional[Sequence[int]] = None,
    parts: int = 0,
    alignment: int = 0,
    progress: bool = False,
) -> "Request[LoopStats]":
    """Begins a loop() and returns at once. The request's wait() has the results.

    Until then the arrays are not to be changed, nor those that the loop writes to be read. Other
    loops and kernels of this package wait by themselves for a loop that writes what they use.
    """
    if whole_number(n, "n") < 1:
        raise ValueError(f"a loop of {n} iterations")
    if not isinstance(body, Body):
        body = Body(opencl=body) if isinstance(body, str) else Body(cpu=body)
    init()
    arrays, values = _arguments(arguments, n)
    call = _Call(list(arrays), list(arrays.values()), list(values.values()), n)
    _kernels(body, call, list(values))
    description = c.sized().Loop(
        name=text(name, "name"),
        n=n,
        naccesses=len(arrays),
        strategy=text(strategy, "strategy") if strategy else None,
        parts=whole_number(parts, "parts", bits=32),
        alignment=whole_number(alignment, "alignment"),
    )
    if workers is not None:
        description.workers = ids(workers)
        description.nworkers = len(workers)
    with _lock:
        description.codelet = _codelet(name, call)
    if call.direct:
        description.function = c.PLAIN_FUNCTION(call.direct)
    elif call.cpu:
        description.function = _CPU
    call.progress = _progress(n, name, progress)
    indices = [Array(use.index, c.STARPU_R) for use in call.uses if use.index is not None]
    return begin([*call.uses, *indices], lambda: _begin(description, call))



def _begin(description: Any, call: _Call) -> Callable[[], LoopStats]:
    """Submits a loop. Returns what waits for it."""
    lib = c.library()
    fields = [(f"value{k}", type(value)) for k, value in enumerate(call.values)]
    values = type("Values", (ctypes.Structure,), {"_fields_": fields or [("none", c_size_t)]})(
        *call.values
    )
    description.arg = ctypes.addressof(values)
    what = f"loop {description.name.decode()}"
    handles: List[c_void_p] = []
    request = c_void_p()

    def end() -> None:
        for handle in handles:
            lib.starpu_data_unregister(handle)
        del _calls[ctypes.addressof(values)]
        if call.progress is not None:
            call.progress.close()

    def finish() -> LoopStats:
        stats = c.scratch("LoopStats")
        try:
            c.call("heddle_loop_wait", request, byref(stats), what=what)
        except c.Error:
            if call.error is not None:
                raise call.error from None
            raise
        finally:
            end()
        return loop_stats(stats)

    _calls[description.arg] = call
    try:
        for access, use, rows in zip(description.accesses, call.uses, call.rows):
            handle = c_void_p()
            array = use.array
            # A row is one element of StarPU's vector, unless elements are added.
            length = array.size if use.sum else array.shape[0]
            lib.starpu_vector_data_register(
                byref(handle), 0, array.ctypes.data, length, array.nbytes // length
            )
            handles.append(handle)
            access.handle = handle
            _access(access, use, rows)
        c.call("heddle_loop_submit", byref(description), byref(request), what=what)
    except BaseException:
        end()
        raise
    # The structure has the functions, its copy in the library only their addresses.
    call.description = description
    return finish
