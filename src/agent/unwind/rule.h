/*
 * A rule: how to get from a frame to its caller, found by the frame's pc.
 *
 * Nearly every rule fits 11 + 4 + 1 bits and lies in the table beside its pc (rule_table.h):
 *
 *    15     14 … 11      10 … 0
 *   +----+-----------+-----------+   CFA = (sp or fp) + 8 * offset, the return address at CFA - 8,
 *   | sp |  fp slot  |  offset   |   the caller's fp at CFA - 8 * slot; slot 0: fp not saved
 *   +----+-----------+-----------+
 *
 * CFA: the caller's stack pointer after the return. Values below RULE_PLAIN (an fp-based CFA
 * whose fp was not saved, which no compiler makes) are numbers of interned wide rules, and
 * RULE_NONE. Wide rules are kept by content, not by pc: a program has few distinct ones, and
 * closing and opening a library a thousand times adds none.
 */
#ifndef MALLOW_AGENT_UNWIND_RULE_H
#define MALLOW_AGENT_UNWIND_RULE_H

#include <stdbool.h>
#include <stdint.h>

#define RULE_NONE        0u
#define RULE_PLAIN       0x0800u /* this and above: the packed form */
#define RULE_BASE_SP     0x8000u
#define RULE_OFFSET_MASK 0x07ffu
#define RULE_SLOT_SHIFT  11
#define RULE_SLOT_MASK   15u

/* DWARF's register numbers; those of the step itself are in unwind/<arch>/registers.h. */
#define RULE_BASE_CFA 32 /* in a place: relative to the frame's CFA */

enum rule_kind {
	RULE_STEP,
	RULE_END,           /* the outermost frame: it has no caller */
	RULE_FRAME_POINTER, /* no unwind information: follow fp, as far as the stack goes */
	RULE_BROKEN,        /* unwind information that cannot be followed */
};

enum rule_how {
	RULE_SAME,  /* the register still has its value */
	RULE_LOST,  /* it cannot be recovered */
	RULE_AT,    /* the memory word at base + offset */
	RULE_VALUE, /* base + offset itself */
};

struct rule_place {
	uint8_t how;
	uint8_t base;
};

/* Compared as bytes: no padding, unused fields 0. */
struct unwind_rule {
	uint8_t kind;
	uint8_t cfa_deref; /* CFA = *(base + cfa_offset) + cfa_add */
	uint8_t cfa_base;
	uint8_t signal; /* the caller was interrupted, it did not call */
	struct rule_place fp;
	struct rule_place ra;
	int32_t cfa_offset;
	int32_t cfa_add;
	int32_t fp_offset;
	int32_t ra_offset;
};

/*
 * The 16-bit form; wide rules are interned. RULE_NONE: no room for another wide rule, or another
 * thread is interning right now: use the rule, do not keep it. Never waits.
 */
uint16_t rule_pack(const struct unwind_rule *rule);

/* packed is any value that rule_pack() returned but RULE_NONE. */
void rule_unpack(uint16_t packed, struct unwind_rule *ret);

/* In a forked child, where the thread that was interning does not exist. */
void rule_after_fork(void);

#endif
