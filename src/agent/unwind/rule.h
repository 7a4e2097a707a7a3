/*
 * The agent's wide rules, and rules of both kinds packed into 16 bits (cfi/unwind_rule.h) as they
 * lie in the table beside their pc (rule_table.h).
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

#endif
