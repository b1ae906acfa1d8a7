/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "support/pins.h"

static struct pin *pins_around(const struct pins *pins, uintptr_t base, size_t bytes)
{
	for (size_t i = 0; i < pins->n; i++) {
		struct pin *pin = &pins->pins[i];

		if (base >= pin->base && base - pin->base <= pin->bytes &&
		    bytes <= pin->bytes - (base - pin->base))
			return pin;
	}
	return NULL;
}

bool pins_hold(struct pins *pins, uintptr_t base, size_t bytes)
{
	struct pin *pin = pins_around(pins, base, bytes);

	if (pin)
		pin->users++;
	return pin;
}

int pins_add(struct pins *pins, uintptr_t base, size_t bytes)
{
	for (size_t i = 0; i < pins->n; i++)
		if (base < pins->pins[i].base + pins->pins[i].bytes &&
		    pins->pins[i].base < base + bytes)
			return -EEXIST;
	if (pins->n == pins->capacity) {
		size_t capacity = pins->capacity ? 2 * pins->capacity : 16;
		struct pin *grown = realloc(pins->pins, capacity * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		pins->pins = grown;
		pins->capacity = capacity;
	}
	pins->pins[pins->n++] = (struct pin){base, bytes, 1};
	return 0;
}

bool pins_drop(struct pins *pins, uintptr_t base, size_t bytes, struct pin *whole)
{
	struct pin *pin = pins_around(pins, base, bytes);

	if (!pin || --pin->users)
		return false;
	*whole = *pin;
	*pin = pins->pins[--pins->n];
	return true;
}
