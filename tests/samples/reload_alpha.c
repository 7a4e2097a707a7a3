/* A library of reload.c. Both are alike but for their names, so they fit into the same hole. */
#include "sample.h"

#ifndef SIZE
#define SIZE sizeof("alpha")
#endif

NOINLINE void *alpha_inner(void)
{
	void *block = keep(malloc(SIZE));

	STAY();
	return block;
}

NOINLINE void *allocate(void)
{
	void *block = keep(alpha_inner());

	STAY();
	return block;
}
