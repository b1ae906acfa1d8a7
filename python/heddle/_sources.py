# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Kernels around the body of a loop, in OpenCL C and CUDA C, and what a kernel takes.

Each array of the body is a pointer to the first element of the block's own part. An OpenCL
worker gets a buffer and an offset in bytes, a CUDA worker a pointer.
"""

import re
from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Optional, Tuple

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
        # OpenCL C allows no value of type bool here.
        of = "uchar" if dtype == bool else _type(_OPENCL, dtype, name, "OpenCL C")
        parameters.append(f"{of} {name}")
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


@dataclass(frozen=True)
class Parameter:
    """What a kernel takes: its type as the source has it, whether that is a pointer, and numbers
    of what type there are in it (in a vector several)."""

    type: str
    pointer: bool
    number: "numpy.dtype[Any]"
    width: int

    def takes(self, dtype: "numpy.dtype[Any]") -> bool:
        """Whether elements of an array can be such numbers. Signs do not matter, pixels can be
        whole numbers, complex numbers are pairs, and of structures nothing is known."""
        if dtype.kind not in "biufcmM":
            return True
        number = numpy.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype
        if (number.kind == "f") != (self.number.kind == "f"):
            return False
        sizes = (self.number.itemsize, self.number.itemsize * self.width)
        return number.itemsize in (sizes[:1] if number.kind == "f" else sizes)


_QUALIFIER = re.compile(
    r"\b(const|volatile|restrict|__restrict|(__)?(global|constant|local|private))\b"
)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_NUMBERS = {name: numpy.dtype(key) for key, name in _OPENCL.items() if name != "bool"}
_WORDS = {"unsigned": "uint", "signed": "int"}
_WORDS.update({f"signed {name}": name for name in ("char", "short", "int", "long")})
_WORDS.update({f"unsigned {name}": f"u{name}" for name in ("char", "short", "int", "long")})


def _parameter(text: str) -> Optional[Parameter]:
    found = re.fullmatch(r"([\w ]+?) ?(\*?) ?(\w+)", " ".join(_QUALIFIER.sub(" ", text).split()))
    if not found:
        return None
    type_, pointer, _ = found.groups()
    scalar, width = re.fullmatch(r"(.*?)(2|3|4|8|16|)", type_).groups()  # type: ignore[union-attr]
    number = _NUMBERS.get(_WORDS.get(type_, scalar))
    if number is None:
        return None
    # A vector of three has the size of four.
    return Parameter(type_, bool(pointer), number, {"": 1, "3": 4}.get(width) or int(width))


def parameters(source: str, name: str, options: str) -> List[Optional[Parameter]]:
    """The parameters of a kernel of OpenCL C, as far as the source alone tells: None for types
    that it defines, and nothing where it has more than one kernel of the name, or a macro among
    the parameters: that may be several of them."""
    text = _COMMENT.sub(" ", source).replace("\\\n", " ")
    found = re.findall(rf"\bvoid\s+{re.escape(name)}\s*\(([^()#]*)\)\s*{{", text)
    macros = re.findall(r"(?:#\s*define\s+|-D\s*)(\w+)", f"{text}\n{options}")
    if len(found) != 1 or not set(macros).isdisjoint(re.findall(r"\w+", found[0])):
        return []
    each = found[0].split(",")
    # A word alone is a macro that an included file defines.
    if any(re.fullmatch(r"\s*\w+\s*", one) for one in each):
        return []
    return [_parameter(one) for one in each]
