/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A layer for the OpenCL ICD loader that shows a device "Heddle (all devices)".
 *
 * Every object of that device's contexts stands for a real object of one real device, its home. A
 * command is either computed at home, by the real objects, or is an NDRange that Heddle splits over
 * all devices (split_starpu.c). Commands wait for each other in the layer (engine.c), which hands
 * one after the other to home or to Heddle. Home gets the next ones before the first have ended
 * (passed.c); Heddle and copies within the host wait until all have.
 *
 * The loader hands all of the process's calls to the layer, also those of StarPU and of Heddle.
 * Objects tell whose a call is: the layer's point to `layer_objects`, as the loader demands that
 * objects point to the table of who made them. Calls about other objects go on to the real OpenCL.
 * So StarPU, which works on real objects, gets the real OpenCL. Only calls that begin with no
 * object could go astray: those that list platforms. StarPU makes them while it starts, in the
 * thread that starts it, which says so by `layer_inside`.
 */
#ifndef HEDDLE_OPENCL_LAYER_H
#define HEDDLE_OPENCL_LAYER_H

#define CL_TARGET_OPENCL_VERSION 300
#ifndef CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#endif
#ifndef CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#endif
#ifndef CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#endif
#ifndef CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#endif
#ifndef CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#endif
#ifndef CL_USE_DEPRECATED_OPENCL_2_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#endif
#include <CL/cl.h>
#include <CL/cl_icd.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- dispatch.c ---- */

/** The OpenCL below the layer. */
extern const cl_icd_dispatch *real;
/** What the layer's objects point to. */
extern cl_icd_dispatch layer_objects;
/** This thread's calls are StarPU's or Heddle's: they see real platforms alone. */
extern __thread bool layer_inside;

/* ---- objects ---- */

enum kind { PLATFORM = 1, DEVICE, CONTEXT, QUEUE, MEMORY, PROGRAM, KERNEL, EVENT };

/** How every object begins; the loader demands the first field. */
struct object {
	const cl_icd_dispatch *dispatch;
	enum kind kind;
	unsigned references;
};

/** Whether a handle is one of the layer's. NULL is not. */
static inline bool layer_owns(const void *handle)
{
	return handle && *(const cl_icd_dispatch *const *)handle == &layer_objects;
}

/** A handle as an object of a kind. @return NULL: it is none */
static inline void *layer_object(void *handle, enum kind kind)
{
	return layer_owns(handle) && ((struct object *)handle)->kind == kind ? handle : NULL;
}

/** Memory for an object with one reference; NULL: none. */
void *object_make(enum kind kind, size_t bytes);
/** The same in memory of so many bytes. @return it */
void *object_begin(void *memory, enum kind kind, size_t bytes);
void object_retain(void *object);
/** @return whether that was the last reference */
bool object_release(void *object);

/** Answers a query as OpenCL does. @return CL_INVALID_VALUE: there is too little room */
cl_int info_give(const void *value, size_t bytes, size_t room, void *to, size_t *needed);
#define info_give_value(value, room, to, needed)                                                   \
	info_give(&(value), sizeof(value), room, to, needed)
/** Stores an error where somebody wants it. @return NULL */
void *error_give(cl_int error, cl_int *to);

struct context {
	struct object object;
	cl_context home;
	cl_command_queue queue; /**< of home: for the layer's own transfers */
	cl_context_properties *properties;
	size_t nproperties;
};

struct queue {
	struct object object;
	struct context *context;
	/** The one of these two that home got the latest command by. Both compute in order. */
	_Atomic(cl_command_queue) home;
	cl_command_queue plain; /**< tells times if the program's queue does */
	cl_command_queue timed; /**< tells times; NULL: not needed yet */
	atomic_bool both;       /**< got commands since the program waited for all */
	cl_command_queue_properties properties;
	/* The engine's mutex guards the rest. */
	struct event *last;    /**< enqueued latest and not ended yet; NULL: none */
	struct event *barrier; /**< that later commands wait for; NULL: none */
	struct event *first;   /**< of those not ended, by `beside`, the latest first */
	struct event *passed, *passed_last; /**< those that home has, by `next`, in its order */
	struct queue *next;                 /**< of those where home has some */
	unsigned unlooked; /**< that home got since the last look, or since it had none */
	unsigned hurries;  /**< passed_hurry() was called so often before its latest command */
	cl_ulong ended_ns; /**< when the last of them ended */
};

