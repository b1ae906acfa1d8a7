/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <string.h>
#include <starpu.h>

#include "support/layout_starpu.h"

/* How many bytes the loaded library takes a struct starpu_conf to have:
 * its starpu_conf_init() clears the whole of its own. Seen from two fill patterns,
 * so that a byte that happens to be equal to one of them counts too. */
static size_t conf_size(int (*conf_init)(struct starpu_conf *conf))
{
	static const unsigned char patterns[] = {0x5a, 0xa5};
	size_t size = 0;

	for (size_t p = 0; p < sizeof(patterns); p++) {
		union {
			struct starpu_conf conf;
			unsigned char bytes[1 << 16];
		} probe;
		size_t last = sizeof(probe.bytes);

		memset(probe.bytes, patterns[p], sizeof(probe.bytes));
		conf_init(&probe.conf);
		while (last && probe.bytes[last - 1] == patterns[p])
			last--;
		if (last > size)
			size = last;
	}
	return size;
}

bool heddle_layout_matches(int (*conf_init)(struct starpu_conf *conf))
{
	size_t loaded = conf_size(conf_init);

	/* The last field may be followed by padding that nobody writes. */
	return loaded <= sizeof(struct starpu_conf) &&
	       loaded + sizeof(double) > sizeof(struct starpu_conf);
}
