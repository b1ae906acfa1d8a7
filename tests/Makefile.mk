# Tests. Every one runs under tests/run: an environment of its own and a time limit.

# What tests are linked with, unless they say otherwise: those of tests/unit/ with all that
# knows no StarPU, others with all there is. Of archives the linker takes what is needed.
unit_archives = libbodies.a libeclat.a libnbia.a libapps-files.a libkernels.a libcodelets.a libfpga.a libtools.la
unit_ldadd = $(unit_archives) $(JANSSON_LIBS) $(PNG_LIBS) $(OPENSLIDE_LIBS) $(PARASAIL_LIBS) \
	$(CMOCKA_LIBS) -lm
starpu_archives = libtools.la libnbia.a libapps.a libapps-files.a libcodelets.a libheddle.la libheddle-pure.la
starpu_ldadd = libtools.la libnbia.a $(apps_ldadd) $(OPENSLIDE_LIBS) $(CMOCKA_LIBS) -lm
LDADD = $(unit_ldadd)
$(starpu_programs): LDADD = $(starpu_ldadd)
$(starpu_programs): $(starpu_archives)

# ---- programs ----

# unit/: no StarPU.
unit_tests = \
	tests/unit/auto \
	tests/unit/bandit \
	tests/unit/block_time \
	tests/unit/blocks \
	tests/unit/bound \
	tests/unit/cgroup \
	tests/unit/channels \
	tests/unit/clusters \
	tests/unit/codelets \
	tests/unit/cold \
	tests/unit/costs \
	tests/unit/demand \
	tests/unit/eclat \
	tests/unit/factoring \
	tests/unit/files \
	tests/unit/fitted \
	tests/unit/floyd \
	tests/unit/golden_blocks \
	tests/unit/gpu_workers \
	tests/unit/hdss \
	tests/unit/heat2d \
	tests/unit/hostile \
	tests/unit/interrupted \
	tests/unit/kernel_ahead \
	tests/unit/kernel_analysis \
	tests/unit/kernel_buses \
	tests/unit/kernel_conditions \
	tests/unit/kernel_direct \
	tests/unit/kernel_contents \
	tests/unit/kernel_index \
	tests/unit/kernel_integers \
	tests/unit/kernel_learning \
	tests/unit/kernel_pasted \
	tests/unit/kernel_records \
	tests/unit/kernel_references \
	tests/unit/kernel_spans \
	tests/unit/kernel_windows \
	tests/unit/knn \
	tests/unit/kinds \
	tests/unit/late \
	tests/unit/log \
	tests/unit/lumps \
	tests/unit/messages \
	tests/unit/mpi \
	tests/unit/steals \
	tests/unit/nbia \
	tests/unit/numbers \
	tests/unit/options \
	tests/unit/pins \
	tests/unit/places \
	tests/unit/plan \
	tests/unit/platform \
	tests/unit/heap \
	tests/unit/pool \
	tests/unit/profile \
	tests/unit/queues \
	tests/unit/ranges \
	tests/unit/rates \
	tests/unit/split \
	tests/unit/strmatch \
	tests/unit/sweep \
	tests/unit/tissue \
	tests/unit/variables \
	tests/unit/wavefront_balance \
	tests/unit/wavefront_choice \
	tests/unit/wavefront_interval \
	tests/unit/wavefront_ranks \
	tests/unit/wavefront_simulation \
	tests/unit/wavefront_tiles
