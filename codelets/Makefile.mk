# Kernels for CPUs, CUDA, OpenCL and FPGAs, as StarPU's codelets.

# The compiler turns the CPU versions into vector code. The flags stand one by one, because the
# user's -O2 comes after them and would undo an -O3. No kernel uses errno or the floating-point
# exceptions.
noinst_LIBRARIES += libcodelets.a
libcodelets_a_CPPFLAGS = $(AM_CPPFLAGS) \
	-DDESIGNS='"$(abs_builddir)/bin/fpga"' -DINSTALLED_DESIGNS='"$(designsdir)"' \
	-DINSTALLED_PROGRAMS='"$(pkglibexecdir)"'
libcodelets_a_CFLAGS = $(AM_CFLAGS) -ftree-vectorize -fvect-cost-model=dynamic \
	-fno-math-errno -fno-trapping-math
libcodelets_a_SOURCES = \
	codelets/blackscholes/blackscholes.h \
	codelets/blackscholes/codelet.c \
	codelets/blackscholes/cpu.c \
	codelets/blackscholes/reference.c \
	codelets/boxfilter/boxfilter.h \
	codelets/boxfilter/codelet.c \
	codelets/boxfilter/cpu.c \
	codelets/boxfilter/passes.h \
	codelets/boxfilter/reference.c \
	codelets/codelet.c \
	codelets/codelet.h \
	codelets/cuda_pool.h \
	codelets/eclat/codelet.c \
	codelets/eclat/cpu.c \
	codelets/eclat/eclat.h \
	codelets/eclat/reference.c \
	codelets/floyd/codelet.c \
	codelets/floyd/cpu.c \
	codelets/floyd/floyd.h \
	codelets/floyd/reference.c \
	codelets/floyd/strips.h \
	codelets/heart/codelet.c \
	codelets/heart/cpu.c \
	codelets/heart/heart.h \
	codelets/heart/reference.c \
	codelets/heat2d/codelet.c \
	codelets/heat2d/cpu.c \
	codelets/heat2d/heat2d.h \
	codelets/heat2d/reference.c \
	codelets/histogram/codelet.c \
	codelets/histogram/cpu.c \
	codelets/histogram/histogram.h \
	codelets/histogram/reference.c \
	codelets/isa.c \
	codelets/isa.h \
	codelets/knn/codelet.c \
	codelets/knn/cpu.c \
	codelets/knn/knn.h \
	codelets/knn/reference.c \
	codelets/mandelbrot/codelet.c \
	codelets/mandelbrot/cpu.c \
	codelets/mandelbrot/mandelbrot.h \
	codelets/mandelbrot/reference.c \
	codelets/nbia/codelet.c \
	codelets/nbia/cpu.c \
	codelets/nbia/features.c \
	codelets/nbia/nbia.h \
	codelets/nbia/reference.c \
	codelets/nbody/codelet.c \
	codelets/nbody/cpu.c \
	codelets/nbody/nbody.h \
	codelets/nbody/reference.c \
	codelets/programs.c \
	codelets/programs.h \
	codelets/spmv/codelet.c \
	codelets/spmv/cpu.c \
	codelets/spmv/reference.c \
	codelets/spmv/spmv.h \
	codelets/strmatch/align.c \
	codelets/strmatch/codelet.c \
	codelets/strmatch/cpu.c \
	codelets/strmatch/reference.c \
	codelets/strmatch/scores.c \
	codelets/strmatch/strips.h \
	codelets/strmatch/strmatch.h \
	codelets/vecinc/codelet.c \
	codelets/vecinc/cpu.c \
	codelets/vecinc/vecinc.h
# Bits that do not depend on the processor: no fused multiplication and addition.
codelets/knn/libcodelets_a-cpu.$(OBJEXT) codelets/knn/libcodelets_a-reference.$(OBJEXT) \
codelets/mandelbrot/libcodelets_a-cpu.$(OBJEXT) codelets/mandelbrot/libcodelets_a-reference.$(OBJEXT): \
	libcodelets_a_CFLAGS += -ffp-contract=off
