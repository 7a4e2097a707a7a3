/* Looking a rule up in the unwind tables. See rule_find.h. */
#include "agent/unwind/rule_find.h"

#include "agent/unwind/arch.h"
#include "agent/unwind/memory.h"
#include "agent/unwind/module_find.h"
#include "base/compiler.h"
#include "cfi/rule_compile.h"

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
	else if (module_find_row(tables, pc, ARCH_DWARF_FP, &found) == EH_FRAME_FOUND)
		ret->kind = RULE_END;
}

static void find_rule(uint64_t pc, struct unwind_rule *ret)
{
	struct unwind_rule rule;
	enum eh_frame_answer answer;
	struct eh_frame_row found;
	struct module_tables tables;

	*ret = (struct unwind_rule){.kind = RULE_FRAME_POINTER};
	if (!module_find_tables(pc - 1, true, &tables))
		return;
	answer = module_find_row(&tables, pc - 1, ARCH_DWARF_FP, &found);
	if (answer == EH_FRAME_NONE)
		find_uncovered(pc, &tables, ret);
	else if (answer == EH_FRAME_FOUND && rule_compile(&found, pc - 1, &rule_registers, &rule))
		*ret = rule;
	else
		ret->kind = RULE_BROKEN;
}

static void find_register(uint64_t pc, uint8_t reg, struct rule_place *place, int32_t *offset)
{
	struct eh_frame_row found;
	struct module_tables tables;

	*offset = 0;
	if (!module_find_tables(pc - 1, true, &tables) ||
	    module_find_row(&tables, pc - 1, reg, &found) != EH_FRAME_FOUND ||
	    !rule_compile_place(&found.row.saved, pc - 1, &rule_registers, place, offset))
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

	if (!module_find_tables(pc - 1, false, &tables) ||
	    module_find_row(&tables, pc - 1, ARCH_DWARF_FP, &found) != EH_FRAME_FOUND)
		return 0;
	return found.start;
}