if USE_OPENCL
unit_tests += tests/unit/kernel_answers tests/unit/kernel_offsets tests/unit/opencl_record
check_PROGRAMS += tests/unit/kernel_random tests/unit/kernel_ranges
endif
if HAVE_NVCC
unit_tests += tests/unit/codelets_cuda tests/unit/wavefront_cuda
endif
if HAVE_OPENBLAS
unit_tests += tests/unit/factor
endif
tests_unit_factor_LDADD = libmatrix.a libfactor.a libapps.a $(unit_ldadd) $(OPENBLAS_LIBS)
# Designs for FPGAs are run as they are, without a driver.
unit_data =
if !USE_SIMGRID
unit_tests += tests/fpga/designs tests/unit/bell
if HAVE_VERILATOR
unit_data += $(design_files)
endif
endif
tests_unit_bell_SOURCES = tests/unit/bell.c partition/mpi/bell.c
tests_unit_bell_LDADD = $(CMOCKA_LIBS)
tests_unit_bound_SOURCES = tests/unit/bound.c tools/bench/bound.c
tests_unit_bound_LDADD = $(unit_ldadd) $(GLPK_LIBS)
tests_unit_codelets_cuda_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_unit_codelets_cuda_LDADD = $(cuda_objects) $(unit_ldadd) $(CUDA_LIBS) -lstdc++
tests_unit_kernel_answers_SOURCES = tests/unit/kernel_answers.c partition/kernel/launch/answers.c
tests_unit_kernel_answers_LDADD = $(unit_ldadd) $(OPENCL_LIBS)
tests_unit_kernel_buses_SOURCES = tests/unit/kernel_buses.c partition/kernel/split/buses.c
tests_unit_kernel_buses_LDADD = $(unit_ldadd) $(HWLOC_LIBS)
tests_unit_kernel_offsets_LDADD = $(unit_ldadd) $(OPENCL_LIBS)
tests_unit_kernel_random_SOURCES = tests/unit/kernel_random.c tests/unit/random_kernel.c
tests_unit_kernel_ranges_LDADD = $(unit_ldadd) $(OPENCL_LIBS)
tests_unit_opencl_record_SOURCES = tests/unit/opencl_record.c partition/opencl/record.c
tests_unit_channels_LDADD = libheddle-mpi-pure.la libheddle-pure.la $(CMOCKA_LIBS) -lm
tests_unit_clusters_SOURCES = tests/unit/clusters.c tools/bench/clusters.c
tests_unit_clusters_LDADD = libheddle-mpi-pure.la libheddle-pure.la $(CMOCKA_LIBS) -lm
tests_unit_steals_LDADD = libheddle-mpi-pure.la libheddle-pure.la $(CMOCKA_LIBS) -lm
tests_unit_mpi_LDADD = libheddle-mpi-pure.la libheddle-pure.la $(CMOCKA_LIBS) $(HWLOC_LIBS) -lm
tests_unit_wavefront_ranks_LDADD = libheddle-mpi-pure.la libheddle-pure.la $(CMOCKA_LIBS) -lm
tests_unit_strmatch_CPPFLAGS = $(AM_CPPFLAGS) $(PARASAIL_CFLAGS)
tests_unit_sweep_LDADD = libapps.a $(unit_ldadd)
tests_unit_wavefront_cuda_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_unit_wavefront_cuda_LDADD = $(cuda_objects) $(unit_ldadd) $(CUDA_LIBS) -lstdc++

# starpu/: native workers.
starpu_tests = \
	tests/starpu/app \
	tests/starpu/check \
	tests/starpu/clock \
	tests/starpu/contexts \
	tests/starpu/control \
	tests/starpu/estimate \
	tests/starpu/estimate_policies \
	tests/starpu/flow \
	tests/starpu/loop \
	tests/starpu/loop_indexed \
	tests/starpu/nbia \
	tests/starpu/numa \
	tests/starpu/policies \
	tests/starpu/stress \
	tests/starpu/wavefront \
	tests/starpu/wavefront_parts
if USE_CUDA
starpu_tests += tests/starpu/gpu_workers
endif
opencl_programs = \
	tests/starpu/kernel \
	tests/starpu/kernel_cache \
	tests/starpu/kernel_stored \
	tests/starpu/kernel_transfers \
	tests/starpu/kernel_ahead \
	tests/starpu/kernel_contents \
	tests/starpu/kernel_direct \
	tests/starpu/kernel_images \
	tests/starpu/kernel_kept \
	tests/starpu/kernel_buses \
	tests/starpu/late \
	tests/starpu/local \
	tests/starpu/taken_back \
	tests/fpga/driver \
	tests/fpga/policies
