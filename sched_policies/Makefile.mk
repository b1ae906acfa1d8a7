# Scheduling policies of StarPU, and how programs come by them.

libheddle_pure_la_SOURCES += \
	sched_policies/area.c \
	sched_policies/area.h \
	sched_policies/dqaa.c \
	sched_policies/dqaa.h \
	sched_policies/gain.c \
	sched_policies/gain.h \
	sched_policies/gpu_workers.c \
	sched_policies/gpu_workers.h \
	sched_policies/graph.c \
	sched_policies/graph.h \
	sched_policies/heap.c \
	sched_policies/heap.h \
	sched_policies/plan.c \
	sched_policies/plan.h \
	sched_policies/pool.c \
	sched_policies/pool.h \
	sched_policies/registry.c \
	sched_policies/registry.h \
	sched_policies/ring.h \
	sched_policies/streams.c \
	sched_policies/streams.h
libheddle_la_SOURCES += \
	sched_policies/claims_starpu.c \
	sched_policies/claims_starpu.h \
	sched_policies/common_starpu.c \
	sched_policies/common_starpu.h \
	sched_policies/gpu_workers_starpu.c \
	sched_policies/policies.h \
	sched_policies/ready.h \
	sched_policies/ready_cores_starpu.c \
	sched_policies/ready_done_starpu.c \
	sched_policies/ready_local_starpu.c \
	sched_policies/ready_pace_starpu.c \
	sched_policies/ready_plan_starpu.c \
	sched_policies/ready_push_starpu.c \
	sched_policies/ready_queue_starpu.c \
	sched_policies/ready_starpu.c \
	sched_policies/ready_take_starpu.c \
	sched_policies/ready_transfer_starpu.c \
	sched_policies/ready_value_starpu.c \
	sched_policies/register_starpu.c \
	sched_policies/self_scheduling_starpu.c

# What `heddle run` puts into a process that may know no StarPU at all.
pkglib_LTLIBRARIES += libheddle-preload.la
libheddle_preload_la_SOURCES = sched_policies/preload.c sched_policies/preload.h \
	sched_policies/preload_swap.c support/layout_starpu.c support/layout_starpu.h
libheddle_preload_la_CPPFLAGS = $(AM_CPPFLAGS) -DHEDDLE_STARPU_SERIES='"$(starpu_series)"' \
	-DHEDDLE_SONAME='"$(HEDDLE_SONAME)"'
libheddle_preload_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden -fno-sanitize=all
libheddle_preload_la_LDFLAGS = -module -avoid-version
