# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Kernels around the body of a loop, in OpenCL C and CUDA C.

Each array of the body is a pointer to the first element of the block's own part. An OpenCL
worker gets a buffer and an offset in bytes, a CUDA worker a pointer.
"""

from typing import Any, Dict, Iterable, List, Tuple

import numpy

NAME = "heddle_loop"
_OPENCL = {
    "b1": "bool",
    "i1": "char",
    "u1": "uchar",
    "i2": "short",
    "u2": "ushort",
    "i4": "int",
    "u4": "uint",
    "i8": "long",
    "u8": "ulong",
    "f2": "half",
    "f4": "float",
    "f8": "double",
}
_CUDA = {
    "b1": "bool",
    "i1": "signed char",
    "u1": "unsigned char",
    "i2": "short",
    "u2": "unsigned short",
    "i4": "int",
    "u4": "unsigned int",
    "i8": "long long",
    "u8": "unsigned long long",
    "f4": "float",
    "f8": "double",
}

# Name, type, and whether the loop only reads it.
Array = Tuple[str, "numpy.dtype[Any]", bool]
Value = Tuple[str, "numpy.dtype[Any]"]


def _type(types: Dict[str, str], dtype: "numpy.dtype[Any]", name: str, language: str) -> str:
    key = dtype.kind + str(dtype.itemsize)
    if key not in types:
        raise TypeError(f"{name} has elements of type {dtype}, for which {language} has no name")
    return types[key]


def opencl(body: str, functions: str, arrays: Iterable[Array], values: Iterable[Value]) -> str:
    """The kernel of a body in OpenCL C."""
    parameters: List[str] = ["ulong start", "ulong n"]
    pointers: List[str] = []
    used = []
    for name, dtype, constant in arrays:
        of = ("const " if constant else "") + _type(_OPENCL, dtype, name, "OpenCL C")
        byte = "const char" if constant else "char"
        used.append(dtype)
        parameters += [f"__global {of} *{NAME}_{name}", f"ulong {NAME}_at_{name}"]
        pointers.append(
            f"__global {of} *{name} = (__global {of} *)"
            f"((__global {byte} *){NAME}_{name} + {NAME}_at_{name});"
        )
    for name, dtype in values:
        used.append(dtype)
        parameters.append(f"{_type(_OPENCL, dtype, name, 'OpenCL C')} {name}")
    pragmas = [
        f"#pragma OPENCL EXTENSION cl_khr_fp{8 * size} : enable"
        for size in (2, 8)
        if numpy.dtype(f"f{size}") in used
    ]
    return "\n".join(
        [
            *pragmas,
            functions,
            f"__kernel void {NAME}({', '.join(parameters)})",
            "{",
            "const ulong i = get_global_id(0);",
            "if (i >= n)",
            "return;",
            *pointers,
            "{",
            "#line 1",
            body,
            "}",
            "}",
            "",
        ]
    )


def cuda(body: str, functions: str, arrays: Iterable[Array], values: Iterable[Value]) -> str:
    """The kernel of a body in CUDA C."""
    parameters = ["unsigned long long start", "unsigned long long n"]
    for name, dtype, constant in arrays:
        const = "const " if constant else ""
        parameters.append(f"{const}{_type(_CUDA, dtype, name, 'CUDA C')} *{name}")
    for name, dtype in values:
        parameters.append(f"{_type(_CUDA, dtype, name, 'CUDA C')} {name}")
    return "\n".join(
        [
            functions,
            f'extern "C" __global__ void {NAME}({", ".join(parameters)})',
            "{",
            "const unsigned long long i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;",
            "if (i >= n)",
            "return;",
            "{",
            "#line 1",
            body,
            "}",
            "}",
            "",
        ]
    )
