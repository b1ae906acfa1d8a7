# The public headers, and nothing else.

heddleincludedir = $(includedir)/heddle
heddleinclude_HEADERS = \
	include/heddle/clock.h \
	include/heddle/dependence.h \
	include/heddle/estimate.h \
	include/heddle/heddle.h \
	include/heddle/heddle.hpp \
	include/heddle/kernel.h \
	include/heddle/kind.h \
	include/heddle/loop.h \
	include/heddle/memory.h \
	include/heddle/policy.h \
	include/heddle/strategy.h \
	include/heddle/stream.h \
	include/heddle/wavefront.h
if HAVE_MPI
heddleinclude_HEADERS += include/heddle/mpi.h
else
EXTRA_DIST += include/heddle/mpi.h
endif
