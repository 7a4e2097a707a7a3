/*
 * DWARF expressions of unwind tables, reduced to the few shapes that a rule can hold. At a known
 * pc every expression that compilers, linkers and the C library write comes down to a constant,
 * a register plus a constant, or one memory word plus a constant. Pure.
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
	uint8_t reg; /* DWARF's number, or that of the caller's `first` term */
	int64_t value;
	int64_t inner;
};

/*
 * pc_register: the number by which expressions know the pc itself, that of the return address.
 * first, if not NULL, lies on the expression's stack at its start (for a register's location: the
 * CFA). False: the expression does something else, or is malformed.
 */
bool cfa_expression_reduce(const uint8_t *bytes, size_t size, uint64_t pc, uint8_t pc_register,
			   const struct cfa_term *first, struct cfa_term *ret);

#endif
