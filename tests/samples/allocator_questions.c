/*
 * Asks the allocator about itself and about blocks: the answers are those of a run without the
 * agent, and are printed, so that the two can be compared. What malloc_usable_size() grants may be
 * used to the last byte.
 *
 * EXPECT sizes: calls=400 leaked_blocks=0
 */
#include "sample.h"

#include <errno.h>
#include <malloc.h>
#include <stdint.h>

static volatile size_t huge = (size_t)PTRDIFF_MAX + 1;

static NOINLINE void sizes(void)
{
	size_t sum = 0;

	for (size_t size = 0; size < 4000; size += 40) {
		char *blocks[4] = {malloc(size), calloc(1, size), NULL, NULL};

		blocks[2] = memalign(64, size);
		blocks[3] = realloc(NULL, size);
		for (int i = 0; i < 4; i++) {
			size_t usable = malloc_usable_size(keep(blocks[i]));

			REQUIRE(blocks[i] && usable >= size);
			memset(blocks[i], 0x5a, usable);
			sum += usable;
		}
		for (int i = 0; i < 4; i++)
			free(blocks[i]);
	}
	REQUIRE(malloc_usable_size(NULL) == 0);
	printf("usable %zu\n", sum);
	STAY();
}

static void statistics(void)
{
	struct mallinfo2 before = mallinfo2(), after;
	void *block = keep(malloc(5000));

	after = mallinfo2();
	printf("used %zu more, trim %d, mallopt %d, ", after.uordblks - before.uordblks,
	       malloc_trim(0), mallopt(M_MMAP_THRESHOLD, 1 << 20));
	free(block);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
	printf("mallinfo %d\n", mallinfo().uordblks > 0);
#pragma GCC diagnostic pop
}

static void failures(void)
{
	void *kept = keep(malloc(10)), *other = &other;

	errno = 0;
	REQUIRE(!malloc(huge));
	printf("malloc %d, ", errno);
	errno = 0;
	REQUIRE(!calloc(huge, 2));
	printf("calloc %d, ", errno);
	errno = 0;
	REQUIRE(!realloc(kept, huge));
	printf("realloc %d, ", errno);
	errno = 0;
	REQUIRE(!reallocarray(kept, huge, 3));
	printf("reallocarray %d, ", errno);
	errno = 0;
	REQUIRE(!aligned_alloc(64, huge) && !memalign(64, huge) && !valloc(huge) && !pvalloc(huge));
	printf("aligned %d, ", errno);
	errno = 77;
	REQUIRE(posix_memalign(&other, 64, huge) == ENOMEM &&
		posix_memalign(&other, 7, 1) == EINVAL);
	printf("posix_memalign %d %d, ", errno == 77 || errno == ENOMEM, other == &other);
	errno = 77;
	free(kept);
	free(NULL);
	printf("free %d\n", errno);
}

static void zeroes(void)
{
	for (int i = 0; i < 100; i++) {
		unsigned char *block = keep(malloc(300));

		memset(block, 0xff, 300);
		free(block);
		block = keep(calloc(3, 100));
		for (int at = 0; at < 300; at++)
			REQUIRE(block[at] == 0);
		free(block);
	}
}

int main(void)
{
	puts("begin"); // stdout's buffer
	sizes();
	statistics();
	failures();
	zeroes();
	return 7;
}
