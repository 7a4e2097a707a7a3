/*
 * A library whose operator new hands out slots of a slab and tells mallow so, and a program that
 * uses it: tests/e2e/record/test_pools.py builds both of this file.
 */
#include <mallow/mallow.h>
#include <new>
#include <stdio.h>
#include <stdlib.h>

#ifdef LIBRARY

union slot {
	char bytes[64];
	slot *next;
};

static slot slots[64];
static slot *unused;
static size_t used;

void *operator new(size_t size)
{
	slot *taken = unused ? unused : &slots[used++];

	if (size > sizeof(*taken) || used > 64)
		abort();
	if (taken == unused)
		unused = taken->next;
	mallow_pool_alloc(&slots, taken, size);
	return taken;
}

void operator delete(void *block) noexcept
{
	slot *given = static_cast<slot *>(block);

	if (!block)
		return;
	mallow_pool_free(&slots, block);
	given->next = unused;
	unused = given;
}

void operator delete(void *block, size_t) noexcept
{
	operator delete(block);
}

#else

__attribute__((noinline)) static long sum()
{
	long result = 0;

	for (long i = 0; i < 100; i++) {
		long *one = new long(i), *two = new long(1);

		__asm__ volatile("" : "+r"(one), "+r"(two) : : "memory");
		result += *one + *two;
		delete one;
		if (i % 10)
			delete two;
	}
	return result;
}

int main()
{
	printf("%ld\n", sum());
	return 7;
}

#endif
