/* Walking a whole stack, without remembering anything. See unwind.h. */
#include "agent/unwind/unwind.h"

#include "agent/unwind/memory.h"
#include "agent/unwind/module_cache.h"
#include "agent/unwind/module_find.h"
#include "agent/unwind/proc_maps.h"
#include "agent/unwind/rule.h"
#include "agent/unwind/rule_table.h"
#include "agent/unwind/x86_64_step.h"
#include "base/compiler.h"

static inline __attribute__((always_inline)) enum unwind_end
capture(const struct unwind_state *state, struct crossing *crossing, bool tracking, uint64_t *pcs,
	size_t room, size_t *count)
{
	struct walk walk = {state->pc, state->sp, state->fp, UINT64_MAX};

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

static never_inline enum unwind_end capture_slow(const struct unwind_state *state,
						 struct crossing *crossing, uint64_t *pcs,
						 size_t room, size_t *count)
{
	struct registers registers = {0};
	enum unwind_end end = UNWIND_BROKEN;

	while (end == UNWIND_BROKEN && track_missing(state, crossing, &registers))
		end = capture(state, crossing, true, pcs, room, count);
	return end;
}

enum unwind_end unwind_capture(const struct unwind_state *state, struct unwind_stack *stack,
			       uint64_t *pcs, size_t room, size_t *count)
{
	struct crossing crossing = {.stack = stack};
	enum unwind_end end = capture(state, &crossing, false, pcs, room, count);

	if (unlikely(end == UNWIND_BROKEN && crossing.missing != 0))
		end = capture_slow(state, &crossing, pcs, room, count);
	return end;
}

/* See struct unwind_host. Set once, before any walk. */
static uint64_t hooks_start, hooks_size = UINT64_MAX;

static bool is_hook(uint64_t pc)
{
	return pc - 1 - hooks_start < hooks_size;
}

static inline __attribute__((always_inline)) enum unwind_nesting
find_frame(const struct unwind_state *state, struct crossing *crossing, bool tracking, uint64_t sp)
{
	struct walk walk = {state->pc, state->sp, state->fp, UINT64_MAX};

	for (;;) {
		uint64_t inner = walk.sp, pc = walk.pc;
		enum step result =
			tracking ? step_tracking_slow(&walk, crossing) : step(&walk, crossing);

		if (result >= STEP_END)
			return UNWIND_NOT_FOUND;
		// Frames of one stack leave no gaps; across a signal frame it may be another stack.
		if (result == STEP_SIGNAL)
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
							struct crossing *crossing, uint64_t sp)
{
	struct registers registers = {0};
	enum unwind_nesting nesting = UNWIND_NOT_FOUND;

	while (nesting == UNWIND_NOT_FOUND && track_missing(state, crossing, &registers))
		nesting = find_frame(state, crossing, true, sp);
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

static void *(*allocate_pages)(size_t size);

void *unwind_allocate(size_t size)
{
	return allocate_pages(size);
}

void unwind_init(const struct unwind_host *host)
{
	allocate_pages = host->allocate;
	module_find_init(host->dl_find_object);
	if (host->hooks_end != 0) {
		hooks_start = host->hooks_start;
		hooks_size = host->hooks_end - host->hooks_start;
	}
	rule_table_init(host->allocate);
}

uint32_t unwind_frame_id(uint64_t pc)
{
	return rule_table_id(pc);
}

uint32_t unwind_set_frame_id(uint64_t pc, uint32_t id)
{
	return rule_table_set_id(pc, id);
}

void unwind_forget(uint64_t start, uint64_t end)
{
	module_cache_forget(start, end);
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
}

size_t unwind_memory(void)
{
	return rule_table_memory();
}
