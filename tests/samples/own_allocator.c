/*
 * An allocator of the program's own, under a name that one of the known ones has (-DALLOCATE=name),
 * or under none, with jemalloc's messages. Two blocks are its own, one is malloc's.
 */
#include "sample.h"

#ifndef ALLOCATE
#define ALLOCATE allocate
static const char message[] = "<jemalloc>: Error allocating chunk\n";
#else
static const char message[] = "no memory\n";
#endif

NOINLINE void *ALLOCATE(size_t size);

NOINLINE void *ALLOCATE(size_t size)
{
	static char memory[4096];
	static size_t used;

	used += size;
	if (used <= sizeof(memory))
		return memory + used - size;
	fputs(message, stderr);
	return NULL;
}

int main(void)
{
	keep(ALLOCATE(100));
	keep(ALLOCATE(200));
	keep(malloc(300));
	return 7;
}
