# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
import ctypes
import os
import signal
import subprocess
import sys
import types

import numpy
import pytest

import heddle

N = 100003


def floats(random, n=N):
    return random.random(n, dtype=numpy.float32)


def test_compiled_function(functions, random):
    x, y = floats(random), floats(random)
    expected = y + numpy.float32(2) * x
    stats = heddle.loop(N, functions.axpy, {"x": heddle.In(x), "y": y, "a": numpy.float32(2)})
    numpy.testing.assert_allclose(y, expected, rtol=1e-6)
    assert isinstance(stats, heddle.LoopStats)
    assert sum(worker.iterations for worker in stats.workers) == N
    assert sum(worker.blocks for worker in stats.workers) == stats.blocks
    assert stats.us > 0 and stats.clock == "wall" and stats.strategy.startswith("hdss")
    assert {worker.kind for worker in stats.workers} <= {"cpu", "opencl"}
    assert f"{stats.blocks} blocks" in str(stats)


def test_opencl(opencl, random):
    x, y = floats(random), floats(random)
    expected = y + numpy.float32(3) * x
    stats = heddle.loop(
        N,
        "y[i] += a * x[i];",
        {"x": heddle.In(x), "y": y, "a": numpy.float32(3)},
        strategy="css:chunk=1000",
    )
    numpy.testing.assert_allclose(y, expected, rtol=1e-6)
    assert all(worker.kind == "opencl" for worker in stats.workers if worker.iterations)
    assert stats.blocks == 101


def test_compiling_is_said(opencl, monkeypatch, capsys):
    """What takes seconds, where somebody wants to know."""
    y = numpy.zeros(N, numpy.int64)
    heddle.loop(N, "y[i] = 41;", {"y": heddle.Out(y)})
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("HEDDLE_VERBOSE", "2")
    for _ in range(2):
        heddle.loop(N, "y[i] = 42;", {"y": heddle.Out(y)})
    assert (y == 42).all()
    said = [line for line in capsys.readouterr().err.splitlines() if "compiling" in line]
    assert said == ["heddle: compiling a loop's OpenCL C for its devices"]


def test_both(opencl, functions, random):
    x, y = floats(random), floats(random)
    expected = y + numpy.float32(3) * x
    body = heddle.Body(opencl="y[i] += a * x[i];", cpu=functions.axpy)
    stats = heddle.loop(
        N, body, {"x": heddle.In(x), "y": y, "a": numpy.float32(3)}, strategy="static", name="both"
    )
    numpy.testing.assert_allclose(y, expected, rtol=1e-6)
    assert {worker.kind for worker in stats.workers if worker.iterations} == {"cpu", "opencl"}


def test_direct(functions):
    """Heddle calls the function itself."""
    for factor, term in ((2, 1.5), (3, -1.0)):
        y = numpy.zeros(N, numpy.int64)
        heddle.loop(
            N,
            heddle.Body(direct=functions.direct),
            {"y": heddle.Out(y), "factor": numpy.int32(factor), "term": term},
        )
        assert (y == (numpy.arange(N) * factor + term).astype(numpy.int64)).all()


def test_address_and_cfunc(functions, random):
    """Numba's cfunc has its address as an attribute."""
    import ctypes

    address = ctypes.cast(functions.number, ctypes.c_void_p).value
    for function in (address, types.SimpleNamespace(address=address)):
        y = numpy.zeros(N, numpy.int64)
        heddle.loop(N, function, {"y": heddle.Out(y)})
        assert (y == numpy.arange(N)).all()


def test_cffi(functions):
    cffi = pytest.importorskip("cffi")
    ffi = cffi.FFI()
    ffi.cdef("void number(size_t start, size_t n, long *y);")
    y = numpy.zeros(N, numpy.int64)
    heddle.loop(N, ffi.dlopen(functions._name).number, {"y": heddle.Out(y)})
    assert (y == numpy.arange(N)).all()


def test_numba():
    numba = pytest.importorskip("numba")
    size, pointer = numba.types.uintp, numba.types.CPointer(numba.types.int64)

    @numba.cfunc(numba.types.void(size, size, pointer))
    def number(start, n, y):
        for i in range(n):
            y[i] = start + i

    y = numpy.zeros(N, numpy.int64)
    heddle.loop(N, number, {"y": heddle.Out(y)})
    assert (y == numpy.arange(N)).all()


