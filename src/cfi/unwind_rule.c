/* The packed form of plain rules. See unwind_rule.h. */
#include "cfi/unwind_rule.h"

static bool is_plain(const struct unwind_rule *rule, const struct unwind_registers *registers)
{
	bool sp_based = rule->cfa_base == registers->sp;
	bool fp_based = rule->cfa_base == registers->fp;

	if (rule->kind != RULE_STEP || rule->signal || rule->cfa_deref || !(sp_based || fp_based))
		return false;
	if (rule->cfa_offset <= 0 || rule->cfa_offset % 8 != 0 ||
	    (unsigned)rule->cfa_offset / 8 > RULE_OFFSET_MASK)
		return false;
	if (rule->ra.how != RULE_AT || rule->ra.base != RULE_BASE_CFA || rule->ra_offset != -8)
		return false;
	if (rule->fp.how == RULE_SAME)
		return sp_based;
	return rule->fp.how == RULE_AT && rule->fp.base == RULE_BASE_CFA &&
	       rule->fp_offset % 8 == 0 && rule->fp_offset <= -8 &&
	       rule->fp_offset >= -8 * (int)RULE_SLOT_MASK;
}

uint16_t unwind_rule_pack(const struct unwind_rule *rule, const struct unwind_registers *registers)
{
	unsigned packed;

	if (!is_plain(rule, registers))
		return RULE_NONE;
	packed = (unsigned)rule->cfa_offset / 8;
	packed |= (unsigned)(-rule->fp_offset / 8) << RULE_SLOT_SHIFT;
	if (rule->cfa_base == registers->sp)
		packed |= RULE_BASE_SP;
	return (uint16_t)packed;
}

void unwind_rule_unpack(uint16_t packed, const struct unwind_registers *registers,
			struct unwind_rule *ret)
{
	unsigned slot = packed >> RULE_SLOT_SHIFT & RULE_SLOT_MASK;

	*ret = (struct unwind_rule){
		.kind = RULE_STEP,
		.cfa_base = packed & RULE_BASE_SP ? registers->sp : registers->fp,
		.cfa_offset = (int32_t)(packed & RULE_OFFSET_MASK) * 8,
		.ra = {RULE_AT, RULE_BASE_CFA},
		.ra_offset = -8,
	};
	if (slot != 0) {
		ret->fp = (struct rule_place){RULE_AT, RULE_BASE_CFA};
		ret->fp_offset = -8 * (int32_t)slot;
	}
}
