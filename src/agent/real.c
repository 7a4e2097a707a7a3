#include "agent/real.h"

#include "agent/libc.h"
#include "agent/link_map.h"
#include "agent/syscall.h"

struct real real;

static void find(void *place, const char *symbol)
{
	void *found = link_map_find(symbol);

	__atomic_store_n((void **)place, found, __ATOMIC_RELEASE);
}

void real_resolve_slow(void)
{
#define HOOK(name, symbol, type, parameters) find(&real.name, symbol);
#include "agent/hooks.def"
#undef HOOK
	find(&real.malloc_usable_size, "malloc_usable_size");
	find(&real.pthread_key_create, "pthread_key_create");
	find(&real.pthread_setspecific, "pthread_setspecific");
	find(&real.pthread_self, "pthread_self");
	find(&real.dl_find_object, "_dl_find_object");
	find(&real.errno_location, "__errno_location");
	// glibc's own malloc is the one that equals __libc_malloc: a preloaded jemalloc is not.
	real.allocator_is_glibc = real.malloc &&
				  link_map_find("gnu_get_libc_version") &&
				  link_map_find("__libc_malloc") == (void *)real.malloc;
	real.allocator_is_musl = !link_map_find("gnu_get_libc_version");
	link_map_loader_range(&real.loader_start, &real.loader_end);
	if (real.malloc && real.free)
		__atomic_store_n(&real.ready, true, __ATOMIC_RELEASE);
}

void *real_retry_slow(const char *symbol, void *place)
{
	find(place, symbol);
	return *(void **)place;
}

long real_return(long result)
{
	if (!syscall_error(result))
		return result;
	if (real.errno_location)
		*real.errno_location() = (int)-result;
	return -1;
}

void real_forget(uint64_t start, uint64_t end)
{
	// Only operators can live in a plugin; everything else is the C library's.
#define HOOK(name, symbol, type, parameters)                                                       \
	if (symbol[0] == '_' && symbol[1] == 'Z' && (uint64_t)real.name >= start &&                \
	    (uint64_t)real.name < end)                                                             \
		__atomic_store_n((void **)&real.name, NULL, __ATOMIC_RELEASE);
#include "agent/hooks.def"
#undef HOOK
}
