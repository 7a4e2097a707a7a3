/*
 * Finds the rule of a pc in the unwind tables of the module that holds it. rule_find.c also has
 * unwind_code_start() of unwind.h.
 */
#ifndef MALLOW_AGENT_UNWIND_RULE_FIND_H
#define MALLOW_AGENT_UNWIND_RULE_FIND_H

#include <stdint.h>

#include "agent/unwind/rule.h"

/*
 * pc is a return address, or the address of an interrupted instruction plus 1. There is always a
 * rule: of kind RULE_BROKEN if it cannot be found.
 */
void rule_find_slow(uint64_t pc, struct unwind_rule *ret);

/*
 * Where the frame of pc keeps its caller's value of another register. RULE_LOST: no table says it.
 * Looked up each time: few frames need more than sp and fp.
 */
void rule_find_register_slow(uint64_t pc, uint8_t reg, struct rule_place *place, int32_t *offset);

#endif
