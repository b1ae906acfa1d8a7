# The programs around the codelets: `heddle app NAME`.

appsdir = $(pkglibexecdir)/apps
apps_PROGRAMS = \
	apps/blackscholes/blackscholes \
	apps/boxfilter/boxfilter \
	apps/eclat/eclat \
	apps/floyd/floyd \
	apps/heart/heart \
	apps/heat2d/heat2d \
	apps/histogram/histogram \
	apps/kernels/kernels \
	apps/knn/knn \
	apps/mandelbrot/mandelbrot \
	apps/nbia/nbia \
	apps/nbody/nbody \
	apps/spmv/spmv \
	apps/strmatch/strmatch \
	apps/vecinc/vecinc
if HAVE_OPENBLAS
apps_PROGRAMS += \
	apps/cholesky/cholesky \
	apps/lu/lu
endif

# Files that users name; no StarPU.
noinst_LIBRARIES += libapps-files.a
libapps_files_a_SOURCES = \
	apps/common/csr.c \
	apps/common/csr.h \
	apps/common/csv.c \
	apps/common/csv.h \
	apps/common/fasta.c \
	apps/common/fasta.h \
	apps/common/file.c \
	apps/common/file.h \
	apps/common/labelled.c \
	apps/common/labelled.h \
	apps/common/matrix_market.c \
	apps/common/matrix_market.h \
	apps/common/png_file.c \
	apps/common/png_file.h

noinst_LIBRARIES += libapps.a
libapps_a_SOURCES = \
	apps/common/app.c \
	apps/common/app.h \
	apps/common/command_line.c \
	apps/common/heteroprio.c \
	apps/common/heteroprio.h \
	apps/common/image.c \
	apps/common/image.h \
	apps/common/parallel.c \
	apps/common/random.h \
	apps/common/ranks.c \
	apps/common/ranks.h \
	apps/common/report.c \
	apps/common/sweep.c \
	apps/common/sweep.h \
	apps/common/wave.c \
	apps/common/wave.h \
	support/options.c \
	support/options.h \
	support/stock.h \
	support/stock_starpu.c
apps_ldadd = libapps.a libapps-files.a $(codelets_ldadd) $(JANSSON_LIBS) $(PNG_LIBS)

apps_blackscholes_blackscholes_SOURCES = apps/blackscholes/main.c
apps_blackscholes_blackscholes_LDADD = $(apps_ldadd)
apps_boxfilter_boxfilter_SOURCES = apps/boxfilter/main.c
apps_boxfilter_boxfilter_LDADD = $(apps_ldadd)
apps_floyd_floyd_SOURCES = apps/floyd/main.c
apps_floyd_floyd_LDADD = $(apps_ldadd)
apps_heart_heart_SOURCES = apps/heart/main.c
apps_heart_heart_LDADD = $(apps_ldadd) -lm
apps_heat2d_heat2d_SOURCES = apps/heat2d/main.c
apps_heat2d_heat2d_LDADD = $(apps_ldadd)
apps_histogram_histogram_SOURCES = apps/histogram/main.c
apps_histogram_histogram_LDADD = $(apps_ldadd)
apps_knn_knn_SOURCES = apps/knn/main.c
apps_knn_knn_LDADD = $(apps_ldadd)
dist_pkgdata_DATA += apps/knn/iris.csv
apps_mandelbrot_mandelbrot_SOURCES = apps/mandelbrot/main.c
apps_mandelbrot_mandelbrot_LDADD = $(apps_ldadd)
apps_spmv_spmv_SOURCES = apps/spmv/main.c
apps_spmv_spmv_LDADD = $(apps_ldadd) -lm
apps_strmatch_strmatch_SOURCES = \
	apps/strmatch/main.c \
	apps/strmatch/matching.c \
	apps/strmatch/strmatch.h
apps_strmatch_strmatch_LDADD = $(apps_ldadd)
apps_vecinc_vecinc_SOURCES = apps/vecinc/main.c
apps_vecinc_vecinc_LDADD = $(apps_ldadd)

# Also linked by `heddle sample`.
noinst_LIBRARIES += libbodies.a
libbodies_a_SOURCES = \
	apps/nbody/bodies.c \
	apps/nbody/bodies.h
apps_nbody_nbody_SOURCES = apps/nbody/main.c
apps_nbody_nbody_LDADD = libbodies.a $(apps_ldadd) -lm

# Transactions and sets of items are also linked by their tests.
noinst_LIBRARIES += libeclat.a
libeclat_a_SOURCES = \
	apps/eclat/baskets.c \
	apps/eclat/baskets.h \
	apps/eclat/sets.c \
	apps/eclat/sets.h
apps_eclat_eclat_SOURCES = \
	apps/eclat/main.c \
	apps/eclat/mine.c \
	apps/eclat/mine.h
apps_eclat_eclat_LDADD = libeclat.a $(apps_ldadd) -lm
dist_pkgdata_DATA += apps/eclat/baskets.dat

