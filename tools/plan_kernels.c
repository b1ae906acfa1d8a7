/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * heddle plan kernels: what the analysis finds out about the kernels of OpenCL sources.
 */
#include "config.h"

#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "partition/kernel/access/analysis.h"
#include "partition/kernel/access/index.h"
#include "tools/common/help.h"
#include "tools/common/place.h"
#include "tools/plan.h"

/* What is known of where a kernel writes, the best last. */
enum known { NOT_SPLIT, UNKNOWN, KNOWN, COMPLETE, NKNOWN };

static const char *const known_texts[] = {"one device", "unknown", "known", "complete"};

/* A reason, and for how many kernels it is the one. */
struct reason {
	char *text;
	unsigned n;
	struct reason *next;
};

struct arguments {
	FILE *options; /* of the compiler */
	char *options_text;
	size_t options_size;
	size_t global[3], local[3];
	unsigned dimensions, local_dimensions; /* 0: not given */
	int64_t integer;
	size_t bytes;
	char **files;
	int nfiles;

	unsigned counts[NKNOWN];
	struct reason *reasons;
};

/* ---- arguments ---- */

/* Numbers with commas between. @return how many; 0: it is something else */
static unsigned numbers_parse(const char *text, size_t numbers[3])
{
	for (unsigned n = 0; n < 3; n++) {
		char *end;

		errno = 0;
		numbers[n] = strtoull(text, &end, 10);
		if (end == text || *text == '-' || errno || !numbers[n] || (*end && *end != ','))
			return 0;
		if (!*end)
			return n + 1;
		text = end + 1;
	}
	return 0;
}

static void number_parse(struct argp_state *state, const char *option, const char *text,
                         int64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoll(text, &end, 10);
	if (end == text || *end || errno)
		argp_error(state, "--%s: \"%s\" is no number", option, text);
}

