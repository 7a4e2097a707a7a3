/* Compiling a row of the unwind table into a rule. See rule_find.h. */
#include "agent/unwind/rule_find.h"

#include <string.h>

#include "agent/unwind/arch.h"
#include "agent/unwind/memory.h"
#include "agent/unwind/module_find.h"
#include "base/compiler.h"
#include "cfi/cfa_expression.h"
#include "cfi/eh_frame.h"

static bool fits(int64_t value)
{
	return value == (int32_t)value;
}

static bool compile_cfa(const struct cfa_entry *entry, uint64_t pc, struct unwind_rule *ret)
{
	struct cfa_term term = {.kind = CFA_TERM_LINEAR};

	if (entry->how == CFA_OFFSET) {
		if (entry->reg >= ARCH_DWARF_REGISTERS)
			return false;
		term.reg = (uint8_t)entry->reg;
		term.value = entry->offset;
	} else if (entry->how != CFA_EXPRESSION ||
		   !cfa_expression_reduce(entry->expression, entry->expression_size, pc,
					  ARCH_DWARF_PC, NULL, &term)) {
		return false;
	}
	if (term.kind == CFA_TERM_CONSTANT || !fits(term.value) || !fits(term.inner))
		return false;
	ret->cfa_base = term.reg;
	ret->cfa_deref = term.kind == CFA_TERM_LOADED;
	ret->cfa_offset = (int32_t)(ret->cfa_deref ? term.inner : term.value);
	ret->cfa_add = (int32_t)(ret->cfa_deref ? term.value : 0);
	return true;
}

/* The term that an entry computes: the address of the register's value or, if *value, that. */
static bool entry_term(const struct cfa_entry *entry, uint64_t pc, bool *value,
		       struct cfa_term *ret)
{
	struct cfa_term term = {.kind = CFA_TERM_LINEAR, .reg = RULE_BASE_CFA};

	*value = entry->how != CFA_OFFSET && entry->how != CFA_EXPRESSION;
	switch (entry->how) {
	case CFA_OFFSET:
	case CFA_VAL_OFFSET:
		term.value = entry->offset;
		break;
	case CFA_REGISTER:
		if (entry->reg >= ARCH_DWARF_REGISTERS)
			return false;
		term.reg = (uint8_t)entry->reg;
		break;
	default:
		if (!cfa_expression_reduce(entry->expression, entry->expression_size, pc,
					   ARCH_DWARF_PC, &term, &term))
			return false;
	}
	*ret = term;
	return true;
}

/* false: no rule can express the entry. */
static bool compile_place(const struct cfa_entry *entry, uint64_t pc, struct rule_place *place,
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
	if (!entry_term(entry, pc, &value, &term))
		return false;
	if (term.kind == CFA_TERM_LOADED && value && term.value == 0) {
		// A value that is loaded from memory is the same as a place in memory.
		value = false;
		term.value = term.inner;
	} else if (term.kind != CFA_TERM_LINEAR) {
		return false;
	}
	if (!fits(term.value))
		return false;
	*place = (struct rule_place){.how = value ? RULE_VALUE : RULE_AT, .base = term.reg};
	*offset = (int32_t)term.value;
	return true;
}

static bool compile_row(const struct eh_frame_row *found, uint64_t pc, struct unwind_rule *ret)
{
	const struct cfa_row *row = &found->row;

	if (row->ra.how == CFA_UNDEFINED) {
		ret->kind = RULE_END;
		return true;
	}
	ret->signal = found->signal;
	if (!compile_cfa(&row->cfa, pc, ret) ||
	    !compile_place(&row->ra, pc, &ret->ra, &ret->ra_offset))
		return false;
	if (!compile_place(&row->saved, pc, &ret->fp, &ret->fp_offset)) {
		ret->fp = (struct rule_place){.how = RULE_LOST};
		ret->fp_offset = 0;
	}
	return ret->ra.how == RULE_AT || ret->ra.how == RULE_VALUE;
}

