#include "agent/live/live.h"

#include "agent/clock.h"
#include "agent/event.h"
#include "agent/filter.h"
#include "agent/libc.h"
#include "agent/live/live_memory.h"
#include "agent/live/live_reports.h"
#include "agent/live/live_state.h"
#include "agent/live/weight.h"
#include "agent/pool.h"
#include "agent/process.h"
#include "agent/slow.h"
#include "agent/thread.h"
#include "agent/toggle.h"
#include "agent/unwind/leaf_cache.h"
#include "base/bytes.h"

// glibc's since 2.32: by name, for a program may have a copy of it that counts.
extern const char __libc_single_threaded __attribute__((weak));

#define STACKLESS_LOOKS                                                                            \
	4096 /* allocations without a time from one look at the clock to the next                  \
	      */

const char *add_alone_flag;

// Kept across fork: a parent's is given back when its child begins one.
static struct live *former;

static void forget_former(void)
{
	live_memory_forget();
	helper_forget();
	if (!former)
		return;
	block_table_release(&former->blocks);
	pool_release(former, sizeof(*former));
	former = NULL;
}

/* Older C libraries, and musl, do not say it: there other threads may come at any time. */
static void find_alone_flag(void)
{
	static const char never;

	add_alone_flag = &__libc_single_threaded ? &__libc_single_threaded : &never;
}

bool live_begin(void)
{
	struct trace_header *header = process->file.header;
	struct live *live;

	forget_former();
	find_alone_flag();
	live = pool_allocate(sizeof(*live));
	if (!live)
		return false;
	former = live;
	live->header = (struct live_header *)((char *)header + LIVE_HEADER_OFFSET);
	if (!live_threads_begin(&live->threads, live->header) ||
	    !sites_begin(&live->sites, live->header)) {
		forget_former();
		return false;
	}
	live->start_ticks = live->header->base_ticks = clock_ticks();
	process->live = live;
	return true;
}

bool live_writes_record(uint8_t kind)
{
	switch (kind) {
	case TRACE_RECORD_FRAME:
	case TRACE_RECORD_MODULE:
	case TRACE_RECORD_MODULE_GONE:
	case TRACE_RECORD_PROCESS:
	case TRACE_RECORD_END:
		return true;
	default:
		return false;
	}
}

size_t live_thread_size(size_t frames)
{
	return bytes_round_up(sizeof(struct live_own) + (frames + 1) * sizeof(uint32_t), 64);
}

void live_thread_leaves(struct thread *thread)
{
	struct live *live = process->live;

	if (!live || !thread->live)
		return;
	live_threads_leave(&live->threads, thread->live->number);
	thread->live->number = 0;
	thread->live->settled = false;
}

static never_inline void settle_thread_slow(struct thread *thread, struct live *live)
{
	struct live_own *own = thread->live;
	struct slow slow;

	slow_begin(&slow);
	thread_check_name(thread);
	if (!own->settled)
		own->number =
			live_threads_claim(&live->threads, live->header, thread->tid, thread->name);
	own->settled = true;
	slow_end(&slow);
}

static inline uint32_t number_of(struct thread *thread, struct live *live)
{
	if (unlikely(!thread->live->settled))
		settle_thread_slow(thread, live);
	return thread->live->number;
}

static bool takes_samples(void)
{
	return config.value[SETTING_SAMPLE] != 0;
}

