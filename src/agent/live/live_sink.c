/*
 * The sink of the live table (event/sink.h): beginning and ending a table and a thread's place in
 * it, reallocs, and events of signal handlers. The ordinary allocation and end are in live.c.
 */
#include "agent/live/live.h"

#include "agent/event/event.h"
#include "agent/event/sink.h"
#include "agent/event/thread.h"
#include "agent/ground/clock.h"
#include "agent/ground/libc.h"
#include "agent/ground/next_functions.h"
#include "agent/ground/own_pages.h"
#include "agent/ground/signal_bracket.h"
#include "agent/live/live_count.h"
#include "agent/live/live_probe.h"
#include "agent/live/live_stack.h"
#include "agent/live/live_sampled.h"
#include "agent/live_blocks/live_memory.h"
#include "agent/record/event_write.h"
#include "agent/record/fact_record.h"
#include "agent/record/record_sink.h"
#include "base/bytes.h"

// In glibc since 2.32. By its name, for a program may have a copy of it, which then is the valid
// one.
extern const char __libc_single_threaded __attribute__((weak));

// Kept across fork: a child frees its parent's when it begins one of its own.
static struct live *former;

static void forget_former(void)
{
	live_memory_forget();
	helper_forget();
	if (!former)
		return;
	block_table_release(&former->blocks);
	sites_release(&former->sites);
	own_pages_release(former, sizeof(*former));
	former = NULL;
}

/* Older C libraries and musl have no such flag: then other threads may exist at any time. */
static void find_alone_flag(void)
{
	static const char never;

	atomic_add_alone_flag = &__libc_single_threaded ? &__libc_single_threaded : &never;
}

/* Makes process->live. */
static bool begin_table(struct trace_header *header)
{
	struct live *live;

	forget_former();
	if (live_takes_samples())
		live_sampled_clear();
	find_alone_flag();
	live = own_pages_allocate(sizeof(*live));
	if (!live)
		return false;
	former = live;
	live->header = (struct live_header *)((char *)header + LIVE_HEADER_OFFSET);
	if (!live_threads_begin(&live->threads, live->header) ||
	    !sites_begin(&live->sites, live->header)) {
		forget_former();
		return false;
	}
	// Functions of other allocators call each other by our hooks, musl's calloc for instance.
	live_way =
		live_takes_samples() && real.allocator_is_glibc ? LIVE_WAY_SAMPLES : LIVE_WAY_ALL;
	process->live = live;
	return true;
}

static void start_table(const struct trace_header *header)
{
	process->live->sites.start_ticks = process->live->header->base_ticks = header->start_ticks;
}

/* How many bytes a thread needs for the table, for stacks of so many frames. */
static size_t thread_size(size_t frames)
{
	return bytes_round_up(
		sizeof(struct live_own) + (frames + 1) * (sizeof(uint64_t) + sizeof(uint32_t)), 64);
}

/* Prepares them. They may hold what an ended thread, or a parent, left there. */
static void prepare_thread(struct thread *thread, void *memory, size_t frames)
{
	struct live_own *own = memory;

	// A struct that never had a number is new, and its memory untouched.
	if (thread->number)
		memset(own, 0, sizeof(*own));
	own->hashes[0] = SITES_NO_FRAMES;
	own->nodes = (uint32_t *)(own->hashes + frames + 1);
	own->nodes[0] = 0;
	own->exact = own;
	thread->live = own;
}

/*
 * A thread ends, or has another name from now on. The number for the new name is taken at its next
 * event: most threads begin with another one's name.
 */
static void leave_thread(struct thread *thread)
{
	struct live *live = process->live;

	if (!live || !thread->live)
		return;
	live_threads_leave(&live->threads, thread->live->sums.number);
	thread->live->sums = (struct live_sums){0};
	thread->live->exact = thread->live;
}

struct settling {
	struct thread *thread;
	struct live *live;
};

static void settle_thread(void *argument)
{
	struct thread *thread = ((struct settling *)argument)->thread;
	struct live *live = ((struct settling *)argument)->live;
	struct live_own *own = thread->live;

	thread_record_name(thread);
	if (!own->sums.allocated)
		own->sums = live_threads_sums(&live->threads,
					      live_threads_claim(&live->threads, live->header,
								 thread->tid, thread->name));
	if (!live_takes_samples()) {
		own->sums.tag = site_parts_tag(own->sums.number);
		if (own->sums.number)
			own->exact = live;
	}
}

