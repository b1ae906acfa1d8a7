# The OpenCL driver of simulated FPGA boards, and the designs they run.

# Designs are built by `make fpga' and by `make check', where Verilator is.
noinst_LIBRARIES += libfpga.a
libfpga_a_SOURCES = fpga/design.h fpga/events.h fpga/run.c fpga/run.h
# The OpenCL driver. Its symbols are its own: those of the loader have the same names.
if USE_OPENCL
pkglib_LTLIBRARIES += libheddle-fpga.la
pkgdata_DATA = heddle-fpga.icd
endif
# Not into OpenCL's own folder: who wants simulated boards names this file.
heddle-fpga.icd: Makefile
	$(AM_V_GEN)echo '$(pkglibdir)/libheddle-fpga.so' >$@
CLEANFILES += heddle-fpga.icd
libheddle_fpga_la_SOURCES = fpga/icd/device.c fpga/icd/driver.c fpga/icd/event.c fpga/icd/icd.h \
	fpga/icd/memory.c fpga/icd/object.c fpga/icd/program.c fpga/icd/queue.c fpga/icd/transfer.c fpga/run.c
libheddle_fpga_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden
libheddle_fpga_la_LIBADD = libheddle-pure.la
libheddle_fpga_la_LDFLAGS = $(AM_LDFLAGS) -module -shared -avoid-version \
	-Wl,-Bsymbolic -Wl,--exclude-libs,ALL
design_files = bin/fpga/blackscholes.fpga bin/fpga/histogram.fpga
designs = $(design_files)
# What `make fpga' has built.
designsdir = $(pkglibdir)/fpga
install-data-local:
	@for f in $(design_files); do \
		test -e $$f || { echo "$$f was not built (make fpga): not installed"; continue; }; \
		$(MKDIR_P) '$(DESTDIR)$(designsdir)' && \
		$(INSTALL_DATA) $$f '$(DESTDIR)$(designsdir)' || exit 1; \
	done
uninstall-local:
	for f in $(design_files); do rm -f '$(DESTDIR)$(designsdir)'/`basename $$f`; done
	test ! -d '$(DESTDIR)$(designsdir)' || rmdir '$(DESTDIR)$(designsdir)'
EXTRA_DIST += fpga/build fpga/estimate fpga/wrapper.cpp \
	codelets/blackscholes/fpga.inc codelets/blackscholes/fpga.v \
	codelets/histogram/fpga.inc codelets/histogram/fpga.v
build_design = $(AM_V_GEN)$(MKDIR_P) bin/fpga && \
	VERILATOR='$(VERILATOR)' CXX='$(FPGA_CXX)' $(srcdir)/fpga/build
fpga_runtime = bin/fpga/runtime.a
$(fpga_runtime): fpga/build
	$(build_design) --runtime $@
design_parts = fpga/build fpga/design.h fpga/wrapper.cpp $(fpga_runtime)
bin/fpga/blackscholes.fpga: codelets/blackscholes/fpga.v codelets/blackscholes/fpga.inc $(design_parts)
	$(build_design) $(srcdir)/codelets/blackscholes/fpga.v $(srcdir)/codelets/blackscholes/fpga.inc $@ $(fpga_runtime)
bin/fpga/histogram.fpga: codelets/histogram/fpga.v codelets/histogram/fpga.inc $(design_parts)
	$(build_design) $(srcdir)/codelets/histogram/fpga.v $(srcdir)/codelets/histogram/fpga.inc $@ $(fpga_runtime)
# The drivers that OpenCL's loader finds with OCL_ICD_VENDORS=bin/fpga/vendors: the
# system's, and ours.
bin/fpga/vendors/heddle.icd: libheddle-fpga.la
	$(AM_V_GEN)$(MKDIR_P) bin/fpga/vendors && cp -f /etc/OpenCL/vendors/*.icd bin/fpga/vendors/ \
		2>/dev/null; echo '$(abs_builddir)/.libs/libheddle-fpga.so' >$@
if HAVE_VERILATOR
if USE_OPENCL
designs += bin/fpga/vendors/heddle.icd
endif
fpga: $(designs)
if !USE_SIMGRID
check_DATA += $(designs) $(broken_designs)
endif
else
fpga:
	@echo 'FPGA designs are left out: no verilator or no C++ compiler was found by configure'
endif
.PHONY: fpga
# What the designs take on a device, as yosys estimates it; minutes.
if HAVE_YOSYS
fpga-estimate:
	@for d in histogram blackscholes; do \
		YOSYS='$(YOSYS)' VERILATOR='$(VERILATOR)' CXX='$(FPGA_CXX)' $(srcdir)/fpga/estimate \
			$$d $(srcdir)/codelets/$$d/fpga.v bin/fpga/estimate-$$d || exit 1; \
	done
else
fpga-estimate:
	@echo 'no estimate: no yosys, or no verilator, was found by configure'
endif
.PHONY: fpga-estimate
