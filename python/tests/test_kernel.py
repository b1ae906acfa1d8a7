# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
import sys

import numpy
import pytest

import heddle
from heddle._sources import parameters

ADD = """
__kernel void add(__global const float *x, __global float *y, float a)
{
    size_t i = get_global_id(0);
    y[i] += a * x[i];
}
"""
SUMS = """
__kernel void sums(__global const int *x, __global int *y, __local int *part)
{
    int item = get_local_id(0);
    part[item] = x[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0) {
        int sum = 0;
        for (int k = 0; k < 64; k++)
            sum += part[k];
        y[get_group_id(0)] = sum;
    }
}
"""
TRANSPOSE = """
__kernel void transpose(__global const float *x, __global float *y)
{
    size_t i = get_global_id(0), j = get_global_id(1);
    y[i * get_global_size(1) + j] = x[j * get_global_size(0) + i];
}
"""
N = 1 << 18


def test_submitted(opencl, random):
    """Each launch needs what the one before writes; the last request is all that is kept."""
    x, y, z = (random.random(N, dtype=numpy.float32) for _ in range(3))
    expected = z + numpy.float32(3) * (y + numpy.float32(2) * x)
    add = heddle.kernel(ADD, "add")
    add.submit(N, 64, heddle.In(x), y, numpy.float32(2))
    request = add.submit(N, 64, heddle.In(y), z, numpy.float32(3))
    stats = request.wait()
    numpy.testing.assert_allclose(z, expected, rtol=1e-5)
    assert stats.groups == N // 64 and request.wait() is stats
    with pytest.raises(heddle.Error, match="no multiple of the 63"):
        add.submit(64, 63, heddle.In(x), y, numpy.float32(2))


def test_read_only(opencl, random):
    """An array that the kernel writes against the caller's word, as of a file, stays as it is."""
    x = random.random(N, dtype=numpy.float32)
    before = x.copy()
    x.setflags(write=False)
    add = heddle.kernel("__kernel void twice(__global float *x) { x[get_global_id(0)] *= 2; }", "twice")
    add(N, 64, heddle.In(x))
    assert (x == before).all()


def test_after_a_refusal(opencl, random):
    """Groups that are too large for all devices say nothing of smaller ones."""
    x, y = (random.random(N, dtype=numpy.float32) for _ in range(2))
    expected = y + numpy.float32(2) * x
    add = heddle.kernel(ADD, "add", "-DOF_THIS_TEST")
    with pytest.raises(heddle.Error, match="group size"):
        add(N, N, heddle.In(x), y, numpy.float32(2))
    add(N, 64, heddle.In(x), y, numpy.float32(2))
    numpy.testing.assert_allclose(y, expected, rtol=1e-6)


@pytest.mark.parametrize(
    "value, error, text",
    [
        (numpy.zeros(8, numpy.float32).astype(">f4" if sys.byteorder == "little" else "<f4"),
         ValueError, "bytes in the order"),
        (numpy.ma.zeros(8, numpy.float32), TypeError, "mask"),
        (numpy.array(1, numpy.float32), ValueError, "without dimensions"),
    ],
)
def test_unsuitable_array(value, error, text):
    add = heddle.kernel(ADD, "add")
    with pytest.raises(error, match=text):
        add(8, 8, heddle.In(value), numpy.zeros(8, numpy.float32), numpy.float32(2))


def test_no_such_kernel(opencl):
    with pytest.raises(heddle.Error, match="kernel ad on .*: its source has no kernel of this name"):
        heddle.kernel(ADD, "ad")(8, 8, numpy.zeros(8, numpy.float32))


def test_changed_is_an_array():
    with pytest.raises(TypeError, match="what changed is a list"):
        heddle.changed([1])