/** A buffer, a part of one, or an image. What is said of places is said of the whole buffer alone.
 * At the host an image has no gaps between its rows. */
struct memory {
	struct object object;
	struct context *context;
	struct memory *whole; /**< itself, unless it is a part */
	size_t offset;        /**< of a part */
	size_t bytes;
	cl_mem_flags flags;         /**< as the program gave them */
	cl_mem_object_type image;   /**< 0: a buffer */
	size_t element, row, slice; /**< of an image, and of what the program gave for it */
	size_t extent[3];           /**< of an image, as regions are given */
	cl_image_format format;
	void *given; /**< host memory that the program gave to be used */
	cl_mem home;
	unsigned char *host; /**< NULL: none yet */
	bool own;            /**< the layer has allocated it */
	cl_mem pinned;       /**< of home, mapped for good: that memory; NULL: it is malloc()'s */
	bool shared;         /**< home works on it, too */
	bool at_host;        /**< the data is there; else it is at home */
	bool changed;        /**< and differs from what is at home */
	bool away;           /**< but for results of launches, which may have stayed on devices */
	struct map *maps;    /**< by the program; of a part: its own */
	unsigned nmaps;
	struct destructor *destructors;
	unsigned owned; /**< references of the program's own */
	/** The program has let go of it, and wants to be told when it is freed. */
	atomic_bool awaited;
};

struct program {
	struct object object;
	struct context *context;
	cl_program home;
	char *source;        /**< NULL: not made of source */
	bool odd;            /**< the source is no text */
	char *text;          /**< with included files, as it was built; NULL: not built */
	char *options;       /**< of the latest build */
	const char *refusal; /**< why no kernel of it is split; NULL: none known */
};

/** What a sampler is that the program has made. */
struct sampler {
	cl_sampler id; /**< of home; NULL: it is none */
	cl_bool normalized;
	cl_addressing_mode addressing;
	cl_filter_mode filter;
};

struct kernel {
	struct object object;
	struct program *program;
	cl_kernel home;   /**< that the program's calls are about */
	cl_kernel launch; /**< that gets the arguments of a launch; the engine uses it */
	struct record *record;
	size_t required[3]; /**< size of groups that the source demands; zeros: it does not */
	size_t most;        /**< work-items of a group, for home */
	cl_uint narguments;
	unsigned long settings;  /**< of arguments, so far */
	unsigned long *launched; /**< which settings `launch` has, of each argument */
	struct argument {
		unsigned long setting; /**< which one it is; 0: not set */
		size_t bytes;
		struct memory *memory; /**< NULL: a value, or local memory */
		void *value;           /**< NULL: local memory */
		struct sampler sampler;
		bool none; /**< NULL where the kernel takes a buffer */
	} * arguments;
};

/** An NDRange, with the arguments of when it was enqueued. */
struct launch {
	struct kernel *kernel;
	cl_uint dimensions;
	size_t offset[3], global[3], local[3];
	const char *reason;   /**< why home computes it; NULL: not decided */
	cl_ulong crossing_ns; /**< until its data was at the host */
	bool chosen;          /**< local; else it is for the devices to choose */
	bool even;            /**< groups have the same size */
	bool brief;           /**< as record_short() says */
	bool large;           /**< home may refuse the groups */
	_Alignas(max_align_t) struct argument arguments[];
};

enum { STEP_QUEUED, STEP_SUBMITTED, STEP_STARTED, STEP_ENDED, NSTEPS };

/** A command, and the event that tells of it. A user's event is one without `run`. The engine's
 * mutex guards what changes. */
