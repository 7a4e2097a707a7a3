/* Walks a whole stack, without the cache. See unwind.h. */
#include "agent/unwind/unwind.h"

#include "agent/unwind/arch_step.h"
#include "base/compiler.h"

static inline __attribute__((always_inline)) enum unwind_end
walk_stack(const struct unwind_state *state, struct crossing *crossing, bool tracking,
	   uint64_t *pcs, size_t room, size_t *count)
{
	struct walk walk = walk_from(state, crossing->stack);

	for (size_t n = 0; n < room;) {
		enum step result;

		pcs[n++] = walk.pc;
		result = tracking ? step_tracking_slow(&walk, crossing) : step(&walk, crossing);
		if (unlikely(result >= STEP_END)) {
			*count = n;
			return result == STEP_END ? UNWIND_COMPLETE : UNWIND_BROKEN;
		}
	}
	*count = room;
	return UNWIND_TRUNCATED;
}

static never_inline enum unwind_end walk_tracking_slow(const struct unwind_state *state,
						       const struct crossing *plain, uint64_t *pcs,
						       size_t room, size_t *count)
{
	struct crossing crossing = *plain; // of our own: it points to registers
	struct registers registers = {0};
	enum unwind_end end = UNWIND_BROKEN;

	while (end == UNWIND_BROKEN && track_missing(state, &crossing, &registers))
		end = walk_stack(state, &crossing, true, pcs, room, count);
	return end;
}

enum unwind_end unwind_capture(const struct unwind_state *state, struct unwind_stack *stack,
			       uint64_t *pcs, size_t room, size_t *count)
{
	struct crossing crossing = {.stack = stack};
	enum unwind_end end = walk_stack(state, &crossing, false, pcs, room, count);

	if (unlikely(end == UNWIND_BROKEN && crossing.missing != 0))
		end = walk_tracking_slow(state, &crossing, pcs, room, count);
	return end;
}