# The ten kernels with which SKMD was measured; parts of their references are pure, with tests.
noinst_LIBRARIES += libkernels.a
libkernels_a_SOURCES = \
	apps/kernels/aes.c \
	apps/kernels/aes.h \
	apps/kernels/sobol.c \
	apps/kernels/sobol.h
apps_kernels_kernels_SOURCES = \
	apps/kernels/benchmarks.c \
	apps/kernels/command_line.c \
	apps/kernels/job.c \
	apps/kernels/kernels.h \
	apps/kernels/main.c \
	apps/kernels/measure.c \
	apps/kernels/plain.c \
	apps/kernels/report.c \
	apps/kernels/user.c
apps_kernels_kernels_CFLAGS = $(AM_CFLAGS) -ftree-vectorize -fvect-cost-model=dynamic
apps_kernels_kernels_LDADD = libkernels.a $(apps_ldadd) -lm
kernel_sources = \
	apps/kernels/cl/aes.cl \
	apps/kernels/cl/binomial.cl \
	apps/kernels/cl/blackscholes.cl \
	apps/kernels/cl/histogram.cl \
	apps/kernels/cl/matrixmul.cl \
	apps/kernels/cl/quasirandom.cl \
	apps/kernels/cl/reduction.cl \
	apps/kernels/cl/scan.cl \
	apps/kernels/cl/transpose.cl \
	apps/kernels/cl/vectoradd.cl
EXTRA_DIST += $(kernel_sources)
BUILT_SOURCES += $(kernel_sources:.cl=.clh)
CLEANFILES += $(kernel_sources:.cl=.clh)

# Also linked by the tests of NBIA's parts.
noinst_LIBRARIES += libnbia.a
libnbia_a_SOURCES = \
	apps/nbia/classifier.c \
	apps/nbia/classifier.h \
	apps/nbia/slide.c \
	apps/nbia/slide.h \
	apps/nbia/tissue.c \
	apps/nbia/tissue.h
nbia_pipeline = \
	apps/nbia/pipeline.c \
	apps/nbia/pipeline.h \
	apps/nbia/pipeline_private.h \
	apps/nbia/pipeline_slots.c \
	apps/nbia/progress.c \
	apps/nbia/progress.h \
	apps/nbia/training.c \
	apps/nbia/training.h
apps_nbia_nbia_SOURCES = apps/nbia/main.c $(nbia_pipeline)
apps_nbia_nbia_LDADD = libnbia.a $(apps_ldadd) $(OPENSLIDE_LIBS)

# Tiled factorisations. Parts are also linked by their tests.
if HAVE_OPENBLAS
noinst_LIBRARIES += libmatrix.a
endif
libmatrix_a_SOURCES = \
	apps/factor/graph.c \
	apps/factor/graph.h \
	apps/factor/matrix.c \
	apps/factor/matrix.h
factor_app = \
	apps/factor/factor.c \
	apps/factor/factor.h \
	apps/factor/tasks.c
factor_app_ldadd = libmatrix.a libapps.a libapps-files.a $(factor_ldadd) $(JANSSON_LIBS)
apps_cholesky_cholesky_SOURCES = apps/cholesky/main.c $(factor_app)
apps_cholesky_cholesky_LDADD = $(factor_app_ldadd)
apps_lu_lu_SOURCES = apps/lu/main.c $(factor_app)
apps_lu_lu_LDADD = $(factor_app_ldadd)

# The same programs over the ranks of simulated clusters, with --mpi: heddle simulate --ranks.
smpi_apps =
if HAVE_SMPI
smpi_apps += \
	apps/smpi/blackscholes \
	apps/smpi/boxfilter \
	apps/smpi/floyd \
	apps/smpi/heat2d \
	apps/smpi/histogram \
	apps/smpi/mandelbrot \
	apps/smpi/nbia \
	apps/smpi/strmatch
noinst_LIBRARIES += libapps-smpi.a
endif
libapps_smpi_a_CPPFLAGS = $(AM_CPPFLAGS) $(SMPI_CPPFLAGS) -DAPPS_SMPI
libapps_smpi_a_SOURCES = \
	apps/common/ranks.c \
	apps/common/ranks.h
$(smpi_apps): $(apps_PROGRAMS) libapps-smpi.a $(smpi_libraries)
	@$(MKDIR_P) apps/smpi
	$(AM_V_CCLD)$(SMPICC) $(CFLAGS) -o $@ $(apps_$(@F)_$(@F)_OBJECTS) \
		$(libapps_smpi_a_OBJECTS) libnbia.a libapps.a libapps-files.a libcodelets.a \
		$(smpi_ldadd) $(OPENCL_LIBS) $(PNG_LIBS) $(OPENSLIDE_LIBS)
noinst_DATA += $(smpi_apps)
CLEANFILES += $(smpi_apps)
