/*
 * The call frame instructions of an FDE, run up to one pc: the row of the unwind table that holds
 * there. Pure: bytes in, row out. Of the registers, one is kept besides the return address: rows of
 * all would not fit the stack budget, and nearly every step needs the frame pointer alone.
 */
#ifndef MALLOW_CFI_CFA_PROGRAM_H
#define MALLOW_CFI_CFA_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "cfi/eh_cursor.h"

enum cfa_how {
	CFA_UNSPECIFIED, /* of a register: same value */
	CFA_SAME,
	CFA_UNDEFINED,
	CFA_OFFSET,     /* of a register: at CFA + offset; of the CFA: reg + offset */
	CFA_VAL_OFFSET, /* CFA + offset itself */
	CFA_REGISTER,   /* in reg */
	CFA_EXPRESSION, /* at the address that the expression yields; of the CFA: its value */
	CFA_VAL_EXPRESSION,
};

struct cfa_entry {
	uint8_t how;
	union {
		uint32_t reg;
		uint32_t expression_size;
	};
	union {
		int64_t offset;
		const uint8_t *expression; /* in the image */
	};
};

struct cfa_row {
	struct cfa_entry cfa;
	struct cfa_entry saved; /* of the program's saved_register */
	struct cfa_entry ra;
};

/* What the CIE and the FDE say, see eh_frame.h. */
struct cfa_program {
	struct eh_cursor initial;      /* the CIE's instructions */
	struct eh_cursor instructions; /* the FDE's */
	uint64_t start;                /* address of the function */
	uint64_t code_align;
	int64_t data_align;
	uint8_t address_encoding;
	uint8_t saved_register; /* which one the rows are to tell of */
	uint64_t ra_register;
};

/* False when an instruction is unknown or cut short, or states nest deeper than compilers do. */
bool cfa_program_run(const struct cfa_program *program, uint64_t pc, struct cfa_row *ret);

#endif
