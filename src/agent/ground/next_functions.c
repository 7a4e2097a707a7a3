#include "agent/ground/next_functions.h"

#include "agent/arch/syscall.h"
#include "agent/ground/link_map.h"

struct next_functions real;

static void find_function(void *place, const char *symbol)
{
	void *found = link_map_find(symbol);

	__atomic_store_n((void **)place, found, __ATOMIC_RELEASE);
}

/*
 * An operator calls others (new[] calls new, the sized delete calls the other one) by the search
 * order. So ours must be the first of each of them.
 */
static bool find_plain_operators(void)
{
	bool plain =
		real.allocator_is_glibc && link_map_is_first("malloc") && link_map_is_first("free");

	if (!real.new)
		return false;
#define HOOK(name, symbol, type, parameters)                                                       \
	if (symbol[0] == '_' && symbol[1] == 'Z')                                                  \
		plain = plain && link_map_is_first(symbol) &&                                      \
			(!real.name ||                                                             \
			 (void *)real.name == link_map_find_in("libstdc++.so", symbol));
#include "agent/ground/hooks.def"
#undef HOOK
	return plain;
}

void next_functions_find(void)
{
#define HOOK(name, symbol, type, parameters) find_function(&real.name, symbol);
#include "agent/ground/hooks.def"
#undef HOOK
	find_function(&real.malloc_usable_size, "malloc_usable_size");
	find_function(&real.pthread_key_create, "pthread_key_create");
	find_function(&real.pthread_setspecific, "pthread_setspecific");
	find_function(&real.pthread_self, "pthread_self");
	find_function(&real.dl_find_object, "_dl_find_object");
	find_function(&real.errno_location, "__errno_location");
	find_function(&real.on_exit, "on_exit");
	// By the file's name, since tcmalloc and mimalloc define a __libc_malloc, too.
	real.allocator_is_glibc = real.malloc && link_map_find("gnu_get_libc_version") &&
				  link_map_find_in("libc.so.6", "malloc") == (void *)real.malloc;
	real.allocator_is_musl = !link_map_find("gnu_get_libc_version");
	real.operators_are_plain = find_plain_operators();
	real.blocks_are_apart = sizeof(void *) == 8 && real.allocator_is_glibc &&
				(real.operators_are_plain || !real.new);
	link_map_loader_range(&real.loader_start, &real.loader_size);
	if (real.malloc && real.free)
		__atomic_store_n(&real.ready, true, __ATOMIC_RELEASE);
}

void *next_functions_retry_slow(const char *symbol, void *place)
{
	find_function(place, symbol);
	if (*(void **)place)
		real.blocks_are_apart = false; // this is an operator, perhaps the program's own
	return *(void **)place;
}

long next_functions_return(long result)
{
	if (!syscall_error(result))
		return result;
	if (real.errno_location)
		*real.errno_location() = (int)-result;
	return -1;
}

void next_functions_forget(uint64_t start, uint64_t end)
{
	// Only operators can live in a plugin; everything else is the C library's.
#define HOOK(name, symbol, type, parameters)                                                       \
	if (symbol[0] == '_' && symbol[1] == 'Z' && (uintptr_t)real.name >= start &&               \
	    (uintptr_t)real.name < end)                                                            \
		__atomic_store_n((void **)&real.name, NULL, __ATOMIC_RELEASE);
#include "agent/ground/hooks.def"
#undef HOOK
	if (!real.new)
		real.operators_are_plain = false;
}
