# What work costs, and descriptions of machines.

libheddle_pure_la_SOURCES += \
	estimator/bandit.c \
	estimator/bandit.h \
	estimator/block_time.c \
	estimator/block_time.h \
	estimator/cold.c \
	estimator/cold.h \
	estimator/history.c \
	estimator/history.h \
	estimator/knn.c \
	estimator/knn.h \
	estimator/platform.c \
	estimator/platform.h \
	estimator/profile.c \
	estimator/profile.h \
	estimator/profile_file.c \
	estimator/profile_file.h \
	estimator/profile_store.c \
	estimator/profile_store.h \
	estimator/range.c \
	estimator/range.h \
	estimator/rate_fit.c \
	estimator/rate_fit.h \
	estimator/robust.c \
	estimator/robust.h \
	estimator/surface.c \
	estimator/surface.h
libheddle_la_SOURCES += \
	estimator/device_class_starpu.c \
	estimator/estimate_starpu.c \
	estimator/estimate_starpu.h \
	estimator/platform_starpu.c \
	estimator/platform_starpu.h \
	estimator/sources_starpu.c \
	estimator/table_starpu.c \
	estimator/table_starpu.h
