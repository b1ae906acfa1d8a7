# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Kernels of loops on OpenCL and CUDA workers: compiled once, launched for each block.

All launches run on the worker's own thread; StarPU waits for them.
"""

import ctypes
import functools
from ctypes import byref, c_char_p, c_int, c_size_t, c_void_p
from typing import Any, Dict, List, Sequence

from . import _library as c
from ._sources import NAME

# Work-items of a group, threads of a CUDA block.
GROUP = 64
THREADS = 256
# Work-items of launches before a loop.
FIRST_SIZES = (GROUP, 1 << 17)
# At least as many as StarPU was built for.
_MAXDEVICES = 256


@functools.lru_cache(maxsize=None)
def _load(*names: str) -> ctypes.CDLL:
    problem = None
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            problem = error
    raise ImportError(f"none of {', '.join(names)} can be loaded: {problem}")


def _function(library: ctypes.CDLL, name: str, *arguments: Any) -> Any:
    function = getattr(library, name)
    function.restype, function.argtypes = c_int, arguments
    return function


def _opencl_log(lib: ctypes.CDLL, opencl: ctypes.CDLL, source: bytes) -> str:
    """What a compiler says of a source that some device of StarPU's does not take. StarPU prints it
    where notebooks do not show it."""
    build_log = 0x1183
    create = opencl.clCreateProgramWithSource
    create.restype = c_void_p
    create.argtypes = (c_void_p, ctypes.c_uint, c_void_p, c_void_p, c_void_p)
    build = _function(
        opencl, "clBuildProgram", c_void_p, ctypes.c_uint, c_void_p, c_char_p, c_void_p, c_void_p
    )
    info = _function(
        opencl,
        "clGetProgramBuildInfo",
        c_void_p,
        c_void_p,
        ctypes.c_uint,
        c_size_t,
        c_void_p,
        c_void_p,
    )
    release = _function(opencl, "clReleaseProgram", c_void_p)
    for number in range(lib.starpu_opencl_worker_get_count()):
        context, device, text = c_void_p(), c_void_p(), c_char_p(source)
        lib.starpu_opencl_get_context(number, byref(context))
        lib.starpu_opencl_get_device(number, byref(device))
        program = create(context, 1, byref(text), None, None)
        log = ctypes.create_string_buffer(65536)
        if program and build(program, 1, byref(device), None, None, None):
            info(program, device, build_log, len(log) - 1, log, None)
        if program:
            release(program)
        if log.value:
            return log.value.decode(errors="replace")
    return "(no compiler says why)"


class OpenCL:
    """A kernel for all OpenCL workers."""

    def __init__(self, source: str) -> None:
        self._programs = (c_void_p * _MAXDEVICES)()
        lib = c.library()
        # Not in libheddle's list: a StarPU without OpenCL does not have them.
        self._kernel = _function(
            lib, "starpu_opencl_load_kernel", c_void_p, c_void_p, c_void_p, c_char_p, c_int
        )
        self._release = _function(lib, "starpu_opencl_release_kernel", c_void_p)
        self._unload = _function(lib, "starpu_opencl_unload_opencl", c_void_p)
        opencl = _load("libOpenCL.so.1")
        self._set = _function(opencl, "clSetKernelArg", c_void_p, ctypes.c_uint, c_size_t, c_void_p)
        self._enqueue = _function(
            opencl,
            "clEnqueueNDRangeKernel",
            c_void_p,
            c_void_p,
            ctypes.c_uint,
            c_void_p,
            c_void_p,
            c_void_p,
            ctypes.c_uint,
            c_void_p,
            c_void_p,
        )
        compile_ = _function(
            lib, "starpu_opencl_load_opencl_from_string", c_char_p, c_void_p, c_char_p
        )
        if compile_(source.encode(), self._programs, None):
            why = _opencl_log(lib, opencl, source.encode())
            raise ValueError(f"the loop's OpenCL C does not compile:\n{why}\n{source}")
        self._finish = _function(opencl, "clFinish", c_void_p)

    def prepare(self, narrays: int, values: Sequence[Any]) -> None:
        """On a worker: launches that compute nothing. Drivers compile at the first launch: PoCL
        for each size of groups, and again for many groups."""
        self.launch(0, 0, [NOTHING] * narrays, values, FIRST_SIZES)

    def launch(
        self,
        start: int,
        n: int,
        parts: Sequence["Part"],
        values: Sequence[Any],
        sizes: Sequence[int] = (),
    ) -> None:
        """sizes: work-items of several launches, to be waited for, in place of one of n."""
        kernel, queue = c_void_p(), c_void_p()
        device = c.library().starpu_worker_get_devid(c.library().starpu_worker_get_id())
        if self._kernel(byref(kernel), byref(queue), self._programs, NAME.encode(), device):
            raise RuntimeError(f"the kernel cannot be had on OpenCL device {device}")
        arguments: List[Any] = [ctypes.c_uint64(start), ctypes.c_uint64(n)]
        for part in parts:
            arguments += [c_void_p(part.device), ctypes.c_uint64(part.offset + part.before)]
        arguments += values
        status = 0
        for number, value in enumerate(arguments):
            status = status or self._set(kernel, number, ctypes.sizeof(value), byref(value))
        group = (c_size_t * 1)(GROUP)
        for items in sizes or [n]:
            size = (c_size_t * 1)(-(-items // GROUP) * GROUP)
            status = status or self._enqueue(queue, kernel, 1, None, size, group, 0, None, None)
        if sizes and not status:
            status = self._finish(queue)
        self._release(kernel)
        if status:
            raise RuntimeError(f"OpenCL's error {status} on device {device}")

    def unload(self) -> None:
        self._unload(self._programs)


class Part:
    """A block's part of an array, as its worker has it."""

    __slots__ = ("pointer", "device", "offset", "before")

    def __init__(self, vector: c.VectorInterface, before: int) -> None:
        self.pointer, self.device, self.offset = vector.ptr, vector.dev_handle, vector.offset
        self.before = before  # bytes before the block's own first element: those of a halo


