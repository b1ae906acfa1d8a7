# The manual.

dist_doc_DATA += \
	doc/apps.md \
	doc/codelets.md \
	doc/estimator.md \
	doc/fpga.md \
	doc/kernels.md \
	doc/loops.md \
	doc/measured.md \
	doc/measuring.md \
	doc/policies.md \
	doc/strategies.md \
	doc/variables.md \
	doc/wavefronts.md

# Where the pages look for them.
examplesdir = $(docdir)/examples
dist_examples_DATA = \
	doc/examples/axpy.c \
	doc/examples/estimate.c \
	doc/examples/lcs.c
figuresdir = $(docdir)/figures
dist_figures_DATA = \
	doc/figures/altix-blackscholes.svg \
	doc/figures/altix-histogram.svg \
	doc/figures/h200-blocks.svg \
	doc/figures/interval-floyd.svg \
	doc/figures/interval-strmatch.svg \
	doc/figures/interval.svg \
	doc/figures/skmd-gains.svg \
	doc/figures/skmd-groups.svg \
	doc/figures/skmd-timeline-scan.svg \
	doc/figures/skmd-timeline.svg \
	doc/figures/tiles-queue.svg \
	doc/figures/tiles-rates.svg \
	doc/figures/tiles-tiles.svg \
	doc/figures/wave.svg

# Made from the table of variables; tests/tools/info.sh says when it is out of date.
update-doc: bin/heddle-info
	bin/heddle-info --man >$(srcdir)/doc/variables.md
.PHONY: update-doc

check_PROGRAMS += doc/examples/axpy doc/examples/estimate doc/examples/lcs
doc_examples_axpy_LDADD = libheddle.la $(STARPU_LIBS)
doc_examples_estimate_LDADD = libheddle.la $(STARPU_LIBS)
doc_examples_lcs_LDADD = libheddle.la $(STARPU_LIBS)
if !USE_SIMGRID
TESTS += doc/examples/lcs
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
