/*
 * What a module's unwind tables say: .eh_frame (tables_eh.c) or, on ARM, .ARM.exidx
 * (tables_exidx.c).
 */
#ifndef MALLOW_AGENT_UNWIND_TABLES_H
#define MALLOW_AGENT_UNWIND_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/unwind/module_find.h"
#include "cfi/unwind_rule.h"

enum tables_answer {
	TABLES_FOUND,
	TABLES_AT_CALLS, /* found, but this code is no call, and the rule holds at calls */
	TABLES_NONE,     /* no table covers the code */
	TABLES_BAD,      /* they cannot be followed */
};

/* code: an address in an instruction, the call before a return address. */
enum tables_answer tables_find_rule(const struct module_tables *tables, uint64_t code,
				    struct unwind_rule *ret);

/* Where the code's frame keeps its caller's value of another register than sp and fp. */
bool tables_find_register(const struct module_tables *tables, uint64_t code, uint8_t reg,
			  struct rule_place *place, int32_t *offset);

/* The first address of the function that the code is in. 0: no table covers it. */
uint64_t tables_find_start(const struct module_tables *tables, uint64_t code);

#endif
