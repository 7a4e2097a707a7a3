/*
 * Allocates and frees, a thousand times a round, until its standard input ends. Says the number of
 * rounds for each line that it reads, and at its end.
 */
#include "sample.h"

#include <poll.h>
#include <unistd.h>

static NOINLINE void allocate(void)
{
	for (int i = 0; i < 1000; i++)
		free(keep(malloc((size_t)(100 + i))));
	STAY();
}

int main(void)
{
	struct pollfd input = {.events = POLLIN};
	char text[64], byte;
	long rounds = 0;
	ssize_t size;

	for (;;) {
		allocate();
		rounds++;
		if (poll(&input, 1, 0) != 1)
			continue;
		size = read(0, &byte, 1);
		if (write(1, text, (size_t)snprintf(text, sizeof(text), "%ld\n", rounds)) < 0 ||
		    size <= 0)
			return size != 0;
	}
}
