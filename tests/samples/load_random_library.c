/* The libraries of load_random.c, each with another NUMBER. They make and drop blocks of their own,
 * too. */
#include "sample.h"

static void *early;

static __attribute__((constructor)) void begin(void)
{
	early = keep(malloc(NUMBER));
}

static __attribute__((destructor)) void end(void)
{
	free(early);
}

void *library_gives(size_t size)
{
	void *block = keep(malloc(size));

	free(keep(strdup("library")));
	return block;
}

void library_takes(void *block)
{
	free(block);
	free(keep(strdup("library")));
}
