#include "agent/live/live.h"

#include "agent/event/capture.h"
#include "agent/event/event.h"
#include "agent/ground/clock.h"
#include "agent/live/live_count.h"
#include "agent/live/live_hook.h"
#include "agent/live/live_probe.h"
#include "agent/live/live_stack.h"

// Without stacks an allocation has no time. So the clock is looked at once in so many allocations.
#define STACKLESS_LOOKS 4096

never_inline bool live_put(struct thread *thread, struct live *live, uint64_t address,
			   uint64_t size, uint32_t owner, uint64_t ticks)
{
	const struct known_block block = {
		.owner = owner, .time = block_table_time(ticks, size), .size = size};
	struct known_block stale;

	if (unlikely(!block_table_put(&live->blocks, &thread->live->near, address, &block,
				      &stale))) {
		process_count_loss(TRACE_LOSS_NO_MEMORY);
		return false;
	}
	if (live_takes_samples()) {
		live_sampled_note(address, true);
		live_probe_begin(address, size);
	}
	if (unlikely(stale.owner))
		live_count_end(thread, live, &stale);
	return true;
}

/* live_put() where nothing was interrupted, so that groups may be reclaimed. */
static never_inline bool put_here(struct thread *thread, struct live *live, uint64_t address,
				  uint64_t size, uint32_t owner, uint64_t ticks)
{
	bool put = live_put(thread, live, address, size, owner, ticks);

	if (unlikely(reclaim_size(&live->blocks) >=
		     __atomic_load_n(&live->reclaim.due, __ATOMIC_RELAXED)))
		live_reclaim_slow(thread, live);
	return put;
}

never_inline bool live_take(struct thread *thread, struct live *live, uint64_t address,
			    struct known_block *ret)
{
	if (!block_table_take(&live->blocks, &thread->live->near, address, ret))
		return false;
	if (live_takes_samples()) {
		live_sampled_note(address, false);
		live_probe_end(address);
	}
	return true;
}

/* A store to one byte of `unusual` would delay the next look at all of them. */
static inline void forget_within(struct thread *thread)
{
	if (unlikely(thread->within))
		thread->within = 0;
}

/*
 * Without stacks: whether this allocation may go without a look at the clock. If a handler that
 * counts comes in between, one of the two is not counted.
 */
static inline bool counts_down(struct live_own *own)
{
	uint32_t left = __atomic_load_n(&own->looks, __ATOMIC_RELAXED);

	if (unlikely(!left))
		return false;
	__atomic_store_n(&own->looks, left - 1, __ATOMIC_RELAXED);
	return true;
}

/*
 * The time of an allocation. All of a thread's allocations within a tick of the kernel's clock get
 * the time of the first one: to read the counter for each would be a tenth of the slowdown.
 */
static inline uint64_t time_of_allocation(struct live_own *own, const struct live *live)
{
	uint64_t coarse = clock_coarse();

	if (unlikely(coarse != own->coarse || !coarse)) {
		own->ticks = clock_ticks() - live->sites.start_ticks;
		own->coarse = coarse;
	}
	return own->ticks;
}

/* Adds an allocation without stack and time. Its site's sums are those of the threads. */
static void add_stackless(struct thread *thread, struct live *live, uint64_t address, uint64_t size)
{
	const struct live_sums *sums = live_sums(thread, live);

	forget_within(thread);
	if (put_here(thread, live, address, size, live_owner(SITES_STACKLESS, sums->number), 0))
		live_threads_allocate(sums, weight_of(size));
	if (counts_down(thread->live))
		return;
	thread->live->looks = STACKLESS_LOOKS;
	live_reports_look(live, clock_ticks() - live->sites.start_ticks);
}

/* Adds an allocation with its stack. */
static inline void add_with_stack(struct thread *thread, struct live *live, uint64_t address,
				  uint64_t size, const struct unwind_state *state)
{
	const uint32_t *head =
		block_table_expect(&live->blocks, &thread->live->near, address, size);
	bool captured = capture(thread, state);
	const struct live_sums *sums;
	uint32_t site = SITES_STACKLESS;
	uint64_t ticks;

	block_table_expect_group(&live->blocks, head, address);
	if (likely(captured))
		site = live_stack_site(thread, live);
	if (likely(live_has_sums(site)))
		__builtin_prefetch(sites_at(&live->sites, site), 1);
	sums = live_sums(thread, live);
	ticks = time_of_allocation(thread->live, live);
	if ((likely(!live_takes_samples()) &&
	     live_put_fast(thread->live, live, head, address, size, live_owner(site, sums->number),
			   ticks)) ||
	    put_here(thread, live, address, size, live_owner(site, sums->number), ticks)) {
		if (unlikely(live_count_begin(sums, live, size, site, ticks)))
			live_stack_took_turn(thread, live, site);
	}
	live_reports_look(live, ticks);
}

