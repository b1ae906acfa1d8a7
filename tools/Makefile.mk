# The command heddle, its subcommands, and the scripts of the source tree.

# Beside the programs, so that a build tree works wherever it is copied to.
dist_pkgdata_DATA += tools/platforms
noinst_DATA += bin/platforms
bin/platforms: tools/platforms
	$(AM_V_GEN)$(MKDIR_P) bin && cp $(srcdir)/tools/platforms $@
CLEANFILES += bin/platforms

# What several tools share; pure.
noinst_LTLIBRARIES += libtools.la
libtools_la_CPPFLAGS = $(PURE_CPPFLAGS) $(JANSSON_CFLAGS) \
	-DHEDDLE_PKGLIBEXECDIR='"$(pkglibexecdir)"' -DHEDDLE_PKGDATADIR='"$(pkgdatadir)"' \
	-DHEDDLE_PKGLIBDIR='"$(pkglibdir)"' -DHEDDLE_LIBDIR='"$(libdir)"' \
	-DHEDDLE_BINDIR='"$(bindir)"' -DHEDDLE_PREFIX='"$(prefix)"'
libtools_la_SOURCES = \
	tools/common/cross_validation.c \
	tools/common/cross_validation.h \
	support/options.c \
	support/options.h \
	tools/common/json_file.c \
	tools/common/json_file.h \
	tools/common/machine.c \
	tools/common/machine.h \
	tools/common/models.c \
	tools/common/models.h \
	tools/common/place.c \
	tools/common/place.h \
	tools/common/simulation.c \
	tools/common/simulation.h \
	tools/common/split_table.c \
	tools/common/split_table.h
libtools_la_LIBADD = libheddle-pure.la $(JANSSON_LIBS)

bin_PROGRAMS += bin/heddle
bin_heddle_SOURCES = \
	tools/heddle.c \
	tools/plan.c \
	tools/plan.h \
	tools/plan_blocks.c \
	tools/plan_interval.c \
	tools/plan_kernels.c \
	tools/plan_skmd.c \
	tools/plan_split.c
bin_heddle_CPPFLAGS = $(libtools_la_CPPFLAGS)
bin_heddle_LDADD = libtools.la

pkglibexec_PROGRAMS += bin/heddle-bench
bin_heddle_bench_SOURCES = \
	tools/bench/bench.h \
	tools/bench/bound.c \
	tools/bench/bound.h \
	tools/bench/clusters.c \
	tools/bench/clusters.h \
	tools/bench/contenders.c \
	tools/bench/costs.c \
	tools/bench/figures.c \
	tools/bench/irregular.c \
	tools/bench/measure.c \
	tools/bench/memory.c \
	tools/bench/process.c \
	tools/bench/program.c \
	tools/bench/ranks.c \
	tools/bench/record.h \
	tools/bench/report.c \
	tools/heddle-bench.c
bin_heddle_bench_CPPFLAGS = $(AM_CPPFLAGS) -DHEDDLE_STARPU_SERIES='"$(starpu_series)"'
bin_heddle_bench_LDADD = libtools.la libheddle-mpi-pure.la $(GLPK_LIBS)

# What it preloads into programs that know nothing of Heddle.
pkglib_LTLIBRARIES += libheddle-record.la
libheddle_record_la_SOURCES = \
	tools/bench/orders.h \
	tools/bench/orders_starpu.c \
	tools/bench/record.h \
	tools/bench/record_starpu.c
libheddle_record_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden -fno-sanitize=all
libheddle_record_la_LDFLAGS = -module -avoid-version

pkglibexec_PROGRAMS += bin/heddle-estimate
bin_heddle_estimate_SOURCES = \
	tools/estimate/cv.c \
	tools/estimate/estimate.h \
	tools/estimate/predict.c \
	tools/estimate/table.c \
	tools/heddle-estimate.c
bin_heddle_estimate_LDADD = libtools.la

pkglibexec_PROGRAMS += bin/heddle-info
bin_heddle_info_SOURCES = tools/heddle-info_starpu.c tools/info.c tools/info.h
bin_heddle_info_LDADD = libtools.la libheddle.la libheddle-pure.la $(STARPU_LIBS) $(JANSSON_LIBS)

noinst_PROGRAMS = bin/man_page
bin_man_page_SOURCES = tools/man_page.c tools/info.c tools/info.h
bin_man_page_LDADD = libtools.la

pkglibexec_PROGRAMS += bin/heddle-opencl
bin_heddle_opencl_SOURCES = tools/heddle-opencl.c
bin_heddle_opencl_LDADD = libtools.la

pkglibexec_PROGRAMS += bin/heddle-overhead
bin_heddle_overhead_SOURCES = \
	tools/bench/bench.h \
	tools/bench/memory.c \
	support/stock.h \
	support/stock_starpu.c \
	tools/heddle-overhead_starpu.c