never_inline void live_settle_thread_slow(struct thread *thread, struct live *live)
{
	struct settling settling = {thread, live};

	signal_bracket_run(settle_thread, &settling);
}

/*
 * Around the part of a realloc that comes before its event: sets `busy`, so that a handler finds
 * the agent busy. In a handler that interrupted the agent it is set already; returns false then.
 */
static bool begin_busy(struct thread *thread)
{
	if (thread->busy)
		return false;
	thread_begin_record(thread);
	return true;
}

static void end_busy(struct thread *thread, bool begun)
{
	if (begun)
		thread_end_record(thread);
}

/* A handler that comes in between and calls realloc, too, takes another place. */
static uint32_t take_for_realloc(struct thread *thread, struct live *live, uint64_t address)
{
	struct live_own *own = thread->live;
	struct live_taken *place = &own->taken[own->next++ % LIVE_TAKEN];
	struct live_taken taken = {.address = address};

	if (!live_take(thread, live, address, &taken.block))
		return SINK_UNKNOWN;
	live_count_end(thread, live, &taken.block);
	*place = taken;
	return SINK_RECORDED;
}

static uint32_t begin_realloc(struct thread *thread, const void *old)
{
	uint32_t ret = SINK_UNKNOWN;
	struct live *live;
	bool begun;

	if (!old || !thread->live)
		return ret;
	begun = begin_busy(thread);
	// Read only now: a handler may fork before, and its child begin a table of its own.
	live = __atomic_load_n(&process->live, __ATOMIC_RELAXED);
	if (live && live_may_have(arch_address(old)))
		ret = take_for_realloc(thread, live, arch_address(old));
	end_busy(thread, begun);
	return ret;
}

/* Takes back what live_count_end() counted. */
static void retract_end(struct thread *thread, struct live *live, const struct known_block *block)
{
	const struct live_sums *sums = live_sums(thread, live);
	struct weight weight = weight_of(block->size);
	struct weight less = {.calls = -weight.calls, .bytes = -weight.bytes};

	live_count_end_as(live_threads_own(sums), sums, live, block, less);
}

/* The latest block that was taken at that address. NULL: too many were taken since. */
static struct live_taken *find_taken(struct live_own *own, uint64_t address)
{
	for (uint32_t i = 1; i <= LIVE_TAKEN; i++) {
		struct live_taken *taken = &own->taken[(own->next - i) % LIVE_TAKEN];

		if (taken->address == address)
			return taken;
	}
	return NULL;
}

static void put_back(struct thread *thread, struct live *live, struct live_taken *taken)
{
	struct known_block stale;

	if (block_table_put(&live->blocks, &thread->live->near, taken->address, &taken->block,
			    &stale)) {
		if (live_takes_samples()) {
			live_sampled_note(taken->address, true);
			live_probe_begin(taken->address, taken->block.size);
		}
		retract_end(thread, live, &taken->block);
	}
	taken->address = 0;
}

static void fail_realloc(struct thread *thread, const void *old, uint32_t before)
{
	struct live_taken *taken;
	struct live *live;
	bool begun;

	if (before != SINK_RECORDED || !thread->live)
		return;
	begun = begin_busy(thread);
	live = __atomic_load_n(&process->live, __ATOMIC_RELAXED);
	taken = live ? find_taken(thread->live, arch_address(old)) : NULL;
	if (taken)
		put_back(thread, live, taken);
	end_busy(thread, begun);
}

/*
 * Events of signal handlers that interrupted the agent (handler_queue.h). An end counts at once. A
 * new block goes into the table at once, too, so that its end finds it there. Its stack is looked
 * up later.
 *
 * The owner of a block that waits. The ticket is in it so that the next block at the same address
 * is not mistaken for this one.
 */
static uint32_t waiting_owner(struct thread *thread, struct live *live, uint64_t ticket)
{
	return live_owner(SITES_UNKNOWN + (uint32_t)ticket, live_sums(thread, live)->number);
}

/*
 * true: the event must wait in `pending` until its stack can be looked up. Its block is in the
 * table by then, under event->ticket.
 */
