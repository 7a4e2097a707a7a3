/*
 * One step of a walk on x86-64, from a frame to its caller.
 *
 * A step is a function of (pc, sp, fp), of the rule for pc and of at most three stack words, so
 * it is: look up, add, load. It keeps pc, sp and fp in registers; passing their address to the
 * slow path would cost 15 %, hence the copies. Budget: 5 ns (bench/unwind_capture.c).
 *
 * sp grows with every step but one across a signal frame, whose number is bounded: every walk
 * ends. Words are read only where the unwind tables say that the program keeps them, and where
 * memory can be read: up to `limit` that is known. A step beyond is done by step_slow(), which asks
 * for each word.
 *
 * Some frames are found by another register: the loader's while it binds a function late, by rbx.
 * No step keeps those. A walk that comes to such a frame is done again by a _slow function that
 * does, from its own registers on: 3 us a frame and register.
 */
#ifndef MALLOW_AGENT_UNWIND_X86_64_STEP_H
#define MALLOW_AGENT_UNWIND_X86_64_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/unwind/rule.h"
#include "agent/unwind/rule_table.h"
#include "agent/unwind/stack_bounds.h"
#include "agent/unwind/stack_word.h"
#include "agent/unwind/unwind.h"
#include "base/bytes.h"
#include "base/compiler.h"

/* The registers besides rsp and rbp that a function hands back as they were: rbx, r12 to r15. */
#define CALLEE_SAVED (1u << 3 | 1u << 12 | 1u << 13 | 1u << 14 | 1u << 15)

/* One step reads at most: where the CFA lies, the return address, the caller's fp. */
#define STEP_WORDS_MAX 3

/* More frames than the agent has between a hook and the unwinder. */
#define OWN_FRAMES_MAX 32

/* Registers of the frame that a tracking walk has come to; bit n is DWARF's register n. */
struct registers {
	unsigned wanted; /* which to keep: as few as will do, each costs a look into the tables */
	unsigned known;  /* which of them have a value */
	uint64_t rbx, r12_to_r15[4]; /* in this order: take_registers() */
};

/* The frame that a walk has come to. */
struct walk {
	uint64_t pc, sp, fp; /* in this order: take_registers() */
	uint64_t limit;      /* stack_bounds_end() of sp, or lower */
};

static inline __attribute__((always_inline)) struct walk walk_from(const struct unwind_state *state,
								   struct unwind_stack *stack)
{
	uint64_t pc = state->pc, sp = state->sp;

	// A register for each: gcc 12 would keep the two as a vector, 2 ns a frame and 10 a walk.
	__asm__("" : "+r"(pc), "+r"(sp));
	return (struct walk){pc, sp, state->fp, stack_bounds_end(stack, sp)};
}

/* The words that one slow step read, in this order. */
struct words_read {
	unsigned count;
	struct stack_word word[STEP_WORDS_MAX];
};

/* What a walk across signal frames remembers. Only slow steps look at it. */
struct crossing {
	struct unwind_stack *stack;
	uint64_t context;    /* address of all registers of the frame … */
	uint64_t context_sp; /* … with this sp, 0: none */
	unsigned signals;
	unsigned missing;            /* registers that a frame would have needed */
	bool unreadable;             /* a word was wanted that cannot be read */
	struct registers *registers; /* NULL: not tracked */
	struct words_read *words;    /* NULL: nobody asks */
};

enum step {
	STEP_CALLER,
	STEP_SIGNAL, /* to an interrupted frame */
	STEP_END,
	STEP_BROKEN,
};

/* What a step of the fast kind does not do: RULE_NONE, a wide rule, or words beyond the limit. */
enum step step_slow(struct walk *walk, struct crossing *crossing, unsigned packed);

/*
 * Whether the walk from a frame on depends on its fp, where that from its caller on does if
 * caller_needs_fp. packed: a wide rule; where in doubt, true.
 */
