# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
import os

from spack_repo.builtin.build_systems.autotools import AutotoolsPackage

from spack.package import *


class Heddle(AutotoolsPackage):
    """Loops, OpenCL kernels and task graphs on all processors of a machine.

    Heddle cuts a loop into tasks of StarPU and sizes them while the loop runs, so that CPU
    cores, GPUs and FPGAs finish together. It is also a set of scheduling policies for StarPU.
    """

    homepage = "https://localhost.invalid/heddle"
    # The archive of `make dist`, in the folder where spack is called.
    manual_download = True
    url = f"file://{os.getcwd()}/heddle-0.1.0.tar.gz"

    license("LGPL-2.1-or-later")

    version("0.1.0")

    variant("cuda", default=False, description="CUDA workers, and codelets for them")
    variant("opencl", default=True, description="OpenCL workers, codelets and kernels")
    variant("analysis", default=True, description="OpenCL kernels are split over devices")
    variant("mpi", default=False, description="loops over the ranks of MPI programs")
    variant("fxt", default=False, description="traces")
    variant("simgrid", default=False, description="simulated machines")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("help2man", type="build")

    # One build of Heddle works with one build of StarPU, which programs link, too.
    depends_on("starpu@1.3.8:", type=("build", "link", "run"))
    for feature in ("cuda", "opencl", "fxt", "simgrid"):
        depends_on(f"starpu+{feature}", when=f"+{feature}")
        depends_on(f"starpu~{feature}", when=f"~{feature}")
    depends_on("starpu~mpi+blocking", when="+simgrid")
    depends_on("hwloc@2:")
    depends_on("jansson@2.10:")
    depends_on("libpng")
    depends_on("glpk")
    depends_on("openblas")
    depends_on("cuda", when="+cuda")
    depends_on("opencl", when="+opencl")
    depends_on("mpi", when="+mpi")
    # The analysis is made for the interfaces of these two.
    depends_on("llvm@14,19+clang", when="+analysis")

    conflicts("+mpi", when="+simgrid", msg="simulated workers know no MPI")
    conflicts("+analysis", when="~opencl", msg="what is analysed are OpenCL kernels")

    def configure_args(self):
        args = ["--without-openslide"]
        args += self.with_or_without("mpi")
        if self.spec.satisfies("+cuda"):
            args.append(f"NVCC={self.spec['cuda'].prefix.bin.nvcc}")
        else:
            args.append("--without-cuda")
        if self.spec.satisfies("+analysis"):
            llvm = self.spec["llvm"].prefix.bin
            args += [f"LLVM_CONFIG={join_path(llvm, 'llvm-config')}", f"CLANG={llvm.clang}"]
        else:
            args += ["ac_cv_path_LLVM_CONFIG=no", "ac_cv_path_CLANG=no"]
        return args
