/* Compiles a row of the unwind table into a rule. Pure functions. */
#ifndef MALLOW_CFI_RULE_COMPILE_H
#define MALLOW_CFI_RULE_COMPILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cfi/eh_frame.h"
#include "cfi/unwind_rule.h"

/*
 * Compiles the row for that pc. row->row.saved is about registers->fp. Expressions may depend on
 * the pc: then the rule is not that of the row's other addresses. False: no rule can express the
 * row, and *ret is untouched.
 */
bool rule_compile(const struct eh_frame_row *row, uint64_t pc,
		  const struct unwind_registers *registers, struct unwind_rule *ret);

/*
 * Compiles only where a register of the caller is. False: no rule can express it, and *place and
 * *offset mean nothing.
 */
bool rule_compile_place(const struct cfa_entry *entry, uint64_t pc,
			const struct unwind_registers *registers, struct rule_place *place,
			int32_t *offset);

/*
 * Reduces DWARF expressions of unwind tables to the few shapes that a rule can hold. At a known pc,
 * every expression that compilers, linkers and the C library write is a constant, a register plus a
 * constant, or one word of memory plus a constant. A pure function: no memory beyond its arguments
 * is read.
 */
enum cfa_term_kind {
	CFA_TERM_CONSTANT, /* value */
	CFA_TERM_LINEAR,   /* reg + value */
	CFA_TERM_LOADED,   /* *(reg + inner) + value */
};

struct cfa_term {
	uint8_t kind;
	uint8_t reg; /* DWARF's number, or the reg of the caller's `first` term */
	int64_t value;
	int64_t inner;
};

/*
 * Reduces the expression of size bytes at that pc. pc_register: the number by which expressions
 * name the pc (the return address's). first: the term on the stack when the expression starts;
 * NULL: the stack is empty. An expression that says where a register is saved starts with the CFA.
 * False: the expression has none of these shapes, is malformed, or is longer than anybody
 * writes.
 */
bool cfa_expression_reduce(const uint8_t *bytes, size_t size, uint64_t pc, uint8_t pc_register,
			   const struct cfa_term *first, struct cfa_term *ret);

#endif