@pytest.mark.parametrize("kind", [IndexError, heddle.Error])
@pytest.mark.parametrize("submitted", [False, True])
def test_outside(submitted, kind, opencl, random):
    """A launch that leaves its array is refused, and the process lives."""
    x, y = (random.random(N, dtype=numpy.float32) for _ in range(2))
    add = heddle.kernel(ADD, "add")
    launch = add.submit if submitted else add
    before = y.copy()
    text = f"argument 1 has {2 * N} bytes, and the kernel reads 4 bytes at byte {4 * N - 4}"
    with pytest.raises(kind, match=text):
        launch(N, 64, heddle.In(x[: N // 2]), y, numpy.float32(2))
    assert (y == before).all()
    add(N, 64, heddle.In(x), y, numpy.float32(2))
    numpy.testing.assert_allclose(y, before + 2 * x, rtol=1e-5)


@pytest.mark.parametrize("submitted", [False, True])
def test_failed(submitted, opencl, capfd):
    """The compiler's message is the exception's, whatever thread it came to, and at each launch.
    heddle-analyse does not say it once more."""
    name = f"wrong{submitted:d}"
    wrong = heddle.kernel(f"__kernel void {name}(__global float *x) {{ x[0] = nonsense; }}", name)
    x = numpy.zeros(1024, numpy.float32)
    for _ in range(2):
        with pytest.raises(heddle.Error, match=f"kernel {name} does not compile:.*"):
            if submitted:
                wrong.submit(1024, 64, x).wait()
            else:
                wrong(1024, 64, x)
    assert "/heddle-kernel." not in capfd.readouterr().err


@pytest.mark.parametrize("split", ["always", "policy", "never"])
def test_add(split, opencl, random):
    x, y = random.random(N, dtype=numpy.float32), random.random(N, dtype=numpy.float32)
    expected = y + numpy.float32(2) * x
    stats = heddle.kernel(ADD, "add")(N, 64, heddle.In(x), y, numpy.float32(2), split=split)
    numpy.testing.assert_allclose(y, expected, rtol=1e-6)
    assert isinstance(stats, heddle.KernelStats)
    assert stats.groups == N // 64 and stats.us > 0
    assert sum(worker.groups for worker in stats.workers) == stats.groups
    assert "work-groups" in str(stats)


@pytest.mark.parametrize("method", ["heddle", "paper", "linear", "single"])
def test_methods(method, opencl, random):
    """Who computes what follows from measured times."""
    x, y = random.random(N, dtype=numpy.float32), numpy.zeros(N, numpy.float32)
    stats = heddle.kernel(ADD, "add")(N, 64, heddle.In(x), y, numpy.float32(2), method=method)
    assert (y == 2 * x).all()
    assert 1 <= len(stats.workers) <= len(opencl)


def test_workers(opencl, random):
    for worker in opencl:
        x, y = random.random(N, dtype=numpy.float32), numpy.zeros(N, numpy.float32)
        stats = heddle.kernel(ADD, "add")(
            N, 64, heddle.In(x), y, numpy.float32(2), workers=[worker]
        )
        assert (y == 2 * x).all()
        assert [used.id for used in stats.workers] == [worker]


def test_local_memory(opencl, random):
    x = random.integers(0, 100, N, dtype=numpy.int32)
    y = numpy.zeros(N // 64, numpy.int32)
    heddle.kernel(SUMS, "sums")(N, 64, heddle.In(x), heddle.Out(y), heddle.Local(4 * 64))
    assert (y == x.reshape(-1, 64).sum(1)).all()


def test_two_dimensions(opencl, random):
    x = random.random((96, 128), dtype=numpy.float32)
    y = numpy.zeros((128, 96), numpy.float32)
    heddle.kernel(TRANSPOSE, "transpose")((128, 96), None, heddle.In(x), heddle.Out(y))
    assert (y == x.T).all()


def test_keep(opencl, random):
    x = random.random(N, dtype=numpy.float32)
    add = heddle.kernel(ADD, "add")
    for factor in (1, 2):
        y = numpy.zeros(N, numpy.float32)
        x *= factor
        heddle.changed(x)
        add(N, 64, heddle.In(x, keep=True), y, numpy.float32(1))
        assert (y == x).all()
    heddle.changed(x)


X = numpy.zeros(64, numpy.float32)


@pytest.mark.parametrize(
    "sizes, arguments, options, error, text",
    [
        ((64, 64), (X, X, 2.0), {}, TypeError, "argument 3 of add is a float; OpenCL needs"),
        (
            (64, 64),
            (X, X[::2], numpy.float32(1)),
            {},
            ValueError,
            "argument 2 of add is not contig",
        ),
        ((64, 64), (heddle.Sum(X), X, numpy.float32(1)), {}, ValueError, "are for loops"),
        (
            (64, (8, 8)),
            (X, X, numpy.float32(1)),
            {},
            ValueError,
            "local has 2 dimensions, global 1",
        ),
        (((1, 1, 1, 1), None), (X, X, numpy.float32(1)), {}, ValueError, "4 dimensions"),
        ((-64, None), (X, X, numpy.float32(1)), {}, ValueError, "must not be negative"),
        (("64", None), (X, X, numpy.float32(1)), {}, TypeError, "global_size is a str, not a whole"),
        ((64, 6.4), (X, X, numpy.float32(1)), {}, TypeError, "local is a float, not a whole"),
        ((64, 64), (X, X, numpy.float32(1)), {"method": 1}, TypeError, "method is a int, not text"),
        ((64, 64), (X, X, numpy.float32(1)), {"split": "some"}, ValueError, "split is 'some'"),
        ((64, 64), (X,) * 41, {}, TypeError, "41 arguments"),
        ((64, 63), (X, X.copy(), numpy.float32(1)), {}, heddle.Error, "add: .*multiple of the 63"),
        ((0, 64), (X, X.copy(), numpy.float32(1)), {}, heddle.Error, "no work-items in dimen"),
        (
            (64, 64),
            (X, X.copy(), numpy.float64(1)),
            {},
            TypeError,
            r"argument 3 of add is of type float64, and the kernel takes float \(numpy.float32",
        ),
        (
            (64, 64),
            (X, numpy.zeros(64), numpy.float32(1)),
            {},
            TypeError,
            r"argument 2 of add has elements of type float64, and the kernel takes float \*",
        ),
        ((64, 64), (X.view("i4"), X, numpy.float32(1)), {}, TypeError, "argument 1 .* int32, and"),
        ((64, 64), (X,), {}, heddle.Error, "kernel add takes 3 arguments, not 1"),
        ((64, 64), (X, X.copy(), numpy.float32(1)), {"workers": [99]}, heddle.Error, "99 is no"),
    ],
)
def test_refused(sizes, arguments, options, error, text, opencl):
    with pytest.raises(error, match=text):
        heddle.kernel(ADD, "add")(*sizes, *arguments, **options)


def test_bad_descriptions():
    with pytest.raises(TypeError, match="source is a bytes, not text"):
        heddle.kernel(ADD.encode(), "add")
    with pytest.raises(TypeError, match="name is a NoneType, not text"):
        heddle.kernel(ADD, None)
    with pytest.raises(TypeError, match="heddle.Local's number of bytes is a str"):
        heddle.Local("12")
    with pytest.raises(TypeError, match="halo is a float"):
        heddle.In(X, halo=0.5)


def test_no_such_kernel(opencl):
    with pytest.raises(heddle.Error, match="kernel nothing"):
        heddle.kernel(ADD, "nothing")(64, 64, X, X.copy(), numpy.float32(1))


def takes(parameter, dtype, options=None, before=""):
    source = f"{before}\nkernel void f(int a, global {parameter} /* , */ x)\n{{}}"
    made = heddle.Kernel(source, "f", options)
    try:
        made._check_type(2, numpy.dtype(dtype), "x", "has elements of type")
    except TypeError:
        return False
    return True


@pytest.mark.parametrize(
    "parameter, right, wrong",
    [
        ("float *", ["f4", "c8"], ["f8", "i4", "u1", "c16", "f2"]),
        ("const double*restrict", ["f8", "c16"], ["f4", "i8"]),
        ("half *", ["f2"], ["f4"]),
        ("float4 *", ["f4", "c8"], ["f8", "i4"]),
        ("int *", ["i4", "u4"], ["i8", "f4", "?"]),
        ("unsigned *", ["u4"], ["i8"]),
        ("unsigned char *", ["u1", "i1", "?"], ["u2", "f4"]),
        ("uchar4 *", ["u1", "u4"], ["u2", "f4"]),
        ("ulong *", ["u8", "i8", "M8[s]"], ["u4", "f8"]),
        # Of these nothing is known.
        ("real *", ["f4", "f8"], []),
        ("struct s *", ["f4", "f8"], []),
        ("void *", ["f4", "f8"], []),
        ("float *", ["f4,i4", "S4"], []),
    ],
)
def test_types(parameter, right, wrong):
    """What is refused is surely wrong."""
    assert [dtype for dtype in right + wrong if takes(parameter, dtype)] == right


def test_types_unknown():
    """Where compilers may see something else than the text says."""
    assert not takes("float *", "f8", "-DN=3 -DM=float")
    assert takes("float *", "f8", "-D float=double")
    assert takes("float *", "f8", before="#define  float double")
    sizes = "#define SIZES int nx, int ny\nkernel void g(SIZES, float a) {}"
    assert parameters(sizes, "g", "") == []
    assert parameters("kernel void g(SIZES, float a) {}", "g", "") == []
    assert takes("float *", "f8", before="kernel void f(int a, global double *x)\n{}")
    assert not takes("float *", "f8", before="// kernel void f(int a, global double *x) {}")
