/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How StarPU finds the policies by name: in STARPU_SCHED, starpu_conf::sched_policy_name, contexts
 * and STARPU_SCHED=help. StarPU 1.4 asks a library (STARPU_SCHED_LIB), which is libheddle unless
 * the user names another one. StarPU 1.3 has no registration, and a static program has no library
 * to name: there, rows of StarPU's table for policies that hardly anybody uses are replaced by
 * ours.
 */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <heddle/heddle.h>
#include <heddle/policy.h>

#include "support/home.h"
#include "support/message.h"
#include "support/starpu_compat.h"
#include "support/sysfs.h"
#include "sched_policies/gpu_workers.h"
#include "sched_policies/policies.h"
#include "sched_policies/registry.h"

struct starpu_sched_policy *starpu_get_sched_lib_policy(const char *name);
struct starpu_sched_policy **starpu_get_sched_lib_policies(void);

/* ---- the table that StarPU is given ---- */

static const struct starpu_sched_policy *const hooks[POLICIES_N] = {
#define SELF(name, tasks, doc) &self_scheduling_policy,
#define READY(name, doc) &name##_policy,
    POLICIES(SELF, READY)
#undef SELF
#undef READY
};

/* Every policy; ends with NULL. NULL, after a message, when the StarPU of this process is not
 * the one that Heddle was built against. */
static struct starpu_sched_policy **policies_table(void)
{
	static struct starpu_sched_policy rows[POLICIES_N];
	static struct starpu_sched_policy *table[POLICIES_N + 1];
	const struct heddle_policy *policies = heddle_policies();

	if (heddle_starpu_check())
		return NULL;
	for (size_t i = 0; !table[0] && i < POLICIES_N; i++) {
		rows[i] = *hooks[i];
		rows[i].policy_name = policies[i].name;
		rows[i].policy_description = policies[i].doc;
	}
	for (size_t i = POLICIES_N; i-- > 0;)
		table[i] = &rows[i];
	return table;
}

/* ---- StarPU 1.4: STARPU_SCHED_LIB=libheddle.so ---- */

struct starpu_sched_policy **starpu_get_sched_lib_policies(void)
{
	static struct starpu_sched_policy *none[1];
	struct starpu_sched_policy **table = policies_table();

	return table ? table : none;
}

struct starpu_sched_policy *starpu_get_sched_lib_policy(const char *name)
{
	struct starpu_sched_policy **policy = starpu_get_sched_lib_policies();

	while (*policy && (!name || strcmp((*policy)->policy_name, name)))
		policy++;
	return *policy;
}

/* ---- where StarPU looks ---- */

static bool named(const char *policy, const char *name)
{
	return name && !strcmp(policy, name);
}

const char *heddle_policy_asked(const struct starpu_conf *conf)
{
	const char *name = getenv("STARPU_SCHED");

	/* Of another StarPU's configuration even the layout is unknown. */
	if (!(name && *name))
		name = conf && !heddle_starpu_check() ? conf->sched_policy_name : NULL;
	return name && *name ? name : NULL;
}

#if HEDDLE_STARPU_14 && defined(PIC)

static bool is_ours(const char *library)
{
	const char *name = strrchr(library, '/');

	return !strncmp(name ? name + 1 : library, "libheddle.so", strlen("libheddle.so"));
}

/* Whether a policy of ours is asked for by name. */
static bool asked_for(const struct starpu_conf *conf)
{
	struct starpu_sched_policy **ours = policies_table();
	const char *chosen = heddle_policy_asked(conf);

	while (ours && *ours && !named((*ours)->policy_name, chosen))
		ours++;
	return ours && *ours;
}

/* Puts the policies where StarPU looks for them: by a variable that a program that is linked with
 * us need not set. The processes that it starts inherit it, and those with another StarPU are told
 * of no policy. */
static void policies_register(const struct starpu_conf *conf)
{
	const char *library = getenv("STARPU_SCHED_LIB");
	static bool said;
	Dl_info self;

	if (!library) {
		if (dladdr((void *)policies_register, &self))
			setenv("STARPU_SCHED_LIB", self.dli_fname, 0);
		return;
	}
	if (said || is_ours(library) || !asked_for(conf))
		return;
	said = true;
	heddle_warn("STARPU_SCHED_LIB=%s hides Heddle's policies from StarPU", library);
}

bool heddle_policy_displaced(const char *name)
{
	return false;
}

#else

/* In the order in which they are replaced: first what StarPU ships as a test or as a building
 * block's example, then variants of variants. The simple policies and those of the dmda family
 * stay, and so does one that STARPU_SCHED or the application's configuration names. */
static const char *const replaceable[] = {
    "graph_test",
    "modular-gemm",
    "modular-random-prio-prefetching",
    "modular-random-prefetching",
    "modular-random-prio",
    "modular-random",
    "modular-prandom-prio",
    "modular-prandom",
    "modular-heteroprio-heft",
    "modular-eager-prio",
    "modular-eager-prefetching",
    "modular-prio-prefetching",
    "modular-heft2",
    "modular-pheft",
    "modular-prio",
    "modular-eager",
    "modular-ws",
};
#define NREPLACEABLE (sizeof(replaceable) / sizeof(replaceable[0]))

/* A row that one of ours stands in. */
struct row {
	struct starpu_sched_policy **place;
	struct starpu_sched_policy *before;
};

static struct row rows[NREPLACEABLE];

static struct starpu_sched_policy **row_find(const char *name)
{
	struct starpu_sched_policy **row = starpu_sched_get_predefined_policies();

	while (*row && (!(*row)->policy_name || strcmp((*row)->policy_name, name)))
		row++;
	return *row ? row : NULL;
}

