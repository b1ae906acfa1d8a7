/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "estimator/platform.h"
#include "tools/common/simulation.h"
#include "tests/unit/test.h"

#define assert_close(a, b) assert_true(fabs((a) - (b)) <= 1e-9 * fabs((double)(b)))

static void test_full_description(void **state)
{
	struct heddle_platform p;

	assert_int_equal(
	    heddle_platform_parse("63cpu=0.25+gpu36@8000:25+2fpga6.5~4096^250%0.5/0.25", &p), 0);
	assert_int_equal(p.ncpus, 63);
	assert_close(p.core_rate, 0.25);
	assert_int_equal(p.naccelerators, 3);
	assert_int_equal(p.accelerators[0].kind, HEDDLE_KIND_CUDA);
	assert_close(p.accelerators[0].speed, 36);
	assert_true(p.accelerators[0].saturation == 0);
	assert_close(p.accelerators[0].mbps, 8000);
	assert_close(p.accelerators[0].latency_us, 25);
	assert_close(p.accelerators[0].memory_mb, 64000);
	assert_true(p.accelerators[0].slow_factor == 1);
	for (int i = 1; i <= 2; i++) {
		assert_int_equal(p.accelerators[i].kind, HEDDLE_KIND_FPGA);
		assert_close(p.accelerators[i].speed, 6.5);
		assert_close(p.accelerators[i].saturation, 4096);
		assert_close(p.accelerators[i].memory_mb, 250);
		assert_close(p.accelerators[i].mbps, 12000);
		assert_close(p.accelerators[i].slow_factor, 0.5);
		assert_close(p.accelerators[i].slow_at, 0.25);
	}
}

static void test_defaults(void **state)
{
	struct heddle_platform p;

	assert_int_equal(heddle_platform_parse("0cpu+gpu36~", &p), 0);
	assert_int_equal(p.ncpus, 0);
	assert_close(p.core_rate, 1);
	assert_close(p.accelerators[0].saturation, 1048576);
	assert_close(p.accelerators[0].latency_us, 10);
	assert_int_equal(heddle_platform_parse("4cpu", &p), 0);
	assert_int_equal(p.naccelerators, 0);
}

static void test_exponents(void **state)
{
	struct heddle_platform p;

	assert_int_equal(heddle_platform_parse("1cpu=2.5e-3+gpu1e2~1e6", &p), 0);
	assert_close(p.core_rate, 0.0025);
	assert_close(p.accelerators[0].speed, 100);
	assert_close(p.accelerators[0].saturation, 1e6);
}

static void test_refused(void **state)
{
	static const char *const refused[] = {
	    "",
	    "cpu",
	    "x",
	    "4",
	    "4cpu ",
	    " 4cpu",
	    "-4cpu",
	    "4.5cpu",
	    "5000cpu",
	    "0cpu",
	    "4cpu+",
	    "4cpu+gpu",
	    "4cpu+gpu0",
	    "4cpu+gpu-3",
	    "4cpu+gpunan",
	    "4cpu+gpuinf",
	    "4cpu+gpu1.2.3",
	    "4cpu+gpu36@",
	    "4cpu+gpu36@12000",
	    "4cpu+gpu36@12000:",
	    "4cpu+gpu36@0:10",
	    "4cpu+gpu36%",
	    "4cpu+gpu36%0.5",
	    "4cpu+gpu36%0.5/",
	    "4cpu+gpu36%0/0.5",
	    "4cpu+gpu36%0.5/1.5",
	    "4cpu+gpu36~1",
	    "4cpu+gpu36^",
	    "4cpu+gpu36^16",
	    "4cpu+gpu36^250@12000:10",
	    "4cpu+tpu36",
	    "4cpu+17gpu1",
	    "4cpu+0gpu1",
	    "4cpu+9gpu1+8gpu1",
	    "4cpu=0",
	    "4cpu=",
	    "4cpugpu36",
	    "4cpu+gpu36+",
	    "4cpu+gpu0x10",
	    "starpu:",
	    "starpu:../mirage",
	    "starpu:mirage+gpu36",
	    "starpu:.hidden",
	    "starpu:a-name-of-more-than-sixty-three-characters-is-not-one-of-a-machine",
	    "99999999999999999999999cpu",
	};
	struct heddle_platform p = {.ncpus = 77};

	setenv("HEDDLE_VERBOSE", "0", 1);
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		if (heddle_platform_parse(refused[i], &p) != -EINVAL)
			fail_msg("\"%s\" was accepted", refused[i]);
		assert_int_equal(p.ncpus, 77);
	}
	unsetenv("HEDDLE_VERBOSE");
}

/* Text on standard error of a refusal. */
static void refusal(const char *spec, char *text, size_t room)
{
	struct heddle_platform p;
	int saved = dup(2), ends[2];
	ssize_t length;

	assert_int_equal(pipe(ends), 0);
	dup2(ends[1], 2);
	heddle_platform_parse(spec, &p);
	dup2(saved, 2);
	close(ends[1]);
	close(saved);
	length = read(ends[0], text, room - 1);
	close(ends[0]);
	text[length > 0 ? length : 0] = 0;
}

