/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Profiles: what is written is read again, records of two runs are merged, bad
 * lines cost themselves alone, two processes add to one file, the store of a process
 * reads and writes each file once, and what cross-validation says of data whose errors can be
 * computed by hand.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/common/cross_validation.h"
#include "estimator/history.h"
#include "estimator/profile_file.h"
#include "estimator/profile_store.h"
#include "support/home.h"
#include "tests/unit/test.h"

static char folder[] = "/tmp/heddle-profile-XXXXXX";

static char *printed(const struct heddle_profile *profile)
{
	size_t size;
	char *text;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(heddle_profile_print(profile, out), 0);
	fclose(out);
	return text;
}

/* What is left of a text after reading and writing. */
static void expect(const char *text, unsigned bad, const char *want)
{
	struct heddle_profile profile = {0};
	/* At the end of its memory, so that reading beyond it is seen. */
	size_t length = strlen(text);
	char *exact = malloc(length + !length), *got;
	unsigned skipped;

	memcpy(exact, text, length);
	assert_int_equal(heddle_profile_parse(&profile, exact, length, "test", &skipped), 0);
	free(exact);
	assert_int_equal(skipped, bad);
	got = printed(&profile);
	assert_string_equal(got, want);
	free(got);
	heddle_profile_free(&profile);
}

static void test_lines(void **state)
{
	static const char good[] = "task device=\"cpu X\" kind=\"red\" size=512 : at=10 "
	                           "samples=3 us=12.5,13\n";

	expect("", 0, "");
	expect(good, 0, good);
	expect("# comment\n\n \t\r\n  # comment\n", 0, "");
	/* Without an end, with the other ones, in another order, with more blanks. */
	expect("task size=5.12e2 kind=\"red\"\tdevice=\"cpu X\":us=12.5,13   samples=3 at=10\r", 0,
	       good);
	/* Kinds that nobody knows stay. */
	expect("rate loop=\"axpy\" : rate=0.1,0.25\ntask : us=1\n", 0,
	       "rate loop=\"axpy\" : rate=0.1,0.25\ntask : us=1\n");
	/* What was not understood stays, once it was complained about. */
	expect("nonsense\n", 1, "#? nonsense\n");
	expect("#? nonsense\n", 0, "#? nonsense\n");
	expect("task x=1 : us=1\n\001\002\ntask x=2 : us=2\n", 1,
	       "task x=1 : us=1\ntask x=2 : us=2\n#? ??\n");
}

static void test_bad_lines(void **state)
{
	static const char *const bad[] = {
	    "task",
	    "task :",
	    "task us=1",
	    "task x=1 us=1",
	    "task x=1 :",
	    "task x= : us=1",
	    "task x : us=1",
	    "task =1 : us=1",
	    "task x=one : us=1",
	    "task x=1 x=2 : us=1",
	    "task x=1 : x=1",
	    "task x=\"a : us=1",
	    "task x=\"a\"b : us=1",
	    "task x=\"a\\\"\" : us=1",
	    "task x=1 : us=nan",
	    "task x=1 : us=inf",
	    "task x=1 : us=1e999",
	    "task x=1 : us=1,",
	    "task x=1 : us=,1",
	    "task x=1 : us=1,2,3,4,5,6,7,8",
	    "task x=1 : us=1 : us=2",
	    "1task x=1 : us=1",
	    "task 1x=1 : us=1",
	    "task x-y=1 : us=1",
	    "task x=0000000000000000000000000000000000000000001 : us=1",
	    "task abcdefghijklmnopqrstuvwxyzabcdefgh=1 : us=1",
	    "abcdefghijklmnopqrstuvwxyzabcdefgh x=1 : us=1",
	    "task a=1 b=1 c=1 d=1 e=1 f=1 g=1 h=1 i=1 j=1 k=1 l=1 m=1 n=1 o=1 p=1 q=1 r=1 s=1 "
	    "t=1 : us=1",
	    "task us=1 : us=1",
	    "<<<<<<< HEAD",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct heddle_profile_record record;
		const char *why = NULL;

		if (heddle_profile_record_parse(bad[i], strlen(bad[i]), &record, &why) != -EINVAL)
			fail_msg("accepted: %s", bad[i]);
		assert_non_null(why);
	}
}

