/*
 * What only glibc has.
 *
 * EXPECT use_pvalloc: calls=1 total_bytes=1 leaked_blocks=1 entry=pvalloc:1
 * EXPECT use_cfree: calls=2 total_bytes=30 leaked_blocks=1 leaked_bytes=20
 * EXPECT use_realloc_zero: calls=1 total_bytes=40 leaked_blocks=0 temporary=1
 */
#include "sample.h"

#include <dlfcn.h>
#include <malloc.h>

static NOINLINE void use_pvalloc(void)
{
	keep(pvalloc(1));
	STAY();
}

/* Still there for old programs, under its old version only. */
static NOINLINE void use_cfree(void)
{
	void (*old_free)(void *) = (void (*)(void *))dlvsym(RTLD_DEFAULT, "cfree", "GLIBC_2.2.5");
	void *block = keep(malloc(10));

	if (old_free)
		old_free(block);
	else
		free(block);
	keep(malloc(20));
	STAY();
}

static NOINLINE void use_realloc_zero(void)
{
	void *block = keep(malloc(40));

	REQUIRE(!realloc(block, 0));
	STAY();
}

int main(void)
{
	use_pvalloc();
	use_cfree();
	use_realloc_zero();
	puts("ok");
	return 7;
}
