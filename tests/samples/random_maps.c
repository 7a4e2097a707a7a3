/*
 * Maps and unmaps parts of a range at random, so that mappings are split, covered and taken away
 * bit by bit. Argument: the seed.
 */
#include "sample.h"

#include <stdlib.h>
#include <sys/mman.h>

#define PAGES 64
#define PAGE  4096

int main(int count, char **arguments)
{
	unsigned int seed = count > 1 ? (unsigned int)atoi(arguments[1]) : 0;
	char *all = mmap(NULL, PAGES * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (all == MAP_FAILED)
		return 1;
	for (int i = 0; i < 400; i++) {
		int from = rand_r(&seed) % PAGES, length = 1 + rand_r(&seed) % (PAGES - from);
		char *part = all + from * PAGE;

		if (length > 9)
			length = 9;
		if (rand_r(&seed) % 3 == 0) {
			if (munmap(part, (size_t)length * PAGE - 1) != 0)
				return 1;
		} else if (mmap(part, (size_t)length * PAGE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != part) {
			return 1;
		}
	}
	return 0;
}