struct event {
	struct object object;
	struct context *context;
	struct queue *queue; /**< NULL: a user's event */
	cl_command_type type;
	cl_int status;       /**< as OpenCL counts: CL_QUEUED to CL_COMPLETE, or an error */
	cl_ulong ns[NSTEPS]; /**< when a command of a queue that tells times got there */
	cl_ulong home_ns;    /**< what home says computing took; 0: it was not asked */
	struct event *next;  /**< of all that wait, or of the queue's that home has */
	struct event *beside, *later; /**< of the queue's that have not ended: before and after */
	struct event **waits;         /**< for the end of these */
	struct event *wait;           /**< room for one */
	unsigned nwaits, ngiven;      /**< of them: in the program's list, which have to end well */
	struct callback *callbacks;

	/** Does it, or gives it to home, which fills in `home`. @return an error, or CL_SUCCESS */
	cl_int (*run)(struct event *event);
	/** Whether home is to do it without further ado; NULL: never. */
	bool (*quick)(struct event *event);
	unsigned pieces; /**< of memory: as many as the engine counts; 0: malloc()'s */
	bool wanted;     /**< the program or a thread waits for this very command */
	bool look;       /**< once home has it, what has ended before is looked for */
	bool timed;      /**< home is to tell how long it computed */
	bool tells;      /**< the call that enqueues it returns home's error */
	bool urgent;     /**< and waits until home has got it, unless it waits for the program */
	bool placed;     /**< home's queue was chosen for it */
	bool sent;       /**< home was asked to do it */
	cl_command_queue to; /**< home's queue that was chosen; NULL: the one before */
	cl_event follows;    /**< the last command in the one before; NULL: home has none */
	cl_event home;   /**< home's event, filled in without the mutex; NULL: none was asked for */
	bool passed;     /**< home has it, and `home` can be used */
	bool flushed;    /**< the program flushed the queue before home got it */
	cl_event *after; /**< home's events that home has to wait for */
	cl_uint nafter;
	struct memory *memory[2]; /**< read and written; NULL: none */
	struct launch *launch;
	void *own; /**< memory that goes with the command */
	union {
		_Alignas(max_align_t) unsigned char room[1]; /**< for the launch, if it is one */
		struct {                                     /* else */
			unsigned char *pointer;
			size_t bytes;
			size_t origin[2][3], region[3], row[2], slice[2];
			unsigned char pattern[128];
			cl_map_flags flags;
		};
	};
};

/* ---- platform.c ---- */

enum { MAXDEVICES = 16 };

/** The real devices that stand behind the layer's, the home first. */
struct devices {
	cl_platform_id platforms[MAXDEVICES]; /**< theirs */
	cl_device_id ids[MAXDEVICES];
	unsigned n;   /**< 0: the layer shows nothing */
	bool on_host; /**< home computes in the host's memory */
};

const struct devices *layer_devices(void);
/** Ends all and prints the report, once. What a forked process has inherited it leaves alone. */
void layer_end(void);
cl_platform_id layer_platform(void);
cl_device_id layer_device(void);
/** Largest group on every device, and in each dimension. */
size_t layer_group_limit(void);
size_t layer_item_limit(unsigned dimension);

/* ---- memory.c ---- */

/** A handle as memory of the layer; NULL: it is none. Any bits may be given. */
struct memory *memory_find(const void *handle);
/** Bytes of data. */
static inline size_t memory_bytes(const struct memory *memory)
{
	return memory->image
	           ? memory->element * memory->extent[0] * memory->extent[1] * memory->extent[2]
	           : memory->bytes;
}
/** Puts a buffer's or an image's data where host or home can work on it. The engine calls this.
 * @return an error, or CL_SUCCESS */
cl_int memory_to_host(struct memory *memory);
cl_int memory_to_home(struct memory *memory);
/** What is at the host has changed there, at an offset in the memory. */
void memory_changed(struct memory *memory, size_t from, size_t bytes);
/** Data that is to be read at the host comes there from the devices where results have stayed.
 * @return an error, or CL_SUCCESS */
