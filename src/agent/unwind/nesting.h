/*
 * A cache of the ways from nested calls out to the outer hook. Nested calls come from the same few
 * places again and again: operator new calls malloc. So a thread keeps the steps from such a place
 * to the outer hook, with their rules. It repeats them without look-ups, instead of calling
 * unwind_find_frame(). The steps read only words of frames that surely exist: those of hooks, and
 * of the operator that has called.
 */
#ifndef MALLOW_AGENT_UNWIND_NESTING_H
#define MALLOW_AGENT_UNWIND_NESTING_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/unwind/step.h"
#include "agent/unwind/unwind.h"

#define NESTING_PLACES 32
/* From the inner call to the outer hook's caller. Longer ways are not kept. */
#define NESTING_STEPS  3

struct nesting_step {
	uint64_t pc;
	uint16_t rule; /* a plain one: rule.h */
	uint16_t is_hook;
};

/* The frames that were met on the way out, and the rule by which each was left. count 0: empty. */
struct nesting {
	uint32_t epoch; /* as the caller gave it: rules change when code is unloaded */
	uint32_t count;
	struct nesting_step steps[NESTING_STEPS];
};

/* A thread's own. Zero: empty. */
struct nesting_memo {
	struct nesting places[NESTING_PLACES];
};

static inline struct nesting *nesting_place(struct nesting_memo *memo, uint64_t pc)
{
	return &memo->places[pc * UINT64_C(0x9e3779b97f4a7c15) >> 59];
}

/* Whether unwind_find_frame() would surely answer UNWIND_FOUND. */
static inline bool nesting_holds(struct nesting_memo *memo, const struct unwind_state *state,
				 uint64_t outer, uint32_t epoch)
{
	const struct nesting *nesting = nesting_place(memo, state->pc);
	struct walk walk = {state->pc, state->sp, state->fp, outer};
	uint64_t cfa;

	if (nesting->epoch != epoch)
		return false;
	for (uint32_t i = 0; i < nesting->count && nesting->steps[i].pc == walk.pc; i++) {
		if (!step_is_plain(&walk, nesting->steps[i].rule, &cfa) ||
		    step_plain(&walk, nesting->steps[i].rule, cfa) != STEP_CALLER)
			return false;
		if (walk.sp == outer)
			return nesting->steps[i].is_hook;
	}
	return false;
}

/* After unwind_find_frame() answered UNWIND_FOUND: keeps the steps, if they are few and plain. */
void nesting_keep_slow(struct nesting_memo *memo, const struct unwind_state *state, uint64_t outer,
		       uint32_t epoch);

/* Once, before any walk. */
void nesting_init(const struct unwind_host *host);

#endif