@pytest.mark.parametrize("kind", ["cpu", "opencl"])
def test_halo(kind, functions, opencl, random):
    """The sum of three neighbours, of which the first and the last iteration have two."""
    x, y = random.random(N), numpy.zeros(N)
    body = (
        functions.neighbours
        if kind == "cpu"
        else """
        ulong at = start + i;
        y[i] = (at > 0 ? x[(long)i - 1] : 0) + x[i] + (at + 1 < total ? x[i + 1] : 0);"""
    )
    heddle.loop(
        N,
        body,
        {"x": heddle.In(x, halo=1), "y": heddle.Out(y), "total": N},
        strategy="css:chunk=5000",
    )
    padded = numpy.concatenate([[0], x, [0]])
    numpy.testing.assert_allclose(y, padded[:-2] + padded[1:-1] + padded[2:])


@pytest.mark.parametrize("kind", ["cpu", "opencl"])
def test_whole_and_rows(kind, functions, opencl, random):
    n, columns = 500, 33
    table = random.integers(-100, 100, columns, dtype=numpy.int32)
    y = numpy.zeros((n, columns), numpy.int32)
    body = (
        functions.rows
        if kind == "cpu"
        else "for (long j = 0; j < columns; j++) y[i * columns + j] = table[j] * (int)(start + i);"
    )
    heddle.loop(
        n,
        body,
        {"table": heddle.In(table, whole=True), "y": heddle.Out(y), "columns": columns},
        strategy="css:chunk=7",
    )
    assert (y == numpy.arange(n)[:, None] * table).all()


@pytest.mark.parametrize("kind", ["cpu", "opencl", "both"])
def test_index(kind, functions, opencl, random):
    """A sparse matrix by rows, many of them empty, times a vector."""
    n = 5000
    lengths = random.integers(0, 9, n) * (random.random(n) < 0.5)
    starts = numpy.concatenate([[0], numpy.cumsum(lengths)]).astype(numpy.uint32)
    columns = random.integers(0, n, starts[-1], dtype=numpy.int32)
    values, x, y = random.random(starts[-1]), random.random(n), numpy.zeros(n)
    text = """y[i] = 0;
        for (uint e = starts[i] - starts[0]; e < starts[i + 1] - starts[0]; e++)
            y[i] += values[e] * x[columns[e]];"""
    heddle.loop(
        n,
        heddle.Body(
            opencl=None if kind == "cpu" else text, cpu=None if kind == "opencl" else functions.spmv
        ),
        {
            "starts": heddle.In(starts, halo=1),
            "columns": heddle.In(columns, index=starts),
            "values": heddle.In(values, index=starts),
            "x": heddle.In(x, whole=True),
            "y": heddle.Out(y),
        },
        strategy="css:chunk=100",
    )
    rows = numpy.repeat(numpy.arange(n), lengths)
    numpy.testing.assert_allclose(y, numpy.bincount(rows, values * x[columns], minlength=n))


def test_wrong_index(functions):
    x, at = numpy.zeros(10), numpy.arange(6)
    for index, error, text in (
        (at[:5], ValueError, "index of x has 5 entries; 5 iterations need 6"),
        (at.astype(numpy.float64), TypeError, "whole numbers"),
        (at.astype(numpy.int16), ValueError, "32 or 64 bits"),
        (numpy.array([0, 2, 4, 3, 8, 10]), heddle.Error, "index of array 1 is 3, less than"),
        (at * 3, heddle.Error, "beyond the array's 10"),
    ):
        with pytest.raises(error, match=text):
            heddle.loop(5, functions.number, {"x": heddle.In(x, index=index)})
    with pytest.raises(ValueError, match="exclude each other"):
        heddle.In(x, index=at, whole=True)


def test_several_rows(opencl):
    y = numpy.zeros(3 * 1000, numpy.int64)
    heddle.loop(1000, "for (int k = 0; k < 3; k++) y[3 * i + k] = start + i;", {"y": heddle.Out(y)})
    assert (y == numpy.arange(1000).repeat(3)).all()


def test_sum(functions, random):
    x = random.integers(0, 256, N, dtype=numpy.uint8)
    counts = numpy.ones(256, numpy.int64)
    heddle.loop(N, functions.count, {"x": heddle.In(x), "counts": heddle.Sum(counts)})
    assert (counts == 1 + numpy.bincount(x, minlength=256)).all()


@pytest.mark.filterwarnings("error")
def test_sum_on_devices(opencl, random):
    """Iterations that run at the same time have to add by atomic functions: else a warning."""
    x = random.integers(0, 256, N, dtype=numpy.uint8)
    counts = numpy.ones(256, numpy.int32)
    arguments = {"x": heddle.In(x), "counts": heddle.Sum(counts)}
    heddle.loop(N, "atomic_inc(&counts[x[i]]);", arguments)
    assert (counts == 1 + numpy.bincount(x, minlength=256)).all()
    for body in ("counts[x[i]] += 1;", "counts[x[i]]++;", "counts [0] = counts[0] + 1;"):
        with pytest.raises(RuntimeWarning, match="counts: .* atomic_add"):
            heddle.loop(N, body, arguments)
    with pytest.warns(RuntimeWarning) as warned:
        heddle.loop(N, body, arguments)
    assert warned[0].filename == __file__