cl_int memory_fetch(struct memory *memory, size_t from, size_t bytes);
/** The process ends: nobody reads what stayed on devices, and host memory of the program's may be
 * gone. */
void memories_forget(void);
/** Makes sure that there is memory of the host's. @return CL_SUCCESS, or an error */
cl_int memory_host_make(struct memory *memory);
/** Where the host's data of a memory is. */
static inline unsigned char *memory_host(const struct memory *memory)
{
	return memory->whole->host + memory->offset;
}
void memory_release(struct memory *memory);
/** Whether passed_wanted() may be true for memory: some is used that nobody owns. */
bool memories_awaited(void);
/** New memory without a real one. @return NULL: no memory of the host's */
struct memory *memory_make(struct context *context, cl_mem_flags flags, size_t bytes);
/** Hands new memory out, or frees it because of an error. */
cl_mem memory_finish(struct memory *memory, cl_int error, cl_int *to);

/** A part that the program has mapped. */
struct map {
	struct map *next;
	unsigned char *pointer;
	size_t offset, bytes; /**< in the memory */
	cl_map_flags flags;
	size_t origin[3], region[3], row, slice; /**< in an image */
	void *own;                               /**< memory for it */
};

/** Makes a mapping known; its memory is of the host's. @return NULL: no memory */
struct map *map_add(struct memory *memory, size_t offset, size_t bytes, cl_map_flags flags);
void map_link(struct memory *memory, struct map *map);
/** Takes one out, for the caller to free. @return NULL: none begins there */
struct map *map_take(struct memory *memory, const void *pointer);

/* ---- binary.c, program.c, kernel.c ---- */

/** Writes what stands before home's binary of a program.
 * @param to NULL: only the length is wanted
 * @return its bytes; 0: nothing does */
size_t binary_prefix(const struct program *program, unsigned char *to);
/** Takes the texts in that a binary begins with. @return their bytes; 0: there are none */
size_t binary_take(struct program *program, const unsigned char *binary, size_t bytes);

void program_release(struct program *program);
void kernel_release(struct kernel *kernel);
void arguments_free(struct argument *arguments, cl_uint n);
/** Bytes of a copy of arguments, with the values. */
size_t arguments_bytes(const struct argument *arguments, cl_uint n);
/** Makes a copy in memory of so many bytes, aligned as malloc() does. */
void arguments_copy(const struct argument *arguments, cl_uint n, struct argument *copy);
/** Lets go of what a copy holds. */
void arguments_drop(struct argument *copy, cl_uint n);

/* ---- engine.c ---- */

cl_ulong clock_ns(void);
/** A command has got somewhere, which the program may ask about. */
void event_reach(struct event *event, unsigned step);
/** A new event, in no queue yet.
 * @param room bytes of a launch; 0: the command is none
 * @return NULL: no memory */
struct event *event_make(struct context *context, struct queue *queue, cl_command_type type,
                         size_t room);
void event_release(struct event *event);
/** Whether a list of events is as the specification demands. @return CL_SUCCESS, or the error */
cl_int waits_check(const struct context *context, cl_uint n, const cl_event *list);
/** Enqueues a command, which takes over the caller's reference.
 * @param blocking return when it has ended
 * @param[out] given the event, for the program; NULL: not wanted
 * @return the error of a blocking command, or CL_SUCCESS */
cl_int event_enqueue(struct event *event, cl_uint nwaits, const cl_event *waits, bool blocking,
                     cl_event *given);
/** A user's event, or one that ends at once. */
void event_end(struct event *event, cl_int status);
/** @return its status */
cl_int event_wait(struct event *event);
cl_int event_status(struct event *event);
/** Calls a function when a state is reached. @return CL_OUT_OF_HOST_MEMORY */
cl_int event_call(struct event *event, cl_int state,
                  void(CL_CALLBACK *function)(cl_event, cl_int, void *), void *data);
