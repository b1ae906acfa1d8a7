# The manual, and what was measured. Installed as it lies here, so that links hold.

manualdir = $(docdir)/doc
dist_manual_DATA = \
	doc/apps.md \
	doc/architecture.md \
	doc/architecture.svg \
	doc/codelets.md \
	doc/cplusplus.md \
	doc/estimator.md \
	doc/fpga.md \
	doc/glossary.md \
	doc/kernels.md \
	doc/locking.md \
	doc/loops.md \
	doc/measuring.md \
	doc/mpi.md \
	doc/opencl.md \
	doc/packages.md \
	doc/policies.md \
	doc/python.md \
	doc/stability.md \
	doc/strategies.md \
	doc/streams.md \
	doc/variables.md \
	doc/wavefronts.md

# For developers.
internalsdir = $(docdir)/doc/internals
dist_internals_DATA = \
	doc/internals/apps.md \
	doc/internals/estimator.md \
	doc/internals/fpga.md \
	doc/internals/kernels.md \
	doc/internals/loops.md \
	doc/internals/policies.md \
	doc/internals/strategies.md \
	doc/internals/wavefronts.md

examplesdir = $(docdir)/doc/examples
dist_examples_DATA = \
	doc/examples/axpy.c \
	doc/examples/axpy.cpp \
	doc/examples/axpy_cuda.cu \
	doc/examples/axpy_opencl.c \
	doc/examples/batch.c \
	doc/examples/csr.c \
	doc/examples/estimate.c \
	doc/examples/function.c \
	doc/examples/integral.c \
	doc/examples/lcs.c \
	doc/examples/pieces.c \
	doc/examples/ranks.c \
	doc/examples/sweeps.c

resultsdir = $(docdir)/results
dist_results_DATA = \
	results/README.md \
	results/design.md \
	results/estimates.md \
	results/fpga.md \
	results/irregular.md \
	results/kernels.md \
	results/loops.md \
	results/opencl.md \
	results/overhead.md \
	results/simulated-loops.md \
	results/simulated-graphs.md \
	results/ranks.md \
	results/simulated-clusters.md \
	results/simulated-tasks.md \
	results/tasks.md \
	results/transfers.md \
	results/wavefronts.md

resultsdatadir = $(docdir)/results/data
dist_resultsdata_DATA = \
	results/data/dmda-cold.csv \
	results/data/estimates.csv \
	results/data/first-blocks.csv \
	results/data/fpga-errors.csv \
	results/data/idle-workers.csv \
	results/data/irregular.csv \
	results/data/kernel-launches.csv \
	results/data/kernels-pocl.csv \
	results/data/kernels-predicted.csv \
	results/data/kernels-windows.csv \
	results/data/kernels.csv \
	results/data/loops.csv \
	results/data/nbia.csv \
	results/data/simulated-altix.csv \
	results/data/simulated-clusters.csv \
	results/data/simulated-graphs-again.csv \
	results/data/simulated-loops.csv \
	results/data/simulated-tasks.csv \
	results/data/streams-jobs.csv \
	results/data/transfers-noise.csv \
	results/data/wavefront-clusters.csv

figuresdir = $(docdir)/results/figures
dist_figures_DATA = \
	results/figures/altix-blackscholes.svg \
	results/figures/altix-histogram.svg \
	results/figures/estimates.svg \
	results/figures/h200-blocks.svg \
	results/figures/interval-floyd.svg \
	results/figures/interval-strmatch.svg \
	results/figures/interval.svg \
	results/figures/skmd-10-timeline-Histogram.svg \
	results/figures/skmd-10-timeline-MatrixMultiplication.svg \
	results/figures/skmd-10-timeline-VectorAdd.svg \
	results/figures/skmd-7-tables.svg \
	results/figures/skmd-8-timeline-Example.svg \
	results/figures/skmd-9-gains.svg \
	results/figures/skmd-9-groups.svg \
	results/figures/skmd-gains.svg \
	results/figures/skmd-groups.svg \
	results/figures/skmd-timeline-scan.svg \
	results/figures/skmd-timeline.svg \
	results/figures/tiles-queue.svg \
	results/figures/tiles-rates.svg \
	results/figures/tiles-tiles.svg \
	results/figures/wave.svg

EXTRA_DIST += doc/architecture.dot

# Made from the table of variables (tests/tools/info.sh says when it is out of date), and by
# graphviz's dot.
update-doc: bin/heddle-info
	bin/heddle-info --man >$(srcdir)/doc/variables.md
	dot -Tsvg $(srcdir)/doc/architecture.dot >$(srcdir)/doc/architecture.svg.tmp && \
		mv $(srcdir)/doc/architecture.svg.tmp $(srcdir)/doc/architecture.svg
.PHONY: update-doc

