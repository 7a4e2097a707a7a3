/*
 * ARM's own unwind tables, .ARM.exidx and .ARM.extab (Arm's IHI 0038, "Exception handling ABI"): a
 * second form of what eh_frame.h reads. Pure functions: they read only the image, which may hold
 * anything.
 *
 *	.ARM.exidx, sorted:	start of a function | 1: no unwinding from here on
 *				start of a function | bit 31: up to three bytes of opcodes
 *				start of a function | where the entry of .ARM.extab lies
 *	.ARM.extab:		header, perhaps a personality, opcodes, what exceptions need
 *
 * The opcodes say what undoes the prologue: how far to move sp, which registers to pop. So a rule
 * holds where the function calls, and not within its first and last instructions.
 */
#ifndef MALLOW_CFI_EXIDX_H
#define MALLOW_CFI_EXIDX_H

#include <stdbool.h>
#include <stdint.h>

#include "cfi/eh_cursor.h"
#include "cfi/unwind_rule.h"

enum exidx_answer {
	EXIDX_FOUND,
	EXIDX_CANT_UNWIND, /* nothing may be thrown through it: mostly code without a table */
	EXIDX_NONE,        /* the pc lies before all functions */
	EXIDX_BAD,         /* the table makes no sense */
};

/* The image holds both sections. */
struct exidx_table {
	const struct eh_image *image;
	uint64_t address; /* of .ARM.exidx: PT_ARM_EXIDX */
	uint64_t size;    /* bytes of it */
};

/* Of a pc. start: of its function, or of the first of several alike; set for FOUND, CANT_UNWIND. */
struct exidx_function {
	uint64_t start;
	struct eh_cursor opcodes; /* words, each with its first opcode on top */
	unsigned first;           /* opcodes in the first word */
};

enum exidx_answer exidx_find(const struct exidx_table *table, uint64_t pc,
			     struct exidx_function *ret);

/* The start of the code of entry i, i < size / 8; nothing is known about it. 0: it is cut short. */
uint64_t exidx_start(const struct exidx_table *table, uint64_t i);

/* The rule for the function's calls. fp: the register that rule.fp is about. */
enum exidx_answer exidx_rule(const struct exidx_function *function, uint8_t fp,
			     struct unwind_rule *ret);

/* Where a function's calls leave another register of the caller: r4 to r11. */
enum exidx_answer exidx_place(const struct exidx_function *function, uint8_t reg,
			      struct rule_place *place, int32_t *offset);

#endif
