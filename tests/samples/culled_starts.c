/*
 * Many recordings one after the other, in each of which some thousand blocks are held back. What
 * the agent keeps of them must not add up.
 */
#include <mallow/mallow.h>

#include "sample.h"

#define STARTS 40
#define BLOCKS 8192

static void *blocks[BLOCKS];

static void use_memory(void)
{
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = keep(malloc(100));
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
}

int main(void)
{
	unsigned long before = 0;

	for (int i = 0; i < STARTS; i++) {
		mallow_stop();
		mallow_start();
		use_memory();
		if (i == 1)
			before = sample_kilobytes("VmRSS:");
	}
	printf("%lu\n", (sample_kilobytes("VmRSS:") - before) / (STARTS - 2));
	return 0;
}
