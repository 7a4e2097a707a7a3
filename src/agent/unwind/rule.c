/* The list of wide rules. See rule.h. */
#include "agent/unwind/rule.h"

#include <stdatomic.h>
#include <string.h>

#include "agent/unwind/arch.h"
#include "base/compiler.h"

const struct unwind_registers rule_registers = {
	.sp = ARCH_DWARF_SP,
	.fp = ARCH_DWARF_FP,
	.pc = ARCH_DWARF_PC,
	.count = ARCH_DWARF_REGISTERS,
};

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

uint16_t rule_pack(const struct unwind_rule *rule)
{
	uint16_t packed = unwind_rule_pack(rule, &rule_registers);

	return packed != RULE_NONE ? packed : wide_intern(rule);
}

void rule_unpack(uint16_t packed, struct unwind_rule *ret)
{
	if (packed < RULE_PLAIN)
		*ret = wide_rules[packed];
	else
		unwind_rule_unpack(packed, &rule_registers, ret);
}

void rule_after_fork(void)
{
	atomic_flag_clear_explicit(&wide_lock, memory_order_relaxed);
}
