/* The list of wide rules, and looking a rule up in the unwind tables. See rule.h. */
#include "agent/unwind/rule.h"

#include <stdatomic.h>
#include <string.h>

#include "agent/unwind/arch.h"
#include "agent/unwind/memory.h"
#include "agent/unwind/module_find.h"
#include "agent/unwind/scanned.h"
#include "agent/unwind/tables.h"
#include "base/compiler.h"

const struct unwind_registers rule_registers = ARCH_UNWIND_REGISTERS;

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

static uint64_t (*find_original)(uint64_t pc);

void rule_init(const struct unwind_host *host)
{
	find_original = host->original;
}

/* The return address in the original code for one in a copy; pc itself if it is in none. */
static uint64_t original_of(uint64_t pc)
{
	return find_original ? find_original(pc - 1) + 1 : pc;
}

bool rule_of_signal_return(uint64_t pc, uint64_t size, struct unwind_rule *ret)
{
	static const struct unwind_rule rules[] = {ARCH_SIGNAL_RETURN_RULE(1),
						   ARCH_SIGNAL_RETURN_RULE(2)};
	unsigned is = arch_is_signal_return((const void *)(uintptr_t)pc, size);

	if (is)
		*ret = rules[is - 1];
	return is;
}

/* The code at a module's entry that has no table is not longer than this. */
#ifndef ARCH_ENTRY_CODE
#define ARCH_ENTRY_CODE 128
#endif

/* The rule for code that no entry of the module's tables covers. */
static void find_uncovered(uint64_t pc, const struct module_tables *tables, struct unwind_rule *ret)
{
	if (rule_of_signal_return(pc, pc < tables->text_end ? tables->text_end - pc : 0, ret))
		return;
	// What the kernel has entered is the outermost frame; RISC-V's loader has no table there.
	if (tables->entry && pc - tables->entry < ARCH_ENTRY_CODE)
		ret->kind = RULE_END;
	// No call precedes pc, and a function begins at it. So its address was written to the
	// bottom of a new stack, as makecontext() does with __start_context().
	else if (tables_find_start(tables, pc) == pc)
		ret->kind = RULE_END;
	else
		scanned_find_rule(pc, ret);
}

/* Whether it is the outermost frame, which the tables do not say. */
static bool is_context_end(uint64_t pc, const struct module_tables *tables)
{
#ifdef ARCH_CONTEXT_END
	return tables->text_end > pc && tables->text_end - pc >= ARCH_CONTEXT_END &&
	       arch_is_context_end((const uint8_t *)(uintptr_t)pc);
#else
	return false;
#endif
}

static void find_rule(uint64_t pc, struct unwind_rule *ret)
{
	struct unwind_rule rule;
	enum tables_answer answer;
	struct module_tables tables;

	pc = original_of(pc);
	*ret = (struct unwind_rule){.kind = RULE_FRAME_POINTER};
	if (!module_find_tables(pc - 1, true, &tables))
		return;
	answer = tables_find_rule(&tables, pc - 1, &rule);
	if (is_context_end(pc, &tables))
		ret->kind = RULE_END;
	else if (answer == TABLES_NONE || answer == TABLES_AT_CALLS)
		find_uncovered(pc, &tables, ret);
	else if (answer == TABLES_FOUND)
		*ret = rule;
	else
		ret->kind = RULE_BROKEN;
	if (answer == TABLES_AT_CALLS && ret->kind == RULE_FRAME_POINTER)
		*ret = rule;
}

static void find_register(uint64_t pc, uint8_t reg, struct rule_place *place, int32_t *offset)
{
	struct module_tables tables;

	pc = original_of(pc);
	if (!module_find_tables(pc - 1, true, &tables) ||
	    (!tables_find_register(&tables, pc - 1, reg, place, offset) &&
	     !scanned_find_register(pc, reg, place, offset)))
		*place = (struct rule_place){.how = RULE_LOST};
}

struct search {
	uint64_t pc;
	struct unwind_rule *rule; /* or, where that is NULL: */
	struct rule_place *place;
	int32_t *offset;
	uint8_t reg;
};

static void search_rule(void *argument)
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

	unwind_run_slow(search_rule, &wanted);
}

never_inline void rule_find_register_slow(uint64_t pc, uint8_t reg, struct rule_place *place,
					  int32_t *offset)
{
	struct search wanted = {.pc = pc, .reg = reg, .place = place, .offset = offset};

	unwind_run_slow(search_rule, &wanted);
}

never_inline uint64_t unwind_code_start(uint64_t pc)
{
	struct module_tables tables;

	return module_find_tables(pc - 1, false, &tables) ? tables_find_start(&tables, pc - 1) : 0;
}
