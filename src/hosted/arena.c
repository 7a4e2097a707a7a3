#include "hosted/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Each block is twice as large as the one before, so an arena that holds little takes little. */
#define BLOCK_FIRST ((size_t)1 << 10)
#define BLOCK_MOST  ((size_t)64 << 10)

struct arena_block {
	struct arena_block *next;
	size_t capacity;
	_Alignas(max_align_t) char data[];
};

void arena_deinit(struct arena *arena)
{
	struct arena_block *block = arena->blocks;

	while (block) {
		struct arena_block *next = block->next;

		free(block);
		block = next;
	}
	*arena = (struct arena){0};
}

static struct arena_block *new_block(size_t capacity)
{
	struct arena_block *block = calloc(1, sizeof(*block) + capacity);

	if (block)
		block->capacity = capacity;
	return block;
}

/* The capacity of the next block: at least four times size, as long as blocks may be so large. */
static size_t next_capacity(const struct arena *arena, size_t size)
{
	size_t capacity = arena->blocks ? 2 * arena->blocks->capacity : BLOCK_FIRST;

	while (capacity / 4 < size && capacity < BLOCK_MOST)
		capacity *= 2;
	return capacity < BLOCK_MOST ? capacity : BLOCK_MOST;
}

void *arena_alloc(struct arena *arena, size_t size)
{
	struct arena_block *block = arena->blocks;

	if (size > SIZE_MAX / 2)
		return NULL;
	size = (size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
	if (block && size <= block->capacity - arena->used) {
		void *p = block->data + arena->used;

		arena->used += size;
		return p;
	}
	block = new_block(size > BLOCK_MOST / 4 ? size : next_capacity(arena, size));
	if (!block)
		return NULL;
	// A large block goes behind the one in use, so that the rest of that is not wasted.
	if (size > BLOCK_MOST / 4 && arena->blocks) {
		block->next = arena->blocks->next;
		arena->blocks->next = block;
		return block->data;
	}
	block->next = arena->blocks;
	arena->blocks = block;
	arena->used = size;
	return block->data;
}

void *arena_array(struct arena *arena, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes))
		return NULL;
	return arena_alloc(arena, bytes);
}

char *arena_copy(struct arena *arena, const void *data, size_t size)
{
	char *copy = size < SIZE_MAX ? arena_alloc(arena, size + 1) : NULL;

	// The NUL is there already: an arena's memory is zeroed.
	if (copy && size)
		memcpy(copy, data, size);
	return copy;
}

char *arena_text(struct arena *arena, const char *text)
{
	return arena_copy(arena, text, strlen(text));
}
