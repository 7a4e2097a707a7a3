/*
 * A program with mallow_embed.c that crashes, so that its table is in a core dump: five blocks of
 * 100 bytes, and one of 3000 that was freed. The table begins in the middle of a page.
 */
#include <signal.h>
#include <stdlib.h>

#include "mallow_embed.h"

static uint64_t table[65536 / 8 + 16];
static void *volatile kept[5];

__attribute__((noinline)) static void keep(void)
{
	for (int i = 0; i < 5; i++)
		kept[i] = mallow_embed_malloc(100);
}

int main(int argc, char **argv)
{
	const struct mallow_embed_options options = {
		.allocate = malloc, .release = free, .reallocate = realloc, .executable = argv[0]};
	uint64_t *begin = table + (((uintptr_t)table & 4095) == 0 ? 16 : 0);

	if (!mallow_embed_start(begin, 65536, &options))
		return 3;
	keep();
	mallow_embed_free(mallow_embed_malloc(3000));
	raise(SIGSEGV);
	return 0;
}