bin_heddle_overhead_LDADD = libtools.la libheddle.la libheddle-pure.la $(STARPU_LIBS) $(JANSSON_LIBS)

pkglibexec_PROGRAMS += bin/heddle-run
bin_heddle_run_SOURCES = support/stock.h support/stock_starpu.c tools/heddle-run.c
bin_heddle_run_CPPFLAGS = $(AM_CPPFLAGS) -DHEDDLE_STARPU_SERIES='"$(starpu_series)"'
bin_heddle_run_LDADD = libtools.la $(STARPU_LIBS)

pkglibexec_PROGRAMS += bin/heddle-sample
bin_heddle_sample_SOURCES = tools/heddle-sample_starpu.c
bin_heddle_sample_LDADD = libtools.la libbodies.a $(apps_ldadd)

pkglibexec_PROGRAMS += bin/heddle-simulate
bin_heddle_simulate_SOURCES = tools/heddle-simulate.c
bin_heddle_simulate_LDADD = libtools.la

if HAVE_LLVM
pkglibexec_PROGRAMS += bin/heddle-analyse
endif
bin_heddle_analyse_SOURCES = \
	tools/heddle-analyse.c \
	tools/analyse/accesses.c \
	tools/analyse/analyse.h \
	tools/analyse/blocks.c \
	tools/analyse/nodes.c \
	tools/analyse/pointers.c \
	tools/analyse/values.c
bin_heddle_analyse_CPPFLAGS = $(PURE_CPPFLAGS) $(LLVM_CFLAGS) -DCLANG='"$(CLANG)"'
bin_heddle_analyse_LDADD = libheddle-pure.la $(LLVM_LIBS)

# Scripts that know where StarPU's tools are, and other files. They are filled in anew when they
# are installed: the folder may be another one.
fill_script = $(SED) -e 's|[@]STARPU_BINDIR@|$(starpu_libdir)/../bin|' \
	-e 's|[@]PKGLIBDIR@|$(pkglibdir)|; s|[@]PKGDATADIR@|$(pkgdatadir)|' \
	-e 's|[@]BINDIR@|$(bindir)|'
bin/heddle-trace: tools/heddle-trace.in Makefile
	$(AM_V_GEN)$(MKDIR_P) bin && $(fill_script) $(srcdir)/tools/heddle-trace.in >$@.tmp && chmod +x $@.tmp && mv $@.tmp $@
bin/heddle-plot: tools/heddle-plot.in Makefile
	$(AM_V_GEN)$(MKDIR_P) bin && $(fill_script) $(srcdir)/tools/heddle-plot.in >$@.tmp && chmod +x $@.tmp && mv $@.tmp $@
install-exec-hook:
	for script in plot trace; do \
		$(fill_script) $(srcdir)/tools/heddle-$$script.in \
			>'$(DESTDIR)$(pkglibexecdir)'/heddle-$$script || exit 1; \
	done
pkglibexec_SCRIPTS += bin/heddle-plot bin/heddle-trace
CLEANFILES += bin/heddle-plot bin/heddle-trace
EXTRA_DIST += tools/heddle-plot.in tools/heddle-trace.in

plotdir = $(pkgdatadir)/plot
dist_plot_DATA = \
	tools/plot/blocks.gp \
	tools/plot/errors.gp \
	tools/plot/finish.gp \
	tools/plot/gains.gp \
	tools/plot/groups.gp \
	tools/plot/interval.gp \
	tools/plot/machines.gp \
	tools/plot/queue.gp \
	tools/plot/rates.gp \
	tools/plot/shares.gp \
	tools/plot/speedup.gp \
	tools/plot/style.gp \
	tools/plot/tables.gp \
	tools/plot/tiles.gp \
	tools/plot/timeline.gp \
	tools/plot/times.gp \
	tools/plot/wave.gp
bin/plot/stamp: $(dist_plot_DATA)
	$(AM_V_GEN)$(MKDIR_P) bin/plot && for f in $(dist_plot_DATA); do \
		cp $(srcdir)/$$f bin/plot/ || exit 1; done && touch $@
noinst_DATA += bin/plot/stamp
tracedir = $(pkgdatadir)/trace
dist_trace_DATA = tools/trace/picture.awk tools/trace/states.awk
bin/trace/stamp: $(dist_trace_DATA)
	$(AM_V_GEN)$(MKDIR_P) bin/trace && for f in $(dist_trace_DATA); do \
		cp $(srcdir)/$$f bin/trace/ || exit 1; done && touch $@
noinst_DATA += bin/trace/stamp
clean-local:
	rm -rf bin/plot bin/trace bin/fpga doc/reference tests/kernels
# tools/heddle is the launcher of the source tree, which a program of that name
# would overwrite in a build in place: the command heddle is built in bin/. Nor is
# the launcher what make would make of tools/heddle.c.
tools/heddle: ;
EXTRA_DIST += tools/check tools/common.sh tools/demo tools/heddle tools/setup tools/style
