/* From a pc to its rule, by the unwind tables of the module that holds it. unwind_code_start() of
 * unwind.h is here, too. */
#ifndef MALLOW_AGENT_UNWIND_RULE_FIND_H
#define MALLOW_AGENT_UNWIND_RULE_FIND_H

#include <stdint.h>

#include "agent/unwind/rule.h"

/*
 * pc is a return address (or that of an interrupted instruction, plus 1). Always yields a rule, of
 * kind RULE_BROKEN at worst.
 */
void rule_find_slow(uint64_t pc, struct unwind_rule *ret);

/*
 * Where that frame has its caller's value of another register; RULE_LOST where no table says it.
 * Not kept anywhere: few frames ask for more than sp and fp.
 */
void rule_find_register_slow(uint64_t pc, uint8_t reg, struct rule_place *place, int32_t *offset);

#endif