tests_starpu_control_SOURCES = \
	tests/starpu/control.c \
	partition/common/array_starpu.c \
	partition/common/control_starpu.c \
	partition/common/task_starpu.c \
	partition/common/workers_starpu.c \
	support/pin_starpu.c
tests_starpu_control_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_starpu_control_LDADD = $(starpu_ldadd) $(CUDA_LIBS)
tests_starpu_gpu_workers_LDADD = $(starpu_ldadd) $(CUDA_LIBS)
tests_starpu_nbia_SOURCES = tests/starpu/nbia.c $(nbia_pipeline)

# sim/: workers that SimGrid simulates. The second list wants a machine from its script.
sim_tests = \
	tests/sim/apart \
	tests/sim/cores \
	tests/sim/ahead \
	tests/sim/end \
	tests/sim/first \
	tests/sim/inputs \
	tests/sim/kinds \
	tests/sim/head \
	tests/sim/heavy \
	tests/sim/link \
	tests/sim/local \
	tests/sim/memory \
	tests/sim/model \
	tests/sim/noise \
	tests/sim/path \
	tests/sim/phases \
	tests/sim/policies \
	tests/sim/priorities \
	tests/sim/product \
	tests/sim/reduction \
	tests/sim/repeat \
	tests/sim/scarce \
	tests/sim/stated \
	tests/sim/trips \
	tests/sim/uneven \
	tests/sim/urgent \
	tests/sim/waits \
	tests/sim/wavefront \
	tests/sim/wavefront_simulation \
	tests/sim/wavefront_slowdown \
	tests/sim/wavefront_sweeps
sim_programs = \
	tests/sim/flow \
	tests/sim/graph \
	tests/sim/graphs \
	tests/sim/jobs \
	tests/sim/loop \
	tests/sim/stuck \
	tests/sim/taken_back \
	tests/sim/tiles

# A program over the ranks of a simulated cluster.
smpi_programs =
if HAVE_SMPI
smpi_programs += tests/sim/ranks
endif
tests/sim/ranks: $(srcdir)/tests/sim/ranks.c $(srcdir)/tests/sim/cluster.h $(smpi_libraries)
	@$(MKDIR_P) tests/sim
	$(AM_V_CCLD)$(SMPICC) $(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) $(CPPFLAGS) $(AM_CFLAGS) \
		$(CFLAGS) -o $@ $(srcdir)/tests/sim/ranks.c $(smpi_ldadd)
check_DATA += $(smpi_programs)
CLEANFILES += $(smpi_programs)

# mpi/: several ranks on this machine.
mpi_programs =
if HAVE_MPI
mpi_programs += tests/mpi/flows tests/mpi/loops tests/mpi/start tests/mpi/threads tests/mpi/waves \
	doc/examples/pieces doc/examples/ranks
endif
check_PROGRAMS += $(mpi_programs)
tests_mpi_flows_LDADD = libheddle-mpi.la libheddle.la $(STARPU_LIBS) $(MPI_LIBS)
tests_mpi_loops_LDADD = libheddle-mpi.la libheddle.la $(STARPU_LIBS) $(MPI_LIBS)
tests_mpi_start_LDADD = libheddle-mpi.la libheddle.la $(STARPU_LIBS) $(MPI_LIBS) $(HWLOC_LIBS)
tests_mpi_threads_LDADD = libheddle-mpi.la libheddle.la $(STARPU_LIBS) $(MPI_LIBS)
tests_mpi_waves_LDADD = libheddle-mpi.la libheddle.la $(STARPU_LIBS) $(MPI_LIBS)

starpu_programs =
if HAVE_CMOCKA
check_PROGRAMS += $(unit_tests)
TESTS += $(unit_tests)
if USE_SIMGRID
starpu_programs += $(sim_tests) $(sim_programs)
TESTS += $(sim_tests)
else
starpu_programs += $(starpu_tests) tests/starpu/slaves
TESTS += $(starpu_tests)
endif
if USE_OPENCL
starpu_programs += $(opencl_programs)
endif
check_PROGRAMS += $(starpu_programs)
endif
if !USE_SIMGRID
# A program of StarPU that knows nothing of Heddle.
check_PROGRAMS += tests/tools/which_policy
endif
tests_tools_which_policy_LDADD = $(STARPU_LIBS)
check_PROGRAMS += tests/tools/graph_program
tests_tools_graph_program_LDADD = $(STARPU_LIBS)

