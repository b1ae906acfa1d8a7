/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * heddle plan kernels: what the analysis finds out about the kernels of OpenCL sources.
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "support/options.h"
#include "support/variables.h"
#include "partition/kernel/access/analysis.h"
#include "partition/kernel/access/index.h"
#include "partition/kernel/access/options.h"
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
	int64_t integer, content;
	bool contents; /* `content` is given */
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

static void parse_define(void *data, char *text, struct argp_state *state)
{
	fprintf(((struct arguments *)data)->options, "-D%s ", text);
}

static void parse_include(void *data, char *text, struct argp_state *state)
{
	fprintf(((struct arguments *)data)->options, "-I \"%s\" ", text);
}

static void parse_options(void *data, char *text, struct argp_state *state)
{
	fprintf(((struct arguments *)data)->options, "%s ", text);
}

static void parse_global(void *data, char *text, struct argp_state *state)
{
	struct arguments *arguments = data;

	arguments->dimensions = numbers_parse(text, arguments->global);
	if (!arguments->dimensions)
		argp_error(state, "--global: \"%s\" is no size, as 1024,512", text);
}

static void parse_local(void *data, char *text, struct argp_state *state)
{
	struct arguments *arguments = data;

	arguments->local_dimensions = numbers_parse(text, arguments->local);
	if (!arguments->local_dimensions)
		argp_error(state, "--local: \"%s\" is no size, as 16,16", text);
}

static void parse_integer(void *data, char *text, struct argp_state *state)
{
	char *end;

	errno = 0;
	((struct arguments *)data)->integer = strtoll(text, &end, 10);
	if (end == text || *end || errno)
		argp_error(state, "--integer: \"%s\" is no number", text);
}

static void parse_content(void *data, char *text, struct argp_state *state)
{
	struct arguments *arguments = data;
	char *end;

	errno = 0;
	arguments->content = strtoll(text, &end, 10);
	arguments->contents = true;
	if (end == text || *end || errno)
		argp_error(state, "--contents: \"%s\" is no number", text);
}

static error_t take_files(void *data, int key, char *text, struct argp_state *state)
{
	struct arguments *arguments = data;

	if (key == ARGP_KEY_NO_ARGS)
		argp_error(state, "which sources?");
	if (key != ARGP_KEY_ARGS)
		return ARGP_ERR_UNKNOWN;
	arguments->files = state->argv + state->next;
	arguments->nfiles = state->argc - state->next;
	return 0;
}

static const struct option_row options[] = {
    {NULL, "NAME[=VALUE]", "define a name", PARSED(parse_define), .letter = 'D'},
    {NULL, "FOLDER", "look for included files there", PARSED(parse_include), .letter = 'I'},
    {"options", "TEXT", "options as for clBuildProgram()", PARSED(parse_options), .letter = 'o'},
    {"global", "N[,N[,N]]",
     "work-items (default: 65536, 1024,1024 or 128,128,64, by the ids that a kernel asks for)",
     PARSED(parse_global), .letter = 'g'},
    {"local", "N[,N[,N]]", "work-items of a group (default: 64, 16,16 or 8,8,4)",
     PARSED(parse_local), .letter = 'l'},
    {"integer", "N", "value of all integer arguments (default: 1024)", PARSED(parse_integer),
     .letter = 'i'},
    {"contents", "N",
     "value of every other integer in buffers, the others are 0, where they say what a kernel "
     "accesses (default: that of integer arguments)",
     PARSED(parse_content), .letter = 'c'},
    {"bytes", "N", "size of all buffers (default: 268435456)",
     NUMBER(struct arguments, bytes, 0, INT64_MAX), .letter = 'b'},
    {0},
};

