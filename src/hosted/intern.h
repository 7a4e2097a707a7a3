/* Keeps one copy of each string: equal strings are equal pointers until intern_deinit(). */
#ifndef MALLOW_HOSTED_INTERN_H
#define MALLOW_HOSTED_INTERN_H

#include <stddef.h>

#include "hosted/arena.h"

struct intern_slot;

/* Zeroed: empty. */
struct intern {
	struct arena arena;
	struct intern_slot *slots;
	size_t count;
	size_t capacity; /* 0 or a power of two */
};

void intern_deinit(struct intern *intern);

/* The one copy of the string, with a NUL behind it. NULL: no memory. */
const char *intern_bytes(struct intern *intern, const char *text, size_t size);
const char *intern_text(struct intern *intern, const char *text);

#endif
