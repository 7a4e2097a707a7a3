/*
 * The functions of the C library that compilers call on their own. The agent links no C library,
 * since it must load into glibc and musl programs alike. All are hidden, and compiled with
 * -fno-builtin, so that the compiler does not turn a loop into a call of the same function.
 */
#include "agent/ground/libc.h"

#include "agent/arch/instructions.h"

void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
	arch_copy(to, from, size);
	return to;
}

void *memmove(void *to, const void *from, size_t size)
{
	unsigned char *t = to;
	const unsigned char *f = from;

	if ((size_t)(t - f) >= size)
		return memcpy(to, from, size);
	while (size--)
		t[size] = f[size];
	return to;
}

void *memset(void *to, int value, size_t size)
{
	arch_fill(to, value, size);
	return to;
}

int memcmp(const void *a, const void *b, size_t size)
{
	const unsigned char *x = a;
	const unsigned char *y = b;

	for (size_t i = 0; i < size; i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return 0;
}

size_t strlen(const char *string)
{
	size_t length = 0;

	while (string[length])
		length++;
	return length;
}

int strcmp(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return (unsigned char)*a - (unsigned char)*b;
}

int strncmp(const char *a, const char *b, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (a[i] != b[i])
			return (unsigned char)a[i] - (unsigned char)b[i];
		if (!a[i])
			break;
	}
	return 0;
}
