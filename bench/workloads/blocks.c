/*
 * What is live and stays so: blocks COUNT SIZE [BITS]. So many blocks of that size, 0: of 16 to 1,024
 * bytes, by 2 to the BITS different stacks, and waits for a line on standard input.
 */
#include <stdio.h>
#include <stdlib.h>

static long size_of(long number, long size)
{
	return size ? size : 16 + number * 37 % 1009;
}

static __attribute__((noinline)) void *left(long number, long size, long bits);

/* A place to call from for each bit of the number. */
static __attribute__((noinline)) void *right(long number, long size, long bits)
{
	void *block;

	if (!bits)
		return malloc((size_t)size_of(number, size));
	block = number & 1l << (bits - 1) ? right(number, size, bits - 1)
					   : left(number, size, bits - 1);
	__asm__ volatile("" : "+r"(block)); // no jump
	return block;
}

static __attribute__((noinline)) void *left(long number, long size, long bits)
{
	void *block;

	if (!bits)
		return malloc((size_t)size_of(number, size));
	block = number & 1l << (bits - 1) ? right(number, size, bits - 1)
					   : left(number, size, bits - 1);
	__asm__ volatile("" : "+r"(block));
	return block;
}

int main(int argc, char **argv)
{
	long count = argc > 2 ? atol(argv[1]) : 0, bits = argc > 3 ? atol(argv[3]) : 4;
	char *volatile last = NULL;

	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IONBF, 0);
	for (long i = 0; i < count; i++) {
		char *block = left(i, atol(argv[2]), bits);

		if (!block)
			return 1;
		*(char **)block = last; // all of them stay reachable
		last = block;
	}
	printf("%ld\n", count);
	getchar();
	return 0;
}