static void test_merge(void **state)
{
	expect("task x=1 : at=5 samples=3 us=10\ntask x=1 : at=9 samples=4 us=12\n", 0,
	       "task x=1 : at=9 samples=7 us=10,12\n");
	/* The later one's numbers are last, whichever comes first. */
	expect("task x=1 : at=9 samples=4 us=12\ntask x=1 : at=5 samples=3 us=10\n", 0,
	       "task x=1 : at=9 samples=7 us=10,12\n");
	/* The latest seven. */
	expect("task x=1 : at=1 us=1,2,3,4,5\ntask x=1 : at=2 us=6,7,8\n", 0,
	       "task x=1 : at=2 us=2,3,4,5,6,7,8\n");
	expect("task x=1 : at=1 us=1,2\ntask x=1 : at=2 us=3,4,5,6,7,8,9\n", 0,
	       "task x=1 : at=2 us=3,4,5,6,7,8,9\n");
	expect("task x=1 : us=1\ntask x=\"1\" : us=2\ntusk x=1 : us=3\ntask x=1 y=1 : us=4\n", 0,
	       "task x=\"1\" : us=2\ntask x=1 : us=1\ntask x=1 y=1 : us=4\ntusk x=1 : us=3\n");
	expect("task x=1 : note=\"a\" us=1\ntask x=1 : note=\"b\" other=2 us=1\n", 0,
	       "task x=1 : note=\"b\" other=2 us=1,1\n");
}

/* Any text, however damaged, is read without harm; lines far from the damage stay. */
static void test_damaged(void **state)
{
	static const char text[] = "# Heddle\ntask device=\"cpu\" size=1 : at=1 samples=1 us=1\n"
	                           "task device=\"gpu\" size=2 : at=2 samples=2 us=2,3\n"
	                           "rate name=\"x\" : rate=3.5\n";
	unsigned seed = 600;

	print_message("seed %u\n", seed);
	srand(seed);
	for (int round = 0; round < 20000; round++) {
		struct heddle_profile profile = {0};
		size_t length = 1 + rand() % (sizeof(text) - 1);
		char *copy = malloc(length);

		memcpy(copy, text, length);
		for (int hits = rand() % 4; hits > 0; hits--)
			copy[rand() % length] = rand();
		assert_int_equal(heddle_profile_parse(&profile, copy, length, "test", NULL), 0);
		assert_true(profile.n <= 6);
		heddle_profile_free(&profile);
		free(copy);
	}
}

/* Of too many records those measured last stay. */
static void test_many(void **state)
{
	enum { MANY = 3 * HEDDLE_PROFILE_RECORDS };
	struct heddle_profile profile = {0}, more = {0};
	struct heddle_profile_record record;

	for (int i = 0; i < MANY; i++) {
		heddle_profile_record_init(&record, "task");
		assert_int_equal(heddle_profile_record_number(&record, "x", i * 7919 % MANY), 0);
		heddle_profile_record_results(&record);
		assert_int_equal(heddle_profile_record_number(&record, "at", i), 0);
		assert_int_equal(heddle_profile_add(&profile, &record), 0);
	}
	assert_int_equal(heddle_profile_merge(&profile, &more), 0);
	assert_int_equal(profile.n, HEDDLE_PROFILE_RECORDS);
	for (size_t r = 0; r < profile.n; r++)
		assert_true(heddle_profile_record_field(profile.records[r], "at")->numbers[0] >=
		            MANY - HEDDLE_PROFILE_RECORDS);
	heddle_profile_free(&profile);
}

