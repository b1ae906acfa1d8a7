# How work is cut: strategies, loops, wavefronts, kernels.

# blocks/: block strategies
libheddle_pure_la_SOURCES += \
	partition/blocks/blocks.c \
	partition/blocks/css.c \
	partition/blocks/fss.c \
	partition/blocks/gss.c \
	partition/blocks/hdss.c \
	partition/blocks/hdss.h \
	partition/blocks/hdss_share.c \
	partition/blocks/incremental.c \
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
	partition/common/home_starpu.c \
	partition/common/home_starpu.h \
	partition/common/task_starpu.c \
	partition/common/task_starpu.h \
	partition/common/workers_starpu.c \
	partition/common/workers_starpu.h

# loop/: loops
libheddle_pure_la_SOURCES += \
	partition/loop/ranges.c \
	partition/loop/ranges.h \
	partition/loop/rates.c \
	partition/loop/rates.h \
	partition/loop/room.h \
	partition/loop/window.h
libheddle_la_SOURCES += \
	partition/loop/block_starpu.c \
	partition/loop/done_starpu.c \
	partition/loop/give_starpu.c \
	partition/loop/log_starpu.c \
	partition/loop/loop_private.h \
	partition/loop/loop_starpu.c \
	partition/loop/modelled_starpu.c \
	partition/loop/room_starpu.c \
	partition/loop/view_starpu.c \
	partition/loop/warm_starpu.c

# kernel/: OpenCL kernels
libheddle_pure_la_SOURCES += \
	partition/kernel/affine.c \
	partition/kernel/affine.h \
	partition/kernel/analysis.c \
	partition/kernel/analysis.h \
	partition/kernel/conditions.c \
	partition/kernel/conditions.h \
	partition/kernel/costs.c \
	partition/kernel/costs.h \
	partition/kernel/direct.c \
	partition/kernel/direct.h \
	partition/kernel/exit_source.c \
	partition/kernel/guards.c \
	partition/kernel/guards.h \
	partition/kernel/hash.h \
	partition/kernel/index.c \
	partition/kernel/index.h \
	partition/kernel/index_classes.c \
	partition/kernel/index_ops.h \
	partition/kernel/index_private.h \
	partition/kernel/index_text.c \
	partition/kernel/index_values.c \
	partition/kernel/merge.c \
	partition/kernel/merge.h \
	partition/kernel/ndrange.c \
	partition/kernel/ndrange.h \
	partition/kernel/options.c \
	partition/kernel/options.h \
	partition/kernel/outcomes.c \
	partition/kernel/outcomes.h \
	partition/kernel/pieces.c \
	partition/kernel/pieces.h \
	partition/kernel/records.c \
	partition/kernel/records.h \
	partition/kernel/split.c \
	partition/kernel/split.h \
	partition/kernel/split_methods.c \
	partition/kernel/split_private.h \
	partition/kernel/table.c \
	partition/kernel/table.h
libheddle_la_SOURCES += \
	partition/kernel/arguments_starpu.c \
	partition/kernel/blocks_starpu.c \
	partition/kernel/buses.c \
	partition/kernel/buses.h \
	partition/kernel/buses_starpu.c \
	partition/kernel/buses_starpu.h \
	partition/kernel/device_private.h \
	partition/kernel/device_starpu.c \
	partition/kernel/direct_starpu.c \
	partition/kernel/forms_starpu.c \
	partition/kernel/kernel_private.h \
	partition/kernel/kernel_starpu.c \
	partition/kernel/known_starpu.c \
	partition/kernel/parts_starpu.c \
	partition/kernel/pieces_starpu.c \
	partition/kernel/shapes_starpu.c \
	partition/kernel/shared_memory_starpu.c \
	partition/kernel/shares_starpu.c \
	partition/kernel/stored_starpu.c \
	partition/kernel/transfer_starpu.c

# wavefront/: loops with dependences
libheddle_pure_la_SOURCES += \
	partition/wavefront/choice.c \
	partition/wavefront/choice.h \
	partition/wavefront/cost.c \
	partition/wavefront/cost.h \
	partition/wavefront/crew.c \
	partition/wavefront/crew.h \
	partition/wavefront/interval.c \
	partition/wavefront/interval.h \
	partition/wavefront/pieces.c \
	partition/wavefront/pieces.h \
	partition/wavefront/rehearsal.c \
	partition/wavefront/rehearsal.h \
	partition/wavefront/tiles.c \
	partition/wavefront/tiles.h \
	partition/wavefront/vectors.c \
	partition/wavefront/vectors.h
libheddle_la_SOURCES += \
	partition/wavefront/array_starpu.c \
	partition/wavefront/known_starpu.c \
	partition/wavefront/log_starpu.c \
	partition/wavefront/measure_starpu.c \
	partition/wavefront/message_starpu.c \
	partition/wavefront/plan_starpu.c \
	partition/wavefront/strip_starpu.c \
	partition/wavefront/tile_starpu.c \
	partition/wavefront/wavefront_private.h \
	partition/wavefront/wavefront_starpu.c
