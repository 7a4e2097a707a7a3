/*
 * A rule says how to get from a frame to its caller. The frame's pc tells which rule it is.
 *
 * Nearly every rule is plain: it fits into 11 + 4 + 1 bits and lies in the table beside its pc
 * (rule_table.h):
 *
 *    15     14 … 11      10 … 0
 *   +----+-----------+-----------+   CFA = (sp or fp) + 8 * offset, the return address at CFA - 8,
 *   | sp |  fp slot  |  offset   |   the caller's fp at CFA - 8 * slot; slot 0: fp not saved
 *   +----+-----------+-----------+
 *
 * CFA (DWARF's canonical frame address): the caller's stack pointer after the return. Example:
 * 0x8002 is CFA = sp + 16, return address at sp + 8, fp unchanged.
 *
 * All other rules are wide. Equal wide rules are kept once, however many pcs they have: a program
 * has few distinct ones, and closing and opening a library a thousand times adds none. A value
 * below RULE_PLAIN is the number of a wide rule, or RULE_NONE. (As a plain rule it would be an
 * fp-based CFA with the fp not saved, which no compiler makes.)
 */
#ifndef MALLOW_AGENT_UNWIND_RULE_H
#define MALLOW_AGENT_UNWIND_RULE_H

#include <stdbool.h>
#include <stdint.h>

#define RULE_NONE        0u
#define RULE_PLAIN       0x0800u /* values from here on are plain rules */
#define RULE_BASE_SP     0x8000u
#define RULE_OFFSET_MASK 0x07ffu
#define RULE_SLOT_SHIFT  11
#define RULE_SLOT_MASK   15u

/* A base beside DWARF's register numbers, which are in unwind/<arch>/registers.h. */
#define RULE_BASE_CFA 32 /* of a struct rule_place: relative to the frame's CFA */

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
	uint8_t cfa_deref; /* 0: CFA = base + cfa_offset; 1: *(base + cfa_offset) + cfa_add */
	uint8_t cfa_base;
	uint8_t signal; /* the caller was interrupted by a signal, it did not call */
	struct rule_place fp;
	struct rule_place ra;
	int32_t cfa_offset;
	int32_t cfa_add;
	int32_t fp_offset;
	int32_t ra_offset;
};

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