static void test_record(void **state)
{
	struct heddle_profile_record record, again;
	struct heddle_profile profile = {0};
	const char *why;
	char *text;

	heddle_profile_record_init(&record, "task");
	assert_int_equal(heddle_profile_record_text(&record, "name", "a \"b\\\n\tc"), 0);
	assert_int_equal(heddle_profile_record_number(&record, "name", 1), -EINVAL);
	assert_int_equal(heddle_profile_record_number(&record, "x", NAN), -EINVAL);
	assert_int_equal(heddle_profile_record_number(&record, "x y", 1), -EINVAL);
	assert_int_equal(heddle_profile_record_number(&record, "third", 1 / 3.), 0);
	heddle_profile_record_results(&record);
	assert_int_equal(heddle_profile_record_number(&record, "us", 1e-300), 0);
	assert_int_equal(heddle_profile_add(&profile, &record), 0);
	text = printed(&profile);
	assert_int_equal(heddle_profile_record_parse(text, strlen(text) - 1, &again, &why), 0);
	assert_string_equal(heddle_profile_record_field(&again, "name")->text, "a  b   c");
	assert_true(heddle_profile_record_field(&again, "third")->numbers[0] == 1 / 3.);
	assert_true(heddle_profile_record_field(&again, "us")->numbers[0] == 1e-300);
	free(text);
	heddle_profile_free(&profile);
}

/* ---- files ---- */

static void test_path(void **state)
{
	char path[300], longname[300];

	unsetenv("HEDDLE_PROFILE_DIR");
	unsetenv("STARPU_PERF_MODEL_DIR");
	unsetenv("XDG_CACHE_HOME");
	setenv("STARPU_HOME", "/nowhere", 1);
	assert_int_equal(heddle_profile_path("a/../b c%", path, sizeof(path)), 0);
	assert_string_equal(path, "/nowhere/.starpu/sampling/heddle/a%2F..%2Fb%20c%25.profile");
	assert_int_equal(heddle_profile_path("..", path, sizeof(path)), 0);
	assert_string_equal(path, "/nowhere/.starpu/sampling/heddle/%2E..profile");
	setenv("XDG_CACHE_HOME", "/cache", 1);
	assert_int_equal(heddle_profile_path("x", path, sizeof(path)), 0);
	assert_string_equal(path, "/cache/.starpu/sampling/heddle/x.profile");
	setenv("STARPU_PERF_MODEL_DIR", "/models", 1);
	assert_int_equal(heddle_profile_path("x", path, sizeof(path)), 0);
	assert_string_equal(path, "/models/heddle/x.profile");
	setenv("HEDDLE_PROFILE_DIR", folder, 1);
	assert_int_equal(heddle_profile_path("x", path, sizeof(path)), 0);
	assert_memory_equal(path, folder, strlen(folder));
	assert_int_equal(heddle_profile_path("", path, sizeof(path)), -EINVAL);
	assert_int_equal(heddle_profile_path("x", path, 10), -ENAMETOOLONG);
	memset(longname, 'x', sizeof(longname) - 1);
	longname[sizeof(longname) - 1] = 0;
	assert_int_equal(heddle_profile_path(longname, path, sizeof(path)), -ENAMETOOLONG);
}

/* heddle_home_check() of a place; what it says must be of STARPU_HOME. */
static int check_home(const char *place)
{
	char path[PATH_MAX];
	const char *variable = NULL;
	int error;

	setenv("STARPU_HOME", place, 1);
	error = heddle_home_check(path, sizeof(path), &variable);
	assert_string_equal(variable, "STARPU_HOME");
	assert_memory_equal(path, place, strlen(place));
	return error;
}

