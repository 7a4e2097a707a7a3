/*
 * Memory that is freed all at once: strings and small arrays that live as long as what they
 * belong to. Not for several threads.
 */
#ifndef MALLOW_HOSTED_ARENA_H
#define MALLOW_HOSTED_ARENA_H

#include <stddef.h>

struct arena_block;

/* Zeroed: empty. */
struct arena {
	struct arena_block *blocks; /* the one in use first */
	size_t used;                /* bytes of that one */
};

void arena_deinit(struct arena *arena);

/* Aligned for any type, zeroed; NULL: no memory. */
void *arena_alloc(struct arena *arena, size_t size);
/* As arena_alloc(), and NULL where count * size overflows. */
void *arena_array(struct arena *arena, size_t count, size_t size);

/* Copies size bytes and puts a NUL behind them. NULL: no memory. */
char *arena_copy(struct arena *arena, const void *data, size_t size);
char *arena_text(struct arena *arena, const char *text);

#endif