opencl_codelets = \
	codelets/blackscholes/opencl.cl \
	codelets/boxfilter/opencl.cl \
	codelets/eclat/opencl.cl \
	codelets/floyd/opencl.cl \
	codelets/heart/opencl.cl \
	codelets/heat2d/opencl.cl \
	codelets/histogram/opencl.cl \
	codelets/knn/opencl.cl \
	codelets/mandelbrot/opencl.cl \
	codelets/nbia/opencl.cl \
	codelets/nbia/pixel.cl \
	codelets/nbody/opencl.cl \
	codelets/spmv/opencl.cl \
	codelets/strmatch/opencl.cl \
	codelets/vecinc/opencl.cl
cuda_codelets = \
	codelets/blackscholes/cuda.cu \
	codelets/boxfilter/cuda.cu \
	codelets/cuda_pool.cu \
	codelets/eclat/cuda.cu \
	codelets/floyd/cuda.cu \
	codelets/heart/cuda.cu \
	codelets/heat2d/cuda.cu \
	codelets/histogram/cuda.cu \
	codelets/knn/cuda.cu \
	codelets/mandelbrot/cuda.cu \
	codelets/nbia/cuda.cu \
	codelets/nbody/cuda.cu \
	codelets/spmv/cuda.cu \
	codelets/strmatch/cuda.cu \
	codelets/vecinc/cuda.cu
cuda_objects = $(cuda_codelets:.cu=.o)
libcodelets_a_LIBADD =
EXTRA_DIST += $(opencl_codelets) $(cuda_codelets)
CLEANFILES += $(opencl_codelets:.cl=.clh) $(cuda_objects)

# OpenCL sources travel inside the binary, as C strings.
SUFFIXES += .cl .clh .cu
BUILT_SOURCES += $(opencl_codelets:.cl=.clh)
.cl.clh:
	$(AM_V_GEN)$(MKDIR_P) $(@D) && \
	$(SED) -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/.*/"&\\n"/' $< > $@.tmp && mv $@.tmp $@

# CUDA sources compile wherever nvcc is, so that they do not rot; they are
# linked where StarPU has a CUDA driver.
AM_V_NVCC = $(am__v_NVCC_$(V))
am__v_NVCC_ = $(am__v_NVCC_$(AM_DEFAULT_VERBOSITY))
am__v_NVCC_0 = @echo "  NVCC    " $@;
am__v_NVCC_1 =
.cu.o:
	$(AM_V_NVCC)$(MKDIR_P) $(@D) && \
	$(NVCC) $(NVCCFLAGS) -I$(top_srcdir) -Xcompiler -fPIC -c -o $@ $<
$(cuda_objects): $(top_srcdir)/codelets/isa.h $(top_srcdir)/codelets/cuda_pool.h
codelets/nbia/cuda.o: $(top_srcdir)/codelets/nbia/pixel.cl
if USE_CUDA
libcodelets_a_LIBADD += $(cuda_objects)
else
if HAVE_NVCC
all-local: $(cuda_objects)
endif
endif
codelets_ldadd = libcodelets.a libheddle.la libheddle-pure.la $(STARPU_LIBS) $(OPENCL_LIBS)
if USE_CUDA
# The objects that nvcc makes are C++.
codelets_ldadd += $(CUDA_LIBS) -lstdc++
endif

# Operations on tiles, for the apps that link their libraries.
if HAVE_OPENBLAS
noinst_LIBRARIES += libfactor.a
endif
libfactor_a_CPPFLAGS = $(AM_CPPFLAGS) $(OPENBLAS_CFLAGS) $(CLBLAST_CFLAGS)
libfactor_a_SOURCES = \
	codelets/factor/codelet.c \
	codelets/factor/cpu.c \
	codelets/factor/factor.h \
	codelets/factor/plain.h
libfactor_a_LIBADD =
factor_ldadd = libfactor.a $(codelets_ldadd) $(OPENBLAS_LIBS)
EXTRA_DIST += codelets/factor/cuda.cu
CLEANFILES += codelets/factor/cuda.o
codelets/factor/cuda.o: $(top_srcdir)/codelets/factor/factor.h $(top_srcdir)/codelets/cuda_pool.h
if USE_CLBLAST
libfactor_a_SOURCES += codelets/factor/opencl.c
factor_ldadd += $(CLBLAST_LIBS)
else
EXTRA_DIST += codelets/factor/opencl.c
endif
if HAVE_CUBLAS
if USE_CUDA
libfactor_a_LIBADD += codelets/factor/cuda.o
factor_ldadd += $(CUBLAS_LIBS)
else
all-local: codelets/factor/cuda.o
endif
endif
