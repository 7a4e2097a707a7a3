/* Whether a hook that was entered is still running. See unwind.h and nesting.h. */
#include "agent/unwind/nesting.h"

#include "agent/unwind/step.h"

/* See struct unwind_host. Set once, before any walk. */
static uint64_t hooks_start, hooks_size = UINT64_MAX;

static bool is_hook(uint64_t pc)
{
	return pc - 1 - hooks_start < hooks_size;
}

static inline __attribute__((always_inline)) enum unwind_nesting
find_frame(const struct unwind_state *state, struct crossing *crossing, bool tracking, uint64_t sp)
{
	struct walk walk = walk_from(state, crossing->stack);

	for (;;) {
		uint64_t inner = walk.sp, pc = walk.pc;
		enum step result =
			tracking ? step_tracking_slow(&walk, crossing) : step(&walk, crossing);

		if (result >= STEP_END)
			return UNWIND_NOT_FOUND;
		// The frames of one stack have no gaps. Across a signal frame it may be another
		// stack.
		if (result != STEP_CALLER)
			continue;
		if (inner < sp && sp < walk.sp)
			return UNWIND_NOT_FOUND;
		if (walk.sp != sp)
			continue;
		if (!is_hook(pc))
			return UNWIND_NOT_FOUND;
		return crossing->signals == 0 ? UNWIND_FOUND : UNWIND_FOUND_ACROSS_SIGNAL;
	}
}

static never_inline enum unwind_nesting find_frame_slow(const struct unwind_state *state,
							const struct crossing *plain, uint64_t sp)
{
	struct crossing crossing = *plain; // of our own: it points to registers
	struct registers registers = {0};
	enum unwind_nesting nesting = UNWIND_NOT_FOUND;

	while (nesting == UNWIND_NOT_FOUND && track_missing(state, &crossing, &registers))
		nesting = find_frame(state, &crossing, true, sp);
	return nesting;
}

enum unwind_nesting unwind_find_frame(const struct unwind_state *state, struct unwind_stack *stack,
				      uint64_t sp)
{
	struct crossing crossing = {.stack = stack};
	enum unwind_nesting nesting = find_frame(state, &crossing, false, sp);

	if (unlikely(nesting == UNWIND_NOT_FOUND && crossing.missing != 0))
		nesting = find_frame_slow(state, &crossing, sp);
	return nesting;
}

void nesting_init(const struct unwind_host *host)
{
	if (host->hooks_end == 0)
		return;
	hooks_start = host->hooks_start;
	hooks_size = host->hooks_end - host->hooks_start;
}

void nesting_keep_slow(struct nesting_memo *memo, const struct unwind_state *state, uint64_t outer,
		       uint32_t epoch)
{
	const struct rule_table *table =
		atomic_load_explicit(&rule_table_current, memory_order_acquire);
	struct walk walk = {state->pc, state->sp, state->fp, outer};
	struct nesting found = {.epoch = epoch};
	uint64_t cfa;

	while (found.count < NESTING_STEPS) {
		struct nesting_step *next = &found.steps[found.count];
		unsigned rule = rule_table_find(table, walk.pc);

		*next = (struct nesting_step){walk.pc, (uint16_t)rule, is_hook(walk.pc)};
		if (!step_is_plain(&walk, rule, &cfa) ||
		    step_plain(&walk, rule, cfa) != STEP_CALLER)
			return;
		found.count++;
		if (walk.sp == outer) {
			*nesting_place(memo, state->pc) = found;
			return;
		}
	}
}
