#!/bin/sh
# A program that is linked with another build of the same StarPU is traced and simulated, where
# the structures are the same; else the message names both libraries. The other build is one that
# has the same name and initialises a struct starpu_conf, no more.
#
# Copyright (C) 2026 the Heddle developers
# SPDX-License-Identifier: LGPL-2.1-or-later
. "$top_srcdir/tests/tools/common.sh"
value() { sed -n "s/^$1 = //p" "$top_builddir/Makefile"; }
has() { grep -q "define HEDDLE_USE_$1 " "$top_builddir/config.h"; }
if has SIMGRID; then
	command="$top_builddir/bin/heddle-simulate --platform 2cpu --" lacks='does not simulate machines'
elif has FXT; then
	command="$top_builddir/bin/heddle-trace -o $work/trace --" lacks='records no traces'
else
	exit 77
fi
cc=$(value CC) cflags=$(value STARPU_PLAIN_CFLAGS) ours=$(value starpu_libdir)
version=$(pkg-config --modversion "$ours/pkgconfig/starpu-$(value starpu_series).pc" | tr . ' ')
library=$(readlink -f "$ours/libstarpu-$(value starpu_series).so")
library=$(objdump -p "$library" | sed -n 's/ *SONAME *//p')
[ -n "$library" ] && [ -e "$ours/$library" ] || { echo "no SONAME: '$library'"; exit 99; }

cat >"$work/other.c" <<'END'
#include <string.h>
int starpu_init(void *conf);
int starpu_conf_init(void *conf);
void starpu_get_version(int *major, int *minor, int *release);
int starpu_init(void *conf) { return -1; }
int starpu_conf_init(void *conf) { memset(conf, 0, BYTES); return 0; }
void starpu_get_version(int *major, int *minor, int *release)
{
	int version[] = {VERSION};

	*major = version[0], *minor = version[1], *release = version[2];
}
END
# A simulated task takes a millisecond. main() keeps its name, as in other builds.
cat >"$work/program.c" <<'END'
#include <stdio.h>
#include <starpu.h>
#undef main
static void work(void *buffers[], void *arg) { }
static double cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch, unsigned n)
{
	return 1000;
}
static struct starpu_perfmodel model = {.type = STARPU_PER_ARCH, .symbol = "other",
	.arch_cost_function = cost};
static struct starpu_codelet codelet = {.cpu_funcs = {work}, .name = "other", .model = &model};
int main(int argc, char **argv)
{
	double start;

	if (argc > 1) {
		printf("%zu\n", sizeof(struct starpu_conf));
		return 0;
	}
	if (starpu_init(NULL))
		return 5;
	start = starpu_timing_now();
	for (int i = 0; i < 20; i++)
		starpu_task_insert(&codelet, 0);
	starpu_task_wait_for_all();
	printf("%.0f ms\n", (starpu_timing_now() - start) / 1000);
	starpu_shutdown();
	return 6;
}
END
mkdir "$work/other"
# shellcheck disable=SC2086 # words
$cc -w $cflags "$work/program.c" -o "$work/program" -L"$ours" -lstarpu-"$(value starpu_series)" \
	-Wl,-rpath,"$work/other" -Wl,--allow-shlib-undefined || exit 99
bytes=$(LD_LIBRARY_PATH=$ours "$work/program" size) || exit 99
# other BYTES: that many has its struct starpu_conf.
other() {
	# shellcheck disable=SC2086 # words
	$cc -w -shared -fPIC -Wl,-soname,"$library" -DBYTES="$1" -DVERSION="$(echo $version | tr ' ' ,)" \
		"$work/other.c" -o "$work/other/$library" || exit 99
}

other "$bytes"
"$work/program"
[ $? = 5 ] || fail "the program does not run with the other StarPU: the test tests nothing"
expect 6 ' ms$' $command "$work/program"
! has SIMGRID || expect 6 '^10 ms$' $command "$work/program"
has SIMGRID || grep -q '^CPU0 ' "$work/trace/summary.txt" || fail "no summary"
# A script's programs are found, too, and inherit nothing.
expect 6 'preload\.so$' $command sh -c "echo \$LD_PRELOAD; exec '$work/program'"
# A program that is linked with the other build's libheddle gets the one that fits.
heddle=libheddle.so.0
printf 'void heddle_policies(void) { }\nconst char *heddle_version(void) { return "other"; }\n' >"$work/heddle.c"
$cc -w -shared -fPIC -Wl,-soname,$heddle "$work/heddle.c" -o "$work/other/$heddle" || exit 99
sed 's/^int main/const char *heddle_version(void);\n&/; s/^	if (starpu_init/	printf("libheddle %s\\n", heddle_version());\n&/' \
	"$work/program.c" >"$work/linked.c"
# shellcheck disable=SC2086 # words
$cc -w $cflags "$work/linked.c" -o "$work/linked" "$work/other/$heddle" -L"$ours" \
	-lstarpu-"$(value starpu_series)" -Wl,-rpath,"$work/other" -Wl,--allow-shlib-undefined || exit 99
expect 6 "^libheddle $(value PACKAGE_VERSION)\$" $command "$work/linked"
# The structures of another build.
other $((bytes - 256))
expect 2 "StarPU $(echo $version | tr ' ' .) in $work/other/$library, which $lacks; build it with .* in $ours, .*structures" \
	$command "$work/program"
[ "$failures" = 0 ]
