/* The packed form of plain rules. See unwind_rule.h. */
#include "cfi/unwind_rule.h"

/* Whether the CFA of a plain rule can be this. */
static bool has_plain_cfa(const struct unwind_rule *rule, const struct unwind_registers *registers)
{
	bool sp_based = rule->cfa_base == registers->sp;
	bool fp_based = rule->cfa_base == registers->fp;
	int word = registers->word;

	return rule->kind == RULE_STEP && !rule->signal && !rule->cfa_deref &&
	       (sp_based || fp_based) && rule->cfa_offset > 0 && rule->cfa_offset % word == 0 &&
	       rule->cfa_offset / word <= (int)RULE_OFFSET_MASK && rule->ra.how == RULE_AT &&
	       rule->ra.base == RULE_BASE_CFA;
}

static bool has_plain_words(const struct unwind_rule *rule,
			    const struct unwind_registers *registers)
{
	int word = registers->word;

	if (rule->ra_offset != -word)
		return false;
	if (rule->fp.how == RULE_SAME)
		return rule->cfa_base == registers->sp;
	return rule->fp.how == RULE_AT && rule->fp.base == RULE_BASE_CFA &&
	       rule->fp_offset % word == 0 && rule->fp_offset <= -word &&
	       rule->fp_offset >= -word * (int)RULE_SLOT_MASK;
}

/* The slot of a plain rule's pair. RULE_SLOT_MASK + 1: it is none. */
static unsigned pair_slot(const struct unwind_rule *rule, const struct unwind_registers *registers)
{
	int32_t pair = rule->cfa_offset + rule->fp_offset, word = registers->word;

	if (rule->fp.how == RULE_SAME)
		return rule->cfa_base == registers->sp && rule->cfa_offset + rule->ra_offset == 0
			       ? 0
			       : RULE_SLOT_MASK + 1;
	if (rule->fp.how != RULE_AT || rule->fp.base != RULE_BASE_CFA ||
	    rule->ra_offset != rule->fp_offset + word || rule->fp_offset > -2 * word || pair < 0 ||
	    pair % (2 * word) != 0 || pair / (2 * word) >= (int)RULE_SLOT_MASK)
		return RULE_SLOT_MASK + 1;
	return (unsigned)(pair / (2 * word)) + 1;
}

uint16_t unwind_rule_pack(const struct unwind_rule *rule, const struct unwind_registers *registers)
{
	unsigned packed, slot;

	if (!has_plain_cfa(rule, registers))
		return RULE_NONE;
	if (registers->pair)
		slot = pair_slot(rule, registers);
	else
		slot = has_plain_words(rule, registers)
			       ? (unsigned)(-rule->fp_offset / registers->word)
			       : RULE_SLOT_MASK + 1;
	if (slot > RULE_SLOT_MASK)
		return RULE_NONE;
	packed = (unsigned)(rule->cfa_offset / registers->word) | slot << RULE_SLOT_SHIFT;
	if (rule->cfa_base == registers->sp)
		packed |= RULE_BASE_SP;
	return (uint16_t)packed;
}

void unwind_rule_unpack(uint16_t packed, const struct unwind_registers *registers,
			struct unwind_rule *ret)
{
	int32_t slot = packed >> RULE_SLOT_SHIFT & RULE_SLOT_MASK, word = registers->word;

	*ret = (struct unwind_rule){
		.kind = RULE_STEP,
		.cfa_base = packed & RULE_BASE_SP ? registers->sp : registers->fp,
		.cfa_offset = (int32_t)(packed & RULE_OFFSET_MASK) * word,
		.ra = {RULE_AT, RULE_BASE_CFA},
		.ra_offset = -word,
	};
	if (slot != 0)
		ret->fp = (struct rule_place){RULE_AT, RULE_BASE_CFA};
	if (!registers->pair) {
		ret->fp_offset = -word * slot;
	} else if (slot == 0) {
		ret->ra_offset = -ret->cfa_offset;
	} else {
		ret->fp_offset = 2 * word * (slot - 1) - ret->cfa_offset;
		ret->ra_offset = ret->fp_offset + word;
	}
}
