/* The functions of include/mallow/mallow.h that a recorded program calls. */
#include <mallow/mallow.h> // the installed header, as programs include it

#include "agent/event/event.h"
#include "agent/event/sink.h"
#include "agent/ground/clock.h"
#include "agent/ground/libc.h"
#include "agent/ground/signal_bracket.h"
#include "agent/hooks/guard.h"
#include "agent/hooks/hooks.h"
#include "agent/life/process.h"
#include "agent/life/process_end.h"
#include "agent/life/thread.h"
#include "agent/life/toggle.h"
#include "agent/record/fact_here.h"
#include "agent/record/fact_record.h"

#define NAME_SIZE_MAX 1000 /* of marks and pools */
#define EXPORT        __attribute__((visibility("default")))

EXPORT void mallow_api_mark(const char *name)
{
	struct thread *thread = thread_self;
	struct fact_record record = {
		.kind = TRACE_RECORD_MARK,
		.has_time = true,
		.text = name,
	};
	struct signal_bracket bracket;
	struct arch_mark outer;

	if (toggle_is_off())
		return;
	if (!thread || !thread->cursor)
		thread = thread_begin_slow(true);
	if (!thread || thread->busy || !name)
		return;
	record.text_size = strlen(name);
	if (record.text_size > NAME_SIZE_MAX)
		record.text_size = NAME_SIZE_MAX;
	signal_bracket_begin(&bracket);
	outer = thread_begin_work(thread);
	record.ticks = clock_ticks();
	fact_record_write(thread, &record);
	thread_end_work(thread, outer);
	signal_bracket_end(&bracket);
}

EXPORT void mallow_api_start(void)
{
	hooks_resolve();
	toggle_start();
}

EXPORT void mallow_api_stop(void)
{
	hooks_resolve();
	toggle_stop();
}

EXPORT int mallow_api_is_running(void)
{
	return process_state() == PROCESS_RECORDING && !toggle_is_off() && !process_is_borrowed();
}

/* Writes what is held back, by this thread. In a signal bracket. */
static bool write_held(void)
{
	struct thread *thread = thread_self;
	struct arch_mark outer;
	bool done;

	if (!thread || !thread->cursor)
		thread = thread_begin_slow(false);
	if (!thread || thread->busy)
		return false;
	outer = thread_begin_work(thread);
	done = sink->write_held(thread);
	thread_end_work(thread, outer);
	return done;
}

EXPORT int mallow_api_sync(void)
{
	struct signal_bracket bracket;
	bool whole;

	if (process_state() != PROCESS_RECORDING || process_is_borrowed())
		return -1;
	signal_bracket_begin(&bracket);
	whole = !sink_holds_back() || write_held();
	whole = process_flush() && whole;
	signal_bracket_end(&bracket);
	return whole ? 0 : -1;
}

EXPORT void mallow_api_set_tag(uint32_t tag)
{
	struct thread *thread = thread_self;
	const struct event event = {.operation = TRACE_RECORD_TAG};
	struct signal_bracket bracket;
	struct arch_mark outer;

	if (thread_tag == tag)
		return;
	thread_tag = tag;
	// While off, the tag is written when the thread next records an allocation; before the
	// thread has begun, when it begins.
	if (!thread || toggle_is_off())
		return;
	if (thread->busy) {
		handler_queue_add(thread, &event, NULL);
		return;
	}
	if (!thread->cursor)
		return;
	signal_bracket_begin(&bracket);
	outer = thread_begin_work(thread);
	thread_record_tag(thread);
	thread_end_work(thread, outer);
	signal_bracket_end(&bracket);
}

/*
 * Calls by which the program tells of its own pools (include/mallow/mallow.h). Each call sets the
 * guard as a hook does, so that its stack is the caller's, and writes one record. Hooks know
 * nothing of pools.
 */

static struct fact_record pool_record(enum trace_record kind, const void *pool)
{
	struct fact_record record = {.kind = kind, .has_time = true};

	fact_record_add(&record, (uintptr_t)pool);
	return record;
}

static void add_block(struct fact_record *record, const void *pool, const void *block)
{
	fact_record_add_signed(record, (int64_t)((uintptr_t)block - (uintptr_t)pool));
}

/*
 * Enters a call. NULL: nothing can be recorded. Within an operator new or malloc of the program's
 * own a nested allocation is not recorded, but a block of a pool is.
 */
static struct thread *enter_pool_call(struct guard_call *call)
{
	struct thread *thread;

	if (config_is_live()) // the live table has the blocks in which the pools lie
		return NULL;
	thread = guard_enter(call);
	if (likely(thread != NULL))
		return thread;
	if (call->pending_in || (call->nested_in && call->nested_in->busy)) {
		process_count_loss(TRACE_LOSS_REENTERED); // only allocations and frees can wait
		guard_leave(NULL, call);
		return NULL;
	}
	thread = call->nested_in;
	if (thread) {
		call->outer = thread->outer;
		arch_keep(&thread->outer, arch_mark(&call->state));
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
	return toggle_is_off() && !process_settle_toggle_slow();
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
	struct fact_record record = pool_record(TRACE_RECORD_POOL_ALLOC, pool);
	struct thread *thread;

	if (!block)
		return;
	if (is_stopped()) {
		if (knows_blocks())
			admission_pool_allocates(pool, block, false);
		return;
	}
	thread = enter_pool_call(&call);
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
	struct fact_record record = pool_record(TRACE_RECORD_POOL_FREE, pool);
	bool recorded = !is_stopped();
	struct thread *thread;

	if (knows_blocks())
		recorded |= admission_pool_frees(block);
	if (!block || !recorded)
		return;
	thread = enter_pool_call(&call);
	if (!thread)
		return;
	add_block(&record, pool, block);
	write_out(thread, &call, &record);
}

EXPORT void mallow_api_pool_reset(const void *pool)
{
	GUARD_CALL(call);
	struct fact_record record = pool_record(TRACE_RECORD_POOL_RESET, pool);
	bool recorded = !is_stopped();
	struct thread *thread;

	if (knows_blocks())
		recorded |= admission_pool_resets(pool);
	if (!recorded)
		return;
	thread = enter_pool_call(&call);
	if (thread)
		write_out(thread, &call, &record);
}

EXPORT void mallow_api_pool_name(const void *pool, const char *name)
{
	GUARD_CALL(call);
	struct fact_record record = pool_record(TRACE_RECORD_POOL_NAME, pool);
	struct thread *thread;

	// Also while stopped, but not before the first start.
	if (!name || (is_stopped() && process_state() != PROCESS_RECORDING))
		return;
	record.text = name;
	record.text_size = strlen(name);
	if (record.text_size > NAME_SIZE_MAX)
		record.text_size = NAME_SIZE_MAX;
	thread = enter_pool_call(&call);
	if (thread)
		write_out(thread, &call, &record);
}