if USE_OPENCL
# A program of OpenCL that knows nothing of Heddle.
check_PROGRAMS += tests/tools/opencl_program tests/tools/opencl_random tests/tools/opencl_loader
endif
tests_tools_opencl_program_LDADD = $(OPENCL_LIBS) -lpthread
tests_tools_opencl_random_LDADD = $(OPENCL_LIBS) -lpthread
tests_tools_opencl_loader_LDADD = $(OPENCL_LIBS) -ldl

# ---- scripts ----

tool_scripts = \
	tests/tools/bench.sh \
	tests/tools/check.sh \
	tests/tools/cplusplus.sh \
	tests/tools/debian.sh \
	tests/tools/estimate.sh \
	tests/tools/headers.sh \
	tests/tools/heddle.sh \
	tests/tools/info.sh \
	tests/tools/install.sh \
	tests/tools/other_build.sh \
	tests/tools/packaging.sh \
	tests/tools/plot.sh \
	tests/tools/readme.sh \
	tests/tools/scripts.sh \
	tests/tools/skmd.sh \
	tests/tools/plan_kernels.sh \
	tests/tools/split.sh \
	tests/tools/symbols.sh \
	tests/tools/trace.sh
native_scripts = \
	tests/starpu/loop_warm.sh \
	tests/starpu/slaves.sh \
	tests/tools/apps.sh \
	tests/tools/bench_program.sh \
	tests/tools/eclat.sh \
	tests/tools/estimate_example.sh \
	tests/tools/example_codelets.sh \
	tests/tools/examples.sh \
	tests/tools/factor.sh \
	tests/tools/man.sh \
	tests/tools/manual.sh \
	tests/tools/nbia.sh \
	tests/tools/overhead.sh \
	tests/tools/progress.sh \
	tests/tools/protocol.sh \
	tests/tools/python.sh \
	tests/tools/reference.sh \
	tests/tools/run.sh \
	tests/tools/sample.sh \
	tests/tools/wave_apps.sh
mpi_scripts = tests/mpi/apps.sh tests/mpi/flows.sh tests/mpi/loops.sh tests/mpi/trace.sh \
	tests/mpi/waves.sh
helgrind_scripts = \
	tests/starpu/control_helgrind.sh \
	tests/starpu/estimate_helgrind.sh \
	tests/starpu/flow_helgrind.sh \
	tests/starpu/loop_helgrind.sh \
	tests/starpu/wavefront_helgrind.sh
opencl_scripts = \
	tests/unit/kernel_random.sh \
	tests/unit/kernel_ranges.sh \
	tests/starpu/control_opencl.sh \
	tests/starpu/estimate_opencl.sh \
	tests/starpu/kernel.sh \
	tests/starpu/kernel_buses.sh \
	tests/starpu/kernel_cache.sh \
	tests/starpu/kernel_ahead.sh \
	tests/starpu/kernel_contents.sh \
	tests/starpu/kernel_direct.sh \
	tests/starpu/kernel_images.sh \
	tests/starpu/kernel_kept.sh \
	tests/starpu/kernel_stored.sh \
	tests/starpu/kernel_transfers.sh \
	tests/starpu/kernels_app.sh \
	tests/starpu/late.sh \
	tests/starpu/local.sh \
	tests/starpu/loop_indexed_opencl.sh \
	tests/starpu/loop_opencl.sh \
	tests/starpu/taken_back.sh \
	tests/starpu/wavefront_opencl.sh \
	tests/tools/apps_opencl.sh \
	tests/tools/factor_opencl.sh \
	tests/tools/nbia_opencl.sh \
	tests/tools/opencl.sh \
	tests/tools/sample_opencl.sh \
	tests/tools/wave_apps_opencl.sh \
	tests/fpga/apps.sh \
	tests/fpga/clock.sh \
	tests/fpga/driver.sh