static const struct unwind_rule signal_return_rule = {
	.kind = RULE_STEP,
	.signal = 1,
	.cfa_base = ARCH_DWARF_SP,
	.cfa_deref = 1,
	.cfa_offset = ARCH_CONTEXT_SP,
	.fp = {RULE_AT, ARCH_DWARF_SP},
	.fp_offset = ARCH_CONTEXT_FP,
	.ra = {RULE_AT, ARCH_DWARF_SP},
	.ra_offset = ARCH_CONTEXT_PC,
};

/* The rule for code that no entry of the module's tables covers. */
static void find_uncovered(uint64_t pc, const struct module_tables *tables, struct unwind_rule *ret)
{
	struct eh_frame_row found;

	if (arch_is_signal_return((const void *)pc,
				  pc < tables->text_end ? tables->text_end - pc : 0))
		*ret = signal_return_rule;
	// No call precedes pc, and a function begins at it. So its address was written to the
	// bottom of a new stack, as makecontext() does with __start_context().
	else if (tables->image.size != 0 && eh_frame_find(&tables->image, tables->header, pc,
							  ARCH_DWARF_FP, &found) == EH_FRAME_FOUND)
		ret->kind = RULE_END;
}

static void find_rule(uint64_t pc, struct unwind_rule *ret)
{
	struct unwind_rule rule = {.kind = RULE_STEP};
	enum eh_frame_answer answer = EH_FRAME_NONE;
	struct eh_frame_row found;
	struct module_tables tables;

	*ret = (struct unwind_rule){.kind = RULE_FRAME_POINTER};
	if (!module_find_tables(pc - 1, &tables))
		return;
	if (tables.image.size != 0)
		answer = eh_frame_find(&tables.image, tables.header, pc - 1, ARCH_DWARF_FP, &found);
	if (answer == EH_FRAME_NONE)
		find_uncovered(pc, &tables, ret);
	else if (answer == EH_FRAME_FOUND && compile_row(&found, pc - 1, &rule))
		*ret = rule;
	else
		ret->kind = RULE_BROKEN;
}

static void find_register(uint64_t pc, uint8_t reg, struct rule_place *place, int32_t *offset)
{
	struct eh_frame_row found;
	struct module_tables tables;

	*offset = 0;
	if (!module_find_tables(pc - 1, &tables) || tables.image.size == 0 ||
	    eh_frame_find(&tables.image, tables.header, pc - 1, reg, &found) != EH_FRAME_FOUND ||
	    !compile_place(&found.row.saved, pc - 1, place, offset))
		*place = (struct rule_place){.how = RULE_LOST};
}

struct search {
	uint64_t pc;
	struct unwind_rule *rule; /* or, where that is NULL: */
	struct rule_place *place;
	int32_t *offset;
	uint8_t reg;
};

static void search(void *argument)
{
	const struct search *search = argument;

	if (search->rule)
		find_rule(search->pc, search->rule);
	else
		find_register(search->pc, search->reg, search->place, search->offset);
}

never_inline void rule_find_slow(uint64_t pc, struct unwind_rule *ret)
{
	struct search wanted = {.pc = pc, .rule = ret};

	unwind_run_slow(search, &wanted);
}

never_inline void rule_find_register_slow(uint64_t pc, uint8_t reg, struct rule_place *place,
					  int32_t *offset)
{
	struct search wanted = {.pc = pc, .reg = reg, .place = place, .offset = offset};

	unwind_run_slow(search, &wanted);
}

never_inline uint64_t unwind_code_start(uint64_t pc)
{
	struct eh_frame_row found;
	struct module_tables tables;

	if (!module_find_tables(pc - 1, &tables) || tables.image.size == 0 ||
	    eh_frame_find(&tables.image, tables.header, pc - 1, ARCH_DWARF_FP, &found) !=
		    EH_FRAME_FOUND)
		return 0;
	return found.start;
}
