#include "agent/event/handler_queue.h"

#include "agent/event/event.h"
#include "agent/event/sink.h"
#include "agent/event/thread.h"
#include "agent/ground/own_code.h"

void (*handler_queue_renew)(struct thread *thread);

/* An entry: its size in words (0 while it is being filled), the event, the stack. */
struct entry {
	uint32_t words;
	uint32_t count; /* of frames */
	struct event event;
	uint64_t frames[];
};

#define ENTRY_WORDS (sizeof(struct entry) / sizeof(uint64_t))
#define MARK        0xff /* in place of an operation; there is always room for one mark */

/*
 * Gives back what was claimed and not needed, if no handler has claimed more in between. Returns
 * the words of the entry.
 */
static uint32_t give_back(struct handler_queue *pending, uint32_t start, uint32_t claim,
			  uint32_t needed)
{
	uint32_t end = start + claim;

	return __atomic_compare_exchange_n(&pending->used, &end, start + needed, false,
					   __ATOMIC_RELAXED, __ATOMIC_RELAXED)
		       ? needed
		       : claim;
}

static size_t frames_max(void)
{
	size_t limit = thread_depth_limit();

	return limit < HANDLER_QUEUE_FRAMES ? limit : HANDLER_QUEUE_FRAMES;
}

/*
 * In a child whose thread was wiped while the interrupted hook was busy (fork.h): the child's
 * recording begins with this event.
 */
static never_inline void begin_slow(struct thread *thread)
{
	thread->pending.words = thread_pending_words(thread);
	thread->forked = 1;
	handler_queue_mark(thread);
}

bool handler_queue_add(struct thread *thread, const struct event *event,
		       const struct unwind_state *state)
{
	struct handler_queue *pending = &thread->pending;
	struct unwind_stack none;
	struct event kept = *event;
	uint32_t claim, start;
	struct entry *entry;
	size_t count = 0;

	if (!sink->waits(thread, &kept))
		return true;
	if (config_stackless() || (kept.operation >= TRACE_OP_FREE && !thread->free_stacks))
		state = NULL;
	if (!pending->words)
		begin_slow(thread);
	claim = ENTRY_WORDS + (state ? HANDLER_QUEUE_FRAMES + 1 : 0);
	start = __atomic_fetch_add(&pending->used, claim, __ATOMIC_RELAXED);
	if (start + claim > HANDLER_QUEUE_WORDS - ENTRY_WORDS) {
		__atomic_fetch_sub(&pending->used, claim, __ATOMIC_RELAXED);
		process_count_loss(TRACE_LOSS_REENTERED);
		if (sink->give_up)
			sink->give_up(thread, &kept);
		return false;
	}
	entry = (struct entry *)(pending->words + start);
	entry->words = 0;
	entry->event = kept;
	if (state && unwind_capture(state, thread_bounds(thread, &none), entry->frames,
				    frames_max(), &count) != UNWIND_COMPLETE)
		entry->frames[count++] = TRACE_PC_TRUNCATED;
	count = own_code_strip(entry->frames, (uint32_t)count);
	entry->count = (uint32_t)count;
	compiler_barrier();
	entry->words = give_back(pending, start, claim, (uint32_t)(ENTRY_WORDS + count));
	return true;
}

void handler_queue_mark(struct thread *thread)
{
	struct handler_queue *pending = &thread->pending;
	uint32_t start = __atomic_fetch_add(&pending->used, ENTRY_WORDS, __ATOMIC_RELAXED);
	struct entry *entry = (struct entry *)(pending->words + start);

	if (start + ENTRY_WORDS > HANDLER_QUEUE_WORDS) {
		// No room: a fork just when another handler found the queue full, or two forks.
		__atomic_fetch_sub(&pending->used, ENTRY_WORDS, __ATOMIC_RELAXED);
		return;
	}
	entry->event = (struct event){.operation = MARK};
	entry->words = ENTRY_WORDS;
}

static void write_entry(struct thread *thread, const struct entry *entry)
{
	const struct event *event = &entry->event;

	if (event->operation != MARK)
		sink->waited(thread, event, entry->frames, entry->count);
	else if (thread->forked)
		handler_queue_renew(thread);
}

/* Writes the entries from *position on, and advances it. false: the rest cannot be reached. */
static bool write_entries(struct thread *thread, uint32_t *position)
{
	struct handler_queue *pending = &thread->pending;

	while (*position < __atomic_load_n(&pending->used, __ATOMIC_RELAXED)) {
		struct entry *entry = (struct entry *)(pending->words + *position);

		if (!entry->words) { // its handler left by longjmp: what follows cannot be reached
			process_count_loss(TRACE_LOSS_INTERRUPTED);
			return false;
		}
		write_entry(thread, entry);
		*position += entry->words;
	}
	return true;
}

void handler_queue_lose(struct thread *thread)
{
	const struct handler_queue *pending = &thread->pending;

	for (uint32_t position = 0; position < pending->used;) {
		const struct entry *entry = (const struct entry *)(pending->words + position);

		if (!entry->words) // its handler was interrupted itself
			break;
		if (entry->event.operation != MARK)
			process_count_loss(TRACE_LOSS_REENTERED);
		position += entry->words;
	}
}

void handler_queue_flush_slow(struct thread *thread)
{
	struct handler_queue *pending = &thread->pending;

	do {
		uint32_t position = 0;
		uint32_t end;

		thread->busy = 1;
		compiler_barrier();
		// Writing may be interrupted, too, and entries be added. So this goes on until the
		// end is met.
		do {
			if (!write_entries(thread, &position))
				position = __atomic_load_n(&pending->used, __ATOMIC_RELAXED);
			end = position;
		} while (!__atomic_compare_exchange_n(&pending->used, &end, 0, false,
						      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
		compiler_barrier();
		thread->busy = 0;
		compiler_barrier();
	} while (__atomic_load_n(&pending->used, __ATOMIC_RELAXED));
}