static uint8_t *sampled_of(struct live *live, uint64_t address)
{
	return &live->sampled[(address >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 48];
}

static void note_sampled(struct live *live, uint64_t address, bool begins)
{
	uint8_t *place = sampled_of(live, address);
	uint8_t count = __atomic_load_n(place, __ATOMIC_RELAXED), next;

	do {
		if (count == UINT8_MAX)
			return;
		next = (uint8_t)(begins ? count + 1 : count - 1);
	} while (!__atomic_compare_exchange_n(place, &count, next, true, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
}

static bool may_be_sampled(struct live *live, uint64_t address)
{
	return !takes_samples() || __atomic_load_n(sampled_of(live, address), __ATOMIC_RELAXED);
}

static uint32_t frame_of(const struct cached_frame *frame)
{
	if (likely(frame->id))
		return frame->id;
	return LIVE_FRAME_SPECIAL |
	       (uint32_t)(frame->pc <= TRACE_PC_LAST_SPECIAL ? frame->pc : TRACE_PC_LOST);
}

/* In the text of a segment that was met before. */
struct known_leaf {
	uint32_t joined; /* node of the frame that it joins */
	uint32_t site;
};

/* The site of thread->stack if its leaf was met before on top of the same frames, or 0. */
static inline uint32_t known_site(const struct thread *thread)
{
	const struct stack_cache *stack = &thread->stack;
	const struct leaf_segment *top = stack->top;
	struct known_leaf leaf;

	if (!top || !top->text_size || stack->shared < top->joined)
		return 0;
	__builtin_memcpy(&leaf, top->text, sizeof(leaf));
	return leaf.joined == thread->live->nodes[top->joined] ? leaf.site : 0;
}

static void keep_leaf(struct thread *thread, uint32_t site)
{
	struct leaf_segment *top = thread->stack.top;
	struct known_leaf leaf = {.site = site};

	if (!top)
		return;
	leaf.joined = thread->live->nodes[top->joined];
	__builtin_memcpy(top->text, &leaf, sizeof(leaf));
	top->text_size = sizeof(leaf);
}

/* The site of thread->stack, looked up from the frame on that differs from the stack before. */
static uint32_t find_site(struct thread *thread, struct live *live)
{
	struct stack_cache *stack = &thread->stack;
	uint32_t *nodes = thread->live->nodes;
	uint32_t site;

	stack_cache_settle(stack);
	if (!event_define_frames(thread))
		return 0;
	for (uint32_t i = stack->shared + 1; i <= stack->depth; i++) {
		nodes[i] = sites_node(&live->sites, live->header, i > 1 ? nodes[i - 1] : 0,
				      frame_of(&stack->frames[i]));
		if (!nodes[i])
			return 0;
		stack->shared = i;
	}
	site = stack->depth ? sites_of_node(&live->sites, live->header, nodes[stack->depth]) : 0;
	if (site)
		keep_leaf(thread, site);
	return site;
}

static uint32_t site_of_stack(struct thread *thread, struct live *live)
{
	const struct stack_cache *stack = &thread->stack;
	struct live_own *own = thread->live;
	uint32_t site;

	if (stack->shared == stack->depth && own->depth == stack->depth)
		return own->site;
	site = known_site(thread);
	if (likely(site))
		return site;
	own->depth = 0;
	site = find_site(thread, live);
	if (!site)
		return SITES_STACKLESS;
	own->site = site;
	own->depth = stack->depth;
	return site;
}

static uint32_t owner_of(uint32_t site, uint32_t thread)
{
	return site << LIVE_THREAD_BITS | thread;
}

/* One without stacks has none of its own, and of one that waits for its stack nobody knows them. */
static bool has_sums(uint32_t site)
{
	return !config_stackless() && site != SITES_UNKNOWN;
}

static void count_end(struct thread *thread, struct live *live, const struct known_block *block)
{
	uint32_t site = block->owner >> LIVE_THREAD_BITS;
	struct weight weight = weight_of(block->size);

	if (likely(has_sums(site)))
		sites_free(sites_at(&live->sites, site), weight);
	live_threads_free(&live->threads, number_of(thread, live),
			  block->owner & (LIVE_THREADS - 1), weight);
}

/* The block goes into the table. false: it does not, which is counted. */
static bool put(struct thread *thread, struct live *live, const struct event *event, uint32_t owner,
		uint64_t ticks)
{
	struct known_block stale, block = {
					  .owner = owner,
					  .time = block_table_time(ticks, event->size),
					  .size = event->size,
				  };

	if (!block_table_put(&live->blocks, &thread->live->near, event->address, &block, &stale)) {
		process_count_loss(TRACE_LOSS_NO_MEMORY);
		return false;
	}
	if (takes_samples())
		note_sampled(live, event->address, true);
	if (unlikely(stale.owner))
		count_end(thread, live, &stale);
	return true;
}

static bool is_wanted(struct thread *thread, const struct event *event)
{
	return !toggle_is_off() && (!takes_samples() || filter_samples(thread, event->size));
}

static void count_begin(struct thread *thread, struct live *live, const struct event *event,
			uint32_t site, uint64_t ticks)
{
	struct weight weight = weight_of(event->size);

	if (has_sums(site))
		sites_allocate(sites_at(&live->sites, site), weight, ticks);
	live_threads_allocate(&live->threads, number_of(thread, live), weight);
}

/* A store to one byte of `unusual` would delay the next look at all of them. */
static inline void forget_within(struct thread *thread)
{
	if (unlikely(thread->within))
		thread->within = 0;
}

/* Of one that is wanted. */
static never_inline void add_slow(struct thread *thread, struct live *live,
				  const struct event *event, const struct unwind_state *state)
{
	uint32_t site = SITES_STACKLESS;
	uint64_t ticks;

	if (event_capture(thread, state))
		site = site_of_stack(thread, live);
	ticks = clock_ticks() - live->start_ticks;
	if (put(thread, live, event, owner_of(site, number_of(thread, live)), ticks))
		count_begin(thread, live, event, site, ticks);
	live_reports_look(live, ticks);
}

/* Without a stack and a time: the sums of the only site are those of the threads. */
static void add_stackless(struct thread *thread, struct live *live, const struct event *event)
{
	uint32_t number = number_of(thread, live);

	forget_within(thread);
	if (put(thread, live, event, owner_of(SITES_STACKLESS, number), 0))
		live_threads_allocate(&live->threads, number, weight_of(event->size));
	if (unlikely(thread->live->looks++ % STACKLESS_LOOKS == 0))
		live_reports_look(live, clock_ticks() - live->start_ticks);
}

void live_allocates(struct thread *thread, const struct event *event,
		    const struct unwind_state *state)
{
	struct live *live = process->live;

	if (likely(takes_samples() && filter_passes_over(&thread->filter, event->size)) ||
	    !is_wanted(thread, event) || unlikely(!live)) {
		forget_within(thread);
		return;
	}
	if (config_stackless())
		add_stackless(thread, live, event);
	else
		add_slow(thread, live, event, state);
}

void live_frees(struct thread *thread, uint64_t address)
{
	struct live *live = process->live;
	struct known_block block;

	if (!live || !may_be_sampled(live, address) ||
	    !block_table_take(&live->blocks, &thread->live->near, address, &block))
		return;
	if (takes_samples())
		note_sampled(live, address, false);
	count_end(thread, live, &block);
}

uint32_t live_begins_realloc(struct thread *thread, const void *old)
{
	struct live *live = process->live;
	struct live_own *own = thread->live;
	uint64_t address = (uint64_t)old;
	struct live_taken *taken;

	if (!old || !live || !own || !may_be_sampled(live, address))
		return FILTER_UNKNOWN;
	taken = &own->taken[own->next % LIVE_TAKEN];
	if (!block_table_take(&live->blocks, &thread->live->near, address, &taken->block))
		return FILTER_UNKNOWN;
	taken->address = address;
	own->next++;
	if (takes_samples())
		note_sampled(live, address, false);
	count_end(thread, live, &taken->block);
	return FILTER_RECORDED;
}

/* What count_end() counted. */
static void retract_end(struct thread *thread, struct live *live, const struct known_block *block)
{
	uint32_t site = block->owner >> LIVE_THREAD_BITS;
	struct weight weight = weight_of(block->size);
	struct weight less = {.calls = -weight.calls, .bytes = -weight.bytes};

	if (has_sums(site))
		sites_free(sites_at(&live->sites, site), less);
	live_threads_free(&live->threads, number_of(thread, live),
			  block->owner & (LIVE_THREADS - 1), less);
}

void live_fails_realloc(struct thread *thread, const void *old, uint32_t before)
{
	struct live *live = process->live;
	struct live_own *own = thread->live;

	for (uint32_t i = 1; live && own && before == FILTER_RECORDED && i <= LIVE_TAKEN; i++) {
		struct live_taken *taken = &own->taken[(own->next - i) % LIVE_TAKEN];
		struct known_block stale;

		if (taken->address != (uint64_t)old)
			continue;
		taken->address = 0;
		if (!block_table_put(&live->blocks, &own->near, (uint64_t)old, &taken->block,
				     &stale))
			return;
		if (takes_samples())
			note_sampled(live, (uint64_t)old, true);
		retract_end(thread, live, &taken->block);
		return;
	}
}

bool live_waits(struct thread *thread, const struct event *event)
{
	struct live *live = process->live;

	if (event->operation & TRACE_OTHER)
		return true;
	if (event->operation >= TRACE_OP_FREE) {
		if (thread->live)
			live_frees(thread, event->address);
		return false;
	}
	// Without a table the handler is a child's that begins one with this event.
	if (!live || !thread->live)
		return true;
	return is_wanted(thread, event) &&
	       put(thread, live, event, owner_of(SITES_UNKNOWN, number_of(thread, live)),
		   clock_ticks() - live->start_ticks);
}

void live_gives_up(const struct event *event)
{
	struct live *live = process->live;
	struct known_block block;

	if (live && event->operation < TRACE_OP_FREE &&
	    block_table_take(&live->blocks, NULL, event->address, &block) && takes_samples())
		note_sampled(live, event->address, false);
}

void live_allocated(struct thread *thread, const struct event *event, const uint64_t *frames,
		    uint32_t count)
{
	struct live *live = process->live;
	uint32_t site = SITES_STACKLESS;
	uint64_t ticks;

	if (!live || event->operation >= TRACE_OP_FREE)
		return;
	ticks = clock_ticks() - live->start_ticks;
	if (count && stack_cache_set(&thread->stack, frames, count))
		site = site_of_stack(thread, live);
	count_begin(thread, live, event, site, ticks);
	// Freed by now: by whom was counted then, of which stack is counted now.
	if (!block_table_change_owner(&live->blocks, event->address,
				      owner_of(SITES_UNKNOWN, number_of(thread, live)),
				      owner_of(site, number_of(thread, live))) &&
	    has_sums(site))
		sites_free(sites_at(&live->sites, site), weight_of(event->size));
}

bool live_has(const void *block)
{
	return process->live && block && block_table_has(&process->live->blocks, (uint64_t)block);
}