/* Puts the policies into StarPU's table, or anew for a configuration that names a policy: the rows
 * that were replaced come back first, so that only the right ones are missing. */
static void policies_register(const struct starpu_conf *conf)
{
	struct starpu_sched_policy **ours = policies_table();
	const char *chosen = getenv("STARPU_SCHED");
	/* Of another StarPU's configuration even the layout is unknown. */
	const char *configured = ours && conf ? conf->sched_policy_name : NULL;

	for (size_t v = NREPLACEABLE; v-- > 0;)
		if (rows[v].place) {
			*rows[v].place = rows[v].before;
			rows[v].place = NULL;
		}
	for (size_t v = 0; ours && v < NREPLACEABLE && *ours; v++) {
		if (named(replaceable[v], chosen) || named(replaceable[v], configured))
			continue;
		rows[v].place = row_find(replaceable[v]);
		if (!rows[v].place)
			continue;
		rows[v].before = *rows[v].place;
		*rows[v].place = *ours++;
	}
	for (; ours && *ours; ours++)
		heddle_warn("no room for the policy %s in StarPU's table", (*ours)->policy_name);
}

bool heddle_policy_displaced(const char *name)
{
	for (size_t v = 0; v < NREPLACEABLE; v++)
		if (rows[v].place && named(rows[v].before->policy_name, name))
			return true;
	return false;
}

#endif

__attribute__((constructor)) static void register_at_start(void)
{
	policies_register(NULL);
}

/* Said before StarPU asks OpenCL for devices: PoCL ends the program where hwloc finds no
 * memory. Where workers are simulated neither is asked. */
static void cores_look_for(void)
{
#ifndef HEDDLE_USE_SIMGRID
	static bool said;
	const char *root = getenv("HWLOC_FSROOT");

	if (!root)
		root = "";
	if (said || getenv("HWLOC_XMLFILE") || getenv("HWLOC_SYNTHETIC") ||
	    heddle_sysfs_has_cores(root))
		return;
	said = true;
	heddle_warn(
	    "no cores in %s/sys/devices/system/cpu: is /sys mounted (mount -t sysfs sysfs "
	    "/sys)? Without it hwloc tells StarPU and PoCL of neither cores nor memory, and "
	    "PoCL ends a program for that",
	    root);
#endif
}

/* StarPU says which folder it cannot make, but not what to do. */
static void home_look_at(void)
{
	static bool said;
	char path[PATH_MAX];
	const char *variable;
	int error = said ? 0 : heddle_home_check(path, sizeof(path), &variable);

	if (!error)
		return;
	said = true;
	heddle_warn("StarPU keeps its measurements in %s, cannot make that folder (%s) and ends "
	            "the program for it: name a folder that can be written in %s",
	            path, strerror(-error), strcmp(variable, "HOME") ? variable : "STARPU_HOME");
}

/* A second start changes nothing in StarPU. */
void heddle_init_begin(const struct starpu_conf *conf)
{
	if (starpu_is_initialized())
		return;
	cores_look_for();
	home_look_at();
	policies_register(conf);
	gpu_workers_begin(conf);
}

void heddle_init_end(void)
{
	gpu_workers_end();
}

#ifdef PIC
/* StarPU says nothing. */
static int result_explain(int result)
{
	static bool said;

	if (result == -ENODEV && !said) {
		said = true;
		heddle_warn("StarPU does not start: no worker is left (STARPU_NCPU, STARPU_NCUDA "
		            "and STARPU_NOPENCL allow none, or there is no such device; "
		            "STARPU_OPENCL_ON_CPUS=1 makes cores one of OpenCL's)");
	}
	return result;
}

static struct starpu_sched_policy *policy_find(struct starpu_sched_policy **table, const char *name)
{
	while (*table && !((*table)->policy_name && named((*table)->policy_name, name)))
		table++;
	return *table;
}

/* A program that is linked with Heddle gets heddle where neither STARPU_SCHED nor its configuration
 * names a policy. By the configuration: other threads may read the environment. By the hooks:
 * StarPU takes these, but no name, where STARPU_SCHED is there and empty.
 * @return NULL: StarPU finds the policy itself */
static struct starpu_sched_policy *policy_choose(const struct starpu_conf *conf)
{
	const char *variable = getenv("STARPU_SCHED"), *asked;
	struct starpu_sched_policy *policy;

	if (starpu_is_initialized() || heddle_starpu_check() || (conf && conf->sched_policy))
		return NULL;
	asked = heddle_policy_asked(conf);
	if (asked && (!variable || *variable))
		return NULL;
	if (!asked)
		heddle_explain(
		    "policy heddle, since neither STARPU_SCHED nor the program names one");
	policy = policy_find(policies_table(), asked ? asked : "heddle");
	return policy ? policy : policy_find(starpu_sched_get_predefined_policies(), asked);
}

/* What the configuration says of policies is seen here, wherever this library comes before
 * StarPU's in the order of look-up. */
int starpu_initialize(struct starpu_conf *conf, int *argc, char ***argv)
{
	int (*next)(struct starpu_conf *, int *, char ***) = dlsym(RTLD_NEXT, "starpu_initialize");
	struct starpu_sched_policy *policy;
	struct starpu_conf own;
	int result;

	heddle_init_begin(conf);
	policy = policy_choose(conf);
	if (policy && !conf && !starpu_conf_init(&own))
		conf = &own;
	if (policy && conf)
		conf->sched_policy = policy;
	result = next(conf, argc, argv);
	if (policy && conf)
		conf->sched_policy = NULL;
	heddle_init_end();
	return result_explain(result);
}

/* As StarPU's. */
int starpu_init(struct starpu_conf *conf)
{
	return starpu_initialize(conf, NULL, NULL);
}
#endif