static void test_home(void **state)
{
	char path[PATH_MAX], file[PATH_MAX];

	unsetenv("STARPU_PERF_MODEL_DIR");
	unsetenv("XDG_CACHE_HOME");
	assert_int_equal(check_home(folder), 0);
	snprintf(path, sizeof(path), "%s/a/b", folder);
	assert_int_equal(check_home(path), 0);
	assert_int_equal(check_home("no/such/folder"), 0);
	assert_int_equal(check_home("/proc/none"), getuid() ? -EACCES : 0);
	snprintf(file, sizeof(file), "%s/file", folder);
	fclose(fopen(file, "w"));
	assert_int_equal(check_home(file), -ENOTDIR);
	unlink(file);
	/* StarPU takes a temporary one. */
	unsetenv("STARPU_HOME");
	unsetenv("HOME");
	assert_int_equal(heddle_home_check(path, sizeof(path), NULL), 0);
	assert_int_equal(heddle_home_find(path, sizeof(path), NULL), -ENOENT);
	setenv("HOME", "/home/x", 1);
	assert_int_equal(heddle_home_find(path, sizeof(path), NULL), 0);
	assert_string_equal(path, "/home/x/.starpu/sampling");
	assert_int_equal(heddle_home_find(path, 5, NULL), -ENAMETOOLONG);
}

static void add(struct heddle_profile *profile, double x, double us)
{
	struct heddle_profile_record record;

	heddle_profile_record_init(&record, "task");
	assert_int_equal(heddle_profile_record_number(&record, "x", x), 0);
	heddle_profile_record_results(&record);
	assert_int_equal(heddle_profile_record_number(&record, "samples", 1), 0);
	assert_int_equal(heddle_profile_record_number(&record, "us", us), 0);
	assert_int_equal(heddle_profile_add(profile, &record), 0);
}

static double samples_in(const char *path, size_t *records)
{
	struct heddle_profile profile = {0};
	double sum = 0;

	assert_int_equal(heddle_profile_read(path, &profile), 0);
	for (size_t r = 0; r < profile.n; r++)
		sum += heddle_profile_record_field(profile.records[r], "samples")->numbers[0];
	*records = profile.n;
	heddle_profile_free(&profile);
	return sum;
}

/* Nothing that any of them measured is lost. */
static void test_writers(void **state)
{
	enum { WRITERS = 4, ROUNDS = 30 };
	pid_t children[WRITERS];
	char path[256];
	size_t records;
	int status;

	snprintf(path, sizeof(path), "%s/below/writers.profile", folder);
	for (int w = 0; w < WRITERS; w++) {
		children[w] = fork();
		assert_true(children[w] >= 0);
		for (int i = 0; !children[w] && i < ROUNDS; i++) {
			struct heddle_profile news = {0};

			add(&news, 0, i);
			add(&news, 1 + w * ROUNDS + i, 7);
			if (heddle_profile_update(path, &news))
				_exit(1);
			heddle_profile_free(&news);
		}
		if (!children[w])
			_exit(0);
	}
	for (int w = 0; w < WRITERS; w++) {
		assert_int_equal(waitpid(children[w], &status, 0), children[w]);
		assert_int_equal(status, 0);
	}
	assert_true(samples_in(path, &records) == 2 * WRITERS * ROUNDS);
	assert_int_equal(records, 1 + WRITERS * ROUNDS);
}

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void test_bad_files(void **state)
{
	struct heddle_profile profile = {0}, news = {0};
	char path[256];
	size_t records;

	snprintf(path, sizeof(path), "%s/bad.profile", folder);
	assert_int_equal(heddle_profile_read(path, &profile), 0);
	assert_int_equal(heddle_profile_read(folder, &profile), -EINVAL);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(heddle_profile_read(path, &profile), -EINVAL);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(profile.n, 0);
	/* Torn in the middle of a line: the rest stays, also after an update. */
	put(path, "task x=1 : samples=5 us=1\ntask x=2 : samples=5 us=\x01");
	add(&news, 3, 9);
	assert_int_equal(heddle_profile_update(path, &news), 0);
	assert_true(samples_in(path, &records) == 6);
	assert_int_equal(records, 2);
	/* One that is no profile is left alone. */
	assert_int_equal(truncate(path, 1 << 30), 0);
	assert_int_equal(heddle_profile_update(path, &news), -EFBIG);
	assert_int_equal(heddle_profile_update("/proc/none/x.profile", &news), -ENOENT);
	heddle_profile_free(&news);
	heddle_profile_free(&profile);
}

