/* See rule_compile.h. */
#include "cfi/rule_compile.h"

#include <stddef.h>

#include "cfi/cfa_expression.h"

static bool fits_rule(int64_t value)
{
	return value == (int32_t)value;
}

static bool compile_cfa(const struct cfa_entry *entry, uint64_t pc,
			const struct unwind_registers *registers, struct unwind_rule *ret)
{
	struct cfa_term term = {.kind = CFA_TERM_LINEAR};

	if (entry->how == CFA_OFFSET) {
		if (entry->reg >= registers->count)
			return false;
		term.reg = (uint8_t)entry->reg;
		term.value = entry->offset;
	} else if (entry->how != CFA_EXPRESSION ||
		   !cfa_expression_reduce(entry->expression, entry->expression_size, pc,
					  registers->pc, NULL, &term)) {
		return false;
	}
	if (term.kind == CFA_TERM_CONSTANT || !fits_rule(term.value) || !fits_rule(term.inner))
		return false;
	ret->cfa_base = term.reg;
	ret->cfa_deref = term.kind == CFA_TERM_LOADED;
	ret->cfa_offset = (int32_t)(ret->cfa_deref ? term.inner : term.value);
	ret->cfa_add = (int32_t)(ret->cfa_deref ? term.value : 0);
	return true;
}

/* The term that an entry computes: the address of the register's value or, if *value, that. */
static bool entry_term(const struct cfa_entry *entry, uint64_t pc,
		       const struct unwind_registers *registers, bool *value, struct cfa_term *ret)
{
	struct cfa_term term = {.kind = CFA_TERM_LINEAR, .reg = RULE_BASE_CFA};

	*value = entry->how != CFA_OFFSET && entry->how != CFA_EXPRESSION;
	switch (entry->how) {
	case CFA_OFFSET:
	case CFA_VAL_OFFSET:
		term.value = entry->offset;
		break;
	case CFA_REGISTER:
		if (entry->reg >= registers->count)
			return false;
		term.reg = (uint8_t)entry->reg;
		break;
	default:
		if (!cfa_expression_reduce(entry->expression, entry->expression_size, pc,
					   registers->pc, &term, &term))
			return false;
	}
	*ret = term;
	return true;
}

bool rule_compile_place(const struct cfa_entry *entry, uint64_t pc,
			const struct unwind_registers *registers, struct rule_place *place,
			int32_t *offset)
{
	struct cfa_term term;
	bool value;

	*place = (struct rule_place){.how = RULE_SAME};
	if (entry->how == CFA_UNSPECIFIED || entry->how == CFA_SAME)
		return true;
	if (entry->how == CFA_UNDEFINED) {
		place->how = RULE_LOST;
		return true;
	}
	if (!entry_term(entry, pc, registers, &value, &term))
		return false;
	if (term.kind == CFA_TERM_LOADED && value && term.value == 0) {
		// A value that is loaded from memory is the same as a place in memory.
		value = false;
		term.value = term.inner;
	} else if (term.kind != CFA_TERM_LINEAR) {
		return false;
	}
	if (!fits_rule(term.value))
		return false;
	*place = (struct rule_place){.how = value ? RULE_VALUE : RULE_AT, .base = term.reg};
	*offset = (int32_t)term.value;
	return true;
}

bool rule_compile(const struct eh_frame_row *found, uint64_t pc,
		  const struct unwind_registers *registers, struct unwind_rule *ret)
{
	const struct cfa_row *row = &found->row;
	struct unwind_rule rule = {.kind = RULE_STEP, .signal = found->signal};

	if (row->ra.how == CFA_UNDEFINED) {
		*ret = (struct unwind_rule){.kind = RULE_END};
		return true;
	}
	if (!compile_cfa(&row->cfa, pc, registers, &rule) ||
	    !rule_compile_place(&row->ra, pc, registers, &rule.ra, &rule.ra_offset))
		return false;
	if (rule.ra.how != RULE_AT && rule.ra.how != RULE_VALUE)
		return false;
	if (!rule_compile_place(&row->saved, pc, registers, &rule.fp, &rule.fp_offset)) {
		rule.fp = (struct rule_place){.how = RULE_LOST};
		rule.fp_offset = 0;
	}
	*ret = rule;
	return true;
}
