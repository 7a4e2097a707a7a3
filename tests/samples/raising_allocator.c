/*
 * An allocator to be preloaded behind the agent, in the middle of which a signal arrives: its
 * posix_memalign is malloc, by name, after a signal to itself. So is, once, a malloc of
 * raising_size bytes, which a program may set.
 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>

void *__libc_malloc(size_t size);
void __libc_free(void *block);

size_t raising_size;

void *malloc(size_t size)
{
	if (raising_size && size == raising_size) {
		raising_size = 0;
		raise(SIGUSR1);
	}
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
