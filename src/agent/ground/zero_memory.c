#include "agent/ground/zero_memory.h"

#include "agent/ground/config.h"
#include "agent/ground/libc.h"
#include "agent/ground/next_functions.h"

/* The allocator's functions. In `real` stand ours. */
static struct next_functions behind;

/* Bits of glibc's chunk header (allocation.h). */
#define HEAD_FLAGS   7ull
#define HEAD_MMAPPED 2ull

static uint64_t head_of(const void *block)
{
	return ((const uintptr_t *)block)[-1];
}

/*
 * Whether the block is fresh from the kernel, thus zero: glibc unmaps a block with a mapping of its
 * own when it is freed.
 */
static bool is_fresh(const void *block)
{
	return real.allocator_is_glibc && head_of(block) & HEAD_MMAPPED;
}

static size_t usable_size(void *block, size_t size)
{
	if (real.allocator_is_glibc)
		return (head_of(block) & ~HEAD_FLAGS) -
		       sizeof(uintptr_t) * (head_of(block) & HEAD_MMAPPED ? 2 : 1);
	return real.malloc_usable_size ? real.malloc_usable_size(block) : size;
}

/* Clears the block from that byte on. */
static void clear_from(void *block, size_t first, size_t size)
{
	size_t usable = usable_size(block, size);

	if (first < usable)
		memset((char *)block + first, 0, usable - first);
}

static void *zero_block(void *block, size_t size)
{
	if (block && !is_fresh(block))
		clear_from(block, 0, size);
	return block;
}

static void *zero_calloc(size_t count, size_t size)
{
	void *block = behind.calloc(count, size);

	// glibc's calloc zeroes all that is usable, and knows what is fresh.
	if (block && !real.allocator_is_glibc)
		clear_from(block, count * size, count * size);
	return block;
}

static void *zero_malloc(size_t size)
{
	// musl's calloc calls malloc, and thus would come back here.
	if (real.allocator_is_glibc)
		return behind.calloc(1, size);
	return zero_block(behind.malloc(size), size);
}

static void *zero_realloc(void *old, size_t size)
{
	size_t before;
	void *block;

	if (!old)
		return zero_malloc(size);
	before = usable_size(old, size);
	block = behind.realloc(old, size);
	if (!block)
		return NULL;
	if (size < before)
		clear_from(block, size, size);
	else if (!is_fresh(block))
		clear_from(block, before, size);
	return block;
}

static int zero_posix_memalign(void **ret, size_t alignment, size_t size)
{
	int result = behind.posix_memalign(ret, alignment, size);

	if (!result)
		zero_block(*ret, size);
	return result;
}

static void *zero_aligned_alloc(size_t alignment, size_t size)
{
	return zero_block(behind.aligned_alloc(alignment, size), size);
}

static void *zero_memalign(size_t alignment, size_t size)
{
	return zero_block(behind.memalign(alignment, size), size);
}

static void *zero_valloc(size_t size)
{
	return zero_block(behind.valloc(size), size);
}

static void *zero_pvalloc(size_t size)
{
	return zero_block(behind.pvalloc(size), size);
}

void zero_memory_begin(void)
{
	if (!config.value[SETTING_ZERO_MEMORY])
		return;
	behind = real;
#define REPLACE(name)                                                                              \
	if (real.name)                                                                             \
	__atomic_store_n(&real.name, zero_##name, __ATOMIC_RELEASE)
	REPLACE(malloc);
	REPLACE(calloc);
	REPLACE(realloc);
	REPLACE(posix_memalign);
	REPLACE(aligned_alloc);
	REPLACE(memalign);
	REPLACE(valloc);
	REPLACE(pvalloc);
#undef REPLACE
}

void *zero_memory_from_operator(void *block, size_t size)
{
	if (config.value[SETTING_ZERO_MEMORY] && block && !real.allocator_is_glibc)
		memset(block, 0, size);
	return block;
}
