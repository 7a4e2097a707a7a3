#include "agent/event/allocator_code.h"

// Return addresses that are in allocator code. They are few, and every operator new asks for one.
#define KNOWN_CALLERS 64
static uint64_t known_callers[KNOWN_CALLERS];

bool allocator_code_holds(uint64_t pc)
{
	uint64_t *known = &known_callers[(pc ^ pc >> 8) % KNOWN_CALLERS];

	if (__builtin_expect(__atomic_load_n(known, __ATOMIC_RELAXED) == pc, 1))
		return true;
	if (!allocator_code_look(pc))
		return false;
	__atomic_store_n(known, pc, __ATOMIC_RELAXED);
	return true;
}

void allocator_code_forget(void)
{
	for (int i = 0; i < KNOWN_CALLERS; i++)
		__atomic_store_n(&known_callers[i], 0, __ATOMIC_RELAXED);
}
