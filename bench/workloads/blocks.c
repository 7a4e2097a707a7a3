/*
 * What is live and stays so: blocks COUNT SIZE. So many blocks of that size, 0: of 16 to 1,024
 * bytes; then it waits for a line, or the end, of standard input.
 */
#include <stdio.h>
#include <stdlib.h>

static long size_of(long number, long size)
{
	return size ? size : 16 + number * 37 % 1009;
}

int main(int argc, char **argv)
{
	long count = argc > 2 ? atol(argv[1]) : 0;
	char *volatile last = NULL;

	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IONBF, 0);
	for (long i = 0; i < count; i++) {
		char *block = malloc((size_t)size_of(i, atol(argv[2])));

		if (!block)
			return 1;
		*(char **)block = last; // all of them stay reachable
		last = block;
	}
	printf("%ld\n", count);
	getchar();
	return 0;
}