NOTHING = Part(c.VectorInterface(), 0)


def _nvrtc() -> ctypes.CDLL:
    return _load(
        "libnvrtc.so",
        "libnvrtc.so.13",
        "libnvrtc.so.12",
        "libnvrtc.so.11.2",
        "/usr/local/cuda/lib64/libnvrtc.so",
    )


def nvrtc_compile(source: str, architecture: str) -> bytes:
    """CUDA C, compiled for an architecture such as "sm_90" or "compute_80"."""
    nvrtc = _nvrtc()
    program = c_void_p()
    # As pointers, not as strings: the sizes count.
    if _function(
        nvrtc, "nvrtcCreateProgram", c_void_p, c_char_p, c_char_p, c_int, c_void_p, c_void_p
    )(byref(program), source.encode(), b"loop.cu", 0, None, None):
        raise RuntimeError("NVRTC takes no program")
    try:
        options = (c_char_p * 1)(f"--gpu-architecture={architecture}".encode())
        failed = _function(nvrtc, "nvrtcCompileProgram", c_void_p, c_int, c_void_p)(
            program, len(options), options
        )
        if failed:
            log = _nvrtc_result(nvrtc, program, "ProgramLog").decode(errors="replace")
            raise ValueError(f"the loop's CUDA C does not compile:\n{log.rstrip(chr(0))}")
        return _nvrtc_result(nvrtc, program, "CUBIN" if architecture.startswith("sm_") else "PTX")
    finally:
        _function(nvrtc, "nvrtcDestroyProgram", c_void_p)(byref(program))


def _nvrtc_result(nvrtc: ctypes.CDLL, program: c_void_p, what: str) -> bytes:
    size = c_size_t()
    if _function(nvrtc, f"nvrtcGet{what}Size", c_void_p, c_void_p)(program, byref(size)):
        raise RuntimeError(f"NVRTC gives no {what}")
    result = ctypes.create_string_buffer(size.value)
    _function(nvrtc, f"nvrtcGet{what}", c_void_p, c_void_p)(program, result)
    return result.raw


class CUDA:
    """A kernel for all CUDA workers; compiled for each device."""

    # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR
    _CAPABILITY = (75, 76)

    def __init__(self, source: str) -> None:
        self._source = source
        self._modules: Dict[int, c_void_p] = {}
        self._cuda = _load("libcuda.so.1")
        self._launch = _function(
            self._cuda,
            "cuLaunchKernel",
            c_void_p,
            *[ctypes.c_uint] * 7,
            c_void_p,
            c_void_p,
            c_void_p,
        )
        self._stream = c.library().starpu_cuda_get_local_stream
        self._stream.restype, self._stream.argtypes = c_void_p, []

    def _check(self, status: int, what: str) -> None:
        if status:
            raise RuntimeError(f"CUDA's error {status} from {what}")

    def _compiled(self) -> c_void_p:
        """The function on this thread's device, whose context StarPU has made current."""
        device = c_int()
        self._check(
            _function(self._cuda, "cuCtxGetDevice", c_void_p)(byref(device)), "cuCtxGetDevice"
        )
        if device.value not in self._modules:
            capability = []
            for attribute in self._CAPABILITY:
                value = c_int()
                self._check(
                    _function(self._cuda, "cuDeviceGetAttribute", c_void_p, c_int, c_int)(
                        byref(value), attribute, device
                    ),
                    "cuDeviceGetAttribute",
                )
                capability.append(value.value)
            image = nvrtc_compile(self._source, "sm_{}{}".format(*capability))
            module, function = c_void_p(), c_void_p()
            self._check(
                _function(self._cuda, "cuModuleLoadData", c_void_p, c_char_p)(byref(module), image),
                "cuModuleLoadData",
            )
            self._check(
                _function(self._cuda, "cuModuleGetFunction", c_void_p, c_void_p, c_char_p)(
                    byref(function), module, NAME.encode()
                ),
                "cuModuleGetFunction",
            )
            self._modules[device.value] = function
        return self._modules[device.value]

    def prepare(self, narrays: int, values: Sequence[Any]) -> None:
        """On a worker: compiles for its device."""
        self._compiled()

    def launch(self, start: int, n: int, parts: Sequence[Part], values: Sequence[Any]) -> None:
        arguments: List[Any] = [ctypes.c_uint64(start), ctypes.c_uint64(n)]
        arguments += [c_void_p(part.pointer + part.before) for part in parts]
        arguments += values
        pointers = (c_void_p * len(arguments))(*[ctypes.addressof(a) for a in arguments])
        self._check(
            self._launch(
                self._compiled(),
                -(-n // THREADS),
                1,
                1,
                THREADS,
                1,
                1,
                0,
                self._stream(),
                pointers,
                None,
            ),
            "cuLaunchKernel",
        )

    def unload(self) -> None:
        """Modules end with their contexts."""
