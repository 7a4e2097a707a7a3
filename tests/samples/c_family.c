/*
 * Every function of C that allocates, each as often as its line says, and the frees.
 *
 * EXPECT use_malloc: calls=10 total_bytes=550 leaked_blocks=5 leaked_bytes=250 entry=malloc:10
 * EXPECT use_calloc: calls=3 total_bytes=360 leaked_blocks=1 leaked_bytes=120 entry=calloc:3
 * EXPECT use_realloc: calls=4 total_bytes=1610 leaked_blocks=1 leaked_bytes=1000 entry=realloc:4
 * EXPECT use_reallocarray: calls=2 total_bytes=900 leaked_blocks=1 leaked_bytes=800
 * EXPECT use_aligned: calls=3 total_bytes=300 leaked_blocks=3 leaked_bytes=300
 * EXPECT use_aligned: entry=posix_memalign:1 entry=aligned_alloc:1 entry=memalign:1
 * EXPECT use_valloc: calls=1 total_bytes=77 leaked_blocks=0 leaked_bytes=0 entry=valloc:1
 * EXPECT use_nothing: calls=2 total_bytes=0 leaked_blocks=1 leaked_bytes=0
 * EXPECT use_failing: calls=1 total_bytes=10 leaked_blocks=0
 * EXPECT-GLIBC use_libc: calls=2 total_bytes=12 leaked_blocks=1 leaked_bytes=6
 */
#include "sample.h"

#include <errno.h>
#include <malloc.h>
#include <stdint.h>

static NOINLINE void use_malloc(void)
{
	void *blocks[10];

	for (size_t i = 0; i < 10; i++)
		blocks[i] = keep(malloc((i + 1) * 10));
	for (size_t i = 1; i < 10; i += 2) /* 20, 40, … 100 are freed, 10 … 90 leaked */
		free(blocks[i]);
	STAY();
}

static NOINLINE void use_calloc(void)
{
	free(keep(calloc(10, 12)));
	free(keep(calloc(1, 120)));
	keep(calloc(120, 1));
	STAY();
}

/* One of NULL, two that grow and shrink, one that goes on; a realloc to 0 frees. */
static NOINLINE void use_realloc(void)
{
	char *block = keep(realloc(NULL, 100));

	block = keep(realloc(block, 500));
	block = keep(realloc(block, 10));
	keep(realloc(block, 1000));
	STAY();
}

static NOINLINE void use_reallocarray(void)
{
	void *block = keep(reallocarray(NULL, 10, 10));

	keep(reallocarray(block, 8, 100));
	STAY();
}

static NOINLINE void use_aligned(void)
{
	void *block;

	REQUIRE(posix_memalign(&block, 64, 100) == 0);
	keep(block);
	REQUIRE((uintptr_t)keep(aligned_alloc(128, 128)) % 128 == 0);
	REQUIRE((uintptr_t)keep(memalign(256, 72)) % 256 == 0);
	STAY();
}

static NOINLINE void use_valloc(void)
{
	free(keep(valloc(77)));
	STAY();
}

static NOINLINE void use_nothing(void)
{
	free(NULL);
	free(keep(malloc(0)));
	keep(malloc(0));
	STAY();
}

/* What fails frees nothing, allocates nothing, and leaves its errno. */
static NOINLINE void use_failing(void)
{
	volatile size_t huge = (size_t)PTRDIFF_MAX + 1;
	void *block = keep(malloc(10));
	void *again = keep(block), *still = keep(block);
	void *other = NULL;

	errno = 0;
	REQUIRE(!keep(malloc(huge)) && errno == ENOMEM);
	REQUIRE(!keep(calloc(huge, 4)));
	REQUIRE(!keep(realloc(block, huge)));
	REQUIRE(!keep(reallocarray(again, huge, 16)));
	REQUIRE(posix_memalign(&other, 3, 10) == EINVAL);
	errno = 1234;
	free(still);
	REQUIRE(errno == 1234);
	STAY();
}

/* Inside the C library malloc is called by its own functions. */
static NOINLINE void use_libc(void)
{
	free(keep(strdup("hello")));
	keep(strndup("hello world", 5));
	STAY();
}

int main(void)
{
	use_malloc();
	use_calloc();
	use_realloc();
	use_reallocarray();
	use_aligned();
	use_valloc();
	use_nothing();
	use_failing();
	use_libc();
	puts("ok");
	return 7;
}
