/*
 * Names moments of its life; runs with and without the library.
 *
 * EXPECT work: calls=300 total_bytes=3000 leaked_blocks=0
 */
#include "sample.h"

#include <mallow/mallow.h>

static NOINLINE void work(void)
{
	for (int i = 0; i < 100; i++)
		free(keep(malloc(10)));
	STAY();
}

int main(void)
{
	mallow_mark("begin");
	for (int i = 0; i < 3; i++) {
		char name[32];

		snprintf(name, sizeof(name), "round %d", i);
		mallow_mark(name);
		work();
	}
	mallow_mark("");
	puts("ok");
	return 7;
}