bool step_needs_fp(unsigned packed, bool caller_needs_fp);

/* Whether it is a rule of the fast kind, whose words lie within the limit. *cfa: the next sp. */
static inline __attribute__((always_inline)) bool step_is_plain(const struct walk *walk,
								unsigned rule, uint64_t *cfa)
{
	if (unlikely(rule < RULE_PLAIN))
		return false;
	*cfa = (rule & RULE_BASE_SP ? walk->sp : walk->fp) + (rule & RULE_OFFSET_MASK) * 8;
	return likely(*cfa > walk->sp && *cfa <= walk->limit);
}

/* That step. */
static inline __attribute__((always_inline)) enum step step_plain(struct walk *walk, unsigned rule,
								  uint64_t cfa)
{
	unsigned slot = rule >> RULE_SLOT_SHIFT & RULE_SLOT_MASK;

	if (slot != 0)
		walk->fp = bytes_u64((const void *)(cfa - slot * 8));
	walk->pc = bytes_u64((const void *)(cfa - 8));
	walk->sp = cfa;
	return unlikely(walk->pc == 0) ? STEP_END : STEP_CALLER;
}

static inline __attribute__((always_inline)) enum step step(struct walk *walk,
							    struct crossing *crossing)
{
	unsigned rule = rule_table_find(
		atomic_load_explicit(&rule_table_current, memory_order_acquire), walk->pc);
	struct walk copy;
	enum step result;
	uint64_t cfa;

	if (likely(step_is_plain(walk, rule, &cfa)))
		return step_plain(walk, rule, cfa);
	copy = *walk;
	result = step_slow(&copy, crossing, rule);
	*walk = copy;
	return result;
}

/* A step that carries crossing->registers along. */
enum step step_tracking_slow(struct walk *walk, struct crossing *crossing);

/* Our own registers, as they are at one instruction of the function that this becomes part of. */
static inline __attribute__((always_inline)) void take_registers(struct walk *walk,
								 struct registers *registers)
{
	uint64_t *values = &registers->rbx;

	__asm__ volatile("lea 0f(%%rip), %%rax\n"
			 "0:\tmov %%rax, (%0)\n"
			 "\tmov %%rsp, 8(%0)\n"
			 "\tmov %%rbp, 16(%0)\n"
			 "\tmov %%rbx, (%1)\n"
			 "\tmov %%r12, 8(%1)\n"
			 "\tmov %%r13, 16(%1)\n"
			 "\tmov %%r14, 24(%1)\n"
			 "\tmov %%r15, 32(%1)"
			 :
			 : "r"(walk), "r"(values)
			 : "rax", "memory");
	// Not a return address: one further, like that of a frame that was interrupted.
	walk->pc++; // NOLINT(clang-analyzer-core.uninitialized.Assign): stored in asm
	walk->limit = 0;
	registers->known = registers->wanted;
}

/*
 * Makes crossing that of a walk from state on which also tracks what the last one was missing:
 * steps from here out through the agent's own frames, until state itself is reached. False:
 * nothing more can be known, since all was tracked or state is not on this stack.
 */
static inline __attribute__((always_inline)) bool track_missing(const struct unwind_state *state,
								struct crossing *crossing,
								struct registers *registers)
{
	unsigned missing = crossing->missing & CALLEE_SAVED & ~registers->wanted;
	struct walk walk;

	if (missing == 0)
		return false;
	registers->wanted |= missing;
	*crossing = (struct crossing){.stack = crossing->stack, .registers = registers};
	take_registers(&walk, registers);
	for (unsigned i = 0; i < OWN_FRAMES_MAX; i++) {
		if (step_tracking_slow(&walk, crossing) != STEP_CALLER || walk.sp > state->sp)
			return false;
		if (walk.sp == state->sp)
			return walk.pc == state->pc && walk.fp == state->fp;
	}
	return false;
}

#endif