# Man pages, made of what the programs say of themselves. An archive has them ready.
subcommands = app bench estimate info opencl overhead plan plot run sample simulate trace
subcommand_pages = $(subcommands:%=doc/man/heddle-%.1)
man_pages = doc/man/heddle.1 doc/man/heddle.7 $(subcommand_pages)
EXTRA_DIST += $(man_pages)
if HAVE_MAN_PAGES
if !USE_SIMGRID
# Where workers are simulated, programs want a machine before they tell about themselves.
man_MANS = $(man_pages)
endif
endif
CLEANFILES += $(man_pages)
# help2man takes "heddle NAME" for a name of two words. Without it pages stay as they are.
page = $(AM_V_GEN)test '$(HELP2MAN)' = no || { $(MKDIR_P) doc/man && $(HELP2MAN) -N \
	--source='Heddle $(PACKAGE_VERSION)' --version-string='$(PACKAGE_VERSION)'
# It lists the subcommands that are there.
doc/man/heddle.1: bin/heddle $(pkglibexec_PROGRAMS) $(pkglibexec_SCRIPTS)
	$(page) -n 'loops, kernels and task graphs over all processors' bin/heddle >$@.tmp && \
		mv $@.tmp $@; }
$(subcommand_pages): doc/man/heddle-%.1: bin/heddle $(pkglibexec_PROGRAMS) $(pkglibexec_SCRIPTS)
	$(page) -n "`bin/heddle --help | $(SED) -n 's/^  $*  *//p'`" 'bin/heddle $*' >$@.tmp && \
		$(SED) -e '/^\.TH/s/"1"/1/; /^\.TH/s/HEDDLE/heddle-$*/' \
			-e 's/^heddle *$* *\\-/heddle-$* \\-/' $@.tmp >$@; rm -f $@.tmp; }
doc/man/heddle.7: bin/man_page
	$(AM_V_GEN)$(MKDIR_P) doc/man && bin/man_page >$@.tmp && mv $@.tmp $@

# The reference of the public headers, doc/reference/html.
if HAVE_DOXYGEN
reference: doc/Doxyfile
	rm -rf doc/reference
	$(DOXYGEN) doc/Doxyfile
else
reference:
	@echo 'no reference: no doxygen was found by configure'
endif
.PHONY: reference

check_PROGRAMS += doc/examples/axpy doc/examples/batch doc/examples/csr doc/examples/estimate \
	doc/examples/function doc/examples/integral doc/examples/lcs doc/examples/sweeps
doc_examples_axpy_LDADD = libheddle.la $(STARPU_LIBS)
doc_examples_batch_LDADD = libheddle.la $(STARPU_LIBS)
doc_examples_csr_LDADD = libheddle.la $(STARPU_LIBS)
doc_examples_estimate_LDADD = libheddle.la $(STARPU_LIBS)
doc_examples_function_LDADD = libheddle.la $(STARPU_LIBS)
doc_examples_integral_LDADD = libheddle.la $(STARPU_LIBS) -lm
doc_examples_lcs_LDADD = libheddle.la $(STARPU_LIBS)
doc_examples_pieces_LDADD = libheddle-mpi.la libheddle.la $(STARPU_LIBS) $(MPI_LIBS) -lm
doc_examples_ranks_LDADD = libheddle-mpi.la libheddle.la $(STARPU_LIBS) $(MPI_LIBS)
doc_examples_sweeps_LDADD = libheddle.la $(STARPU_LIBS)
if !USE_SIMGRID
TESTS += doc/examples/batch doc/examples/csr doc/examples/function doc/examples/integral doc/examples/lcs \
	doc/examples/sweeps
endif

# What is installed serves a program that knows only pkg-config.
installcheck-local:
	@echo '  CHECK    the installed library, with doc/examples/axpy.c'; \
	PKG_CONFIG_PATH='$(DESTDIR)$(pkgconfigdir):$(PKG_CONFIG_PATH)'; export PKG_CONFIG_PATH; \
	flags=`$(PKG_CONFIG) --cflags --libs heddle` && \
	$(CC) -o installed-axpy '$(srcdir)/doc/examples/axpy.c' $$flags \
		'-Wl,-rpath,$(libdir)' '-Wl,-rpath,$(starpu_libdir)' || exit 1
if !USE_SIMGRID
	'$(srcdir)/tests/run' ./installed-axpy
if USE_OPENCL
	@test -n '$(DESTDIR)' || test ! -e '$(designsdir)/histogram.fpga' || { \
		echo '  CHECK    the installed driver and design, with the histogram'; \
		OCL_ICD_VENDORS='$(pkgdatadir)/heddle-fpga.icd' STARPU_NOPENCL=1 '$(srcdir)/tests/run' \
			'$(appsdir)/histogram' --size 300001 --workers fpga --sched hdss --verify; }
endif
endif
	rm -f installed-axpy
