/* Walking a whole stack, without remembering anything. See unwind.h. */
#include "agent/unwind/unwind.h"

#include "agent/unwind/arch_step.h"
#include "agent/unwind/memory.h"
#include "agent/unwind/module_cache.h"
#include "agent/unwind/module_find.h"
#include "agent/unwind/nesting.h"
#include "agent/unwind/proc_maps.h"
#include "agent/unwind/rule.h"
#include "agent/unwind/rule_table.h"
#include "agent/unwind/stack_bounds.h"
#include "base/compiler.h"

static inline __attribute__((always_inline)) enum unwind_end
capture(const struct unwind_state *state, struct crossing *crossing, bool tracking, uint64_t *pcs,
	size_t room, size_t *count)
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

static void *(*allocate_pages)(size_t size);

void *unwind_allocate(size_t size)
{
	return allocate_pages(size);
}

static void run_here(void (*function)(void *argument), void *argument)
{
	function(argument);
}

static void (*run)(void (*function)(void *argument), void *argument) = run_here;

void unwind_run_slow(void (*function)(void *argument), void *argument)
{
	run(function, argument);
}

void unwind_init(const struct unwind_host *host)
{
	allocate_pages = host->allocate;
	run = host->run ? host->run : run_here;
	stack_bounds_init(host);
	module_find_init(host->dl_find_object);
	nesting_init(host);
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
	stack_bounds_forbid(forbidden);
}

size_t unwind_memory(void)
{
	return rule_table_memory();
}
