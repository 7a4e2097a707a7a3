// The libraries of operators_across.c.
#include "sample.h"

extern "C" NOINLINE void *make_one()
{
	void *block = keep(new long(NUMBER));

	STAY();
	return block;
}

extern "C" NOINLINE void *make_many()
{
	void *block = keep(new long[100]);

	STAY();
	return block;
}

extern "C" void drop_one(void *block)
{
	delete static_cast<long *>(block);
}

extern "C" void drop_many(void *block)
{
	delete[] static_cast<long *>(block);
}
