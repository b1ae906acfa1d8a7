# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Pictures, texts, and the generated sources."""

import sys

import numpy
import pytest

import heddle
from heddle import _devices, _sources

LOOP = heddle.LoopStats(
    "wall",
    "hdss",
    100.0,
    10.0,
    1.0,
    3,
    0,
    0,
    [
        heddle.WorkerStats(0, "cpu", "CPU 0", 75, 2, 90.0, 95.0, 1.0),
        heddle.WorkerStats(1, "opencl", "OpenCL 0", 25, 1, 80.0, 100.0, 1.0),
    ],
)
KERNEL = heddle.KernelStats(
    1.0,
    100.0,
    90.0,
    0.0,
    1.0,
    4,
    0,
    [heddle.KernelWorkerStats(0, "OpenCL 0", 4, 1.0, 10.0, 70.0, 15.0, 2.0, 100, 100, 0)],
)


def test_text():
    assert "CPU 0: 75 iterations (75 %) in 2 blocks" in str(LOOP)
    assert "OpenCL 0: 4 work-groups (100 %)" in str(KERNEL)


@pytest.mark.parametrize("stats", [LOOP, KERNEL])
def test_plot(stats, tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes = heddle.plot(stats)
    assert axes.get_xlabel() == "time (us)"
    axes.figure.savefig(tmp_path / "picture.png")
    assert heddle.plot(stats, axes) is axes


def test_plot_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="heddle.plot needs matplotlib"):
        heddle.plot(LOOP)


def cuda(body, dtype=numpy.float32):
    return _sources.cuda(
        body,
        "static __device__ float twice(float x) { return 2 * x; }",
        [("x", numpy.dtype(dtype), True), ("y", numpy.dtype(dtype), False)],
        [("a", numpy.dtype(numpy.float64))],
    )


def test_cuda_source():
    """Compiled where NVRTC is; no device is needed for that."""
    with pytest.raises(TypeError, match="CUDA C has no name"):
        cuda("", numpy.complex64)
    try:
        _devices._nvrtc()
    except ImportError:
        pytest.skip("no NVRTC")
    image = _devices.nvrtc_compile(cuda("y[i] += a * twice(x[i]) + start;"), "compute_80")
    assert b".entry heddle_loop" in image
    assert _devices.nvrtc_compile(cuda("y[i] = x[i];"), "sm_90")[1:4] == b"ELF"
    with pytest.raises(ValueError, match='(?s)does not compile.*"nothing" is undefined'):
        _devices.nvrtc_compile(cuda("y[i] = nothing;"), "compute_80")


def test_plot_of_nothing():
    pytest.importorskip("matplotlib")
    with pytest.raises(TypeError, match="stats is a int, not what a loop or a kernel returns"):
        heddle.plot(3)
