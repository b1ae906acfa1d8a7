/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An app that waits for what nobody will do.
 */
#include "config.h"

#include <errno.h>
#include <starpu.h>

#include "apps/common/app.h"

static int prepare(void *self, const struct app_options *options, struct heddle_loop *loop)
{
	static struct starpu_codelet codelet;

	loop->codelet = &codelet;
	loop->n = options->size;
	return 0;
}

static int run(void *self, struct heddle_loop_stats *stats)
{
	static starpu_pthread_mutex_t mutex = STARPU_PTHREAD_MUTEX_INITIALIZER;
	static starpu_pthread_cond_t never = STARPU_PTHREAD_COND_INITIALIZER;

	starpu_pthread_mutex_lock(&mutex);
	starpu_pthread_cond_wait(&never, &mutex);
	return -EIO; /* woken by whom? */
}

static double elements(void *self)
{
	return 1;
}

static void release(void *self)
{
}

int main(int argc, char **argv)
{
	static const struct app app = {
	    .name = "stuck",
	    .symbol = "stuck",
	    .doc = "Waits.",
	    .unit = "thing",
	    .size = 1,
	    .max_size = 1,
	    .prepare = prepare,
	    .run = run,
	    .elements = elements,
	    .release = release,
	};

	return app_main(&app, NULL, argc, argv);
}