/* ---- the store ---- */

struct seen {
	unsigned calls;
	size_t records;
	double samples;
};

static void look(const struct heddle_profile *known, const char *path, void *arg)
{
	struct seen *seen = arg;

	assert_memory_equal(path, folder, strlen(folder));
	seen->calls++;
	seen->records = known->n;
	seen->samples = 0;
	for (size_t r = 0; r < known->n; r++)
		seen->samples +=
		    heddle_profile_record_field(known->records[r], "samples")->numbers[0];
}

static void store(const char *codelet, double x)
{
	struct heddle_profile one = {0};

	add(&one, x, 7);
	assert_int_equal(profile_store_add(codelet, one.records[0]), 0);
	heddle_profile_free(&one);
}

static unsigned collected;

static void collect(void)
{
	if (!collected++)
		store("kept", 5);
}

/* A file is read once and written once, by whoever asks for it; what is added is known at once. */
static void test_store(void **state)
{
	struct seen seen = {0};
	char path[300];
	size_t records;

	setenv("HEDDLE_PROFILE_DIR", folder, 1);
	assert_int_equal(heddle_profile_path("kept", path, sizeof(path)), 0);
	put(path, "task x=1 : samples=5 us=1\ntask x=2 : samples=5 us=2\n");
	/* Added before the file was read. */
	store("kept", 1);
	assert_int_equal(profile_store_ask("kept", look, &seen), 0);
	assert_int_equal(seen.records, 2);
	assert_true(seen.samples == 11);
	/* Nobody reads it again. */
	put(path, "task x=3 : samples=100 us=1\n");
	store("kept", 4);
	assert_int_equal(profile_store_ask("kept", look, &seen), 0);
	assert_int_equal(seen.calls, 2);
	assert_int_equal(seen.records, 3);
	assert_true(seen.samples == 12);
	/* What others wrote meanwhile stays; of two writes the second finds nothing new. */
	profile_store_collect(collect);
	profile_store_collect(collect);
	assert_int_equal(profile_store_write(), 0);
	assert_int_equal(collected, 1);
	assert_true(samples_in(path, &records) == 103);
	assert_int_equal(records, 4);
	assert_int_equal(profile_store_write(), 0);
	assert_true(samples_in(path, &records) == 103);
}

/* What cannot be written is kept. */
static void test_store_keeps(void **state)
{
	char path[300];
	size_t records;

	setenv("HEDDLE_PROFILE_DIR", "/proc/none", 1);
	store("late", 1);
	assert_int_equal(profile_store_write(), -ENOENT);
	setenv("HEDDLE_PROFILE_DIR", folder, 1);
	assert_int_equal(profile_store_write(), 0);
	assert_int_equal(heddle_profile_path("late", path, sizeof(path)), 0);
	assert_true(samples_in(path, &records) == 1);
}

static void *writer_run(void *error)
{
	*(int *)error = profile_store_write();
	return NULL;
}

/* While a file waits for another process, which has the folder's lock, records are added and
 * known. */
static void test_store_waits_for_nobody(void **state)
{
	struct seen seen = {0};
	char path[300];
	size_t records;
	pthread_t writer;
	int lock, error = -1;

	setenv("HEDDLE_PROFILE_DIR", folder, 1);
	snprintf(path, sizeof(path), "%s/.lock", folder);
	lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	assert_true(lock >= 0 && !flock(lock, LOCK_EX));
	store("waiting", 1);
	assert_int_equal(profile_store_ask("waiting", look, &seen), 0);
	assert_int_equal(pthread_create(&writer, NULL, writer_run, &error), 0);
	usleep(100000);
	store("waiting", 2);
	assert_int_equal(profile_store_ask("waiting", look, &seen), 0);
	assert_int_equal(seen.records, 2);
	close(lock);
	assert_int_equal(pthread_join(writer, NULL), 0);
	assert_int_equal(error, 0);
	assert_int_equal(heddle_profile_path("waiting", path, sizeof(path)), 0);
	assert_int_equal(profile_store_write(), 0);
	assert_true(samples_in(path, &records) == 2);
}

