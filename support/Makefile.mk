# What every part needs: variables, messages, clocks, versions.

libheddle_pure_la_SOURCES += \
	support/cgroup.c \
	support/cgroup.h \
	support/helgrind.h \
	support/home.c \
	support/home.h \
	support/kind.c \
	support/kind.h \
	support/log.c \
	support/log.h \
	support/message.c \
	support/message.h \
	support/name.c \
	support/name.h \
	support/number.c \
	support/number.h \
	support/output.c \
	support/output.h \
	support/place.c \
	support/place.h \
	support/progress.c \
	support/progress.h \
	support/pins.c \
	support/pins.h \
	support/starpu_compat.h \
	support/sysfs.c \
	support/sysfs.h \
	support/variables.c \
	support/variables_check.c \
	support/variables.def \
	support/variables.h \
	support/version.c
libheddle_la_SOURCES += \
	support/layout_starpu.c \
	support/layout_starpu.h \
	support/clock_starpu.c \
	support/clock_starpu.h \
	support/library_starpu.c \
	support/memory_starpu.c \
	support/pin_starpu.c \
	support/pin_starpu.h