sim_scripts = \
	tests/sim/bench.sh \
	tests/sim/cold_loops.sh \
	tests/sim/depth.sh \
	tests/sim/factor.sh \
	tests/sim/flow.sh \
	tests/sim/graph.sh \
	tests/sim/graphs.sh \
	tests/sim/jobs.sh \
	tests/sim/late.sh \
	tests/sim/nbia.sh \
	tests/sim/overlap.sh \
	tests/sim/program.sh \
	tests/sim/rank_apps.sh \
	tests/sim/ranks.sh \
	tests/sim/reruns.sh \
	tests/sim/taken_back.sh \
	tests/sim/tiles.sh \
	tests/sim/usage.sh \
	tests/sim/warm.sh \
	tests/sim/wave_apps.sh
TESTS += $(tool_scripts)
if USE_SIMGRID
TESTS += $(sim_scripts)
else
TESTS += $(native_scripts) $(mpi_scripts)
if !SANITIZED
TESTS += $(helgrind_scripts)
endif
endif
if USE_OPENCL
TESTS += $(opencl_scripts)
if !SANITIZED
TESTS += tests/fpga/driver_helgrind.sh
endif
endif

golden_files = \
	tests/unit/golden/README \
	tests/unit/golden/bounds.json \
	tests/unit/golden/bounds.txt \
	tests/unit/golden/few.json \
	tests/unit/golden/few.txt \
	tests/unit/golden/noisy.json \
	tests/unit/golden/noisy.txt \
	tests/unit/golden/none.json \
	tests/unit/golden/none.txt \
	tests/unit/golden/one.json \
	tests/unit/golden/one.txt \
	tests/unit/golden/spike.json \
	tests/unit/golden/spike.txt \
	tests/unit/golden/steady.json \
	tests/unit/golden/steady.txt \
	tests/unit/golden/stop.json \
	tests/unit/golden/stop.txt \
	tests/unit/golden/thousand.json \
	tests/unit/golden/thousand.txt
EXTRA_DIST += \
	tests/tools/opencl_gpu.c \
	$(golden_files) \
	$(tool_scripts) \
	$(native_scripts) \
	$(mpi_scripts) \
	tests/mpi/arrays.h \
	tests/mpi/common.sh \
	tests/mpi/memory.h \
	tests/mpi/ranks.h \
	$(helgrind_scripts) \
	$(opencl_scripts) \
	$(sim_scripts) \
	tests/fpga/driver_helgrind.sh \
	tests/tools/other_starpu.c \
	tests/fpga/error.v \
	tests/fpga/hang.v \
	tests/fpga/helgrind.supp \
	tests/lsan.supp \
	tests/run \
	tests/sim/cluster.h \
	tests/sim/clusters-table \
	tests/sim/ranks.c \
	tests/sim/simulated.h \
	tests/sim/graphs-table \
	tests/sim/jobs-table \
	tests/sim/waves-table \
	tests/sim/tiles-table \
	tests/sim/wavefront.h \
	tests/starpu/helgrind.supp \
	tests/starpu/tsan.supp \
	tests/starpu/policies.h \
	tests/starpu/switch.xml \
	tests/tools/common.sh \
	tests/tools/cplusplus.cpp \
	tests/tools/examples-all \
	tests/tools/fake-app \
	tests/unit/kernel_ranges.cl \
	tests/unit/random_kernel.h \
	tests/unit/bodies.h \
	tests/unit/cells.h \
	tests/unit/classes.h \
	tests/unit/nearest.h \
	tests/unit/sparse.h \
	tests/unit/test.h

# Designs that are broken on purpose stand where the histogram's would.
broken_designs = bin/fpga/test-hang.fpga bin/fpga/test-error.fpga
bin/fpga/test-hang.fpga: tests/fpga/hang.v codelets/histogram/fpga.inc $(design_parts)
	$(build_design) $(srcdir)/tests/fpga/hang.v $(srcdir)/codelets/histogram/fpga.inc $@ \
		$(fpga_runtime)
