/*
 * A rule says how to get from a frame to its caller. The frame's pc tells which rule it is. Rules
 * are compiled from unwind tables (rule_compile.h).
 *
 * Nearly every rule is plain: it fits into 11 + 4 + 1 bits.
 *
 *    15     14 … 11      10 … 0
 *   +----+-----------+-----------+   CFA = (sp or fp) + offset words, the return address a word
 *   | sp |  fp slot  |  offset   |   below it, the caller's fp slot words below; slot 0: not saved
 *   +----+-----------+-----------+
 *
 * Where frames keep the two as a pair (`pair` of struct unwind_registers), anywhere in the frame:
 * the caller's fp at base + 2 * (slot - 1) words, base being sp or fp, and the return address
 * behind it; slot 0: fp not saved, the return address at sp.
 *
 * CFA (DWARF's canonical frame address): the caller's stack pointer after the return. Example
 * with words of 8 bytes: 0x8002 is CFA = sp + 16, return address at sp + 8, fp unchanged.
 *
 * All other rules are wide. Equal wide rules are kept once in a list of the user's, and a value
 * below RULE_PLAIN is the number of a wide rule in it, or RULE_NONE. (As a plain rule it would be
 * an fp-based CFA with the fp not saved, which no compiler makes.)
 *
 * Programs for BPF include this header, too: it needs no more than the types.
 */
#ifndef MALLOW_CFI_UNWIND_RULE_H
#define MALLOW_CFI_UNWIND_RULE_H

#include <stdbool.h>
#include <stdint.h>

#define RULE_NONE        0u
#define RULE_PLAIN       0x0800u /* values from here on are plain rules */
#define RULE_BASE_SP     0x8000u
#define RULE_OFFSET_MASK 0x07ffu
#define RULE_SLOT_SHIFT  11
#define RULE_SLOT_MASK   15u

/* A base beside DWARF's register numbers: relative to the frame's CFA. Not of the CFA itself. */
#define RULE_BASE_CFA 32

enum rule_kind {
	RULE_STEP,
	RULE_GUESS,         /* a step that was read from code (scan.h), and is not sure: wide */
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

/* An architecture's registers, by DWARF's numbers. */
struct unwind_registers {
	uint8_t sp, fp;
	uint8_t pc;    /* the column of the return address */
	uint8_t count; /* rules know registers below this */
	uint8_t word;  /* bytes of an address */
	bool link;     /* calls leave the return address in the register pc */
	bool pair;     /* frames keep fp and pc side by side */
};

/* Packs a plain rule into its 16 bits. RULE_NONE: the rule is wide. */
uint16_t unwind_rule_pack(const struct unwind_rule *rule, const struct unwind_registers *registers);

/* packed: a plain rule, so at least RULE_PLAIN. */
void unwind_rule_unpack(uint16_t packed, const struct unwind_registers *registers,
			struct unwind_rule *ret);

#endif
