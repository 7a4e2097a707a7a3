/*
 * Rules: found in the unwind tables; the agent's wide ones; and both kinds packed into 16 bits
 * (cfi/unwind_rule.h) as they lie in the table beside their pc (rule_table.h).
 *
 * Equal wide rules are kept once, however many pcs they have: a program has few distinct ones, and
 * closing and opening a library a thousand times adds none.
 */
#ifndef MALLOW_AGENT_UNWIND_RULE_H
#define MALLOW_AGENT_UNWIND_RULE_H

#include <stdint.h>

#include "cfi/unwind_rule.h"

/* This architecture's. */
extern const struct unwind_registers rule_registers __attribute__((visibility("hidden")));

struct unwind_host;

/* Once, before the first capture. */
void rule_init(const struct unwind_host *host);

/*
 * Packs the rule: a plain one into its 16 bits, a wide one into its number. RULE_NONE: there is no
 * room for another wide rule, or another thread is adding one. Then use the rule, but do not keep
 * it. Never waits.
 */
uint16_t rule_pack(const struct unwind_rule *rule);

/* packed is any value that rule_pack() returned but RULE_NONE. */
void rule_unpack(uint16_t packed, struct unwind_rule *ret);

/* In a forked child: frees the lock, whose holder does not exist there. */
void rule_after_fork(void);

/*
 * Finds the rule of a pc in the unwind tables of the module that holds it. pc is a return address,
 * or the address of an interrupted instruction plus 1. There is always a rule: of kind RULE_BROKEN
 * if it cannot be found.
 */
void rule_find_slow(uint64_t pc, struct unwind_rule *ret);

/*
 * Whether the code at pc, of which size bytes can be read, returns from a signal handler
 * (arch_is_signal_return()), and the rule of it then.
 */
bool rule_of_signal_return(uint64_t pc, uint64_t size, struct unwind_rule *ret)
	__attribute__((visibility("hidden")));

/*
 * Where the frame of pc keeps its caller's value of another register. RULE_LOST: no table says it.
 * Looked up each time: few frames need more than sp and fp.
 */
void rule_find_register_slow(uint64_t pc, uint8_t reg, struct rule_place *place, int32_t *offset);

#endif
