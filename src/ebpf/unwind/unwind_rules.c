/* See unwind_rules.h. */
#include "ebpf/unwind/unwind_rules.h"

#include <string.h>

#include "base/bytes.h"
#include "base/compiler.h"

_Static_assert(sizeof(struct unwind_rule) == 24, "three words are hashed, and compared as bytes");

const struct unwind_registers unwind_rules_registers = {.sp = 7, .fp = 6, .pc = 16, .count = 17};

static const struct unwind_rule broken = {.kind = RULE_BROKEN};

static unsigned home_of(const struct unwind_rule *rule)
{
	const uint8_t *bytes = (const uint8_t *)rule;
	uint64_t hash = 0;

	for (unsigned i = 0; i < sizeof(*rule); i += 8)
		hash = (hash ^ bytes_u64(bytes + i)) * UINT64_C(0x9e3779b97f4a7c15);
	return (unsigned)(hash >> 32);
}

/* The number of a wide rule. RULE_NONE: there is no room. */
static uint16_t intern_rule(struct unwind_rules *rules, const struct unwind_rule *rule)
{
	// The index has more entries than there are rules: there always is an empty one.
	for (unsigned i = home_of(rule);; i++) {
		uint16_t *number = &rules->index[i % ARRAY_COUNT(rules->index)];

		if (*number && memcmp(&rules->list[*number], rule, sizeof(*rule)) == 0)
			return *number;
		if (*number)
			continue;
		if (rules->count == ARRAY_COUNT(rules->list))
			return RULE_NONE;
		rules->list[rules->count] = *rule;
		*number = (uint16_t)rules->count++;
		return *number;
	}
}

static bool is_tracked(const struct rule_place *place)
{
	return place->how == RULE_SAME || place->how == RULE_LOST || place->base == RULE_BASE_CFA ||
	       place->base == unwind_rules_registers.sp || place->base == unwind_rules_registers.fp;
}

static void count_row(struct unwind_rules *rules, const struct unwind_rule *rule)
{
	struct rule_place cfa = {RULE_VALUE, rule->cfa_base};

	if (rule->kind == RULE_BROKEN)
		rules->broken++;
	else if (rule->kind == RULE_STEP && (!is_tracked(&cfa) || !is_tracked(&rule->ra)))
		rules->untracked++;
}

uint16_t unwind_rules_pack(struct unwind_rules *rules, const struct unwind_rule *rule)
{
	uint16_t packed;

	if (!rule)
		rule = &broken;
	packed = unwind_rule_pack(rule, &unwind_rules_registers);
	if (packed != RULE_NONE)
		return packed;
	if (rules->count == 0) {
		rules->count = 1;
		intern_rule(rules, &broken); // so that there is room for it
	}
	count_row(rules, rule);
	packed = intern_rule(rules, rule);
	if (packed == RULE_NONE) {
		rules->lost++;
		packed = intern_rule(rules, &broken);
	}
	return packed;
}
