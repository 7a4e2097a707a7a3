/*
 * What estimates of samples are held against: blocks of one size by each function, around and far
 * below the mean between samples (16 KiB in the tests), of which some are freed. One thread, so
 * that a seed decides all.
 *
 * EXPECT tiny: calls=24000 total_bytes=1152000 leaked_blocks=16000 leaked_bytes=768000
 * EXPECT small: calls=4000 total_bytes=2048000 leaked_blocks=3000 leaked_bytes=1536000
 * EXPECT middle: calls=400 total_bytes=2400000 leaked_blocks=200 leaked_bytes=1200000
 * EXPECT large: calls=80 total_bytes=1600000 leaked_blocks=60 leaked_bytes=1200000
 * EXPECT huge: calls=6 total_bytes=3000000 leaked_blocks=3 leaked_bytes=1500000
 * EXPECT few: calls=64 total_bytes=64000 leaked_blocks=64 leaked_bytes=64000
 * EXPECT main: calls=28550 total_bytes=10264000 leaked_blocks=19327 leaked_bytes=6268000
 */
#include "sample.h"

/* Frees each block that was allocated before one whose number is a multiple of every. */
#define ALLOCATE(count, size, every)                                                               \
	do {                                                                                       \
		void *last = NULL;                                                                 \
		for (int i = 1; i <= (count); i++) {                                               \
			if (i % (every) == 0)                                                      \
				free(last);                                                        \
			last = keep(malloc(size));                                                 \
		}                                                                                  \
	} while (0)

static NOINLINE void tiny(void)
{
	ALLOCATE(24000, 48, 3);
	STAY();
}

static NOINLINE void small(void)
{
	ALLOCATE(4000, 512, 4);
	STAY();
}

static NOINLINE void middle(void)
{
	ALLOCATE(400, 6000, 2);
	STAY();
}

static NOINLINE void large(void)
{
	ALLOCATE(80, 20000, 4);
	STAY();
}

static NOINLINE void huge(void)
{
	ALLOCATE(6, 500000, 2);
	STAY();
}

/* About four samples: normal distributions are far from here. */
static NOINLINE void few(void)
{
	ALLOCATE(64, 1000, 1000);
	STAY();
}

int main(void)
{
	tiny();
	small();
	middle();
	large();
	huge();
	few();
	sample_fail(7);
}