def test_many_loops(functions):
    """Codelets and kernels are used again."""
    for n in range(1, 60):
        y = numpy.zeros(n, numpy.int64)
        heddle.loop(n, functions.number, {"y": heddle.Out(y)})
        assert (y == numpy.arange(n)).all()


def test_threads(functions):
    from concurrent.futures import ThreadPoolExecutor

    def run(n):
        y = numpy.zeros(n, numpy.int64)
        heddle.loop(n, functions.number, {"y": heddle.Out(y)})
        return (y == numpy.arange(n)).all()

    with ThreadPoolExecutor(3) as pool:
        assert all(pool.map(run, range(1000, 1012)))


def test_submitted(functions, random):
    """Loops under way at a time, and one that waits for what others write."""
    ys = [numpy.zeros(N, numpy.int64) for _ in range(4)]
    requests = [heddle.submit(N, functions.number, {"y": heddle.Out(y)}) for y in ys]
    total = numpy.zeros(N, numpy.int64)
    body = "total[i] = " + " + ".join(f"y{k}[i]" for k in range(4)) + ";"
    arrays = {f"y{k}": heddle.In(y) for k, y in enumerate(ys)}
    if any(worker.name.startswith("OpenCL") for worker in heddle.workers()):
        heddle.submit(N, body, {**arrays, "total": heddle.Out(total)}).wait()
        assert (total == 4 * numpy.arange(N)).all()
    for request, y in zip(requests, ys):
        stats = request.wait()
        assert (y == numpy.arange(N)).all()
        assert sum(worker.iterations for worker in stats.workers) == N
        assert request.wait() is stats


def test_submitted_in_turn(functions):
    """Each needs what the one before writes, and nobody waits for them."""
    x, y = numpy.ones(N, numpy.float32), numpy.zeros(N, numpy.float32)
    for _ in range(20):
        heddle.submit(
            N, functions.axpy, {"x": heddle.In(x), "y": y, "a": numpy.float32(2)}
        )
    heddle.submit(N, functions.axpy, {"x": heddle.In(y), "y": x, "a": numpy.float32(1)}).wait()
    assert (x == 41).all()


def test_submitted_and_failed(functions):
    y = numpy.zeros(N, numpy.int64)
    request = heddle.submit(N, heddle.Body(direct=functions.no_room), {"y": heddle.Out(y)})
    for _ in range(2):
        with pytest.raises(heddle.Error, match="kernel failed on CPU.*Cannot allocate memory"):
            request.wait()
    heddle.loop(N, functions.number, {"y": heddle.Out(y)})
    assert (y == numpy.arange(N)).all()


def test_compiled_before_the_loop(opencl):
    """No block of a first loop has the compiler's time: two devices that are the same cores share
    it. The body takes a compiler long."""
    terms = "".join(f"y[i] += sin(y[i] + {k});" for k in range(100))
    y = numpy.zeros(20000)
    stats = heddle.loop(len(y), terms, {"y": y})
    began = max(worker.busy_us / worker.blocks for worker in stats.workers if worker.blocks)
    assert began < 0.9 * stats.us, stats
    assert all(worker.iterations for worker in stats.workers if worker.kind == "opencl"), stats


def test_progress(functions, monkeypatch):
    seen = []

    class Bar:
        def __init__(self, total, **_):
            self.total = total

        def update(self, n):
            seen.append(n)

        def close(self):
            seen.append("closed")

    monkeypatch.setitem(sys.modules, "tqdm.auto", types.SimpleNamespace(tqdm=Bar))
    y = numpy.zeros(N, numpy.int64)
    heddle.loop(N, functions.number, {"y": heddle.Out(y)}, progress=True)
    assert seen[-1] == "closed" and sum(seen[:-1]) == N
    # Without tqdm there is no bar.
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    heddle.loop(N, functions.number, {"y": heddle.Out(y)}, progress=True)


X = numpy.zeros(10)