static void test_refusal_names_position(void **state)
{
	char text[512];

	refusal("4cpu+gpu36@x:10", text, sizeof(text));
	assert_non_null(strstr(text, "4cpu+gpu36@x:10"));
	assert_non_null(strstr(text, "character 12"));
	assert_non_null(strstr(text, "bandwidth in MB/s"));
	refusal("4cpu+", text, sizeof(text));
	assert_non_null(strstr(text, "character 6"));
}

static void test_block_time(void **state)
{
	struct heddle_platform p;

	assert_int_equal(heddle_platform_parse("4cpu=0.5+gpu8+gpu8~1023", &p), 0);
	assert_close(heddle_platform_block_us(&p, HEDDLE_PLATFORM_CORE, 1000, 10000, 0), 2000);
	assert_close(heddle_platform_block_us(&p, 0, 1000, 10000, 0), 250);
	assert_close(heddle_platform_block_us(&p, 0, 1, 10000, 0), 0.25);
	/* ln(1 + 31) is half of ln(1 + 1023). */
	assert_close(heddle_platform_block_us(&p, 1, 31, 10000, 0), 31 / 2.0);
	assert_close(heddle_platform_block_us(&p, 1, 1023, 10000, 0), 1023 / 4.0);
	assert_close(heddle_platform_block_us(&p, 1, 4000, 10000, 0), 1000);
}

static void test_slowdown(void **state)
{
	struct heddle_platform p;

	/* 1000 iterations take 100 µs undisturbed, so the GPU is slow from 50 µs on. */
	assert_int_equal(heddle_platform_parse("2cpu+gpu8%0.5/0.5", &p), 0);
	assert_close(heddle_platform_block_us(&p, 0, 80, 1000, 0), 10);
	assert_close(heddle_platform_block_us(&p, 0, 80, 1000, 40), 10);
	assert_close(heddle_platform_block_us(&p, 0, 80, 1000, 45), 15);
	assert_close(heddle_platform_block_us(&p, 0, 80, 1000, 50), 20);
	assert_close(heddle_platform_block_us(&p, 0, 80, 1000, 5000), 20);
	assert_close(heddle_platform_block_us(&p, HEDDLE_PLATFORM_CORE, 80, 1000, 5000), 80);
}

static void test_ideal(void **state)
{
	struct heddle_platform p;

	assert_int_equal(heddle_platform_parse("2cpu+gpu8%0.5/0.5+fpga10", &p), 0);
	assert_close(heddle_platform_ideal_us(&p, 2000, 1, 2), 2000 / 12.0);
	assert_close(heddle_platform_ideal_us(&p, 2000, 1, 0), 1000);
	/* Undisturbed 100 µs: 50 µs at 20, the other 1000 iterations at 16. */
	assert_close(heddle_platform_ideal_us(&p, 2000, 1, 3), 50 + 1000 / 16.0);
	/* The GPU alone: 50 µs at 8, then 4. */
	assert_close(heddle_platform_ideal_us(&p, 2000, 0, 1), 50 + 1600 / 4.0);
	assert_true(isinf(heddle_platform_ideal_us(&p, 2000, 0, 0)));
	assert_close(heddle_platform_ideal_share(&p, 2000, HEDDLE_PLATFORM_CORE),
	             (50 + 1000 / 16.0) / 2000);
	assert_close(heddle_platform_ideal_share(&p, 2000, 0), (50 * 8 + 1000 / 4.0) / 2000);
	assert_close(heddle_platform_ideal_share(&p, 2000, 1), (50 * 10 + 10000 / 16.0) / 2000);
	assert_true(heddle_platform_ideal_us(&p, 0, 1, 3) == 0);
}

static void write_text(const char *path, const char *text)
{
	FILE *stream = fopen(path, "w");

	assert_non_null(stream);
	fputs(text, stream);
	fclose(stream);
}

