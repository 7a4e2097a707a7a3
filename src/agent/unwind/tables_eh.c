#include "agent/unwind/arch.h"
#include "agent/unwind/rule.h"
#include "agent/unwind/tables.h"
#include "cfi/rule_compile.h"

static enum eh_frame_answer find_row(const struct module_tables *tables, uint64_t code, uint8_t reg,
				     struct eh_frame_row *ret)
{
	if (tables->image.size == 0)
		return EH_FRAME_NONE;
	if (tables->index)
		return eh_frame_find_in(&tables->image, &tables->index->table, code, reg, ret);
	return eh_frame_find(&tables->image, tables->header, code, reg, ret);
}

enum tables_answer tables_find_rule(const struct module_tables *tables, uint64_t code,
				    struct unwind_rule *ret)
{
	struct eh_frame_row found;
	enum eh_frame_answer answer = find_row(tables, code, ARCH_DWARF_FP, &found);

	if (answer == EH_FRAME_NONE)
		return TABLES_NONE;
	return answer == EH_FRAME_FOUND && rule_compile(&found, code, &rule_registers, ret)
		       ? TABLES_FOUND
		       : TABLES_BAD;
}

bool tables_find_register(const struct module_tables *tables, uint64_t code, uint8_t reg,
			  struct rule_place *place, int32_t *offset)
{
	struct eh_frame_row found;

	*offset = 0;
	return find_row(tables, code, reg, &found) == EH_FRAME_FOUND &&
	       rule_compile_place(&found.row.saved, code, &rule_registers, place, offset);
}

uint64_t tables_find_start(const struct module_tables *tables, uint64_t code)
{
	struct eh_frame_row found;

	return find_row(tables, code, ARCH_DWARF_FP, &found) == EH_FRAME_FOUND ? found.start : 0;
}
