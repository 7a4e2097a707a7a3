/*
 * One step of a walk, from a frame to its caller. What differs by architecture has names of arch.h.
 *
 * A step is a function of (pc, sp, fp), of the rule for pc and of at most three stack words: look
 * up, add, load. pc, sp and fp stay in registers. The slow path gets a copy of them: passing their
 * address would cost 15 %. Budget: 5 ns (bench/unwind_capture.c).
 *
 * sp grows with every step except across a signal frame or to another stack, and the number of
 * those is bounded: every walk ends. A word is read only where the unwind tables say that the
 * program keeps one, and where memory can be read, up to walk.limit. A step that reads beyond is
 * done by step_slow(), which checks each word.
 *
 * Some frames need another register to find their caller: the loader's need rbx while it binds a
 * function late. Plain steps do not keep such registers. A walk that comes to such a frame is done
 * again by a _slow function that tracks them, beginning with its own registers: 3 us for each frame
 * and register.
 */
#ifndef MALLOW_AGENT_UNWIND_STEP_H
#define MALLOW_AGENT_UNWIND_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/unwind/arch.h"
#include "agent/unwind/rule.h"
#include "agent/unwind/rule_table.h"
#include "agent/unwind/stack_bounds.h"
#include "agent/unwind/stack_word.h"
#include "agent/unwind/unwind.h"
#include "base/bytes.h"
#include "base/compiler.h"

/* The words that one step reads at most: the CFA's, the return address, the caller's fp. */
#define STEP_WORDS_MAX 3

/* More frames than the agent has between a hook and the unwinder. */
#define OWN_FRAMES_MAX 32

/* The registers of the frame that a tracking walk has come to. Bit n is DWARF's register n. */
struct registers {
	unsigned wanted; /* which to track: as few as possible, each costs a look into the tables */
	unsigned known;  /* which of them have a value */
	uint64_t values[ARCH_TRACKED_COUNT]; /* of ARCH_TRACKED, by rising number */
};

/* The frame that a walk has come to. */
struct walk {
	uint64_t pc, sp, fp; /* in this order: arch_take_registers() */
	uint64_t limit;      /* stack_bounds_end() of sp, or lower */
};

static inline __attribute__((always_inline)) struct walk walk_from(const struct unwind_state *state,
								   struct unwind_stack *stack)
{
	uint64_t pc = state->pc, sp = state->sp;

	// Keeps each in a register of its own: gcc 12 would keep the two as a vector, 2 ns a frame
	// and 10 a walk.
	__asm__("" : "+r"(pc), "+r"(sp));
	return (struct walk){pc, sp, state->fp, stack_bounds_end(stack, sp)};
}

/* The words that one slow step read, in this order. */
struct words_read {
	unsigned count;
	struct stack_word word[STEP_WORDS_MAX];
};

/* What a walk keeps for its slow steps. */
struct crossing {
	struct unwind_stack *stack;
	uint64_t context;    /* address of the saved registers of the frame … */
	uint64_t context_sp; /* … with this sp, 0: none */
	unsigned signals;
	unsigned stacks;             /* how many steps went to another stack */
	unsigned missing;            /* registers that a frame needed, not known */
	bool unreadable;             /* a step wanted a word that cannot be read */
	struct registers *registers; /* NULL: not tracked */
	struct words_read *words;    /* NULL: nobody asks */
};

enum step {
	STEP_CALLER,
	STEP_SIGNAL,      /* to an interrupted frame */
	STEP_OTHER_STACK, /* to a caller anywhere, by a frame pointer */
	STEP_END,
	STEP_BROKEN,
};

/* A step by RULE_NONE or a wide rule, or one that reads words beyond the limit. */
enum step step_slow(struct walk *walk, struct crossing *crossing, unsigned packed);

/*
 * Whether the walk from a frame on depends on the frame's fp. caller_needs_fp: whether the walk
 * from its caller on does. packed: a wide rule. In doubt, true.
 */
bool step_needs_fp(unsigned packed, bool caller_needs_fp);

/* Whether the rule is a plain one, whose words lie within the limit. *cfa: the next sp. */
static inline __attribute__((always_inline)) bool step_is_plain(const struct walk *walk,
								unsigned rule, uint64_t *cfa)
{
	uint64_t base = rule & RULE_BASE_SP ? walk->sp : walk->fp;

	if (unlikely(rule < RULE_PLAIN))
		return false;
	*cfa = base + (rule & RULE_OFFSET_MASK) * ARCH_WORD;
	// Pairs are found from the base, other words from the CFA.
	return likely(*cfa > walk->sp && *cfa <= walk->limit) &&
	       (!ARCH_FRAME_PAIRS || likely(base >= walk->sp));
}

static inline unsigned step_slot(unsigned rule)
{
	return rule >> RULE_SLOT_SHIFT & RULE_SLOT_MASK;
}

/* Where such a rule finds the caller's fp, if the slot is not 0, and the return address. */
static inline uint64_t step_fp_place(unsigned rule, uint64_t sp, uint64_t fp, uint64_t cfa)
{
	if (ARCH_FRAME_PAIRS)
		return (rule & RULE_BASE_SP ? sp : fp) +
		       (step_slot(rule) - 1) * UINT64_C(2) * ARCH_WORD;
	return cfa - step_slot(rule) * UINT64_C(1) * ARCH_WORD;
}

static inline uint64_t step_ra_place(unsigned rule, uint64_t sp, uint64_t fp, uint64_t cfa)
{
	if (ARCH_FRAME_PAIRS)
		return step_slot(rule) ? step_fp_place(rule, sp, fp, cfa) + ARCH_WORD : sp;
	return cfa - ARCH_WORD;
}

/* The step by such a rule. */
static inline __attribute__((always_inline)) enum step step_plain(struct walk *walk, unsigned rule,
								  uint64_t cfa)
{
	uint64_t ra = step_ra_place(rule, walk->sp, walk->fp, cfa);

	if (step_slot(rule) != 0)
		walk->fp = word_at(step_fp_place(rule, walk->sp, walk->fp, cfa));
	walk->pc = arch_strip(word_at(ra));
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

/*
 * Prepares a walk from state that also tracks the registers that the last walk missed: steps
 * outwards from here through the agent's own frames until it reaches state. false: that does not
 * help, since all were tracked already or state is not on this stack.
 */
static inline __attribute__((always_inline)) bool track_missing(const struct unwind_state *state,
								struct crossing *crossing,
								struct registers *registers)
{
	unsigned missing = crossing->missing & ARCH_TRACKED & ~registers->wanted;
	struct walk walk = {0};

	if (missing == 0)
		return false;
	registers->wanted |= missing;
	*crossing = (struct crossing){.stack = crossing->stack, .registers = registers};
	arch_take_registers(&walk.pc, registers->values);
	// pc is not a return address, so it is one further, as for an interrupted frame.
	walk.pc++;
	registers->known = registers->wanted;
	for (unsigned i = 0; i < OWN_FRAMES_MAX; i++) {
		if (step_tracking_slow(&walk, crossing) != STEP_CALLER || walk.sp > state->sp)
			return false;
		if (walk.sp == state->sp)
			return walk.pc == state->pc && walk.fp == state->fp;
	}
	return false;
}

#endif
