/* What a sample allocates before its surroundings change, and after; nothing of it is freed. */
#ifndef BEFORE_AFTER_H
#define BEFORE_AFTER_H

#include "sample.h"

static NOINLINE void before(void)
{
	for (int i = 0; i < 1000; i++)
		keep(malloc(100));
	STAY();
}

static NOINLINE void after(void)
{
	for (int i = 0; i < 20000; i++)
		keep(malloc(100));
	STAY();
}

#endif