/** Waits for all that is in a queue. */
cl_int queue_finish(struct queue *queue);
/** All that is in a queue is to begin without a further call. */
cl_int queue_flush(struct queue *queue);
void queue_release(struct queue *queue);
void context_release(struct context *context);
/** Has somebody wait for the commands that passed_wanted() tells of. */
void engine_watch(void);
/** Lets the command under way end, and begins no other one.
 * @return whether nothing is under way */
bool engine_stop(void);

/* ---- passed.c ---- */

/** Commands of a queue between two looks at what has ended: so many may have no event. */
enum { PASSED_LOOK = 64 };
/** Whether home has it. */
static inline bool event_passed(const struct event *event)
{
	return event->passed && event->status > CL_COMPLETE;
}

/** What home takes, and gives, with every command. */
#define HOME_EVENTS(event)                                                                         \
	(event)->nafter, (event)->nafter ? (event)->after : NULL, passed_send(event)

/** A command goes to home. Events cost home time, so few commands have one.
 * @return where home's event is to be; NULL: none is needed */
cl_event *passed_send(struct event *event);
/** The first command of a queue that has an event of home's; NULL: none has. */
struct event *passed_known(const struct queue *queue);

/** One of the commands that home has; NULL: it has none. */
struct event *passed_first(void);
/** Whether the program wants to be told when a command has ended, or when memory is freed that the
 * command uses. */
bool passed_wanted(const struct event *event);
/** One of the commands that home has of which that holds; NULL: there is none. */
struct event *passed_watched(void);
/** Fills in what home has to wait for before a command, and whether it is time for a look.
 * @return CL_OUT_OF_HOST_MEMORY */
cl_int passed_waits(struct event *event);
/** Chooses home's queue for a launch, unless that was done: few are measured, and in a queue that
 * tells times an event costs home more. A command that goes to another queue than the one before it
 * waits for it.
 * @return the queue */
cl_command_queue passed_place(struct event *event);
/** Home was given a command. */
void passed_add(struct event *event);
/** Memory is let go of that commands may hold: the next command of each queue looks. Any thread may
 * call it. */
void passed_hurry(void);
/** What home says, as OpenCL counts; of a command without an event, that it has ended well. */
cl_int passed_status(const struct event *event);
/** Takes out the first command of a queue, which has ended. */
struct event *passed_end(struct queue *queue);

/* ---- launch.c, split_starpu.c, report.c ---- */

/** Lets go of what a launch holds. */
void launch_drop(struct launch *launch);
size_t launch_items(const struct launch *launch);
/** Home has computed one. */
void launch_ended(const struct event *event);

/** Launches that are split before their speed counts. */
enum { SPLIT_TRIALS = 3 };

/** What is known of a kernel, whichever program object it came from. */
struct record {
	struct record *next;
	char *name, *text, *options;
	const char *refusal; /**< why it is not split; NULL: no reason known */
	bool asked;          /**< the analysis was asked */
	atomic_bool told;    /**< that a launch was refused */
	/** The same of the latest launch with a buffer that is two arguments, and what tells it
	 * from others. */
	const char *twice_refusal;
	bool twice_refused;
	uint64_t twice_key;
	unsigned long split, whole;
	unsigned long sent;           /**< to home */
	double home_ns;               /**< at home, in all */
	double home_rate, split_rate; /**< ns of a work-item; 0: not known */
	double lost_ns;               /**< by splits that were slower; gains are set off */
	double loss_ns;               /**< by the latest split, after its data had crossed */
	bool prepared;                /**< what the first split needs is done */
	atomic_bool preparing;        /**< it is under way, and the record is that thread's */
	struct reason {
		const char *text;
		unsigned long launches;
	} reasons[8]; /**< why launches were not split */
};

/** The record of a kernel. @return NULL: no memory */
struct record *record_find(const char *name, const char *text, const char *options);
/** Whether a launch takes so little time at home that a split would take as long. */
bool record_short(const struct record *record, size_t items);
/** A launch goes to home.
 * @param brief as record_short() says, of which the times are under the engine's mutex
 * @return whether its time is to be measured */
bool record_sample(struct record *record, bool brief);
/** A launch was computed at home.
 * @param ns 0: it was not measured, and took as long as others */
