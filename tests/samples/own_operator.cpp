/*
 * A program with an operator new and delete of its own: those of the library behind the hooks call
 * them, and must be asked.
 *
 * EXPECT grow: calls=3 leaked_blocks=0
 */
#include "sample.h"

#include <cstdlib>
#include <new>

static int news, deletes;

void *operator new(std::size_t size)
{
	news++;
	return malloc(size);
}

void operator delete(void *block) noexcept
{
	deletes++;
	free(block);
}

static NOINLINE void grow()
{
	for (int i = 0; i < 3; i++)
		::operator delete[](keep(::operator new[](100)));
	STAY();
}

int main()
{
	grow();
	puts("ok");
	return news == 3 && deletes == 3 ? 7 : 1;
}
