/*
 * Memory that is freed all at once: for strings and small arrays that live as long as their owner.
 * An arena belongs to one thread at a time.
 */
#ifndef MALLOW_HOSTED_ARENA_H
#define MALLOW_HOSTED_ARENA_H

#include <stddef.h>

struct arena_block;

/* Zeroed: empty. */
struct arena {
	struct arena_block *blocks; /* linked; the first is the one in use */
	size_t used;                /* bytes of the first block */
};

void arena_deinit(struct arena *arena);

/* size bytes, zeroed and aligned for any type, until arena_deinit(). NULL: no memory. */
void *arena_alloc(struct arena *arena, size_t size);
/* count * size bytes, as arena_alloc(). NULL also if the product overflows. */
void *arena_array(struct arena *arena, size_t count, size_t size);

/* Copies size bytes and puts a NUL behind them. NULL: no memory. */
char *arena_copy(struct arena *arena, const void *data, size_t size);
char *arena_text(struct arena *arena, const char *text);

#endif
