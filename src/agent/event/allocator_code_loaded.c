#include "agent/event/allocator_code.h"

#include "agent/ground/next_functions.h"
#include "agent/ground/own_code.h"
#include "agent/ground/signal_bracket.h"
#include "agent/unwind/unwind.h"

struct question {
	uint64_t pc;
	bool found;
};

static void look(void *argument)
{
	struct question *question = argument;
	struct unwind_module module;
	bool found;

	if (!unwind_module_at(question->pc - 1, &module))
		return;
	// By free: real.malloc may be a function of ours (zero_memory.h).
	found = !real.allocator_is_glibc && (uint64_t)real.free >= module.start &&
		(uint64_t)real.free < module.end;

	// Our own code counts, too: the real operator new[] jumps to operator new, as if we had
	// called it.
	found |= own_code(module.start);

#define HOOK(name, symbol, type, parameters)                                                       \
	found |= symbol[0] == '_' && symbol[1] == 'Z' && (uint64_t)real.name >= module.start &&    \
		 (uint64_t)real.name < module.end;
#include "agent/ground/hooks.def"
#undef HOOK
	question->found = found;
}

bool allocator_code_look(uint64_t pc)
{
	struct question question = {.pc = pc};

	signal_bracket_run_quiet(look, &question);
	return question.found;
}