void record_whole(struct record *record, const char *reason, size_t items, cl_ulong ns);
/** Something about a launch took longer than home alone would have. */
void record_loss(struct record *record, double ns);
/** A preparation has ended. */
void record_prepared(struct record *record, cl_ulong ns);
/** Home has waited while data was copied for one. */
void record_copied(cl_ulong ns);
/** What home has computed, of all kernels. */
double record_home_ns(void);
/** What preparations have taken from home, and another one may take.
 * @param shared home is a CPU
 * @param crossing_ns until the data is copied */
double record_prepare_ns(bool shared, double crossing_ns);
/** A launch was split.
 * @param crossing_ns of the time, until its data was at the host */
void record_split(struct record *record, size_t items, cl_ulong ns, cl_ulong crossing_ns);
/** Whether it pays to split a launch, by what splits have cost and may cost.
 * @param crossing_ns until its data is at the host
 * @param share of the kernel's time at home that splits may cost */
bool record_split_pays(const struct record *record, size_t items, double crossing_ns, double share);
/** Data has crossed from home to the host. The engine calls this. */
void record_crossed(size_t bytes, cl_ulong ns);
/** How long so much data takes. */
double record_crossing_ns(size_t bytes);
/** Says at the end of the process what was done. */
void report_print(void);

/** Why a launch is not to be split, as far as is known without asking; NULL: no reason. */
const char *split_refuse(const struct launch *launch);
/** Runs a launch on all devices, if it can be split.
 * @param[out] reason why it was not split; NULL: it was
 * @return an error of a launch that was split, or CL_SUCCESS */
cl_int split_launch(struct launch *launch, const char **reason);
/** A launch is computed at home. */
void split_rest(void);
/** A thread of the program launches: if it is the main one, its end waits for preparations. */
void prepare_watch(void);
/** Data at the host has changed, or is freed. */
void split_changed(const void *memory, size_t bytes);
/** Brings what stays on devices of the host's data there. @return an error, or CL_SUCCESS */
cl_int split_fetch(const void *memory, size_t bytes);
/** The process ends. */
void split_end(void);

/* ---- enqueue.c, image.c ---- */

/** Checks what every command names, and begins it. @return CL_SUCCESS, or the error */
cl_int command_begin(struct queue *queue, cl_command_type type, cl_uint nwaits,
                     const cl_event *waits, struct event **event);
/** A command works on memory. */
void command_memory(struct event *event, unsigned m, struct memory *memory);
/** Home moves the data if all of it is there. A marker has none. */
bool command_quick(struct event *event);
/** A buffer of a queue's context. @return NULL, and the error */
struct memory *buffer_of(const struct queue *queue, cl_mem id, cl_int *error);
/** Fills in the end of an image's mapping. */
void image_unmap(struct event *event, struct map *map);
/** Moves all of an image's data between home and the host, and waits. */
cl_int image_read(const struct memory *memory, void *to);
cl_int image_write(const struct memory *memory, const void *from);
/** Takes the sampler that a handle is of, if any. */
void sampler_find(const void *handle, struct sampler *sampler);
/** Whether the program lets the host read or write memory. */
static inline bool host_reads(const struct memory *memory)
{
	return !(memory->flags & (CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS));
}
static inline bool host_writes(const struct memory *memory)
{
	return !(memory->flags & (CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS));
}

/* ---- the functions that stand for OpenCL's ---- */

/** Fills in the functions of each file. */
void platform_functions(cl_icd_dispatch *table);
void context_functions(cl_icd_dispatch *table);
void memory_functions(cl_icd_dispatch *table);
void program_functions(cl_icd_dispatch *table);
void kernel_functions(cl_icd_dispatch *table);
void image_functions(cl_icd_dispatch *table);
void event_functions(cl_icd_dispatch *table);
void enqueue_functions(cl_icd_dispatch *table);
void launch_functions(cl_icd_dispatch *table);
/** Those that refuse the layer's objects. */
void refused_functions(cl_icd_dispatch *table);

#endif
