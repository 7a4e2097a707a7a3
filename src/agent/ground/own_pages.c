#include "agent/ground/own_pages.h"

#include "agent/arch/machine.h"
#include "agent/arch/syscall.h"
#include "agent/ground/own_memory.h"
#include "agent/ground/own_place.h"
#include "base/bytes.h"

// The reserve, while there is one. Otherwise each request goes to the kernel, since requests are
// large and rare.
static char *reserve;
static size_t reserve_size;
static size_t reserve_used;

static void *from_kernel(size_t size)
{
	void *memory = own_place_map_memory(size);

	if (!memory)
		return NULL;
	// None of it belongs to the program, so it is left out of core dumps. Reports know it by
	// that, too.
	sys_madvise(memory, size, MADV_DONTDUMP);
	own_memory_note(memory, size);
	return memory;
}

void *own_pages_allocate(size_t size)
{
	char *start = __atomic_load_n(&reserve, __ATOMIC_ACQUIRE);
	size_t offset;

	size = bytes_round_up(size, arch_page());
	if (!start)
		return from_kernel(size);
	offset = __atomic_fetch_add(&reserve_used, size, __ATOMIC_RELAXED);
	return offset + size <= reserve_size ? start + offset : NULL;
}

void own_pages_release(void *memory, size_t size)
{
	size = bytes_round_up(size, arch_page());
	if (own_memory_forget(memory, size))
		own_place_unmap(memory, size);
}

bool own_pages_begin_reserve(size_t size)
{
	char *start = from_kernel(size);

	if (!start)
		return false;
	reserve_used = 0;
	reserve_size = size;
	__atomic_store_n(&reserve, start, __ATOMIC_RELEASE);
	return true;
}

void own_pages_end_reserve(void)
{
	// What is left of it stays unused: untouched address space costs nothing.
	__atomic_store_n(&reserve, NULL, __ATOMIC_RELEASE);
}
