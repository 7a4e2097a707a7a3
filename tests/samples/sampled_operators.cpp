/*
 * Each operator, as often, for SAMPLE: libstdc++'s come by malloc and free, and with -DOWN they
 * come to the program's own, which do so themselves. With -DOWN_BY_OTHERS these have others
 * allocate, whose blocks count for themselves, but the one that is returned is the operator's. Each
 * block counts once. Of every two blocks one is deleted. No EXPECT: a sample has no exact sums.
 */
#include "sample.h"

#include <new>

#define BLOCKS 20000
#define SIZE   96

#ifdef OWN_BY_OTHERS
#define OWN

/* Two by the C library, and the first is not the one. */
static void *own_block(std::size_t size)
{
	static const char text[] = "................................................"
				   "................................................";
	static_assert(sizeof(text) > SIZE);

	free(keep(strdup("not this one")));
	return size > SIZE ? malloc(size) : strndup(text, size - 1);
}
#else
#define own_block malloc
#endif

#ifdef OWN
void *operator new(std::size_t size)
{
	return keep(own_block(size));
}

void operator delete(void *block) noexcept
{
	free(keep(block));
}
#endif

#define DEFINE(name, call, end)                                                                    \
	static NOINLINE void name()                                                                \
	{                                                                                          \
		for (int i = 0; i < BLOCKS; i++) {                                                 \
			void *block = keep(call);                                                  \
                                                                                                   \
			if (i % 2)                                                                 \
				end;                                                               \
		}                                                                                  \
		STAY();                                                                            \
	}

DEFINE(call_new, ::operator new(SIZE), ::operator delete(block))
DEFINE(call_new_array, ::operator new[](SIZE), ::operator delete[](block))
DEFINE(call_new_nothrow, ::operator new(SIZE, std::nothrow), ::operator delete(block, std::nothrow))
DEFINE(call_new_aligned, ::operator new(SIZE, std::align_val_t(64)),
       ::operator delete(block, std::align_val_t(64)))
DEFINE(call_new_sized, ::operator new(SIZE), ::operator delete(block, SIZE))

int main()
{
	call_new();
	call_new_array();
	call_new_nothrow();
	call_new_aligned();
	call_new_sized();
	return 7;
}