static void test_names(void **state)
{
	char path[] = "/tmp/heddle-platforms-XXXXXX";
	struct heddle_platform p;

	close(mkstemp(path));
	write_text(path,
	           "# machines\n\nsmall 2cpu+gpu4 # a comment\nbad 2cpu+\nempty\n"
	           "sized 2cpu blackscholes 4096\nunsized 2cpu blackscholes 4k\n"
	           "known starpu:known-1.a\n"
	           "negative 2cpu blackscholes -1\nlarge 2cpu blackscholes 99999999999999999999\n");
	assert_int_equal(simulation_platform_find("small", path, &p), 0);
	assert_int_equal(p.naccelerators, 1);
	assert_string_equal(p.app, "");
	assert_int_equal(simulation_platform_find("sized", path, &p), 0);
	assert_string_equal(p.app, "blackscholes");
	assert_int_equal(p.size, 4096);
	assert_int_equal(simulation_platform_find("3cpu", path, &p), 0);
	assert_int_equal(p.ncpus, 3);
	assert_int_equal(simulation_platform_find("known", path, &p), 0);
	assert_string_equal(p.host, "known-1.a");
	assert_string_equal(p.spec, "starpu:known-1.a");
	assert_int_equal(simulation_platform_find("starpu:other", NULL, &p), 0);
	assert_string_equal(p.host, "other");
	setenv("HEDDLE_VERBOSE", "0", 1);
	assert_int_equal(simulation_platform_find("bad", path, &p), -EINVAL);
	assert_int_equal(simulation_platform_find("unsized", path, &p), -EINVAL);
	assert_int_equal(simulation_platform_find("negative", path, &p), -EINVAL);
	assert_int_equal(simulation_platform_find("large", path, &p), -EINVAL);
	assert_int_equal(simulation_platform_find("empty", path, &p), -EINVAL);
	assert_int_equal(simulation_platform_find("none", path, &p), -EINVAL);
	assert_int_equal(simulation_platform_find("none", NULL, &p), -EINVAL);
	unlink(path);
	assert_int_equal(simulation_platform_find("small", path, &p), -ENOENT);
	unsetenv("HEDDLE_VERBOSE");
}

/* Every platform that is shipped can be read, and has a name of its own. */
static void test_shipped_names(void **state)
{
	const char *source = getenv("top_srcdir");
	char file[4096], line[1024], name[256];
	unsigned names = 0;
	FILE *stream;

	if (!source)
		skip();
	snprintf(file, sizeof(file), "%s/tools/platforms", source);
	stream = fopen(file, "r");
	assert_non_null(stream);
	while (fgets(line, sizeof(line), stream)) {
		struct heddle_platform p;

		if (sscanf(line, " %255[^# \n]", name) != 1)
			continue;
		assert_int_equal(simulation_platform_find(name, file, &p), 0);
		assert_true(*p.host || (p.ncpus >= 1 && p.naccelerators >= 1));
		names++;
	}
	fclose(stream);
	assert_true(names > 20);
}

static void read_text(const char *directory, const char *file, char *text, size_t room)
{
	char path[4096];
	FILE *stream;

	snprintf(path, sizeof(path), "%s/bus/%s", directory, file);
	stream = fopen(path, "r");
	assert_non_null(stream);
	text[fread(text, 1, room - 1, stream)] = 0;
	fclose(stream);
	unlink(path);
}

static void test_files(void **state)
{
	char directory[] = "/tmp/heddle-platform-XXXXXX", text[8192], bus[4096];
	struct heddle_platform p;

	assert_non_null(mkdtemp(directory));
	assert_int_equal(heddle_platform_parse("2cpu+gpu4@6000:20+fpga3@3000:5", &p), 0);
	assert_int_equal(simulation_platform_write(&p, directory, "m"), 0);
	read_text(directory, "m.bandwidth", text, sizeof(text));
	assert_non_null(strstr(text, "\n0.000000e+00\t6.000000e+03\t3.000000e+03\tnan\n"));
	assert_non_null(strstr(text, "\n3.000000e+03\t2.000000e+03\t0.000000e+00\tnan\n"));
	read_text(directory, "m.latency", text, sizeof(text));
	assert_non_null(strstr(text, "\n2.000000e+01\t0.000000e+00\t2.500000e+01\tnan\n"));
	read_text(directory, "m.config", text, sizeof(text));
	assert_string_equal(text, "2 # CPUs\n2 # CUDA devices\n");
	read_text(directory, "m.platform.v4.xml", text, sizeof(text));
	/* Two cores of their own, and one for each accelerator. */
	assert_non_null(strstr(text, "\"CPU3\""));
	assert_null(strstr(text, "\"CPU4\""));
	assert_non_null(strstr(text, "\"CUDA1\""));
	assert_null(strstr(text, "\"CUDA2\""));
	snprintf(bus, sizeof(bus), "%s/bus", directory);
	assert_int_equal(rmdir(bus), 0);
	assert_int_equal(rmdir(directory), 0);
	setenv("HEDDLE_VERBOSE", "0", 1);
	assert_int_equal(simulation_platform_write(&p, "/dev/null/x", "m"), -ENOTDIR);
	unsetenv("HEDDLE_VERBOSE");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_full_description),
	    cmocka_unit_test(test_defaults),
	    cmocka_unit_test(test_exponents),
	    cmocka_unit_test(test_refused),
	    cmocka_unit_test(test_refusal_names_position),
	    cmocka_unit_test(test_block_time),
	    cmocka_unit_test(test_slowdown),
	    cmocka_unit_test(test_ideal),
	    cmocka_unit_test(test_names),
	    cmocka_unit_test(test_shipped_names),
	    cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
