/*
 * The device's allocator. It takes memory from the arena in order, and keeps freed blocks in one
 * list, from which it takes the first that is large enough.
 *
 *	│ size (8 bytes) │ block …        block: a multiple of 8
 */
#include "device.h"

void *memcpy(void *restrict to, const void *restrict from, size_t size);

struct device_memory device_memory;
uint64_t device_ns;
unsigned int device_thread, device_locks;

static size_t used; /* of the arena, in words */
static uint64_t *free_list;

#define WORDS (sizeof(device_memory.arena) / 8)

void heap_reset(void)
{
	used = 0;
	free_list = NULL;
}

static uint64_t *next_of(const uint64_t *block)
{
	return (uint64_t *)(uintptr_t)block[0];
}

/* Takes a block of so many words out of the list. NULL: none is large enough. */
static uint64_t *take_freed(size_t words, size_t alignment)
{
	uint64_t *before = NULL;

	for (uint64_t *block = free_list; block; before = block, block = next_of(block)) {
		if (block[-1] < words || (uintptr_t)block % alignment)
			continue;
		if (before)
			before[0] = block[0];
		else
			free_list = next_of(block);
		return block;
	}
	return NULL;
}

void *heap_allocate_aligned(size_t alignment, size_t size)
{
	size_t words = size / 8 + 1, at = used + 1;
	uint64_t *block = take_freed(words, alignment);

	if (block)
		return block;
	while ((uintptr_t)&device_memory.arena[at] % alignment)
		at++;
	if (words > WORDS || at + words > WORDS)
		return NULL;
	device_memory.arena[at - 1] = words;
	used = at + words;
	return &device_memory.arena[at];
}

void *heap_allocate(size_t size)
{
	return heap_allocate_aligned(8, size);
}

void heap_release(void *block)
{
	uint64_t *words = block;

	if (!block)
		return;
	words[0] = (uintptr_t)free_list;
	free_list = words;
}

void *heap_reallocate(void *block, size_t size)
{
	const uint64_t *words = block;
	void *other;

	if (!size) {
		heap_release(block);
		return NULL;
	}
	if (words[-1] >= size / 8 + 1)
		return block;
	other = heap_allocate(size);
	if (other) {
		memcpy(other, block, (size_t)words[-1] * 8);
		heap_release(block);
	}
	return other;
}

uint64_t device_clock(void)
{
	return device_ns;
}

unsigned int device_thread_now(const char **name)
{
	*name = device_thread == 1 ? "main" : "a name that is cut off";
	return device_thread;
}

uintptr_t device_lock(void)
{
	return ++device_locks;
}

void device_unlock(uintptr_t state)
{
	// An odd number for each time that it is held: it is never nested.
	if (state != device_locks || state % 2 == 0)
		device_locks = 1u << 30;
	device_locks++;
}
