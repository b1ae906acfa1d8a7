/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Classifies the tissue on a slide, tile by tile, at higher and higher resolutions
 * until the answer is sure: the application that G. Teodoro et al. (HPDC 2010) schedule.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <jansson.h>
#include <starpu.h>

#include "support/message.h"
#include "apps/common/app.h"
#include "apps/common/ranks.h"
#include "apps/nbia/pipeline.h"

/* Pixels a side that a tile has in the label map. */
#define MAP_SCALE 8

struct nbia {
	struct slide slide;
	struct pipeline_options options;
	struct pipeline *pipeline;
	size_t height; /* --height; 0: a square */
	size_t first;  /* tile that this rank verifies */
};

/* ---- own options ---- */

static bool fits_before(const struct pipeline_options *chosen)
{
	size_t last = chosen->resolutions[chosen->levels - 1];

	for (unsigned l = 0; l < chosen->levels; l++)
		if (last % chosen->resolutions[l] ||
		    (l && chosen->resolutions[l] <= chosen->resolutions[l - 1]))
			return false;
	return true;
}

static void parse_resolutions(void *data, char *list, struct argp_state *state)
{
	struct pipeline_options *chosen = &((struct nbia *)data)->options;
	char *copy = strdup(list), *rest = copy, *word;

	chosen->levels = 0;
	while (copy && (word = strsep(&rest, ","))) {
		uint64_t value;

		if (chosen->levels == PIPELINE_LEVELS)
			argp_error(state, "--resolutions %s: more than %d", list, PIPELINE_LEVELS);
		if (options_number(word, NBIA_SMALLEST, NBIA_LARGEST, &value))
			argp_error(state,
			           "--resolutions %s: '%s' is not a whole number from %d to %d",
			           list, word, NBIA_SMALLEST, NBIA_LARGEST);
		chosen->resolutions[chosen->levels++] = value;
	}
	free(copy);
	if (!chosen->levels || !fits_before(chosen))
		argp_error(state, "--resolutions %s: not ascending divisors of the last one", list);
}

static void parse_recalc(void *data, char *text, struct argp_state *state)
{
	double percent = 0;

	if (options_real(text, 0, 100, &percent))
		argp_error(state, "--recalc %s: not a number from 0 to 100", text);
	((struct nbia *)data)->options.recalc = percent / 100;
}

static const struct option_row own_options[] = {
    {"resolutions", "LIST",
     "Sides of tiles in pixels, the last one at the slide's own resolution (default 32,128,512)",
     PARSED(parse_resolutions)},
    {"recalc", "PERCENT",
     "Share of the tiles of each resolution that go on to the next, by chance (default: those "
     "that are not sure)",
     PARSED(parse_recalc)},
    {"confidence", "P", "At which a label is accepted (default 0.99)",
     REAL(struct nbia, options.confidence, 0, 1)},
    {"memory", "BYTES",
     "For tiles; of a slide that needs more they are read as they are wanted (default 2G)",
     NUMBER(struct nbia, options.memory, 1, SIZE_MAX)},
    {"readers", "N", "Threads that read then (default: one for 8 processors)",
     NUMBER(struct nbia, options.readers, 1, 1024)},
    {"height", "N", "Rows of a made slide (default: as many as columns)",
     NUMBER(struct nbia, height, 1, 1 << 24), .random = true},
    {0},
};

/* ---- the app ---- */

static int nbia_open(void *data, const struct app_options *common)
{
	struct nbia *self = data;

	return slide_open(common->input, &self->slide);
}

static int nbia_prepare(void *data, const struct app_options *common, struct heddle_loop *loop)
{
	struct nbia *self = data;
	int error;

	if (app_simulated() && self->options.recalc < 0)
		return heddle_refuse(-EINVAL, "simulated workers find nothing out: --recalc must "
		                              "say what share goes on");
	if (!common->input)
		slide_generate(common->size, self->height ? self->height : common->size,
		               common->seed, &self->slide);
	if (common->strategy || common->parts)
		heddle_warn("--strategy and --parts are for loops; here every tile is a task");
	self->options.seed = common->seed;
	self->options.kinds = common->kinds;
	self->options.ranks = common->mpi;
	ranks_distribute();
	loop->codelet = &nbia_codelet;
	error = pipeline_make(&self->slide, &self->options, &self->pipeline);
	if (!error)
		loop->n = pipeline_columns(self->pipeline) * pipeline_rows(self->pipeline);
	return error;
}

static int nbia_run(void *data, struct heddle_loop_stats *stats)
{
	struct nbia *self = data;

	return pipeline_run(self->pipeline, stats);
}

static void nbia_poison(void *data)
{
	struct nbia *self = data;

	pipeline_forget(self->pipeline);
}

