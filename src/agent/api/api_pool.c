/*
 * Calls by which the program tells of its own pools (include/mallow/mallow.h). Each call sets the
 * guard as a hook does, so that its stack is the caller's, and writes one record. Hooks know
 * nothing of pools.
 */
#include <mallow/mallow.h>

#include "agent/ground/clock.h"
#include "agent/ground/libc.h"
#include "agent/hooks/guard.h"
#include "agent/hooks/hooks.h"
#include "agent/life/toggle.h"
#include "agent/record/fact_here.h"
#include "agent/record/thread_record.h"

#define NAME_SIZE_MAX 1000
#define EXPORT        __attribute__((visibility("default")))

static struct fact_record begin(enum trace_record kind, const void *pool)
{
	struct fact_record record = {.kind = kind, .has_time = true};

	fact_record_add(&record, (uint64_t)pool);
	return record;
}

static void add_block(struct fact_record *record, const void *pool, const void *block)
{
	fact_record_add_signed(record, (int64_t)((uint64_t)block - (uint64_t)pool));
}

/*
 * Enters a call. NULL: nothing can be recorded. Within an operator new or malloc of the program's
 * own a nested allocation is not recorded, but a block of a pool is.
 */
static struct thread *enter(struct guard_call *call)
{
	struct thread *thread;

	if (config_is_live()) // the live table has the blocks in which the pools lie
		return NULL;
	thread = guard_enter(call);
	if (likely(thread != NULL))
		return thread;
	if (call->pending_in) {
		process_count_loss(TRACE_LOSS_REENTERED); // only allocations and frees can wait
		return NULL;
	}
	thread = call->nested_in;
	if (thread) {
		call->outer = thread->outer;
		thread->outer = call->state.sp;
		thread->within = 1;
	} else if (toggle_is_watched() && process_state() == PROCESS_RECORDING) {
		thread = guard_begin_off_slow(call);
	}
	return thread;
}

static bool has_stack(const struct thread *thread, uint8_t kind)
{
	return kind == TRACE_RECORD_POOL_ALLOC ||
	       (thread->free_stacks && kind != TRACE_RECORD_POOL_NAME);
}

/* Writes the record and leaves the guard. */
static void write_out(struct thread *thread, const struct guard_call *call,
		      struct fact_record *record)
{
	thread_begin_record(thread);
	thread_record_tag(thread);
	// The block may come from another thread: the time must not be from before that was done.
	clock_wait_for_loads();
	record->ticks = clock_ticks();
	if (has_stack(thread, record->kind))
		fact_here_write_kept(thread, record, &call->state);
	else
		fact_record_write(thread, record);
	thread->within = 0;
	thread_end_record(thread);
	guard_leave(thread, call);
}

/* Whether recording is off, so that nothing new is recorded. */
static bool is_stopped(void)
{
	hooks_resolve(); // this may be the first call of all
	return toggle_is_off() && !toggle_settle_slow();
}

/*
 * Whether it is known which blocks were recorded (admission.h). If recording is stopped, ask after
 * is_stopped(): the first stop makes it known before it stops.
 */
static bool knows_blocks(void)
{
	return process_state() == PROCESS_RECORDING && admission_knows() && !config_is_live();
}

EXPORT void mallow_api_pool_alloc(const void *pool, const void *block, size_t size)
{
	GUARD_CALL(call);
	struct fact_record record = begin(TRACE_RECORD_POOL_ALLOC, pool);
	struct thread *thread;

	if (!block)
		return;
	if (is_stopped()) {
		if (knows_blocks())
			admission_pool_allocates(pool, block, false);
		return;
	}
	thread = enter(&call);
	if (!thread)
		return;
	if (admission_knows())
		admission_pool_allocates(pool, block, true);
	add_block(&record, pool, block);
	fact_record_add(&record, size);
	write_out(thread, &call, &record);
}

EXPORT void mallow_api_pool_free(const void *pool, const void *block)
{
	GUARD_CALL(call);
	struct fact_record record = begin(TRACE_RECORD_POOL_FREE, pool);
	bool recorded = !is_stopped();
	struct thread *thread;

	if (knows_blocks())
		recorded |= admission_pool_frees(block);
	if (!block || !recorded)
		return;
	thread = enter(&call);
	if (!thread)
		return;
	add_block(&record, pool, block);
	write_out(thread, &call, &record);
}

EXPORT void mallow_api_pool_reset(const void *pool)
{
	GUARD_CALL(call);
	struct fact_record record = begin(TRACE_RECORD_POOL_RESET, pool);
	bool recorded = !is_stopped();
	struct thread *thread;

	if (knows_blocks())
		recorded |= admission_pool_resets(pool);
	if (!recorded)
		return;
	thread = enter(&call);
	if (thread)
		write_out(thread, &call, &record);
}

EXPORT void mallow_api_pool_name(const void *pool, const char *name)
{
	GUARD_CALL(call);
	struct fact_record record = begin(TRACE_RECORD_POOL_NAME, pool);
	struct thread *thread;

	// Also while stopped, but not before the first start.
	if (!name || (is_stopped() && process_state() != PROCESS_RECORDING))
		return;
	record.text = name;
	record.text_size = strlen(name);
	if (record.text_size > NAME_SIZE_MAX)
		record.text_size = NAME_SIZE_MAX;
	thread = enter(&call);
	if (thread)
		write_out(thread, &call, &record);
}
