/* Compiles a row of the unwind table into a rule. Pure functions. */
#ifndef MALLOW_CFI_RULE_COMPILE_H
#define MALLOW_CFI_RULE_COMPILE_H

#include <stdbool.h>
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

#endif