bin/fpga/test-error.fpga: tests/fpga/error.v codelets/histogram/fpga.inc $(design_parts)
	$(build_design) $(srcdir)/tests/fpga/error.v $(srcdir)/codelets/histogram/fpga.inc $@ \
		$(fpga_runtime)

# ---- runs ----

# The unit tests, and of everything else only what they are made of.
check-unit: $(BUILT_SOURCES)
	$(MAKE) $(AM_MAKEFLAGS) check-TESTS TESTS='$(unit_tests)' check_PROGRAMS='$(unit_tests)' \
		check_DATA='$(unit_data)'
# All other tests: what a second StarPU can change.
check-starpu: all
	$(MAKE) $(AM_MAKEFLAGS) check-TESTS TESTS='$(filter-out $(unit_tests),$(TESTS))' \
		check_PROGRAMS='$(filter-out $(unit_tests),$(check_PROGRAMS))'
# What tells whether another series of StarPU does what the one that all tests run on does. Tools
# are the same there, and what is not called through StarPU.
if USE_SIMGRID
series_tests = $(sim_tests) tests/sim/bench.sh tests/sim/factor.sh tests/sim/flow.sh tests/sim/graph.sh \
	tests/sim/graphs.sh tests/sim/jobs.sh tests/sim/nbia.sh tests/sim/overlap.sh tests/sim/program.sh tests/sim/taken_back.sh \
	tests/sim/tiles.sh tests/sim/usage.sh tests/sim/wave_apps.sh
else
series_tests = $(starpu_tests) tests/mpi/flows.sh tests/mpi/loops.sh tests/mpi/waves.sh tests/starpu/slaves.sh tests/tools/info.sh tests/tools/run.sh
if USE_OPENCL
series_tests += tests/starpu/control_opencl.sh tests/starpu/estimate_opencl.sh \
	tests/starpu/kernel_transfers.sh tests/starpu/local.sh \
	tests/starpu/loop_indexed_opencl.sh tests/starpu/loop_opencl.sh \
	tests/starpu/taken_back.sh tests/starpu/wavefront_opencl.sh
endif
endif
check-series: all
	$(MAKE) $(AM_MAKEFLAGS) check-TESTS TESTS='$(series_tests)' check_DATA= \
		check_PROGRAMS='$(starpu_programs) $(mpi_programs) tests/tools/which_policy tests/tools/graph_program'
# What traces record, and no more than that needs.
traced_programs = doc/examples/axpy tests/starpu/loop tests/starpu/nbia tests/starpu/policies \
	tests/starpu/wavefront
traced_tests = tests/tools/trace.sh tests/tools/other_build.sh tests/tools/info.sh \
	tests/tools/example_codelets.sh $(filter tests/%,$(traced_programs))
check-traced: $(BUILT_SOURCES)
	$(MAKE) $(AM_MAKEFLAGS) bin/heddle-info bin/heddle-trace bin/trace/stamp \
		libheddle-preload.la
	$(MAKE) $(AM_MAKEFLAGS) check-TESTS check_PROGRAMS='$(traced_programs)' check_DATA= \
		TESTS='$(traced_tests)'
.PHONY: check-series check-starpu check-traced check-unit
LOG_COMPILER = $(top_srcdir)/tests/run
SH_LOG_COMPILER = $(top_srcdir)/tests/run
TEST_EXTENSIONS = .sh
AM_TESTS_ENVIRONMENT = top_srcdir='$(abs_top_srcdir)'; top_builddir='$(abs_top_builddir)'; \
	HEDDLE_TEST_KERNELS='$(abs_top_builddir)/tests/kernels'; \
	export top_srcdir top_builddir HEDDLE_TEST_KERNELS;
# What PoCL compiles in a run serves all tests of the run and no other one. The targets are
# automake's, which by their names would be ours alone.
runs_of_tests = check-TESTS recheck
$(runs_of_tests): forget-kernels
forget-kernels:
	@rm -rf tests/kernels
.PHONY: forget-kernels
