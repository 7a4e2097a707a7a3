#include "agent/event/allocator_code.h"

#include "agent/ground/next_functions.h"
#include "agent/ground/own_code.h"
#include "agent/ground/signal_bracket.h"
#include "agent/unwind/arch.h"
#include "agent/unwind/unwind.h"
#include "base/compiler.h"

#ifdef MALLOW_STATIC

// The allocator is known by its functions.

/* Size of a function without an unwind table: musl's calloc, which calls malloc, is shorter. */
#define SHORT_FUNCTION 512

static never_inline bool look_up_slow(uint64_t pc)
{
	uint64_t start = unwind_code_start(pc);
	bool found = own_code(pc); // the real operators call each other

#define HOOK(name, symbol, type, parameters)                                                       \
	found |= real.name && (start ? arch_strip((uintptr_t)real.name) == start                   \
				     : pc - (uintptr_t)real.name < SHORT_FUNCTION);
#include "agent/ground/hooks.def"
#undef HOOK
	return found;
}

#else

// The allocator has a module of its own.

struct question {
	uint64_t pc;
	bool found;
};

static void look_up_module(void *argument)
{
	struct question *question = argument;
	struct unwind_module module;
	bool found;

	if (!unwind_module_at(question->pc - 1, &module))
		return;
	// By free: real.malloc may be a function of ours (zero_memory.h).
	found = !real.allocator_is_glibc && (uintptr_t)real.free >= module.start &&
		(uintptr_t)real.free < module.end;

	// Our own code counts, too: the real operator new[] jumps to operator new, as if we had
	// called it.
	found |= own_code(module.start);

#define HOOK(name, symbol, type, parameters)                                                       \
	found |= symbol[0] == '_' && symbol[1] == 'Z' && (uintptr_t)real.name >= module.start &&   \
		 (uintptr_t)real.name < module.end;
#include "agent/ground/hooks.def"
#undef HOOK
	question->found = found;
}

static never_inline bool look_up_slow(uint64_t pc)
{
	struct question question = {.pc = pc};

	signal_bracket_run_quiet(look_up_module, &question);
	return question.found;
}

#endif

// Return addresses that are in allocator code. They are few, and every operator new asks for one.
#define KNOWN_CALLERS 64
static uint64_t known_callers[KNOWN_CALLERS];

bool allocator_code_holds(uint64_t pc)
{
	uint64_t *known = &known_callers[(pc ^ pc >> 8) % KNOWN_CALLERS];

	if (__builtin_expect(__atomic_load_n(known, __ATOMIC_RELAXED) == pc, 1))
		return true;
	if (!look_up_slow(pc))
		return false;
	__atomic_store_n(known, pc, __ATOMIC_RELAXED);
	return true;
}

void allocator_code_forget(void)
{
	for (int i = 0; i < KNOWN_CALLERS; i++)
		__atomic_store_n(&known_callers[i], 0, __ATOMIC_RELAXED);
}