static const struct option_program program = {
    .name = "heddle plan kernels",
    .arguments = "FILE.cl...",
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

/* Answers `__has_builtin(NAME)`: what clang has built in it says itself. */
static void builtin_answer(FILE *out, const char *name, int length)
{
	if (length > 2)
		fprintf(out,
		        "#if __has_builtin%.*s\n#define heddle_has_%.*s 1\n"
		        "#else\n#define heddle_has_%.*s 0\n#endif\n",
		        length, name, length - 2, name + 1, length - 2, name + 1);
}

/* Names of a device of OpenCL 1.2, for a source that asks. */
static int answers_make(const char *asked, const char *given, char **answers)
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
	static const char has[] = "__has_builtin";
	bool has_asked = false;
	size_t size;
	FILE *out = open_memstream(answers, &size);

	if (!out)
		return -ENOMEM;
	for (const char *at = asked; *at; at = strchr(at, '\n') + 1) {
		size_t length = strcspn(at, "\n");

		if (kernel_options_define(given, at, length))
			continue;
		if (!strncmp(at, has, strlen(has))) {
			builtin_answer(out, at + strlen(has), length - strlen(has));
			has_asked = true;
			continue;
		}
		/* Constants of the language have their values. */
		if (*at == '_' || !strncasecmp(at, "cl_", 3) || !strncmp(at, "cles_", 5))
			fprintf(out, "#undef %.*s\n", (int)length, at);
		else
			fprintf(out, "#ifdef %.*s\n#endif\n", (int)length, at);
		for (size_t d = 0; d < sizeof(defined) / sizeof(defined[0]); d++)
			if (strlen(defined[d][0]) == length && !strncmp(defined[d][0], at, length))
				fprintf(out, "#define %s %s\n", defined[d][0], defined[d][1]);
	}
	if (has_asked)
		fputs("#undef __has_builtin\n#define __has_builtin(x) heddle_has_##x\n", out);
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

/* Dimensions of which a node needs the group or the item, as bits, or OF_DATA. */
enum { OF_DATA = 1 << 3 };

/* Whether more integers may be loaded, one for each number in some dimensions, than a launch looks
 * at. */
static bool is_many(const struct ndrange *range, unsigned dimensions)
{
	size_t n = 1;

	for (unsigned d = 0; d < 3; d++)
		n *= dimensions >> d & 1 ? range->groups[d] * range->local[d] : 1;
	return n > INDEX_MOSTLOOKED;
}

static unsigned node_needs(const struct index_kernel *kernel, const struct ndrange *range,
                           const struct index_node *node, const unsigned char *needs)
{
	unsigned of = node->op == INDEX_UNKNOWN                           ? OF_DATA
	              : node->op == INDEX_GROUP || node->op == INDEX_ITEM ? 1U << node->value
	                                                                  : 0;

	for (int i = 0; i < 3; i++)
		of |= node->operands[i] >= 0 ? needs[node->operands[i]] : 0;
	if (node->op == INDEX_LOAD &&
	    (!index_looks(kernel, NULL, node->value) || is_many(range, of)))
		of |= OF_DATA;
	return of;
}

/* By node, what it needs, so whether it is of data: nothing is known of it, or of one that it comes
 * from. NULL: there is no memory. */
static unsigned char *needs_find(const struct index_kernel *kernel, const struct ndrange *range)
{
	unsigned char *needs = calloc(kernel->nnodes + 1, sizeof(*needs));

	for (unsigned n = 0; n < kernel->nnodes && needs; n++)
		needs[n] = node_needs(kernel, range, &kernel->nodes[n], needs);
	return needs;
}

/* Whether a write to an argument is behind conditions that are not followed, or that ask for
 * data. */
static bool is_conditional(const struct index_kernel *kernel, const struct ndrange *range,
                           unsigned argument)
{
	unsigned char *needs = needs_find(kernel, range);
	bool any = false;

	for (unsigned i = 0; i < kernel->naccesses; i++) {
		const struct index_access *access = &kernel->accesses[i];

		if (access->argument != (int)argument || !access->write)
			continue;
		any = any || !access->always;
		for (unsigned g = 0; g < access->nguards && needs; g++) {
			const int *nodes = kernel->guards[access->guards[g]].nodes;

			any = any || (needs[nodes[0]] | needs[nodes[1]]) & OF_DATA;
		}
	}
	free(needs);
	return any;
}

/* Whether the description says where a kernel writes in an argument, if sizes and integers fit. */
static bool is_addressed(const struct index_kernel *kernel, const struct ndrange *range,
                         unsigned argument)
{
	unsigned char *needs = needs_find(kernel, range);
	bool all = needs != NULL;

	for (unsigned i = 0; i < kernel->naccesses; i++) {
		const struct index_access *access = &kernel->accesses[i];

		if (access->argument == (int)argument && access->write)
			all = all && access->node >= 0 && !(needs[access->node] & OF_DATA);
	}
	free(needs);
	return all;
}

/* Adds what is known of the writes of some groups. A window of all of a large buffer tells
 * nothing. */
static void uses_add(const struct index_kernel *kernel, const struct ndrange *range,
                     const struct index_use *uses, size_t bytes, struct finding *finding)
{
	for (unsigned a = 0; a < kernel->narguments; a++) {
		const struct index_window *write = &uses[a].write;

		if (index_window_empty(write))
			continue;
		if (!write->known || write->end - write->first == bytes)
			*finding = (struct finding){
			    UNKNOWN, is_addressed(kernel, range, a)
			                 ? "with this size and these integers it may write all "
			                   "of a buffer"
			                 : "where it writes is not known"};
		else if (!write->dense && finding->known > KNOWN)
			*finding = (struct finding){
			    KNOWN,
			    is_conditional(kernel, range, a)
			        ? "a condition that a launch does not tell is in front of its "
			          "writes"
			        : "its writes leave gaps, or it is not known that they do not"};
	}
}

/* Bytes of a buffer that is looked at. */
enum { LOOKED_BYTES = 1 << 20 };

/* Contents of the buffers that are looked at: a number and 0 in turn, so that groups find others,
 * and their windows include all of what smaller numbers say. A buffer has integers of the size of a
 * load from it. @return 0; -ENOMEM */
static int contents_make(const struct arguments *arguments, const struct index_kernel *kernel,
                         unsigned char **contents, size_t *bytes)
{
	int64_t value = arguments->contents ? arguments->content : arguments->integer;

	for (unsigned n = 0; n < kernel->nnodes; n++) {
		const struct index_node *node = &kernel->nodes[n];

		if (node->op != INDEX_LOAD || contents[node->value] ||
		    !index_looks(kernel, NULL, node->value))
			continue;
		contents[node->value] = malloc(LOOKED_BYTES);
		if (!contents[node->value])
			return -ENOMEM;
		bytes[node->value] = LOOKED_BYTES;
		for (size_t i = 0, size = node->bits / 8; i < LOOKED_BYTES / size; i++) {
			int64_t found = i % 2 ? 0 : value;

			memcpy(contents[node->value] + i * size, &found, size); /* little-endian */
		}
	}
	return 0;
}

static void contents_free(unsigned char **contents, unsigned n)
{
	for (unsigned a = 0; contents && a < n; a++)
		free(contents[a]);
	free(contents);
}

/* What is known of the writes of each half of a kernel's groups. */
static int halves_find(const struct arguments *arguments, const struct index_kernel *kernel,
                       struct finding *finding)
{
	unsigned n = kernel->narguments + kernel->nfields + 1;
	int64_t *integers = calloc(n, sizeof(*integers));
	size_t *bytes = calloc(n, sizeof(*bytes)), groups;
	struct index_use *uses = calloc(n, sizeof(*uses));
	unsigned char **contents = calloc(n, sizeof(*contents));
	struct ndrange range;
	struct index_launch launch = {&range, integers, bytes, NULL,
	                              (const unsigned char *const *)contents};
	int error =
	    integers && bytes && uses && contents ? range_make(arguments, kernel, &range) : -ENOMEM;

	*finding = (struct finding){COMPLETE, ""};
	for (unsigned a = 0; !error && a < n; a++) {
		integers[a] = arguments->integer;
		bytes[a] = arguments->bytes;
	}
	if (!error)
		error = contents_make(arguments, kernel, contents, bytes);
	groups = error ? 0 : ndrange_groups(&range);
	for (unsigned half = 0; !error && half < 2; half++) {
		size_t from = half * (groups / 2);

		error = index_uses(kernel, &launch, from, half ? groups - from : groups / 2, uses);
		if (!error)
			uses_add(kernel, &range, uses, arguments->bytes, finding);
	}
	free(integers);
	free(bytes);
	free(uses);
	contents_free(contents, n);
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

static int kernel_do(struct arguments *arguments, const char *file, const char *name,
                     const struct index_kernel *kernel)
{
	struct finding finding;
	char many[64], *refusal = kernel->refusal;
	int error = 0;

	snprintf(many, sizeof(many), "it has more than %d arguments", INDEX_MAXARGUMENTS);
	if (!refusal && kernel->narguments > INDEX_MAXARGUMENTS)
		refusal = many;
	if (!refusal)
		error = halves_find(arguments, kernel, &finding);
	if (refusal)
		result_print(arguments, file, name, NOT_SPLIT, refusal);
	else if (!error)
		result_print(arguments, file, name, finding.known, finding.why);
	return error;
}

/* All kernels of a source, as they were described. */
static int kernels_do(struct arguments *arguments, const char *file, char *all)
{
	char why[KERNEL_WHY + 32], *reason = why + strlen("it is not analysed: "), *name;
	struct index_kernel kernel;
	int error = 0, refused = 0;

	strcpy(why, "it is not analysed: ");
	if (!*all)
		fprintf(stderr, "heddle plan kernels: %s: there is no kernel in it\n", file);
	while (!error && (name = kernel_analysed_take(&all, &kernel, &refused, reason))) {
		if (refused) {
			result_print(arguments, file, name, NOT_SPLIT, why);
			continue;
		}
		error = kernel_do(arguments, file, name, &kernel);
		index_free(&kernel);
	}
	if (!error && refused) {
		fprintf(stderr, "heddle plan kernels: %s: its kernels are not analysed: %s\n", file,
		        reason);
		error = refused;
	}
	return error;
}

static int source_do(struct arguments *arguments, const char *file, const char *source)
{
	char *asked, *answers, *all, why[KERNEL_WHY];
	int error = kernel_analyse_asks(source, arguments->options_text, &asked, why);

	if (!error) {
		error = answers_make(asked, arguments->options_text, &answers);
		free(asked);
		if (error)
			return error;
		error = kernel_analyse_all(source, arguments->options_text, answers, &all, why);
		free(answers);
	}
	if (error) {
		fprintf(stderr, "heddle plan kernels: %s: its kernels are not analysed: %s\n", file,
		        why);
		return error;
	}
	error = kernels_do(arguments, file, all);
	free(all);
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
	/* What the compiler says names this file, not a copy. */
	if (out && !path[strcspn(path, "\"\\\n")])
		fprintf(out, "#line 1 \"%s\"\n", path);
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
	struct option_set set = {.rows = options, .data = &arguments, .argument = take_files};
	char *analyser = place_subcommand("analyse");
	bool failed = false;

	arguments.options = open_memstream(&arguments.options_text, &arguments.options_size);
	if (!arguments.options)
		return 1;
	options_parse(&program, &set, argc, argv);
	fclose(arguments.options);
	/* The limit that a message names is to be the user's. */
	if (heddle_variables_check(environ)) {
		free(arguments.options_text);
		free(analyser);
		return PLAN_USAGE;
	}
	if (analyser)
		setenv("HEDDLE_ANALYSE", analyser, 0);
	kernel_analyse_show_errors();
	for (int f = 0; f < arguments.nfiles; f++)
		failed = file_do(&arguments, arguments.files[f]) || failed;
	failed = !summary_print(&arguments) || failed;
	reasons_free(&arguments);
	free(arguments.options_text);
	free(analyser);
	return failed ? PLAN_USAGE : fflush(stdout) || ferror(stdout);
}