@pytest.mark.parametrize(
    "n, arguments, error, text",
    [
        (0, {"x": X}, ValueError, "0 iterations"),
        (3, {"x": X}, ValueError, "x has 10 elements .* no multiple of 3"),
        (11, {"x": X}, ValueError, "no multiple of 11"),
        (10, {"x": X[::2]}, ValueError, "x has 5|x is not contiguous"),
        (10, {"local": X}, ValueError, "'local' cannot be the name"),
        (10, {"x": X.astype(X.dtype.newbyteorder())}, ValueError, "x has its bytes in the order"),
        (10, {"x": numpy.ma.array(X)}, TypeError, "x has a mask"),
        (10, {"x": X, "a": numpy.array(2.0)}, ValueError, "a is an array without dimensions"),
        (10, {"s": heddle.Sum(numpy.array(2.0))}, ValueError, "s is an array without dimensions"),
        (10, [X], TypeError, "arguments is a list; a loop's have names"),
        (10, {"x": [1, 2]}, TypeError, "x is a list"),
        (10, {"i": X}, ValueError, "'i' cannot be the name.*already"),
        (10, {"a b": X}, ValueError, "'a b' cannot be the name"),
        (10, {"a": 1, "x": X}, ValueError, "x is an array behind a"),
        (10, {"x": X, "a": 1j}, TypeError, "a is a complex"),
        (10, {"x": X, "a": 1 << 63}, ValueError, "a is 9223372036854775808, too large"),
        (10.0, {"x": X}, TypeError, "n is a float, not a whole number"),
        (1 << 64, {"x": X}, ValueError, "n is 18446744073709551616, too large"),
        (10, {"x": X, "a": numpy.complex64(1)}, TypeError, "a is of type complex64"),
        (10, {"x": numpy.array([None] * 10)}, TypeError, "Python objects"),
        (10, {"x": heddle.In(X, keep=True)}, ValueError, "keep is for kernels"),
        (10, {f"x{k}": numpy.zeros(10) for k in range(99)}, ValueError, "99 arrays"),
    ],
)
def test_refused(n, arguments, error, text, functions):
    with pytest.raises(error, match=text):
        heddle.loop(n, functions.number, arguments)


@pytest.mark.parametrize(
    "options, error, text",
    [
        ({"parts": -1}, ValueError, "parts is -1, and must not be negative"),
        ({"parts": 1 << 32}, ValueError, "parts is 4294967296, too large"),
        ({"alignment": -1}, ValueError, "alignment is -1"),
        ({"strategy": 5}, TypeError, "strategy is a int, not text"),
        ({"name": None}, TypeError, "name is a NoneType, not text"),
        ({"workers": "cpu"}, TypeError, "workers is 'cpu'; it is a list of ids"),
        ({"workers": 0}, TypeError, "workers is 0; it is a list of ids"),
        ({"workers": [-1]}, TypeError, r"workers is \[-1\]; it is a list of ids"),
    ],
)
def test_options_refused(options, error, text, functions):
    with pytest.raises(error, match=text):
        heddle.loop(10, functions.number, {"x": numpy.zeros(10, numpy.int64)}, **options)


@pytest.mark.parametrize(
    "arguments, text",
    [
        ({"x": X, "y": X}, r"takes 5 arguments, and this loop gives it 4: start, n, x, y$"),
        ({"x": X, "y": X, "a": 1.0}, "x has elements of type float64, and the function takes fl"),
        ({"x": X.astype("f4"), "y": X, "a": 1}, "a is of type int64, and the function takes float32"),
    ],
)
def test_declared(arguments, text, functions):
    """What a function says of its arguments is believed."""
    axpy = functions["axpy"]
    floats, size = ctypes.POINTER(ctypes.c_float), ctypes.c_size_t
    x, y = numpy.ones(10, numpy.float32), numpy.zeros(10, numpy.float32)

    class Complex(ctypes.Structure):
        _fields_ = [("re", ctypes.c_float), ("im", ctypes.c_float)]

    pointers = [ctypes.POINTER(of) for of in (Complex, ctypes.c_void_p, ctypes.c_char_p, floats)]
    for to in (*pointers, floats, numpy.ctypeslib.ndpointer(), ctypes.c_void_p):
        axpy.argtypes = [size, size, floats, to, ctypes.c_float]
        y[:] = 0
        heddle.loop(10, axpy, {"x": heddle.In(x), "y": y, "a": numpy.float32(2)})
        assert (y == 2).all()
    with pytest.raises(TypeError, match=text):
        heddle.loop(10, axpy, arguments)


def test_read_only(functions):
    x = numpy.zeros(10)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="x is written"):
        heddle.loop(10, functions.number, {"x": x})


def test_no_function():
    with pytest.raises(TypeError, match="no compiled function"):
        heddle.loop(10, print, {"x": numpy.zeros(10)})


