/*
 * What the allocator gives, used again and again, is all zero: up to the usable size, in the part
 * that a realloc added, and in what was given up by a smaller realloc before. Says how many blocks
 * were not. Without ZERO_MEMORY some are; the exit status is 0 in any case.
 */
#include "sample.h"

#include <malloc.h>

static int dirty_blocks;

/* Looks at the bytes from first to the end, then leaves none of them zero. */
static void look(unsigned char *block, size_t first)
{
	size_t size = malloc_usable_size(block);

	REQUIRE(block && first <= size);
	for (size_t i = first; i < size; i++) {
		if (block[i]) {
			dirty_blocks++;
			break;
		}
	}
	memset(block, 0xa5, size);
}

/* As look(), of a block of which the program uses just what it asked for. */
static unsigned char *resize(unsigned char *block, size_t old_size, size_t size)
{
	size_t kept = old_size < size ? old_size : size;

	if (block)
		memset(block, 1, old_size);
	block = realloc(block, size);
	REQUIRE(block);
	for (size_t i = 0; i < kept; i++)
		REQUIRE(block[i] == 1);
	for (size_t i = kept; i < size; i++) {
		if (block[i]) {
			dirty_blocks++;
			break;
		}
	}
	return block;
}

static void allocate(size_t size)
{
	void *block = malloc(size);

	look(block, 0);
	free(block);
	look(block = calloc(2, size), 0);
	free(block);
	REQUIRE(posix_memalign(&block, 256, size) == 0);
	look(block, 0);
	free(block);
	look(block = aligned_alloc(64, size * 64), 0);
	free(block);
	look(block = memalign(4096, size), 0);
	free(block);
	look(block = valloc(size), 0);
	free(block);
	look(block = realloc(NULL, size), 0);
	free(block);
}

static void reallocate(size_t size)
{
	unsigned char *block = resize(NULL, 0, size);

	block = resize(block, size, 2 * size);
	block = resize(block, 2 * size, size / 2 + 1);
	block = resize(block, size / 2 + 1, 3 * size);
	block = reallocarray(block, size, 5);
	REQUIRE(block);
	look(block, 3 * size);
	free(block);
}

int main(void)
{
	for (size_t size = 1; size < 1000000; size = size * 3 / 2 + 1) {
		allocate(size);
		reallocate(size);
	}
	printf("%d\n", dirty_blocks);
	return 0;
}
