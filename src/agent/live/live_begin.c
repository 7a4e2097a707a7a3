/* Beginning and ending a process's table, and a thread's place in it. */
#include "agent/ground/libc.h"
#include "agent/ground/next_functions.h"
#include "agent/ground/own_pages.h"
#include "agent/ground/signal_bracket.h"
#include "agent/live/live.h"
#include "agent/live/live_count.h"
#include "agent/live/live_sampled.h"
#include "agent/live_blocks/live_memory.h"
#include "agent/record/thread_record.h"
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

bool live_begin(struct trace_header *header)
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

void live_starts(const struct trace_header *header)
{
	process->live->sites.start_ticks = process->live->header->base_ticks = header->start_ticks;
}

size_t live_thread_size(size_t frames)
{
	return bytes_round_up(
		sizeof(struct live_own) + (frames + 1) * (sizeof(uint64_t) + sizeof(uint32_t)), 64);
}

void live_thread_prepare(struct thread *thread, void *memory, size_t frames)
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

void live_thread_leaves(struct thread *thread)
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

static void settle(void *argument)
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

	signal_bracket_run(settle, &settling);
}