static double differences(void *data, size_t begin, size_t end)
{
	struct nbia *self = data;

	return pipeline_differences(self->pipeline, self->first + begin, self->first + end);
}

/* All ranks have all results, and each looks at its part. */
static double nbia_verify(void *data)
{
	struct nbia *self = data;
	size_t n = pipeline_columns(self->pipeline) * pipeline_rows(self->pipeline);

	ranks_part(n, &self->first, &n);
	return app_parallel_by(n, 1, differences, self);
}

static void paint(struct image *map, size_t column, size_t row, const unsigned char *colour)
{
	for (size_t y = row * MAP_SCALE; y < (row + 1) * MAP_SCALE; y++)
		for (size_t x = column * MAP_SCALE; x < (column + 1) * MAP_SCALE; x++)
			memcpy(map->pixels + (y * map->width + x) * 3, colour, 3);
}

static int nbia_save_output(void *data, const struct app_options *common)
{
	static const unsigned char colours[TISSUES][3] = {
	    {245, 245, 245}, {230, 120, 170}, {90, 60, 150}};
	struct nbia *self = data;
	size_t columns = pipeline_columns(self->pipeline), rows = pipeline_rows(self->pipeline);
	const struct pipeline_result *results = pipeline_results(self->pipeline);
	struct image map = {
	    .width = columns * MAP_SCALE, .height = rows * MAP_SCALE, .channels = 3};
	int error;

	map.pixels = malloc(3 * map.width * map.height);
	if (!map.pixels)
		return heddle_refuse(-ENOMEM, "no memory for the label map");
	for (size_t tile = 0; tile < columns * rows; tile++)
		paint(&map, tile % columns, tile / columns, colours[results[tile].label]);
	error = png_file_write(common->output, &map);
	free(map.pixels);
	return error;
}

/* The slide as a PNG image, a row of tiles after the other. */
static int copy_tiles(const struct nbia *self, struct image *image, unsigned char *tile)
{
	size_t side = self->options.resolutions[self->options.levels - 1];

	for (size_t top = 0; top < image->height; top += side)
		for (size_t left = 0; left < image->width; left += side) {
			size_t width = image->width - left < side ? image->width - left : side;
			int error =
			    slide_read(&self->slide, left / side, top / side, side, side, tile);

			if (error)
				return error;
			for (size_t y = 0; y < side && top + y < image->height; y++)
				memcpy(image->pixels + 3 * ((top + y) * image->width + left),
				       tile + 3 * y * side, 3 * width);
		}
	return 0;
}

static int nbia_save_input(void *data, const struct app_options *common)
{
	struct nbia *self = data;
	size_t side = self->options.resolutions[self->options.levels - 1];
	struct image image = {
	    .width = self->slide.width, .height = self->slide.height, .channels = 3};
	unsigned char *tile = malloc(3 * side * side);
	int error;

	image.pixels = malloc(3 * image.width * image.height);
	if (!tile || !image.pixels)
		error = heddle_refuse(-ENOMEM, "no memory for the slide as one image");
	else
		error = copy_tiles(self, &image, tile);
	if (!error)
		error = png_file_write(common->save_input, &image);
	free(image.pixels);
	free(tile);
	return error;
}

static void nbia_release(void *data)
{
	struct nbia *self = data;

	pipeline_free(self->pipeline);
	slide_close(&self->slide);
}

/* ---- the report ---- */

struct class_counts {
	size_t tiles, at[PIPELINE_LEVELS];
	size_t known, right; /* of a slide whose answers are known */
	double confidence;   /* mean */
};

static void count_classes(const struct nbia *self, struct class_counts counts[TISSUES])
{
	const struct pipeline_result *results = pipeline_results(self->pipeline);
	size_t columns = pipeline_columns(self->pipeline);
	size_t tiles = columns * pipeline_rows(self->pipeline);

	memset(counts, 0, TISSUES * sizeof(*counts));
	for (size_t tile = 0; tile < tiles; tile++) {
		const struct pipeline_result *result = &results[tile];
		struct class_counts *class = &counts[result->label];
		enum tissue right = tissue_at(self->slide.seed, tile % columns, tile / columns);

		class->tiles++;
		class->at[result->level]++;
		class->confidence += result->confidence;
		counts[right].known += self->slide.known;
		class->right += self->slide.known && right == result->label;
	}
	for (int c = 0; c < TISSUES; c++)
		counts[c].confidence /= counts[c].tiles ? counts[c].tiles : 1;
}

