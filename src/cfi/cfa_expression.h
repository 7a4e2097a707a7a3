/*
 * Reduces DWARF expressions of unwind tables to the few shapes that a rule can hold. At a known pc,
 * every expression that compilers, linkers and the C library write is a constant, a register plus a
 * constant, or one word of memory plus a constant. A pure function: no memory beyond its arguments
 * is read.
 */
#ifndef MALLOW_CFI_CFA_EXPRESSION_H
#define MALLOW_CFI_CFA_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
 * Reduces the expression of size bytes. pc_register: the number under which expressions name the
 * pc, which is the number of the return address. first: the term on the expression's stack at its
 * start (where a register is saved: the CFA); NULL: none. False: the expression does something
 * else, or is malformed.
 */
bool cfa_expression_reduce(const uint8_t *bytes, size_t size, uint64_t pc, uint8_t pc_register,
			   const struct cfa_term *first, struct cfa_term *ret);

#endif
