/*
 * A library with an allocator of its own, reentrant and without locks: blocks are cut from one
 * large array and never used twice. Samples link to it and so have malloc "inside the allocator"
 * in their hand: inner_hook, when set, is called in the middle of every malloc and free.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ROOM   (256u << 20)
#define HEADER 16

void (*volatile inner_hook)(void);

static char memory[ROOM] __attribute__((aligned(4096)));
static atomic_size_t used;

static void *take(size_t size, size_t alignment)
{
	size_t need = HEADER + alignment + ((size + 15) & ~(size_t)15);
	size_t at;
	uintptr_t block;

	if (size > ROOM)
		goto none;
	at = atomic_fetch_add(&used, need);
	if (inner_hook)
		inner_hook();
	if (at + need > ROOM)
		goto none;
	block = ((uintptr_t)memory + at + HEADER + alignment - 1) & ~(uintptr_t)(alignment - 1);
	((size_t *)block)[-1] = size;
	return (void *)block;
none:
	errno = ENOMEM;
	return NULL;
}

void *malloc(size_t size)
{
	return take(size, 16);
}

void *calloc(size_t count, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(count, size, &total)) {
		errno = ENOMEM;
		return NULL;
	}
	return take(total, 16); /* the array was never written: zero */
}

void *realloc(void *old, size_t size)
{
	void *block = take(size, 16);

	if (block && old) {
		size_t old_size = ((size_t *)old)[-1];

		memcpy(block, old, old_size < size ? old_size : size);
	}
	return block;
}

void free(void *block)
{
	if (block && inner_hook)
		inner_hook();
}

size_t malloc_usable_size(void *block)
{
	return block ? ((size_t *)block)[-1] : 0;
}

void *memalign(size_t alignment, size_t size)
{
	return take(size, alignment < 16 ? 16 : alignment);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return memalign(alignment, size);
}

int posix_memalign(void **ret, size_t alignment, size_t size)
{
	*ret = memalign(alignment, size);
	return *ret ? 0 : ENOMEM;
}
