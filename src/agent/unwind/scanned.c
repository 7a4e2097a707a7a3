#include "agent/unwind/scanned.h"

#include <link.h>
#include <stdatomic.h>

#include "agent/arch/syscall.h"
#include "agent/unwind/arch.h"
#include "agent/unwind/module_find.h"
#include "agent/unwind/rule.h"
#include "agent/unwind/rule_table.h"
#include "cfi/scan.h"

static atomic_bool forbidden;

void scanned_forbid(bool now)
{
	atomic_store_explicit(&forbidden, now, memory_order_relaxed);
}

/* _gp of the module: 0x7ff0 behind the global offset table (System V ABI, MIPS). 0: it has none. */
static uint64_t find_anchor(const struct module_text *text)
{
	const ElfW(Dyn) *dynamic = (const void *)text->dynamic;
	uint64_t table;

	for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
		if (dynamic->d_tag != DT_PLTGOT)
			continue;
		table = dynamic->d_un.d_ptr;
		return (table < text->bias ? table + text->bias : table) + 0x7ff0;
	}
	return 0;
}

/* Keeps the rules of what was read: a walk will come to other calls of the function, too. */
static void keep_rules(const struct scan_code *code, const struct scan_state *states)
{
	struct unwind_rule rule;
	struct scan_op op;

	for (size_t i = 0; i + 2 < code->count; i++) {
		uint64_t pc = code->address + i * 4;

		scan_decode(bytes_load(uint32_t, code->bytes + i * 4), pc, &op);
		if (op.flow == SCAN_CALL && !states[i + 1].guess &&
		    scan_rule(&states[i + 1], &rule))
			rule_table_insert(pc + ARCH_CALL_MAX, rule_pack(&rule));
	}
}

/*
 * Whether pc is no return address, but was written to the bottom of a new stack, as makecontext()
 * does: no call precedes it, and no way leads to it.
 */
static bool is_bottom(const struct scan_code *code, const struct scan_state *states, uint64_t pc,
		      struct unwind_rule *ret)
{
	size_t i = (pc - code->address) / 4;

	if (pc % 4 != 0 || i >= code->count || i < 2 || arch_is_behind_call((const uint8_t *)pc) ||
	    !states[i].guess)
		return false;
	ret->kind = RULE_END;
	return true;
}

bool scanned_find_rule(uint64_t pc, struct unwind_rule *ret)
{
	struct module_text text;
	struct scan_text words;
	struct scan_code code;
	struct scan_state *states, *state;
	uint64_t at = (pc - 1) & -(uint64_t)4, size;
	bool named, found;

	if (atomic_load_explicit(&forbidden, memory_order_relaxed) ||
	    !module_find_text(at, &text) || at - text.start < 4)
		return false;
	words = (struct scan_text){
		.bytes = (const uint8_t *)text.start,
		.address = text.start,
		.size = text.end - text.start,
		.anchor = find_anchor(&text),
	};
	// Interrupted code is mostly of a function without a frame, if it names no start.
	named = scan_place(&words, at, &code);
	if (!named && pc % 4 != 0)
		return false;
	size = code.count * sizeof(*states);
	states = sys_mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (syscall_error(states))
		return false;
	scan_run(&code, states);
	state = &states[(at - code.address) / 4];
	found = is_bottom(&code, states, pc, ret);
	if (!found && scan_rule(state, ret)) {
		found = true;
		ret->kind = named && !state->guess ? RULE_STEP : RULE_GUESS;
	}
	if (named)
		keep_rules(&code, states);
	sys_munmap(states, size);
	return found;
}
