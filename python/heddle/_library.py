# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
"""libheddle by ctypes: its structures, and those of StarPU's functions that are needed.

Limits that differ from build to build are those of heddle_abi_get(), whose sizes are compared with
those below. Codelets for devices are made by the functions that StarPU has for Fortran, so that no
size of theirs is assumed. tests/test_layout.py compares the structures with a C compiler's.
"""

import ctypes
import errno
import functools
import os
import threading
from ctypes import c_bool, c_char, c_char_p, c_double, c_int, c_size_t, c_uint, c_void_p
from dataclasses import dataclass
from typing import Any, List, Tuple, Type

SERIES = "0.1"

STARPU_R, STARPU_W, STARPU_RW = 1, 2, 3
SHARE_SLICE, SHARE_HALO, SHARE_WHOLE, SHARE_REDUCE, SHARE_INDEXED = 0, 1, 2, 3, 4
ARGUMENT_HOST, ARGUMENT_VALUE, ARGUMENT_LOCAL = 2, 3, 4
KERNEL_MAXARGUMENTS = 40
SPLITS = {"policy": 0, "always": 1, "never": 2}

# What a codelet has for a device, and a loop for CPU cores.
DEVICE_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.POINTER(c_void_p), c_void_p)
PLAIN_FUNCTION = ctypes.CFUNCTYPE(c_int, c_size_t, c_size_t, ctypes.POINTER(c_void_p), c_void_p)
EACH_FUNCTION = ctypes.CFUNCTYPE(None, c_void_p)
COMBINE_FUNCTION = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_size_t, c_void_p)


class Error(OSError):
    """A function of the C library failed, for the reason in its message."""


class BoundsError(Error, IndexError):
    """A kernel would read or write outside of an array, and is not launched."""


class Abi(ctypes.Structure):
    _fields_ = [
        ("abi_bytes", c_size_t),
        ("soname", c_uint),
        ("maxhandles", c_uint),
        ("maxworkers", c_uint),
        ("block_bytes", c_size_t),
        ("access_bytes", c_size_t),
        ("loop_bytes", c_size_t),
        ("loop_stats_bytes", c_size_t),
        ("kernel_argument_bytes", c_size_t),
        ("kernel_bytes", c_size_t),
        ("kernel_stats_bytes", c_size_t),
    ]


class Block(ctypes.Structure):
    _fields_ = [
        ("start", c_size_t),
        ("n", c_size_t),
        ("total", c_size_t),
        ("arg", c_void_p),
        ("status", c_int),
    ]


class VectorInterface(ctypes.Structure):
    """What a worker sees of a vector: the beginning, which is the same in StarPU 1.3 and 1.4."""

    _fields_ = [
        ("id", c_int),
        ("ptr", c_size_t),
        ("dev_handle", c_size_t),
        ("offset", c_size_t),
    ]


class Access(ctypes.Structure):
    _fields_ = [
        ("handle", c_void_p),
        ("mode", c_int),
        ("share", c_int),
        ("per_iteration", c_size_t),
        ("halo", c_size_t),
        ("combine", COMBINE_FUNCTION),
        ("index", c_void_p),
        ("index_array", c_void_p),
        ("index_bytes", c_size_t),
    ]


class LoopWorkerStats(ctypes.Structure):
    _fields_ = [
        ("id", c_int),
        ("kind", c_int),
        ("name", c_char * 64),
        ("iterations", c_size_t),
        ("blocks", c_size_t),
        ("busy_us", c_double),
        ("finish_us", c_double),
        ("rate", c_double),
    ]


class KernelArgument(ctypes.Structure):
    _fields_ = [
        ("type", c_int),
        ("handle", c_void_p),
        ("mode", c_int),
        ("pointer", c_void_p),
        ("bytes", c_size_t),
        ("keep", c_bool),
        ("stay", c_bool),
    ]