/* ---- into histories ---- */

static int class_of(const char *device, void *arg)
{
	return !strcmp(device, "cpu") ? 0 : !strcmp(device, "gpu") ? 1 : -1;
}

static void test_load(void **state)
{
	static const char text[] = "task device=\"cpu\" kind=\"red\" size=10 : us=100,50000,102\n"
	                           "task device=\"gpu\" kind=\"red\" size=10 : us=10\n"
	                           "task device=\"fpga\" kind=\"red\" size=10 : us=1\n"
	                           "task device=\"cpu\" kind=5 size=20 : us=1\n"
	                           "task device=\"cpu\" size=1,2 : us=1\n"
	                           "task device=\"cpu\" size=20 : us=-1\n"
	                           "task device=\"cpu\" size=20 : us=\"fast\"\n"
	                           "rate device=\"cpu\" size=20 : us=3\n"
	                           "task device=\"gpu\" size=20 : us=4\n";
	struct heddle_profile profile = {0};
	struct heddle_history history = {0};
	unsigned skipped;

	assert_int_equal(heddle_profile_parse(&profile, text, strlen(text), "test", &skipped), 0);
	assert_int_equal(skipped, 0);
	assert_int_equal(heddle_history_load(&history, &profile, class_of, NULL), 0);
	assert_int_equal(history.npoints, 2);
	assert_int_equal(history.ndimensions, 2);
	for (size_t p = 0; p < 2; p++) {
		bool red = history.points[p].us[0] > 0;

		assert_true(history.points[p].us[0] == (red ? 102 : 0));
		assert_true(history.points[p].us[1] == (red ? 10 : 4));
	}
	heddle_history_free(&history);
	heddle_profile_free(&profile);
}

static void job(struct heddle_history *history, double size, double cpu, double gpu)
{
	double values[HEDDLE_HISTORY_DIMENSIONS] = {size};
	unsigned d;
	size_t p;

	assert_int_equal(heddle_history_dimension(history, "size", false, &d), 0);
	assert_int_equal(heddle_history_add(history, values, &p), 0);
	heddle_history_set(history, p, 0, cpu);
	heddle_history_set(history, p, 1, gpu);
}

static void test_cross_validation(void **state)
{
	struct heddle_history history = {0};
	struct heddle_cross_validation cv;

	job(&history, 1, 10, 1);
	assert_int_equal(
	    heddle_cross_validation_run(&history, 1, 0, 10, HEDDLE_HISTORY_PUBLISHED, 1, &cv),
	    -ENODATA);
	/* Each left out in turn, its one neighbour says all: 10, 20 -> 20, 10. */
	job(&history, 2, 20, 2);
	assert_int_equal(
	    heddle_cross_validation_run(&history, 1, 0, 10, HEDDLE_HISTORY_PUBLISHED, 1, &cv), 0);
	assert_int_equal(cv.jobs, 2);
	assert_true(fabs(cv.reference - (1 + 0.5) / 2) < 1e-12);
	assert_true(fabs(cv.time - (1 + 0.5) / 2) < 1e-12);
	assert_true(fabs(cv.speedup) < 1e-12);
	/* A job without a time on one class is no job. */
	job(&history, 3, 30, 0);
	assert_int_equal(
	    heddle_cross_validation_run(&history, 1, 0, 10, HEDDLE_HISTORY_PUBLISHED, 1, &cv), 0);
	assert_int_equal(cv.jobs, 2);
	/* Speed-up 10, 10, 5: left out, the last is predicted as 10, the nearest of
	 * the first two say (10 + 5 40) / (…). */
	job(&history, 4, 40, 8);
	assert_int_equal(
	    heddle_cross_validation_run(&history, 1, 0, 3, HEDDLE_HISTORY_PUBLISHED, 1, &cv), 0);
	assert_int_equal(cv.jobs, 3);
	assert_true(fabs(cv.speedup - ((1 - 6 / 10.) + (1 - 50 / 9. / 10) + 1) / 3) < 1e-12);
	heddle_history_free(&history);
}

