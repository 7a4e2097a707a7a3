#include "agent/unwind/scanned.h"

#include <link.h>
#include <stdatomic.h>

#include "agent/arch/syscall.h"
#include "agent/unwind/arch.h"
#include "agent/unwind/module_find.h"
#include "agent/unwind/module_marks.h"
#include "agent/unwind/rule.h"
#include "agent/unwind/rule_table.h"
#include "cfi/scan.h"

#include CFI_FILE(scan_cpu.h)

static atomic_bool forbidden;

void scanned_forbid(bool now)
{
	atomic_store_explicit(&forbidden, now, memory_order_relaxed);
}

#ifndef SCAN_MARKS
/* _gp of the module: 0x7ff0 behind the global offset table (System V ABI, MIPS). 0: it has none. */
static uint64_t find_anchor(const struct module_text *text)
{
	const ElfW(Dyn) *dynamic = (const void *)(uintptr_t)text->dynamic;
	uint64_t table;

	for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
		if (dynamic->d_tag != DT_PLTGOT)
			continue;
		table = dynamic->d_un.d_ptr;
		return (table < text->bias ? table + text->bias : table) + 0x7ff0;
	}
	return 0;
}
#endif

void scanned_forget(uint64_t start, uint64_t end)
{
#ifdef SCAN_MARKS
	module_marks_forget(start, end);
#endif
}

/* What was read of a function. */
struct reading {
	struct scan_code code;
	struct scan_state *states; /* mapped; to be given back by end_reading() */
	size_t size;
	size_t asked; /* the state of the pc that was asked for */
	bool named;   /* the function's start is known */
};

static bool begin_reading(uint64_t pc, struct reading *ret)
{
	uint64_t at = (pc - 1) & -(uint64_t)SCAN_UNIT;
	struct module_text module;
	struct scan_text text;

	if (atomic_load_explicit(&forbidden, memory_order_relaxed) ||
	    !module_find_text(at, &module) || at - module.start < 4)
		return false;
	text = (struct scan_text){
		.bytes = (const uint8_t *)(uintptr_t)module.start,
		.address = module.start,
		.size = module.end - module.start,
	};
#ifdef SCAN_MARKS
	if (!module_marks_get(&module, &text))
		return false;
#else
	text.anchor = find_anchor(&module);
#endif
	ret->named = scan_place(&text, at, &ret->code);
	// Interrupted code is mostly of a function without a frame, if it names no start.
	if (!ret->named && pc % SCAN_UNIT != 0)
		return false;
	ret->asked = (at - ret->code.address) / SCAN_UNIT;
	ret->size = ret->code.count * sizeof(*ret->states);
	ret->states = sys_mmap(NULL, ret->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);
	if (syscall_error(ret->states))
		return false;
	scan_run(&ret->code, ret->states);
	return true;
}

static void end_reading(const struct reading *reading)
{
	sys_munmap(reading->states, reading->size);
}

/* A call that was read: the rule of its return address is that of states[last]. */
struct read_call {
	size_t at, last;
};

/* The next one from `at` on, which begins as 0. */
static bool next_call(const struct reading *reading, struct read_call *call)
{
	const struct scan_code *code = &reading->code;
	struct scan_op op;

	while (call->at < code->count) {
		scan_op_at(code, call->at, &op);
		call->last = call->at + op.units - 1 + SCAN_DELAY;
		call->at += op.units;
		if (op.flow == SCAN_CALL)
			return call->last < code->count;
	}
	return false;
}

static uint64_t return_address(const struct reading *reading, const struct read_call *call)
{
	return reading->code.address + (call->last + 1) * SCAN_UNIT;
}

/* Keeps the rules of what was read: a walk will come to other calls of the function, too. */
static void keep_rules(const struct reading *reading)
{
	struct read_call call = {0};
	struct unwind_rule rule;

	while (next_call(reading, &call)) {
		if (!reading->states[call.last].guess &&
		    scan_rule(&reading->states[call.last], &rule))
			rule_table_insert(return_address(reading, &call), rule_pack(&rule));
	}
}

/*
 * Whether pc is no return address, but was written to the bottom of a new stack, as makecontext()
 * does: no call precedes it, and no way leads to it, or none on which anything is known.
 */
static bool is_bottom(const struct reading *reading, uint64_t pc, struct unwind_rule *ret)
{
	uint64_t distance = pc - reading->code.address;
	size_t i = distance / SCAN_UNIT;
	struct read_call call = {0};
	struct unwind_rule rule;

	if (distance % SCAN_UNIT != 0 || i >= reading->code.count || distance < ARCH_CALL_MAX ||
	    arch_is_behind_call((const uint8_t *)(uintptr_t)pc) ||
	    (!reading->states[i].guess && scan_rule(&reading->states[i], &rule)))
		return false;
	while (next_call(reading, &call))
		if (return_address(reading, &call) == pc)
			return false;
	ret->kind = RULE_END;
	return true;
}

bool scanned_find_rule(uint64_t pc, struct unwind_rule *ret)
{
	const struct scan_state *state;
	struct reading reading;
	bool found;

	if (!begin_reading(pc, &reading))
		return false;
	state = &reading.states[reading.asked];
	found = is_bottom(&reading, pc, ret);
	if (!found && scan_rule(state, ret)) {
		found = true;
		ret->kind = reading.named && !state->guess ? RULE_STEP : RULE_GUESS;
	}
	if (reading.named)
		keep_rules(&reading);
	end_reading(&reading);
	return found;
}

bool scanned_find_register(uint64_t pc, uint8_t reg, struct rule_place *place, int32_t *offset)
{
	struct reading reading;

	*offset = 0;
	if (reg != SCAN_FP2 || SCAN_FP2 == SCAN_ZERO || !begin_reading(pc, &reading))
		return false;
	scan_saved_place(&reading.states[reading.asked], SCAN_SAVED_FP2, place, offset);
	end_reading(&reading);
	return true;
}
