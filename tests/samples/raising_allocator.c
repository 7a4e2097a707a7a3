/*
 * An allocator to be preloaded behind the agent, in the middle of which a signal arrives: its
 * posix_memalign is malloc, by name, after a signal to itself.
 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>

void *__libc_malloc(size_t size);
void __libc_free(void *block);

void *malloc(size_t size)
{
	return __libc_malloc(size);
}

void free(void *block)
{
	__libc_free(block);
}

int posix_memalign(void **ret, size_t alignment, size_t size)
{
	(void)alignment;
	raise(SIGUSR1);
	*ret = malloc(size);
	return *ret ? 0 : ENOMEM;
}
