# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The structures of ctypes are those of the headers."""

import ctypes
import os
import pathlib
import shlex
import subprocess

import pytest

from heddle import _library

STRUCTURES = {
    "heddle_block": _library.Block,
    "heddle_access": _library.Access,
    "heddle_worker_stats": _library.LoopWorkerStats,
    "heddle_kernel_argument": _library.KernelArgument,
    "heddle_kernel": _library.Kernel,
    "heddle_kernel_worker_stats": _library.KernelWorkerStats,
    "starpu_vector_interface": _library.VectorInterface,
}


def test_layout(tmp_path):
    flags = os.environ.get("LAYOUT_CFLAGS")
    if flags is None:
        pytest.skip("LAYOUT_CFLAGS does not say where the headers are")
    program = tmp_path / "layout"
    subprocess.run(
        [
            os.environ.get("CC", "cc"),
            "-o",
            str(program),
            str(pathlib.Path(__file__).with_name("layout.c")),
            *shlex.split(flags),
        ],
        check=True,
    )
    lines = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    sized = _library.sized()
    structures = dict(
        STRUCTURES,
        heddle_abi=_library.Abi,
        heddle_loop=sized.Loop,
        heddle_loop_stats=sized.LoopStats,
        heddle_kernel_stats=sized.KernelStats,
    )
    checked = 0
    for line in lines.splitlines():
        name, member, number = line.split()
        if name == "constant":
            found = getattr(_library, member)
        elif member == "size":
            found = ctypes.sizeof(structures[name])
        else:
            found = getattr(structures[name], member).offset
        assert found == int(number), line
        checked += 1
    assert checked > 20


def test_other_library(monkeypatch):
    """Structures of another size are refused, and not used."""
    abi = _library.Abi.from_buffer_copy(_library.limits())
    abi.loop_bytes += 8
    monkeypatch.setattr(_library, "limits", lambda: abi)
    with pytest.raises(ImportError, match="Loop has [0-9]+ bytes in this package and [0-9]+ in"):
        _library.sized.__wrapped__()
