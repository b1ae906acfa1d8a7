# How work is cut: strategies, loops, wavefronts, kernels.

# blocks/: block strategies
libheddle_pure_la_SOURCES += \
	partition/blocks/af.c \
	partition/blocks/auto.c \
	partition/blocks/awf.c \
	partition/blocks/blocks.c \
	partition/blocks/costs.c \
	partition/blocks/costs.h \
	partition/blocks/css.c \
	partition/blocks/fss.c \
	partition/blocks/gss.c \
	partition/blocks/hdss.c \
	partition/blocks/hdss.h \
	partition/blocks/hdss_crew.c \
	partition/blocks/hdss_lumps.c \
	partition/blocks/hdss_share.c \
	partition/blocks/hdss_memory.c \
	partition/blocks/hdss_own.c \
	partition/blocks/hdss_uneven.c \
	partition/blocks/incremental.c \
	partition/blocks/logfit.c \
	partition/blocks/memory.h \
	partition/blocks/plbhec.c \
	partition/blocks/replay.c \
	partition/blocks/replay.h \
	partition/blocks/shares.c \
	partition/blocks/spec.c \
	partition/blocks/strategy.h \
	partition/blocks/tss.c

# common/: what loops, wavefronts and kernels share of StarPU
libheddle_la_SOURCES += \
	partition/common/array_starpu.c \
	partition/common/array_starpu.h \
	partition/common/control_starpu.c \
	partition/common/control_starpu.h \
	partition/common/task_starpu.c \
	partition/common/task_starpu.h \
	partition/common/workers_starpu.c \
	partition/common/workers_starpu.h

# loop/: loops
libheddle_pure_la_SOURCES += \
	partition/loop/late.c \
	partition/loop/late.h \
	partition/loop/ranges.c \
	partition/loop/ranges.h \
	partition/loop/rates.c \
	partition/loop/rates.h \
	partition/loop/window.c \
	partition/loop/window.h
libheddle_la_SOURCES += \
	partition/loop/block_starpu.c \
	partition/loop/late_starpu.c \
	partition/loop/lock_starpu.c \
	partition/loop/loop_private.h \
	partition/loop/loop_starpu.c \
	partition/loop/memory_starpu.c \
	partition/loop/rates_starpu.c \
	partition/loop/part.h \
	partition/loop/part_starpu.c \
	partition/loop/run_starpu.c \
	partition/loop/view_starpu.c

# stream/: filters and streams
libheddle_pure_la_SOURCES += \
	partition/stream/queues.c \
	partition/stream/queues.h
libheddle_la_SOURCES += \
	partition/stream/event_starpu.c \
	partition/stream/flow_private.h \
	partition/stream/flow_starpu.c \
	partition/stream/run_starpu.c

# mpi/: loops and flows over the ranks of an MPI program. The pure parts are built everywhere.
noinst_LTLIBRARIES += libheddle-mpi-pure.la
libheddle_mpi_pure_la_CPPFLAGS = $(PURE_CPPFLAGS) $(HWLOC_CFLAGS)
libheddle_mpi_pure_la_SOURCES = \
	partition/mpi/agreement.c \
	partition/mpi/agreement.h \
	partition/mpi/claims.c \
	partition/mpi/claims.h \
	partition/mpi/demand.c \
	partition/mpi/demand.h \
	partition/mpi/flow_agreement.c \
	partition/mpi/flow_agreement.h \
	partition/mpi/gains.c \
	partition/mpi/gains.h \
	partition/mpi/layout.c \
	partition/mpi/layout.h \
	partition/mpi/message.h \
	partition/mpi/place.c \
	partition/mpi/place.h \
	partition/mpi/protocol.h \
	partition/mpi/steals.c \
	partition/mpi/steals.h \
	partition/mpi/watch.c \
	partition/mpi/watch.h \
	partition/mpi/wavefront_agreement.c \
	partition/mpi/wavefront_agreement.h \
	partition/mpi/wavefront_deal.c \
	partition/mpi/wavefront_deal.h \
	partition/stream/queues.c \
	partition/stream/queues.h \
	partition/wavefront/model.c \
	partition/wavefront/model.h \
	sched_policies/dqaa.c \
	sched_policies/dqaa.h \
	sched_policies/pool.c \
	sched_policies/pool.h
if HAVE_MPI
lib_LTLIBRARIES += libheddle-mpi.la
endif
libheddle_mpi_la_CPPFLAGS = $(AM_CPPFLAGS)
libheddle_mpi_la_SOURCES = $(mpi_glue) \
	support/message.c \
	support/name.c \
	support/number.c \
	support/variables.c \
	support/variables_check.c