class Kernel(ctypes.Structure):
    _fields_ = [
        ("source", c_char_p),
        ("name", c_char_p),
        ("options", c_char_p),
        ("dimensions", c_uint),
        ("global", c_size_t * 3),
        ("local", c_size_t * 3),
        ("narguments", c_uint),
        ("arguments", KernelArgument * KERNEL_MAXARGUMENTS),
        ("split", c_int),
        ("method", c_char_p),
        ("workers", ctypes.POINTER(c_int)),
        ("nworkers", c_uint),
        ("offset", c_size_t * 3),
    ]


class KernelWorkerStats(ctypes.Structure):
    _fields_ = [
        ("id", c_int),
        ("name", c_char * 64),
        ("groups", c_size_t),
        ("start_us", c_double),
        ("in_us", c_double),
        ("compute_us", c_double),
        ("out_us", c_double),
        ("merge_us", c_double),
        ("in_bytes", c_size_t),
        ("out_bytes", c_size_t),
        ("kept_bytes", c_size_t),
    ]


@dataclass(frozen=True)
class Sized:
    """The structures whose sizes depend on what StarPU was built for."""

    Loop: Type[ctypes.Structure]
    LoopStats: Type[ctypes.Structure]
    KernelStats: Type[ctypes.Structure]


def _sized(maxhandles: int, maxworkers: int) -> Sized:
    class Loop(ctypes.Structure):
        _fields_ = [
            ("name", c_char_p),
            ("codelet", c_void_p),
            ("n", c_size_t),
            ("naccesses", c_uint),
            ("accesses", Access * maxhandles),
            ("arg", c_void_p),
            ("strategy", c_char_p),
            ("parts", c_uint),
            ("alignment", c_size_t),
            ("workers", ctypes.POINTER(c_int)),
            ("nworkers", c_uint),
            ("sched_ctx", c_uint),
            ("first", c_size_t),
            ("total", c_size_t),
            ("function", PLAIN_FUNCTION),
            ("late", c_uint),
        ]

    class LoopStats(ctypes.Structure):
        _fields_ = [
            ("clock", c_int),
            ("strategy", c_char * 96),
            ("us", c_double),
            ("learning_us", c_double),
            ("overhead_us", c_double),
            ("blocks", c_size_t),
            ("retried", c_size_t),
            ("late", c_size_t),
            ("nworkers", c_uint),
            ("workers", LoopWorkerStats * maxworkers),
        ]

    class KernelStats(ctypes.Structure):
        _fields_ = [
            ("queue_us", c_double),
            ("us", c_double),
            ("predicted_us", c_double),
            ("profile_us", c_double),
            ("decision_us", c_double),
            ("groups", c_size_t),
            ("moved", c_size_t),
            ("nworkers", c_uint),
            ("workers", KernelWorkerStats * maxworkers),
        ]

    return Sized(Loop, LoopStats, KernelStats)


# Functions: result and arguments. Those of StarPU are found through libheddle, which depends
# on the one build of StarPU that it works with.
_FUNCTIONS: List[Tuple[str, Any, List[Any]]] = [
    ("heddle_abi_get", ctypes.POINTER(Abi), []),
    ("heddle_version", c_char_p, []),
    ("heddle_message_take", c_char_p, []),
    ("heddle_starpu_check", c_int, []),
    ("heddle_kind_name", c_char_p, [c_int]),
    ("heddle_clock_name", c_char_p, [c_int]),
    ("heddle_kernel_run", c_int, [c_void_p, c_void_p]),
    ("heddle_kernel_submit", c_int, [c_void_p, c_void_p]),
    ("heddle_kernel_wait", c_int, [c_void_p, c_void_p]),
    ("heddle_kernels_changed", None, [c_void_p, c_size_t]),
    ("heddle_kernels_unload", None, []),
    ("heddle_loop_submit", c_int, [c_void_p, c_void_p]),
    ("heddle_loop_wait", c_int, [c_void_p, c_void_p]),
    ("work_policy_name", c_char_p, [c_uint]),
    ("starpu_init", c_int, [c_void_p]),
    ("starpu_shutdown", None, []),
    ("starpu_worker_get_count", c_uint, []),
    ("starpu_worker_get_id", c_int, []),
    ("starpu_worker_get_devid", c_int, [c_int]),
    ("starpu_worker_get_name", None, [c_int, c_char_p, c_size_t]),
    ("starpu_opencl_worker_get_count", c_uint, []),
    ("starpu_cuda_worker_get_count", c_uint, []),
    ("starpu_execute_on_each_worker", None, [EACH_FUNCTION, c_void_p, ctypes.c_uint32]),
    (
        "starpu_vector_data_register",
        None,
        [ctypes.POINTER(c_void_p), c_int, c_void_p, c_uint, c_size_t],
    ),
    ("starpu_data_unregister", None, [c_void_p]),
    ("fstarpu_get_constant", ctypes.c_ssize_t, [c_char_p]),
    ("fstarpu_codelet_allocate", c_void_p, []),
    ("fstarpu_codelet_set_name", None, [c_void_p, c_char_p]),
    ("fstarpu_codelet_add_opencl_func", None, [c_void_p, c_void_p]),
    ("fstarpu_codelet_add_opencl_flags", None, [c_void_p, ctypes.c_ssize_t]),
    ("fstarpu_codelet_add_cuda_func", None, [c_void_p, c_void_p]),
    ("fstarpu_codelet_add_cuda_flags", None, [c_void_p, ctypes.c_ssize_t]),
]