def test_body_of_nothing():
    with pytest.raises(RuntimeError, match="no worker can run this loop"):
        heddle.loop(10, heddle.Body(cuda="x[i] = 0;"), {"x": numpy.zeros(10)})
    with pytest.raises(ValueError, match="this loop has no body"):
        heddle.loop(10, None, {"x": numpy.zeros(10)})


def test_bad_opencl(opencl):
    with pytest.raises(ValueError, match="(?s)does not compile:.*undeclared identifier"):
        heddle.loop(10, "x[i] = nothing;", {"x": numpy.zeros(10)})
    with pytest.raises(TypeError, match="OpenCL C has no name"):
        heddle.loop(10, "x[i] = 0;", {"x": numpy.zeros(10, numpy.complex64)})


def test_errors_of_the_library(functions):
    with pytest.raises(heddle.Error, match="nothing"):
        heddle.loop(
            10,
            functions.number,
            {"y": numpy.zeros(10, numpy.int64)},
            strategy="nothing",
            name="named",
        )
    with pytest.raises(heddle.Error, match=r"loop loop: workers\[0\] is 99"):
        heddle.loop(10, functions.number, {"y": numpy.zeros(10, numpy.int64)}, workers=[99])


def test_failing_block(functions, monkeypatch):
    """What goes wrong on a worker's thread is raised here."""
    from heddle import _loop

    def fail(self, start, n, arrays):
        raise MemoryError("a test's")

    monkeypatch.setattr(_loop._Call, "on_cpu", fail)
    with pytest.raises(MemoryError, match="a test's"):
        heddle.loop(10, functions.number, {"y": numpy.zeros(10, numpy.int64)})


def test_truth(opencl):
    """OpenCL C has no parameters of type bool."""
    for truth in (numpy.bool_(True), numpy.bool_(False), True, False):
        y = numpy.zeros(N, numpy.int64)
        heddle.loop(N, "y[i] = truth ? 1 : 2;", {"y": heddle.Out(y), "truth": truth})
        assert (y == (1 if truth else 2)).all()


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_fork(functions):
    """A fork has none of StarPU's threads: it says so, in place of waiting for them."""
    y = numpy.zeros(N, numpy.int64)
    request = heddle.submit(N, functions.number, {"y": heddle.Out(y)})
    for use in (
        lambda: heddle.loop(N, functions.number, {"y": heddle.Out(y)}),
        lambda: request.wait(),
        lambda: heddle.kernel("__kernel void k(__global long *y) {}", "k")(1, 1, y),
        heddle.workers,
    ):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                signal.alarm(60)
                use()
            except RuntimeError as error:
                status = 0 if "spawn" in str(error) else 2
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
    request.wait()
    assert (y == numpy.arange(N)).all()


def test_forked_end():
    """Nor does it end StarPU, which crashed."""
    program = """
import os, sys, heddle
heddle.workers()
child = os.fork()
if child:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_loop_in_a_block():
    """It would wait for the worker that it is on."""
    said = []

    @ctypes.CFUNCTYPE(None, ctypes.c_size_t, ctypes.c_size_t, ctypes.POINTER(ctypes.c_int64))
    def body(start, n, y):
        try:
            heddle.loop(10, body, {"y": numpy.zeros(10, numpy.int64)})
        except RuntimeError as error:
            said.append(str(error))

    heddle.loop(10, body, {"y": numpy.zeros(10, numpy.int64)})
    assert said and all("cannot run loops or kernels" in text for text in said)


def test_init_again():
    heddle.init()
    with pytest.raises(RuntimeError, match="runs already"):
        heddle.init("gss")


AGAIN = """
import os, numpy, heddle
for policy in ("hdss", "gss"):
    heddle.init(policy, STARPU_NCPU=1)
    x = numpy.zeros(1000, numpy.int64)
    if len(heddle.workers()) > 1:
        stats = heddle.loop(1000, "x[i] = start + i;", {"x": heddle.Out(x)})
        assert (x == numpy.arange(1000)).all() and stats.strategy.startswith(policy), stats
    heddle.shutdown()
try:
    heddle.init(SOMETHING=1)
except TypeError as error:
    print(error)
try:
    heddle.init("hds")
except ValueError as error:
    print(error)
heddle.init(STARPU_NCPU=1)
assert os.environ["STARPU_SCHED"] == "gss"
"""


def test_start_again():
    """StarPU ends and starts again, with another policy."""
    done = subprocess.run(
        [sys.executable, "-c", AGAIN], check=True, capture_output=True, text=True, timeout=100
    )
    assert "SOMETHING is no variable" in done.stdout
    assert "there is no policy 'hds'" in done.stdout