static json_t *classes_json(const struct nbia *self)
{
	struct class_counts counts[TISSUES];
	json_t *classes = json_array();

	count_classes(self, counts);
	for (int c = 0; c < TISSUES; c++) {
		json_t *at = json_array();
		json_t *class = json_pack("{ss sI sf so}", "name", tissue_name(c), "tiles",
		                          (json_int_t)counts[c].tiles, "confidence",
		                          counts[c].confidence, "accepted_at", at);

		for (unsigned l = 0; l < self->options.levels; l++)
			json_array_append_new(at, json_integer(counts[c].at[l]));
		if (self->slide.known) {
			json_object_set_new(class, "known", json_integer(counts[c].known));
			json_object_set_new(class, "right", json_integer(counts[c].right));
		}
		json_array_append_new(classes, class);
	}
	return classes;
}

/* Tasks of each resolution, by kind of worker. */
static json_t *tasks_json(const struct nbia *self)
{
	json_t *list = json_array();

	for (unsigned l = 0; l < self->options.levels; l++) {
		json_t *tasks =
		    json_pack("{sI}", "resolution", (json_int_t)self->options.resolutions[l]);

		for (int kind = 0; kind < HEDDLE_NKINDS; kind++)
			json_object_set_new(tasks, heddle_kind_name(kind),
			                    json_integer(pipeline_tasks(self->pipeline, l, kind)));
		json_array_append_new(list, tasks);
	}
	return list;
}

static void nbia_describe(void *data, struct json_t *report)
{
	struct nbia *self = data;

	json_object_set_new(report, "columns", json_integer(pipeline_columns(self->pipeline)));
	json_object_set_new(report, "rows", json_integer(pipeline_rows(self->pipeline)));
	json_object_set_new(
	    report, "tiles",
	    json_string(pipeline_is_loaded(self->pipeline) ? "in memory" : "read on the way"));
	json_object_set_new(report, "recalc",
	                    self->options.recalc < 0 ? json_null()
	                                             : json_real(100 * self->options.recalc));
	json_object_set_new(report, "tasks", tasks_json(self));
	if (!app_simulated())
		json_object_set_new(report, "classes", classes_json(self));
}

static void print_tasks(const struct nbia *self)
{
	for (unsigned l = 0; l < self->options.levels; l++) {
		size_t all = 0;

		printf("  %zu x %zu:", self->options.resolutions[l], self->options.resolutions[l]);
		for (int kind = 0; kind < HEDDLE_NKINDS; kind++) {
			size_t tasks = pipeline_tasks(self->pipeline, l, kind);

			all += tasks;
			if (tasks)
				printf(" %zu %s", tasks, heddle_kind_name(kind));
		}
		printf("%s tasks\n", all ? "" : " no");
	}
}

static void nbia_print(void *data)
{
	struct nbia *self = data;
	struct class_counts counts[TISSUES];

	printf("  %zu x %zu tiles, %s; of the last repetition:\n", pipeline_columns(self->pipeline),
	       pipeline_rows(self->pipeline),
	       pipeline_is_loaded(self->pipeline) ? "in memory" : "read on the way");
	print_tasks(self);
	if (app_simulated())
		return;
	count_classes(self, counts);
	for (int c = 0; c < TISSUES; c++) {
		printf("  %-12s %9zu tiles, mean confidence %.4f", tissue_name(c), counts[c].tiles,
		       counts[c].confidence);
		if (self->slide.known)
			printf(", %zu of %zu found", counts[c].right, counts[c].known);
		printf("\n");
	}
}

int main(int argc, char **argv)
{
	static const struct app app = {
	    .name = "nbia",
	    .symbol = "heddle_nbia",
	    .doc = "Classifies the tissue on a slide: tiles at a low resolution first, at higher "
	           "ones where the answer is not sure."
	           "\v--size N makes a slide of N columns and rows of pixels that looks like "
	           "tissue; --input is a PNG image or a slide in any format that OpenSlide knows. "
	           "--output is a map of the labels as PNG, 8 pixels a side for a tile; "
	           "--save-input writes the slide as PNG. Every tile is a StarPU task.",
	    .unit = "tile",
	    .size = 4096,
	    .max_size = 1 << 24,
	    .seeded = true,
	    .own = own_options,
	    .tolerance = 0,
	    .ranks = true,
	    .open = nbia_open,
	    .prepare = nbia_prepare,
	    .run = nbia_run,
	    .describe = nbia_describe,
	    .print = nbia_print,
	    .poison = nbia_poison,
	    .error = nbia_verify,
	    .save_input = nbia_save_input,
	    .save_output = nbia_save_output,
	    .release = nbia_release,
	};
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	static struct nbia self = {.options = {.resolutions = {32, 128, 512},
	                                       .levels = 3,
	                                       .recalc = -1,
	                                       .confidence = 0.99,
	                                       .memory = (size_t)2 << 30}};

	self.options.readers = processors > 8 ? processors / 8 : 1;
	return app_main(&app, &self, argc, argv);
}
