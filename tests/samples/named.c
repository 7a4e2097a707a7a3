/*
 * Functions whose names can be lost and found: a chain of inlined ones, and one without a symbol
 * once the file is stripped. With -DLIBRARY a shared library of the same, which the program calls
 * where it is built with -DCALL_LIBRARY.
 *
 * Sizes: 1000 from inner() by middle() by outer(), 2000 the same in the library.
 */
#include <stdlib.h>

#ifdef LIBRARY
#define SIZE  2000
#define OUTER library_outer
#else
#define SIZE  1000
#define OUTER outer
#endif

void *volatile named_kept;
void *OUTER(void);
void *library_outer(void);

static inline __attribute__((always_inline)) void *inner(size_t size)
{
	return malloc(size); // AT inner
}

static inline __attribute__((always_inline)) void *middle(size_t size)
{
	void *p = inner(size); // AT middle

	named_kept = p;
	return p;
}

/* No symbol of this one is left in a stripped file. */
static __attribute__((noinline)) void *local_function(void)
{
	void *p = middle(SIZE); // AT local_function

	named_kept = p;
	return p;
}

__attribute__((noinline)) void *OUTER(void)
{
	void *p = local_function(); // AT outer

	named_kept = p;
	return p;
}

#ifndef LIBRARY
int main(void)
{
	named_kept = outer();
#ifdef CALL_LIBRARY
	named_kept = library_outer();
#endif
	return 0;
}
#endif
