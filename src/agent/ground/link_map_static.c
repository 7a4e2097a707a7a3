/*
 * link_map.h for a program that the agent is linked into (libmallow.a). There is no loader, and
 * nothing to look up. The linker has bound calls of malloc, also the C library's own, to
 * __wrap_malloc, which is our hook. Its script gives the address of the real malloc
 * (tools/static_options.py), whichever that is: glibc's, musl's, or another allocator's.
 */
#include "agent/ground/link_map.h"
#include "base/compiler.h"

#include "agent/ground/libc.h"

// Placed by the linker's script (tools/static_options.py). The others are distances from this one;
// 0: there is no such function.
extern const char behind_from[] __asm__("mallow_behind_from");
#define PLACE(name, symbol) extern const char behind_##name[] __asm__("mallow_behind_" symbol);

#define HOOK(name, symbol, type, parameters) PLACE(name, symbol)
#include "agent/ground/hooks.def"
#undef HOOK
#define ASK(name) PLACE(name, #name)
#include "agent/ground/link_map_static.def"
#undef ASK

// These symbols are in the same file of the archive as glibc's malloc, and in no other C library.
extern const char glibc_malloc[] __asm__("__libc_malloc") __attribute__((weak));
extern const char glibc_mallopt[] __asm__("__libc_mallopt") __attribute__((weak));

static const struct {
	const char *symbol;
	const void *distance;
} places[] = {
#define HOOK(name, symbol, type, parameters) {symbol, behind_##name},
#include "agent/ground/hooks.def"
#undef HOOK
#define ASK(name) {#name, behind_##name},
#include "agent/ground/link_map_static.def"
#undef ASK
};

// An empty note with the name "mallow", by which `mallow run` knows such a program
// (cli/run/run_program.c).
__asm__(".pushsection .note.mallow, \"a\", %note\n"
	".balign 4\n"
	".long 7, 0, 1\n"
	".asciz \"mallow\"\n"
	".balign 4\n"
	".popsection");

__asm__(".pushsection .text\n"
	".globl mallow_behind\n"
	"mallow_behind:\n"
	".popsection");

void *link_map_find(const char *symbol)
{
	for (size_t i = 0; i < ARRAY_COUNT(places); i++)
		if (!strcmp(places[i].symbol, symbol) && places[i].distance)
			return (void *)(behind_from + (uintptr_t)places[i].distance);
	return NULL;
}

void *link_map_find_first(const char *symbol)
{
	return link_map_find(symbol);
}

bool link_map_find_symbol(const char *symbol, uint64_t *start, uint64_t *end)
{
	return false;
}

uint64_t link_map_thread_variable(const char *name)
{
	return 0;
}

/* Used only to ask whether malloc is glibc's, and whether operators are libstdc++'s. */
void *link_map_find_in(const char *file_name, const char *symbol)
{
	if (strcmp(symbol, "malloc") || !glibc_mallopt)
		return NULL;
	return (void *)glibc_malloc;
}

void *link_map_find_kernels(const char *symbol, uint64_t *start, uint64_t *end)
{
	return NULL;
}

bool link_map_is_first(const char *symbol)
{
	return true;
}

const char *link_map_before_us(const char *symbol)
{
	return NULL;
}

const struct link_map *link_map_last(void)
{
	return NULL;
}

bool link_map_range(const struct link_map *map, uint64_t *start, uint64_t *end)
{
	return false;
}

bool link_map_is_before_libc(void)
{
	return true;
}

bool link_map_redirect(const struct link_map_redirection *list, size_t count)
{
	return true;
}

bool link_map_passes_by(const char *symbol)
{
	return false;
}

const char *link_map_own_path(void)
{
	return NULL;
}

uint64_t link_map_program(void)
{
	return 0;
}

bool link_map_loader_range(uint64_t *start, uint64_t *size)
{
	return false;
}
