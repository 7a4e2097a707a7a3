/*
 * Each function of the family, as often, for SAMPLE: none may be counted twice because one comes by
 * another. Of every two blocks one is freed. No EXPECT: a sample has no exact sums.
 */
#include "sample.h"

#include <malloc.h>
#include <stdint.h>

#define BLOCKS 20000
#define SIZE   96

/* name: who allocates; call: a block of SIZE bytes. */
#define DEFINE(name, call)                                                                         \
	static NOINLINE void name(void)                                                            \
	{                                                                                          \
		for (int i = 0; i < BLOCKS; i++) {                                                 \
			void *block = keep(call);                                                  \
                                                                                                   \
			REQUIRE(block);                                                            \
			if (i % 2)                                                                 \
				free(block);                                                       \
		}                                                                                  \
		STAY();                                                                            \
	}

static void *by_posix_memalign(void)
{
	void *block;

	return posix_memalign(&block, 64, SIZE) ? NULL : block;
}

DEFINE(call_malloc, malloc(SIZE))
DEFINE(call_calloc, calloc(SIZE / 8, 8))
DEFINE(call_realloc, realloc(NULL, SIZE))
DEFINE(call_reallocarray, reallocarray(NULL, SIZE / 8, 8))
DEFINE(call_aligned_alloc, aligned_alloc(32, SIZE))
DEFINE(call_memalign, memalign(64, SIZE))
DEFINE(call_posix_memalign, by_posix_memalign())

/* Blocks that are sampled become others that are not, and the other way about; half of them fail.
 */
static NOINLINE void call_resize(void)
{
	for (int i = 0; i < BLOCKS; i++) {
		void *block = keep(malloc(SIZE / 2));

		REQUIRE(i % 2 || !keep(realloc(block, (size_t)PTRDIFF_MAX + 1)));
		REQUIRE(block = keep(realloc(block, SIZE / 2)));
		if (i % 2)
			free(block);
	}
	STAY();
}

int main(void)
{
	call_malloc();
	call_calloc();
	call_realloc();
	call_reallocarray();
	call_aligned_alloc();
	call_memalign();
	call_posix_memalign();
	call_resize();
	return 7;
}
