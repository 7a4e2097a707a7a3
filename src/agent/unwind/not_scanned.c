/* Where libraries have unwind tables. */
#include "agent/unwind/scanned.h"

bool scanned_find_rule(uint64_t pc, struct unwind_rule *ret)
{
	return false;
}

bool scanned_find_register(uint64_t pc, uint8_t reg, struct rule_place *place, int32_t *offset)
{
	return false;
}

void scanned_forget(uint64_t start, uint64_t end)
{
}

void scanned_forbid(bool now)
{
}
