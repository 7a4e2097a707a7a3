#include "agent/event/allocator_code.h"

#include "agent/ground/next_functions.h"
#include "agent/ground/own_code.h"
#include "agent/unwind/unwind.h"

/* Size of a function without an unwind table: musl's calloc, which calls malloc, is shorter. */
#define SHORT_FUNCTION 512

bool allocator_code_look(uint64_t pc)
{
	uint64_t start = unwind_code_start(pc);
	bool found = own_code(pc); // see allocator_code_loaded.c

#define HOOK(name, symbol, type, parameters)                                                       \
	found |= real.name && (start ? (uint64_t)real.name == start                                \
				     : pc - (uint64_t)real.name < SHORT_FUNCTION);
#include "agent/ground/hooks.def"
#undef HOOK
	return found;
}
