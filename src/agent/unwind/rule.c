/* Packing of rules, and the list of the wide ones. See rule.h. */
#include "agent/unwind/rule.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "agent/unwind/arch.h"
#include "base/compiler.h"

/*
 * Entry 0 is never used. Entries below the count never change. A reader gets an entry's number from
 * the count, or from the rule table, and both are stored after the entry.
 */
static struct unwind_rule wide_rules[RULE_PLAIN];
static atomic_uint wide_count = 1;
static atomic_flag wide_lock = ATOMIC_FLAG_INIT;

static unsigned wide_find(const struct unwind_rule *rule, unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++) {
		if (memcmp(&wide_rules[i], rule, sizeof(*rule)) == 0)
			return i;
	}
	return RULE_NONE;
}

static uint16_t wide_intern(const struct unwind_rule *rule)
{
	unsigned count = atomic_load_explicit(&wide_count, memory_order_acquire);
	unsigned found = wide_find(rule, 1, count);

	if (found != RULE_NONE || count == ARRAY_COUNT(wide_rules))
		return (uint16_t)found;
	// Not a lock to wait for: its holder may be the frame that this signal handler interrupted.
	if (atomic_flag_test_and_set_explicit(&wide_lock, memory_order_acquire))
		return RULE_NONE;
	unsigned now = atomic_load_explicit(&wide_count, memory_order_relaxed);
	found = wide_find(rule, count, now);
	if (found == RULE_NONE && now < ARRAY_COUNT(wide_rules)) {
		wide_rules[now] = *rule;
		atomic_store_explicit(&wide_count, now + 1, memory_order_release);
		found = now;
	}
	atomic_flag_clear_explicit(&wide_lock, memory_order_release);
	return (uint16_t)found;
}

static bool is_plain(const struct unwind_rule *rule)
{
	bool sp_based = rule->cfa_base == ARCH_DWARF_SP;
	bool fp_based = rule->cfa_base == ARCH_DWARF_FP;

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

uint16_t rule_pack(const struct unwind_rule *rule)
{
	unsigned packed;

	if (!is_plain(rule))
		return wide_intern(rule);
	packed = (unsigned)rule->cfa_offset / 8;
	packed |= (unsigned)(-rule->fp_offset / 8) << RULE_SLOT_SHIFT;
	if (rule->cfa_base == ARCH_DWARF_SP)
		packed |= RULE_BASE_SP;
	return (uint16_t)packed;
}

void rule_unpack(uint16_t packed, struct unwind_rule *ret)
{
	unsigned slot = packed >> RULE_SLOT_SHIFT & RULE_SLOT_MASK;

	if (packed < RULE_PLAIN) {
		*ret = wide_rules[packed];
		return;
	}
	*ret = (struct unwind_rule){
		.kind = RULE_STEP,
		.cfa_base = packed & RULE_BASE_SP ? ARCH_DWARF_SP : ARCH_DWARF_FP,
		.cfa_offset = (int32_t)(packed & RULE_OFFSET_MASK) * 8,
		.ra = {RULE_AT, RULE_BASE_CFA},
		.ra_offset = -8,
	};
	if (slot != 0) {
		ret->fp = (struct rule_place){RULE_AT, RULE_BASE_CFA};
		ret->fp_offset = -8 * (int32_t)slot;
	}
}

void rule_after_fork(void)
{
	atomic_flag_clear_explicit(&wide_lock, memory_order_relaxed);
}