/* Speed-ups that depend on little are predicted well where times are not. */
static void test_speedup_easier(void **state)
{
	struct heddle_history history = {0};
	struct heddle_cross_validation cv;

	for (int i = 0; i < 30; i++)
		job(&history, 1 << i % 15, (100 + i % 7) * (1 << i % 15), 10 * (1 << i % 15));
	assert_int_equal(
	    heddle_cross_validation_run(&history, 1, 0, 10, HEDDLE_HISTORY_PUBLISHED, 1, &cv), 0);
	assert_true(cv.speedup < 0.1 && cv.reference > 2 * cv.speedup);
	heddle_history_free(&history);
}

/* A core, and a device with something to do before each task, times with an error of up to
 * 5 %: a power law through neighbours predicts both better than their mean. */
static void test_fit_better(void **state)
{
	struct heddle_history history = {0};
	struct heddle_cross_validation mean, fit;
	unsigned seed = 2010;

	print_message("seed %u\n", seed);
	srand(seed);
	for (int i = 0; i < 30; i++) {
		double size = exp2(10 + 12 * (rand() % 1000) / 1000.);

		job(&history, size, (2 + size / 100) * (0.95 + rand() % 100 / 1000.),
		    (20 + size / 5000) * (0.95 + rand() % 100 / 1000.));
	}
	assert_int_equal(
	    heddle_cross_validation_run(&history, 1, 0, 10, HEDDLE_HISTORY_PUBLISHED, 1, &mean), 0);
	assert_int_equal(
	    heddle_cross_validation_run(&history, 1, 0, 10, HEDDLE_HISTORY_FIT, 1, &fit), 0);
	print_message("speed-up: mean %.3f, fit %.3f\n", mean.speedup, fit.speedup);
	assert_true(fit.speedup < 0.08 && fit.reference < 0.06);
	assert_true(2 * fit.speedup < mean.speedup);
	heddle_history_free(&history);
}

static int begin(void **state)
{
	setenv("HEDDLE_VERBOSE", "0", 1);
	return !mkdtemp(folder);
}

static int end(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

/* Sums of samples stay numbers that can be read again. */
static void test_large_sums(void **state)
{
	static const char text[] =
	    "task n=1 : us=1 samples=1.7e308\ntask n=1 : us=2 samples=1.7e308\n";
	struct heddle_profile profile = {0}, again = {0};
	unsigned skipped;
	char *printed;
	size_t n;
	FILE *out = open_memstream(&printed, &n);

	assert_non_null(out);
	assert_int_equal(heddle_profile_parse(&profile, text, strlen(text), "test", NULL), 0);
	assert_int_equal(heddle_profile_print(&profile, out), 0);
	fclose(out);
	assert_int_equal(heddle_profile_parse(&again, printed, n, "test", &skipped), 0);
	assert_int_equal(skipped, 0);
	assert_int_equal(again.n, 1);
	free(printed);
	heddle_profile_free(&profile);
	heddle_profile_free(&again);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_large_sums),     cmocka_unit_test(test_lines),
	    cmocka_unit_test(test_bad_lines),      cmocka_unit_test(test_merge),
	    cmocka_unit_test(test_damaged),        cmocka_unit_test(test_many),
	    cmocka_unit_test(test_record),         cmocka_unit_test(test_path),
	    cmocka_unit_test(test_home),           cmocka_unit_test(test_writers),
	    cmocka_unit_test(test_bad_files),      cmocka_unit_test(test_store),
	    cmocka_unit_test(test_store_keeps),    cmocka_unit_test(test_store_waits_for_nobody),
	    cmocka_unit_test(test_load),           cmocka_unit_test(test_cross_validation),
	    cmocka_unit_test(test_speedup_easier), cmocka_unit_test(test_fit_better),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