void live_allocates(struct thread *thread, const struct event *event,
		    const struct unwind_state *state)
{
	struct live *live = process->live;

	if (!live || !live_wants(thread, event->size, event->old_recorded))
		forget_within(thread);
	else if (config_stackless())
		add_stackless(thread, live, event->address, event->size);
	else
		add_with_stack(thread, live, event->address, event->size, state);
}

/* false in a child that a handler forked within the hook: there is no table then. */
static inline bool is_here(const struct thread *thread, const struct live *live)
{
	return likely(live && thread->cursor);
}

/* The table, if the thread counts each block in sums of its own. NULL: ask the general function. */
static inline struct live *exact_table(const struct thread *thread)
{
	struct live *live = process->live;

	return likely(thread->cursor && live == thread->live->exact) ? live : NULL;
}

static never_inline void stackless_here_slow(struct thread *thread, uint64_t address, uint64_t size)
{
	struct live *live = process->live;

	if (is_here(thread, live) && live_wants(thread, size, false))
		add_stackless(thread, live, address, size);
	thread_end_record(thread);
}

/* This and live_ends_here() do the ordinary case in registers, else jump to the general one. */
static inline void stackless_here(struct thread *thread, uint64_t address, uint64_t size)
{
	struct live_own *own;
	struct live *live;

	thread_begin_record(thread);
	live = exact_table(thread);
	own = thread->live;
	if (likely(live) && !toggle_is_off() && counts_down(own) &&
	    live_put_fast(own, live, heads_near_find(&own->near.heads, address), address, size,
			  live_owner(SITES_STACKLESS, own->sums.number), 0)) {
		live_threads_allocate_as(true, &own->sums, (struct weight){1, size});
		thread_end_record(thread);
	} else {
		stackless_here_slow(thread, address, size);
	}
}

static never_inline void with_stack_here(struct thread *thread, struct arch_mark caller,
					 uint64_t address, uint64_t size)
{
	struct unwind_state state;
	struct live *live;

	thread_begin_record(thread);
	live = process->live;
	if (is_here(thread, live) && live_wants(thread, size, false)) {
		state = arch_marked(caller);
		add_with_stack(thread, live, address, size, &state);
	}
	thread_end_record(thread);
}

never_inline void live_allocates_here(struct thread *thread, struct arch_mark caller,
				      const void *block, uint64_t size)
{
	if (unlikely(!block))
		return;
	if (config_stackless())
		stackless_here(thread, arch_address(block), size);
	else
		with_stack_here(thread, caller, arch_address(block), size);
}

static void end_block(struct thread *thread, struct live *live, uint64_t address)
{
	struct known_block block;

	if (live_may_have(address) && live_take(thread, live, address, &block))
		live_count_end(thread, live, &block);
}

void live_frees(struct thread *thread, uint64_t address)
{
	struct live *live = process->live;

	if (live)
		end_block(thread, live, address);
}

static never_inline void ends_here_slow(struct thread *thread, uint64_t address)
{
	struct live *live = process->live;

	if (is_here(thread, live) && thread->outer.sp) // as in record_sink.c
		end_block(thread, live, address);
	thread_end_record(thread);
}

never_inline void live_ends_here(struct thread *thread, const void *block)
{
	struct known_block known;
	struct live_own *own;
	struct live *live;

	// What glibc's free reads first: the words before the block.
	__builtin_prefetch((const char *)block - 16, 1);
	thread_begin_record(thread);
	live = exact_table(thread);
	own = thread->live;
	if (likely(live && thread->outer.sp) &&
	    live_take_fast(own, live, arch_address(block), &known)) {
		live_count_end_as(true, &own->sums, live, &known, (struct weight){1, known.size});
		thread_end_record(thread);
	} else {
		ends_here_slow(thread, arch_address(block));
	}
}
