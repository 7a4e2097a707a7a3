#include "agent/unwind/arch.h"
#include "agent/unwind/tables.h"
#include "cfi/exidx.h"

static enum exidx_answer find(const struct module_tables *tables, uint64_t code,
			      struct exidx_function *ret)
{
	struct exidx_table table = {&tables->image, tables->header, tables->header_size};

	return tables->image.size ? exidx_find(&table, code, ret) : EXIDX_NONE;
}

enum tables_answer tables_find_rule(const struct module_tables *tables, uint64_t code,
				    struct unwind_rule *ret)
{
	struct exidx_function function;
	enum exidx_answer answer = find(tables, code, &function);

	if (answer == EXIDX_FOUND)
		answer = exidx_rule(&function, ARCH_DWARF_FP, ret);
	// Only code by which signal handlers return pops sp: that is known by its bytes, too.
	if (answer == EXIDX_FOUND && ret->cfa_deref)
		return TABLES_NONE;
	if (answer != EXIDX_FOUND)
		return answer == EXIDX_BAD ? TABLES_BAD : TABLES_NONE;
	// Instructions are at even addresses: an odd one is in the call before a return address.
	return code % 2 ? TABLES_FOUND : TABLES_AT_CALLS;
}

bool tables_find_register(const struct module_tables *tables, uint64_t code, uint8_t reg,
			  struct rule_place *place, int32_t *offset)
{
	struct exidx_function function;

	*offset = 0;
	return find(tables, code, &function) == EXIDX_FOUND &&
	       exidx_place(&function, reg, place, offset) == EXIDX_FOUND;
}

uint64_t tables_find_start(const struct module_tables *tables, uint64_t code)
{
	struct exidx_function function;

	return find(tables, code, &function) == EXIDX_FOUND ? function.start : 0;
}