mpi_glue = \
	partition/mpi/agree_mpi.c \
	partition/mpi/agree_mpi.h \
	partition/mpi/agree_starpu.c \
	partition/mpi/array_starpu.c \
	partition/mpi/bell.c \
	partition/mpi/bell.h \
	partition/mpi/flow_starpu.c \
	partition/mpi/halo_mpi.c \
	partition/mpi/halo_mpi.h \
	partition/mpi/flow_types_starpu.c \
	partition/mpi/flow_types_starpu.h \
	partition/mpi/link_mpi.c \
	partition/mpi/link_mpi.h \
	partition/mpi/loans_starpu.c \
	partition/mpi/loans_starpu.h \
	partition/mpi/loop_starpu.c \
	partition/mpi/node_private.h \
	partition/mpi/range_starpu.c \
	partition/mpi/run_starpu.c \
	partition/mpi/run_starpu.h \
	partition/mpi/share_mpi.c \
	partition/mpi/start_starpu.c \
	partition/mpi/wavefront_array_starpu.c \
	partition/mpi/wavefront_cost_starpu.c \
	partition/mpi/wavefront_node.h \
	partition/mpi/wavefront_starpu.c \
	partition/mpi/world.h \
	partition/mpi/world_mpi.c
# The same for simulated machines, linked into programs.
if HAVE_SMPI
noinst_LTLIBRARIES += libheddle-smpi.la
endif
libheddle_smpi_la_CPPFLAGS = $(AM_CPPFLAGS) $(SMPI_CPPFLAGS)
libheddle_smpi_la_SOURCES = $(mpi_glue)
SMPI_CPPFLAGS = -isystem $(smpi_includedir)/smpi -include $(smpi_includedir)/smpi/smpi_helpers.h
# What programs for SMPI are linked with. They do not call themselves what -u brings: policies, and
# what StarPU asks.
smpi_libraries = libheddle-smpi.la libheddle-mpi-pure.la libheddle.la
smpi_ldadd = -Wl,-u,heddle_init_begin -Wl,-u,starpu_mpi_world_rank -Wl,--start-group \
	.libs/libheddle-smpi.a .libs/libheddle-mpi-pure.a .libs/libheddle.a -Wl,--end-group \
	$(SMPI_LIBS) $(HWLOC_LIBS) $(JANSSON_LIBS) -ldl
# Not libheddle.la: libtool would link anew, and only for one folder, when it is installed.
libheddle_mpi_la_LIBADD = libheddle-mpi-pure.la $(STARPU_LIBS) $(MPI_LIBS) $(HWLOC_LIBS)
if HAVE_FUT
libheddle_mpi_la_LIBADD += $(FXT_LIBS)
endif
libheddle_mpi_la_LDFLAGS = $(AM_LDFLAGS) -version-info $(HEDDLE_VERSION_INFO) \
	-Wl,$(abs_top_builddir)/.libs/libheddle.so -Wl,-rpath,'$$ORIGIN' \
	-Wl,--version-script=$(srcdir)/libheddle-mpi.map
if !SANITIZED
libheddle_mpi_la_LDFLAGS += -no-undefined -Wl,-z,defs
endif
libheddle_mpi_la_DEPENDENCIES = libheddle-mpi-pure.la libheddle.la libheddle-mpi.map

# kernel/: OpenCL kernels: what a range of their groups touches (access/), who computes how
# much (split/), and how that is launched (launch/)
libheddle_pure_la_SOURCES += \
	partition/kernel/access/affine.c \
	partition/kernel/access/affine.h \
	partition/kernel/access/analysis.c \
	partition/kernel/access/analysis.h \
	partition/kernel/access/conditions.c \
	partition/kernel/access/conditions.h \
	partition/kernel/access/guards.c \
	partition/kernel/access/guards.h \
	partition/kernel/access/includes.c \
	partition/kernel/access/includes.h \
	partition/kernel/access/index.c \
	partition/kernel/access/index.h \
	partition/kernel/access/index_text.c \
	partition/kernel/access/contents.c \
	partition/kernel/access/index_values.c \
	partition/kernel/access/index_values.h \
	partition/kernel/access/ndrange.c \
	partition/kernel/access/ndrange.h \
	partition/kernel/access/options.c \
	partition/kernel/access/options.h \
	partition/kernel/access/pasted.c \
	partition/kernel/access/pasted.h \
	partition/kernel/access/published.c \
	partition/kernel/access/published.h \
	partition/kernel/access/source_text.c \
	partition/kernel/access/source_text.h \
	partition/kernel/access/spans.c \
	partition/kernel/access/spans.h \
	partition/kernel/access/windows.c \
	partition/kernel/access/windows.h \
	partition/kernel/split/arms.c \
	partition/kernel/split/arms.h \
	partition/kernel/split/choice.c \
	partition/kernel/split/choice.h \
	partition/kernel/split/records.c \
	partition/kernel/split/records.h \
	partition/kernel/split/split.c \
	partition/kernel/split/split.h \
	partition/kernel/split/split_methods.c \
	partition/kernel/split/table.c \
	partition/kernel/split/table.h \
	partition/kernel/launch/direct.h