static error_t argument_parse(int key, char *value, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	int64_t bytes;

	switch (key) {
	case 'D':
		fprintf(arguments->options, "-D%s ", value);
		return 0;
	case 'I':
		fprintf(arguments->options, "-I \"%s\" ", value);
		return 0;
	case 'o':
		fprintf(arguments->options, "%s ", value);
		return 0;
	case 'g':
		arguments->dimensions = numbers_parse(value, arguments->global);
		if (!arguments->dimensions)
			argp_error(state, "--global: \"%s\" is no size, as 1024,512", value);
		return 0;
	case 'l':
		arguments->local_dimensions = numbers_parse(value, arguments->local);
		if (!arguments->local_dimensions)
			argp_error(state, "--local: \"%s\" is no size, as 16,16", value);
		return 0;
	case 'i':
		number_parse(state, "integer", value, &arguments->integer);
		return 0;
	case 'b':
		number_parse(state, "bytes", value, &bytes);
		if (bytes < 0)
			argp_error(state, "--bytes: \"%s\" is no size", value);
		arguments->bytes = bytes;
		return 0;
	case ARGP_KEY_ARGS:
		arguments->files = state->argv + state->next;
		arguments->nfiles = state->argc - state->next;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "which sources?");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp_option options[] = {
    {NULL, 'D', "NAME[=VALUE]", 0, "define a name", 0},
    {NULL, 'I', "FOLDER", 0, "look for included files there", 0},
    {"options", 'o', "TEXT", 0, "options as for clBuildProgram()", 0},
    {"global", 'g', "N[,N[,N]]", 0,
     "work-items (default: 65536, 1024,1024 or 128,128,64, by the ids that a kernel asks for)", 0},
    {"local", 'l', "N[,N[,N]]", 0, "work-items of a group (default: 64, 16,16 or 8,8,4)", 0},
    {"integer", 'i', "N", 0, "value of all integer arguments (default: 1024)", 0},
    {"bytes", 'b', "N", 0, "size of all buffers (default: 268435456)", 0},
    {0},
};

static const struct argp argp = {
    .options = options,
    .parser = argument_parse,
    .children = help_short,
    .args_doc = "FILE.cl...",
    .doc = "Prints for each kernel whether Heddle splits it, and what is known of where half of "
           "its work-groups write: complete (also that every byte there is written), known, or "
           "unknown (then all of a buffer is merged). Then how many kernels there are of each "
           "kind, and of each reason.\v"
           "Exit status: 0; 2 for wrong use, a file that cannot be read or does not compile, or no "
           "kernel at all. "
           "Names that compilers define are as on a device of OpenCL 1.2 with double precision. "
           "At a launch the devices are asked.",
};

/* ---- reasons ---- */

static void reason_add(struct arguments *arguments, const char *text)
{
	struct reason **at = &arguments->reasons;

	while (*at && strcmp((*at)->text, text))
		at = &(*at)->next;
	if (!*at) {
		*at = calloc(1, sizeof(**at));
		if (!*at)
			return;
		(*at)->text = strdup(text);
	}
	(*at)->n++;
}

/* The most frequent one first. */
static void reasons_print(const struct arguments *arguments)
{
	for (;;) {
		struct reason *most = NULL;

		for (struct reason *reason = arguments->reasons; reason; reason = reason->next)
			if (reason->n && (!most || reason->n > most->n))
				most = reason;
		if (!most)
			return;
		printf("%6u  %s\n", most->n, most->text);
		most->n = 0;
	}
}

static void reasons_free(struct arguments *arguments)
{
	while (arguments->reasons) {
		struct reason *next = arguments->reasons->next;

		free(arguments->reasons->text);
		free(arguments->reasons);
		arguments->reasons = next;
	}
}

/* ---- kernels ---- */

/* Names of a device of OpenCL 1.2, for a source that asks. */
static int answers_make(const char *asked, char **answers)
{
	static const char *const defined[][2] = {
	    {"__OPENCL_VERSION__", "120"},
	    {"__OPENCL_C_VERSION__", "120"},
	    {"CL_VERSION_1_0", "100"},
	    {"CL_VERSION_1_1", "110"},
	    {"CL_VERSION_1_2", "120"},
	    {"__ENDIAN_LITTLE__", "1"},
	    {"cl_khr_byte_addressable_store", "1"},
	    {"cl_khr_fp64", "1"},
	    {"cl_khr_global_int32_base_atomics", "1"},
	    {"cl_khr_global_int32_extended_atomics", "1"},
	    {"cl_khr_local_int32_base_atomics", "1"},
	    {"cl_khr_local_int32_extended_atomics", "1"},
	};
	size_t size;
	FILE *out = open_memstream(answers, &size);

	if (!out)
		return -ENOMEM;
	for (const char *at = asked; *at; at = strchr(at, '\n') + 1) {
		size_t length = strcspn(at, "\n");

		/* Constants of the language have their values. */
		if (*at == '_' || !strncasecmp(at, "cl_", 3) || !strncmp(at, "cles_", 5))
			fprintf(out, "#undef %.*s\n", (int)length, at);
		for (size_t d = 0; d < sizeof(defined) / sizeof(defined[0]); d++)
			if (strlen(defined[d][0]) == length && !strncmp(defined[d][0], at, length))
				fprintf(out, "#define %s %s\n", defined[d][0], defined[d][1]);
	}
	return fclose(out) ? -ENOMEM : 0;
}

/* How many dimensions a kernel asks for. */
static unsigned dimensions_of(const struct index_kernel *kernel)
{
	unsigned dimensions = 1;

	for (unsigned n = 0; n < kernel->nnodes; n++) {
		const struct index_node *node = &kernel->nodes[n];

		if (node->op >= INDEX_GROUP && node->op <= INDEX_OFFSET &&
		    node->value + 1 > dimensions)
			dimensions = node->value + 1;
	}
	return dimensions;
}

static int range_make(const struct arguments *arguments, const struct index_kernel *kernel,
                      struct ndrange *range)
{
	static const size_t globals[][3] = {{65536}, {1024, 1024}, {128, 128, 64}};
	static const size_t locals[][3] = {{64}, {16, 16}, {8, 8, 4}};
	unsigned n = arguments->dimensions ? arguments->dimensions : dimensions_of(kernel);
	size_t local[3] = {1, 1, 1};

	memcpy(local, locals[n - 1], sizeof(local));
	for (unsigned d = 0; arguments->local_dimensions && d < n; d++)
		local[d] = d < arguments->local_dimensions ? arguments->local[d] : 1;
	return ndrange_make(n, arguments->dimensions ? arguments->global : globals[n - 1], local,
	                    range);
}

/* What is known of all writes, and why not more. */
struct finding {
	enum known known;
	const char *why;
};

/* Whether a write to an argument is behind conditions that are not followed. */
static bool is_conditional(const struct index_kernel *kernel, unsigned argument)
{
	for (unsigned i = 0; i < kernel->naccesses; i++) {
		const struct index_access *access = &kernel->accesses[i];

		if (access->argument == (int)argument && access->write && !access->always)
			return true;
	}
	return false;
}

/* Adds what is known of the writes of some groups. A window of all of a large buffer tells
 * nothing. */
static void uses_add(const struct index_kernel *kernel, const struct index_use *uses, size_t bytes,
                     struct finding *finding)
{
	for (unsigned a = 0; a < kernel->narguments; a++) {
		const struct index_window *write = &uses[a].write;

		if (index_window_empty(write))
			continue;
		if (!write->known || write->end - write->first == bytes)
			*finding = (struct finding){UNKNOWN, "where it writes is not known"};
		else if (!write->dense && finding->known > KNOWN)
			*finding = (struct finding){
			    KNOWN,
			    is_conditional(kernel, a)
			        ? "a condition on data is in front of its writes"
			        : "its writes leave gaps, or it is not known that they do not"};
	}
}

/* What is known of the writes of each half of a kernel's groups. */
static int halves_find(const struct arguments *arguments, const struct index_kernel *kernel,
                       struct finding *finding)
{
	unsigned n = kernel->narguments + kernel->nfields + 1;
	int64_t *integers = calloc(n, sizeof(*integers));
	size_t *bytes = calloc(n, sizeof(*bytes)), groups;
	struct index_use *uses = calloc(n, sizeof(*uses));
	struct ndrange range;
	struct index_launch launch = {&range, integers, bytes};
	int error = integers && bytes && uses ? range_make(arguments, kernel, &range) : -ENOMEM;

	*finding = (struct finding){COMPLETE, ""};
	for (unsigned a = 0; !error && a < n; a++) {
		integers[a] = arguments->integer;
		bytes[a] = arguments->bytes;
	}
	groups = error ? 0 : ndrange_groups(&range);
	for (unsigned half = 0; !error && half < 2; half++) {
		size_t from = half * (groups / 2);

		error = index_uses(kernel, &launch, from, half ? groups - from : groups / 2, uses);
		if (!error)
			uses_add(kernel, uses, arguments->bytes, finding);
	}
	free(integers);
	free(bytes);
	free(uses);
	return error;
}

static void result_print(struct arguments *arguments, const char *file, const char *name,
                         enum known known, const char *why)
{
	printf("%s: %s: %s%s%s\n", file, name, known_texts[known], *why ? ": " : "", why);
	arguments->counts[known]++;
	if (*why)
		reason_add(arguments, why);
}

static int kernel_do(struct arguments *arguments, const char *file, const char *source,
                     const char *name, const char *answers)
{
	struct index_kernel kernel;
	char why[KERNEL_WHY + 32], *reason = why + strlen("it is not analysed: ");
	struct finding finding;
	int error;

	strcpy(why, "it is not analysed: ");
	if (kernel_analyse(source, name, arguments->options_text, answers, &kernel, reason)) {
		result_print(arguments, file, name, NOT_SPLIT, why);
		return 0;
	}
	error = kernel.refusal ? 0 : halves_find(arguments, &kernel, &finding);
	if (kernel.refusal)
		result_print(arguments, file, name, NOT_SPLIT, kernel.refusal);
	else if (!error)
		result_print(arguments, file, name, finding.known, finding.why);
	index_free(&kernel);
	return error;
}

static int source_do(struct arguments *arguments, const char *file, const char *source)
{
	char *asked, *answers, *names, why[KERNEL_WHY];
	int error = kernel_analyse_asks(source, arguments->options_text, &asked, why);

	if (!error) {
		error = answers_make(asked, &answers);
		free(asked);
		if (error)
			return error;
		error = kernel_analyse_list(source, arguments->options_text, answers, &names, why);
		if (error)
			free(answers);
	}
	if (error) {
		fprintf(stderr, "heddle plan kernels: %s: its kernels are not analysed: %s\n", file,
		        why);
		return error;
	}
	if (!*names)
		fprintf(stderr, "heddle plan kernels: %s: there is no kernel in it\n", file);
	for (char *name = names, *end; !error && *name; name = end) {
		end = strchr(name, '\n');
		*end++ = '\0';
		error = kernel_do(arguments, file, source, name, answers);
	}
	free(answers);
	free(names);
	return error;
}

/* ---- files ---- */

static char *file_read(const char *path)
{
	FILE *in = fopen(path, "r"), *out;
	char *text = NULL;
	size_t size;
	int c;

	out = in ? open_memstream(&text, &size) : NULL;
	while (out && (c = getc(in)) != EOF)
		putc(c, out);
	if (out && (fclose(out) || ferror(in))) {
		free(text);
		text = NULL;
	}
	if (!text)
		fprintf(stderr, "heddle plan kernels: %s: %s\n", path, strerror(errno));
	if (in)
		fclose(in);
	return text;
}

static int file_do(struct arguments *arguments, const char *path)
{
	char *source = file_read(path);
	int error = source ? source_do(arguments, path, source) : -EIO;

	free(source);
	return error;
}

/* @return whether there are any kernels */
static bool summary_print(const struct arguments *arguments)
{
	const unsigned *counts = arguments->counts;
	unsigned split = counts[UNKNOWN] + counts[KNOWN] + counts[COMPLETE];

	if (!split && !counts[NOT_SPLIT])
		return false;
	printf("%u kernels: %u can be split; writes known of %u, complete of %u\n",
	       split + counts[NOT_SPLIT], split, counts[KNOWN] + counts[COMPLETE],
	       counts[COMPLETE]);
	reasons_print(arguments);
	return true;
}

int plan_kernels(int argc, char **argv)
{
	struct arguments arguments = {.integer = 1024, .bytes = (size_t)256 << 20};
	char *program = place_subcommand("analyse");
	bool failed = false;

	argp_err_exit_status = PLAN_USAGE;
	argv[0] = "heddle plan kernels";
	arguments.options = open_memstream(&arguments.options_text, &arguments.options_size);
	if (!arguments.options)
		return 1;
	argp_parse(&argp, argc, argv, 0, NULL, &arguments);
	fclose(arguments.options);
	if (program)
		setenv("HEDDLE_ANALYSE", program, 0);
	kernel_analyse_show_errors();
	for (int f = 0; f < arguments.nfiles; f++)
		failed = file_do(&arguments, arguments.files[f]) || failed;
	failed = !summary_print(&arguments) || failed;
	reasons_free(&arguments);
	free(arguments.options_text);
	free(program);
	return failed ? PLAN_USAGE : fflush(stdout) || ferror(stdout);
}
