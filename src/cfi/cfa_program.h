/*
 * Runs the call frame instructions of an FDE, up to one pc or all of them. The result is the row of
 * the unwind table at a pc: how to find the CFA, the return address and one saved register. Only
 * one register is kept, because a row of all would not fit the stack budget, and nearly every step
 * needs no other than the frame pointer. A pure function: bytes in, row out.
 */
#ifndef MALLOW_CFI_CFA_PROGRAM_H
#define MALLOW_CFI_CFA_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "cfi/eh_cursor.h"

enum cfa_how {
	CFA_UNSPECIFIED, /* for a register: it has the same value */
	CFA_SAME,
	CFA_UNDEFINED,
	CFA_OFFSET,     /* of a register: saved at CFA + offset; of the CFA: reg + offset */
	CFA_VAL_OFFSET, /* its value is CFA + offset */
	CFA_REGISTER,   /* its value is in reg */
	CFA_EXPRESSION, /* saved at the address that the expression yields; of the CFA: its value */
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
	uint8_t saved_register; /* the register that cfa_row.saved is about */
	uint64_t ra_register;
};

/*
 * Fills *ret with the row at pc. False: an instruction is unknown or cut short, or
 * DW_CFA_remember_state nests deeper than compilers write; then *ret means nothing.
 */
bool cfa_program_run(const struct cfa_program *program, uint64_t pc, struct cfa_row *ret);

/* A row that holds in [low, high). row NULL: the instructions make no sense there. */
typedef void cfa_program_row(void *argument, const struct cfa_row *row, uint64_t low,
			     uint64_t high);

/*
 * Runs the instructions once and calls each() for the rows of [program->start, end), in order. They
 * are what cfa_program_run() yields for each pc there.
 */
void cfa_program_walk(const struct cfa_program *program, uint64_t end, cfa_program_row *each,
		      void *argument);

#endif