static bool hold_event(struct thread *thread, struct event *event)
{
	struct live *live = process->live;

	if (event->operation & TRACE_OTHER)
		return true;
	if (event->operation >= TRACE_OP_FREE) {
		if (thread->live)
			live_frees(thread, event->address);
		return false;
	}
	// Without a table this is a child, which begins a table with this event.
	if (!live || !thread->live)
		return true;
	event->ticket = thread->live->tickets++ % SITES_WAITING;
	return live_wants(thread, event->size, event->old_recorded) &&
	       live_put(thread, live, event->address, event->size,
			waiting_owner(thread, live, event->ticket),
			clock_ticks() - live->sites.start_ticks);
}

/* The event cannot wait after all. */
static void give_up_event(struct thread *thread, const struct event *event)
{
	struct live *live = process->live;
	struct known_block block;

	// Otherwise the block is in no table.
	if (live && thread->live && event->operation < TRACE_OP_FREE)
		live_take(thread, live, event->address, &block);
}

/* The event has waited; frames is its stack, innermost first. */
static void count_waited(struct thread *thread, const struct event *event, const uint64_t *frames,
			 uint32_t count)
{
	struct live *live = process->live;
	uint32_t site = SITES_STACKLESS;
	uint64_t ticks;

	if (!live || event->operation >= TRACE_OP_FREE)
		return;
	ticks = clock_ticks() - live->sites.start_ticks;
	if (count && stack_cache_set(&thread->stack, frames, count))
		site = live_stack_site(thread, live);
	live_count_begin(live_sums(thread, live), live, event->size, site, ticks);
	// If the block is not there it was freed meanwhile. The thread's sums have counted that;
	// the site's must count it now.
	if (!block_table_change_owner(&live->blocks, event->address,
				      waiting_owner(thread, live, event->ticket),
				      live_owner(site, live_sums(thread, live)->number)) &&
	    live_has_sums(site))
		sites_free(sites_at(&live->sites, site), weight_of(event->size));
}

static void allocate_here(struct thread *thread, const struct event *event,
			  const struct unwind_state *state)
{
	if (likely(thread->cursor != NULL))
		live_allocates(thread, event, state);
	else
		event_lose(thread); // wiped, as in record_sink.c
}

static void end_here(struct thread *thread, uint8_t operation, uint64_t ticks, uint64_t address)
{
	if (!thread->cursor)
		event_lose(thread);
	else if (likely(thread->outer.sp))
		live_frees(thread, address);
}

/* The old block ended when the realloc began. */
static bool end_realloc(struct thread *thread, uint32_t before, struct event *event,
			bool in_handler)
{
	return event->operation != TRACE_OP_FREE;
}

static void take_waited(struct thread *thread, const struct event *event, const uint64_t *frames,
			uint32_t count)
{
	if (event->operation & TRACE_OTHER)
		record_waited(thread, event, frames, count);
	else
		count_waited(thread, event, frames, count);
}

/* Only records that stacks name, and facts of the process (docs/trace-format.md, 4.2). */
static bool wants_record(uint8_t kind)
{
	switch (kind) {
	case TRACE_RECORD_FRAME:
	case TRACE_RECORD_MODULE:
	case TRACE_RECORD_MODULE_GONE:
	case TRACE_RECORD_PROCESS:
	case TRACE_RECORD_END:
	case TRACE_RECORD_UNSEEN:
	case TRACE_RECORD_PATCHED:
		return true;
	default:
		return false;
	}
}

/* Without samples every end comes here anyway. */
static void watch_block(uint64_t address)
{
	if (live_way == LIVE_WAY_SAMPLES)
		live_sampled_watch(address);
}

static void report_end(enum trace_end reason)
{
	if (reason != TRACE_END_EXEC)
		live_report_at_end();
}

const struct sink live_sink = {
	.takes_all = true,
	.knows_blocks = true,
	.begin = begin_table,
	.start = start_table,
	.thread_size = thread_size,
	.thread_begin = prepare_thread,
	.thread_end = leave_thread,
	.thread_renamed = leave_thread,
	.allocate = allocate_here,
	.end = end_here,
	.realloc_begin = begin_realloc,
	.realloc_fail = fail_realloc,
	.realloc_end = end_realloc,
	.waits = hold_event,
	.give_up = give_up_event,
	.waited = take_waited,
	.wants = wants_record,
	.watch = watch_block,
	.ended = report_end,
	.detach = live_memory_detach,
};