libheddle_la_SOURCES += \
	partition/kernel/split/buses.c \
	partition/kernel/split/buses.h \
	partition/kernel/split/buses_starpu.c \
	partition/kernel/split/buses_starpu.h \
	partition/kernel/launch/ahead.h \
	partition/kernel/launch/answers.c \
	partition/kernel/launch/answers.h \
	partition/kernel/launch/arguments_starpu.c \
	partition/kernel/launch/blocks_starpu.c \
	partition/kernel/launch/cache_starpu.c \
	partition/kernel/launch/cache_starpu.h \
	partition/kernel/launch/chunks_starpu.c \
	partition/kernel/launch/device_starpu.c \
	partition/kernel/launch/device_starpu.h \
	partition/kernel/launch/forms_starpu.c \
	partition/kernel/launch/images_starpu.c \
	partition/kernel/launch/kept_starpu.c \
	partition/kernel/launch/kept_starpu.h \
	partition/kernel/launch/kernel_starpu.c \
	partition/kernel/launch/parts_starpu.c \
	partition/kernel/launch/request_starpu.h \
	partition/kernel/launch/shapes_starpu.c \
	partition/kernel/launch/shares_starpu.c \
	partition/kernel/launch/transfer_starpu.c

# wavefront/: loops with dependences
libheddle_pure_la_SOURCES += \
	partition/wavefront/balance.c \
	partition/wavefront/balance.h \
	partition/wavefront/calibration.c \
	partition/wavefront/calibration.h \
	partition/wavefront/choice.c \
	partition/wavefront/choice.h \
	partition/wavefront/cost.c \
	partition/wavefront/cost.h \
	partition/wavefront/model.c \
	partition/wavefront/model.h \
	partition/wavefront/simulation.c \
	partition/wavefront/simulation.h \
	partition/wavefront/team.c \
	partition/wavefront/team.h \
	partition/wavefront/tiles.c \
	partition/wavefront/tiles.h
libheddle_la_SOURCES += \
	partition/wavefront/array_starpu.c \
	partition/wavefront/balance_starpu.c \
	partition/wavefront/calibration_starpu.c \
	partition/wavefront/history_starpu.c \
	partition/wavefront/message_starpu.c \
	partition/wavefront/part.h \
	partition/wavefront/part_starpu.c \
	partition/wavefront/plan_starpu.c \
	partition/wavefront/run_starpu.c \
	partition/wavefront/setup_starpu.c \
	partition/wavefront/tile_starpu.c \
	partition/wavefront/wavefront_private.h \
	partition/wavefront/wavefront_starpu.c

# opencl/: a layer for the ICD loader, under which programs that know nothing of Heddle compute on
# all devices
if USE_OPENCL
pkglib_LTLIBRARIES += libheddle-opencl.la
endif
libheddle_opencl_la_SOURCES = \
	partition/opencl/binary.c \
	partition/opencl/context.c \
	partition/opencl/dispatch.c \
	partition/opencl/engine.c \
	partition/opencl/enqueue.c \
	partition/opencl/event.c \
	partition/opencl/image.c \
	partition/opencl/kernel.c \
	partition/opencl/launch.c \
	partition/opencl/layer.h \
	partition/opencl/memory.c \
	partition/opencl/passed.c \
	partition/opencl/platform.c \
	partition/opencl/prepare_starpu.c \
	partition/opencl/program.c \
	partition/opencl/record.c \
	partition/opencl/refused.c \
	partition/opencl/split.h \
	partition/opencl/split_starpu.c
libheddle_opencl_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden
# Not libheddle.la, as above. It lies beside this one here, and a folder above once installed.
libheddle_opencl_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -Wl,-z,nodelete \
	-Wl,$(abs_top_builddir)/.libs/libheddle.so -Wl,-rpath,'$$ORIGIN:$$ORIGIN/..' \
	-export-symbols-regex '^cl(GetLayerInfo|InitLayer|InitLayerWithProperties|DeinitLayer)$$'
libheddle_opencl_la_LIBADD = libheddle-pure.la $(STARPU_LIBS)
libheddle_opencl_la_DEPENDENCIES = libheddle-pure.la libheddle.la
