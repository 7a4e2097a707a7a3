/* The functions of unwind.h that concern several parts of the unwinder. */
#include "agent/unwind/unwind.h"

#include "agent/unwind/step.h"
#include "agent/unwind/memory.h"
#include "agent/unwind/module_cache.h"
#include "agent/unwind/module_find.h"
#include "agent/unwind/module_index.h"
#include "agent/unwind/nesting.h"
#include "agent/unwind/proc_maps.h"
#include "agent/unwind/rule.h"
#include "agent/unwind/rule_table.h"
#include "agent/unwind/scanned.h"
#include "agent/unwind/stack_bounds.h"
#include "base/compiler.h"

void unwind_init(const struct unwind_host *host)
{
	unwind_memory_init(host);
	stack_bounds_init(host);
	module_find_init(host->dl_find_object);
	nesting_init(host);
	rule_init(host);
	rule_table_init(host->allocate);
}

void unwind_each_frame_id(void (*each)(void *argument, uint64_t pc, uint32_t id), void *argument)
{
	rule_table_each_id(each, argument);
}

uint32_t unwind_frame_id(uint64_t pc)
{
	return rule_table_id(pc);
}

uint32_t unwind_set_frame_id(uint64_t pc, uint32_t id)
{
	return rule_table_set_id(pc, id);
}

bool unwind_is_guess(uint64_t pc)
{
	struct unwind_rule rule = {0};
	unsigned packed = rule_table_find(
		atomic_load_explicit(&rule_table_current, memory_order_acquire), pc);

	if (packed != RULE_NONE)
		rule_unpack((uint16_t)packed, &rule);
	return rule.kind == RULE_GUESS;
}

void unwind_forget(uint64_t start, uint64_t end)
{
	module_cache_forget(start, end);
	module_index_forget(start, end);
	scanned_forget(start, end);
	rule_table_forget(start, end);
}

void unwind_forget_ids(void)
{
	rule_after_fork();
	module_cache_after_fork();
	rule_table_after_fork();
}

void unwind_forbid_system_calls(bool forbidden)
{
	proc_maps_forbid(forbidden);
	scanned_forbid(forbidden);
	stack_bounds_forbid(forbidden);
}

/* Walks a whole stack, without the cache. */
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