@functools.lru_cache(maxsize=None)
def library() -> ctypes.CDLL:
    """libheddle, loaded at the first use."""
    name = "libheddle.so.0"
    try:
        # Global: StarPU looks for policies among the symbols of the program.
        lib = ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)
    except OSError as error:
        raise ImportError(
            f"{name} cannot be loaded ({error}); install Heddle {SERIES}, or name the folder of "
            "its library in LD_LIBRARY_PATH before Python starts"
        ) from None
    for function, result, arguments in _FUNCTIONS:
        declared = getattr(lib, function)
        declared.restype, declared.argtypes = result, arguments
    version = lib.heddle_version().decode()
    if not version.startswith(SERIES + "."):
        raise ImportError(f"libheddle is of version {version}, this package is for {SERIES}")
    return lib


@functools.lru_cache(maxsize=None)
def limits() -> Abi:
    """What heddle_abi_get() says."""
    return library().heddle_abi_get().contents  # type: ignore[no-any-return]


@functools.lru_cache(maxsize=None)
def sized() -> Sized:
    """The structures of this build; ImportError if the library has others."""
    abi = limits()
    found = _sized(abi.maxhandles, abi.maxworkers)
    structures: List[Tuple[Type[ctypes.Structure], int]] = [
        (Block, abi.block_bytes),
        (Access, abi.access_bytes),
        (found.Loop, abi.loop_bytes),
        (found.LoopStats, abi.loop_stats_bytes),
        (KernelArgument, abi.kernel_argument_bytes),
        (Kernel, abi.kernel_bytes),
        (found.KernelStats, abi.kernel_stats_bytes),
    ]
    for structure, size in structures:
        if ctypes.sizeof(structure) != size:
            raise ImportError(
                f"{structure.__name__} has {ctypes.sizeof(structure)} bytes in this package and "
                f"{size} in libheddle {library().heddle_version().decode()}"
            )
    return found


@functools.lru_cache(maxsize=None)
def constant(name: str) -> int:
    """A constant of StarPU's build."""
    return int(library().fstarpu_get_constant(b"FSTARPU_" + name.encode()))


_scratch = threading.local()


def scratch(structure: str) -> Any:
    """Room for statistics, this thread's own: it is too much to be made for each call."""
    if not hasattr(_scratch, structure):
        setattr(_scratch, structure, getattr(sized(), structure)())
    return getattr(_scratch, structure)


def call(function: str, *arguments: Any, what: str = "") -> None:
    """Calls a function of the C library; Error if it returns a negative errno value.

    what: for the message, in place of the function's name.
    """
    lib = library()
    lib.heddle_message_take()  # of an earlier call
    status = getattr(lib, function)(*arguments)
    if status:
        message = lib.heddle_message_take()
        reason = message.decode(errors="replace") if message else os.strerror(-status)
        what = what or function
        kind = BoundsError if status == -errno.EFAULT else Error
        raise kind(-status, reason if reason.startswith(what) else f"{what}: {reason}")
