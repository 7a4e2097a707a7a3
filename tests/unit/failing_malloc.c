#include "failing_malloc.h"

#include <stddef.h>

/* The linker leads malloc() and its kin of this program's objects here (--wrap). */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *p, size_t size);

atomic_long failing_malloc_countdown = -1;

static int fails(void)
{
	return atomic_load(&failing_malloc_countdown) >= 0 &&
	       atomic_fetch_sub(&failing_malloc_countdown, 1) == 0;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	return fails() ? NULL : __real_realloc(p, size);
}
