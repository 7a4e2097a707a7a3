/*
 * Built twice with different FRAMEs: two libraries of one size that the loader puts at the same
 * address, one after the other, and whose equal pcs have different frames.
 */
#include <string.h>

__attribute__((noinline)) static int inner(void (*callback)(void), int n)
{
	volatile char memory[FRAME];

	memory[n & 15] = (char)n;
	callback();
	return memory[0];
}

int plugin_run(void (*callback)(void));

int plugin_run(void (*callback)(void))
{
	volatile int n = 3;

	return inner(callback, n) + n;
}
