/* A deterministic C program of one thread, for comparing totals with other profilers. */
#include "sample.h"

static NOINLINE void *make(size_t size)
{
	void *block = keep(malloc(size));

	STAY();
	return block;
}

int main(void)
{
	void *blocks[1000];
	unsigned int random = 1;

	for (int i = 0; i < 1000; i++)
		blocks[i] = make((size_t)i * 3 + 1);
	for (int i = 0; i < 50000; i++) {
		size_t at = (random = random * 1103515245u + 12345u) >> 16 & 511;

		if (random >> 8 & 1) {
			free(blocks[at]);
			blocks[at] = make(random >> 20);
		} else {
			blocks[at] = keep(realloc(blocks[at], (random >> 18) + 1));
		}
	}
	for (int i = 0; i < 700; i++)
		free(blocks[i]);
	free(keep(calloc(7, 100)));
	keep(strdup("left behind"));
	return 0;
}
