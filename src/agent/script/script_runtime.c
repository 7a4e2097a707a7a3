#include "agent/script/script_runtime.h"

#include "agent/ground/link_map.h"
#include "agent/unwind/stack_bounds.h"

const struct script_runtime *script_runtime;
uint8_t script_frames;
uint64_t script_loop[2];

uint64_t script_symbol(const char *name)
{
	uint64_t start, end;

	return link_map_find_symbol(name, &start, &end) ? start : 0;
}

void script_set_loop(const char *name)
{
	link_map_find_symbol(name, &script_loop[0], &script_loop[1]);
}

bool script_can_read(const struct unwind_stack *stack, uint64_t address, uint64_t size)
{
	return address % sizeof(void *) == 0 && address >= STACK_PAGE && address < UINT64_MAX / 2 &&
	       stack_bounds_can_read(stack, address, address + size);
}
