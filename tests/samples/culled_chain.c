/*
 * A block that grows every 10 ms: none of its lives is long, the chain's is.
 *
 * EXPECT chain: calls=31 total_bytes=49600 leaked_blocks=1 leaked_bytes=3100 temporary=30
 */
#include <unistd.h>

#include "sample.h"

static NOINLINE void chain(void)
{
	char *block = keep(malloc(100));

	for (size_t step = 2; step <= 31; step++) {
		usleep(10000);
		block = keep(realloc(block, step * 100));
	}
	STAY();
}

int main(void)
{
	chain();
	return 0;
}
