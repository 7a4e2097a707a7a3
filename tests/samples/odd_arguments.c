/* Asks the allocator for what few programs ask for. All that it is given is freed at once. */
#include "sample.h"

#include <malloc.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* Where the compiler does not see that the request makes no sense. */
static volatile size_t zero, huge = SIZE_MAX - 100;

static NOINLINE void alignments(void)
{
	for (size_t alignment = 0; alignment <= 64; alignment++) {
		void *block = NULL;

		free(keep(memalign(alignment, 40 + alignment)));
		free(keep(aligned_alloc(alignment, 64)));
		if (posix_memalign(&block, alignment, 10) == 0)
			free(keep(block));
	}
	STAY();
}

static NOINLINE void sizes(void)
{
	free(keep(malloc(zero)));
	free(keep(calloc(zero, 5)));
	free(keep(realloc(keep(malloc(10)), zero)));
	REQUIRE(malloc(huge) == NULL && calloc(huge, huge) == NULL);
	REQUIRE(reallocarray(NULL, huge, 2) == NULL);
	REQUIRE(mremap(keep(&zero), zero, huge, 0) == MAP_FAILED);
	REQUIRE(mmap(NULL, zero, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
	STAY();
}

/* The address behind MREMAP_DONTUNMAP is a hint for the kernel. musl does not hand it on. */
static NOINLINE void hint(void)
{
	size_t size = 16 * 4096;
	char *old = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *free_space = mmap(NULL, 64 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *wanted = free_space + (32 << 20);

	REQUIRE(old != MAP_FAILED && munmap(free_space, 64 << 20) == 0);
	REQUIRE(mremap(old, size, size, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, wanted) == wanted);
	STAY();
}

int main(void)
{
	alignments();
	sizes();
#ifdef __GLIBC__
	hint();
#endif
	REQUIRE(write(1, "ok\n", 3) == 3);
	return 0;
}
