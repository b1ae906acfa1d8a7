#!/usr/bin/env python3
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The Mandelbrot set, first as a loop over its rows, then as an OpenCL kernel.

    python3 mandelbrot.py [--plot PREFIX]

On a machine whose only OpenCL devices are its cores, run it with STARPU_OPENCL_ON_CPUS=1
STARPU_NOPENCL=2 STARPU_NCPU=0 POCL_DEVICES="pthread basic": these are two devices.
"""

import argparse

import numpy

import heddle

WIDTH, HEIGHT, LIMIT = 256, 192, 200

STEPS = """
int steps(double re, double im, int limit)
{
    double x = 0, y = 0;
    int n = 0;
    while (n < limit && x * x + y * y < 4) {
        double next = x * x - y * y + re;
        y = 2 * x * y + im;
        x = next;
        n++;
    }
    return n;
}
"""
ROW = """
    for (long j = 0; j < width; j++)
        counts[i * width + j] = steps(3.0 * j / width - 2, 2.0 * (start + i) / height - 1, limit);
"""
KERNEL = (
    "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
    + STEPS
    + """
__kernel void mandelbrot(__global int *counts, int limit)
{
    long j = get_global_id(0), i = get_global_id(1), width = get_global_size(0);
    counts[i * width + j] =
        steps(3.0 * j / width - 2, 2.0 * i / get_global_size(1) - 1, limit);
}
"""
)


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument(
        "--plot", metavar="PREFIX", help="draws PREFIX-loop.svg, PREFIX-kernel.svg"
    )
    prefix = options.parse_args().plot

    counts = numpy.zeros((HEIGHT, WIDTH), numpy.int32)
    loop = heddle.loop(
        HEIGHT,
        heddle.Body(opencl=ROW, functions=STEPS),
        {
            "counts": heddle.Out(counts),
            "width": WIDTH,
            "height": HEIGHT,
            "limit": numpy.int32(LIMIT),
        },
        name="mandelbrot",
    )
    print("A loop:", loop, sep="\n")

    again = numpy.zeros_like(counts)
    kernel = heddle.kernel(KERNEL, "mandelbrot")
    launch = kernel((WIDTH, HEIGHT), (64, 1), heddle.Out(again), numpy.int32(LIMIT))
    print("A kernel:", launch, sep="\n")

    print((counts != again).sum(), "points differ,", (counts == LIMIT).sum(), "are in the set")
    if prefix:
        heddle.plot(loop).figure.savefig(prefix + "-loop.svg", bbox_inches="tight")
        heddle.plot(launch).figure.savefig(prefix + "-kernel.svg", bbox_inches="tight")
    if (counts != again).any():
        raise SystemExit("loop and kernel differ")


if __name__ == "__main__":
    main()
