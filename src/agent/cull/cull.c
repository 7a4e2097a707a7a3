#include "agent/cull/cull.h"

#include "agent/cull/cull_entries.h"
#include "agent/event/event.h"
#include "agent/event/thread.h"
#include "agent/ground/clock.h"
#include "agent/ground/own_pages.h"
#include "agent/ground/signal_bracket.h"
#include "agent/record/fact_record.h"

#define LOOKS   64u       /* pieces in which all entries are looked through */
#define LOOK_NS 10000000u /* at least so long between two pieces */

static bool is_newest(const struct cull_entry *entry, uint32_t number)
{
	return entry->last || __atomic_load_n(&entry->holder->newest, __ATOMIC_RELAXED) == number;
}

/* The entry is the caller's. */
static void count_culled(const struct cull_entry *entry, bool temporary)
{
	if (!entry->written)
		cull_stack_count(entry->stack, 1, entry->size, temporary);
	else if (temporary)
		cull_stack_count(entry->stack, 0, 0, true);
}

static void write_survivor(struct thread *thread, struct cull *cull, const struct cull_entry *entry)
{
	struct fact_record record = {
		.kind = TRACE_RECORD_SURVIVOR, .has_time = true, .ticks = entry->ticks};
	struct cull_holder *holder = cull_holder(thread, cull);
	uint32_t id;

	if (!holder)
		return process_count_loss(TRACE_LOSS_NO_MEMORY);
	id = cull_stack_define(&cull->stacks, entry->stack, thread, holder->scratch);
	if (!id)
		return;
	fact_record_add(&record, id);
	fact_record_add(&record, entry->stream);
	fact_record_add(&record, entry->tag);
	fact_record_add(&record, entry->operation | (uint32_t)entry->heap_flags
							    << TRACE_SURVIVOR_FLAGS_SHIFT);
	fact_record_add(&record, entry->address);
	fact_record_add(&record, entry->size);
	fact_record_add(&record, entry->before ? 0 : entry->alignment);
	fact_record_add(&record, entry->slack);
	if (entry->before) {
		fact_record_add(&record, cull_entry(cull, entry->before)->address);
		fact_record_add(&record, entry->duration);
	}
	fact_record_write(thread, &record);
}

/*
 * Decides for the older blocks of the entry's chain as was decided for the entry: each is written
 * or counted. The entry is the caller's.
 */
static never_inline void settle_chain_slow(struct thread *thread, struct cull *cull,
					   struct cull_entry *entry, bool in_handler)
{
	uint32_t number = entry->before, before;

	for (; number; number = before) {
		struct cull_entry *old = cull_entry(cull, number);

		before = old->before;
		if (entry->written) {
			write_survivor(thread, cull, old);
			old->written = true;
		}
		count_culled(old, old->temporary);
		cull_give_back(thread, cull, number, in_handler);
	}
	entry->before = 0;
}

static inline void settle_chain(struct thread *thread, struct cull *cull, struct cull_entry *entry,
				bool in_handler)
{
	if (unlikely(entry->before))
		settle_chain_slow(thread, cull, entry, in_handler);
}

/* Writes an entry, which is the caller's, and its chain. */
static never_inline void write_whole(struct thread *thread, struct cull *cull,
				     struct cull_entry *entry)
{
	write_survivor(thread, cull, entry);
	entry->written = true;
	settle_chain(thread, cull, entry, false);
}

/* Sets the thread's newest entry. Frees the previous one if it was kept only for being that. */
static void set_newest(struct thread *thread, struct cull *cull, uint32_t number)
{
	struct cull_holder *holder = thread->holder;
	uint32_t before = holder->newest;
	const struct cull_entry *entry = cull_entry(cull, before);

	__atomic_store_n(&holder->newest, number, __ATOMIC_RELAXED);
	if (before && before != number && entry->written &&
	    cull_table_take_this(&cull->table, entry->address, before))
		cull_give_back(thread, cull, before, false);
}

/* Counts a block whose end was not seen: it was freed where nothing could be recorded. */
static void end_stale(struct thread *thread, struct cull *cull, uint32_t number)
{
	if (!number)
		return;
	count_culled(cull_entry(cull, number), false);
	settle_chain(thread, cull, cull_entry(cull, number), false);
	cull_give_back(thread, cull, number, false);
}

/* Whether a block that is held back now would be written some day. */
static bool can_hold(const struct cull *cull)
{
	return process_state() == PROCESS_RECORDING &&
	       !__atomic_load_n(&cull->finished, __ATOMIC_ACQUIRE);
}

/*
 * Field by field: another thread may look at the entry meanwhile. If all were cleared first, it
 * would find a holder that is NULL.
 */
static void fill_entry(struct cull_entry *entry, const struct thread *thread,
		       const struct event *event, struct cull_stack *stack)
{
	entry->address = event->address;
	entry->ticks = entry->born = event->ticks;
	entry->size = event->size;
	entry->alignment = event->alignment;
	entry->slack = event->slack;
	entry->stack = stack;
	entry->stream = thread->stream;
	entry->tag = thread_tag;
	entry->operation = event->operation;
	entry->heap_flags = event->heap_flags;
	entry->last = entry->temporary = false;
	entry->length = 0;
	entry->before = 0;
}

/* Adds the entry to the chain that ends with the entry `replaced`. */
static void chain_entry(struct cull *cull, struct cull_entry *entry, const struct event *event,
			uint32_t replaced)
{
	const struct cull_entry *old = cull_entry(cull, replaced);

	// Readers sort survivors by their times, so no two of a chain have the same.
	if (entry->ticks <= cull_made(old))
		entry->ticks = cull_made(old) + 1;
	entry->born = old->born;
	entry->duration = event->duration;
	entry->length = old->length + 1;
	entry->before = replaced;
}

/* Makes an entry, which is not in the table yet. 0: there is no room. */
static uint32_t make_entry(struct thread *thread, struct cull *cull, const struct event *event,
			   uint32_t replaced, bool written)
{
	struct cull_holder *holder = cull_holder(thread, cull);
	struct cull_stack *stack =
		holder ? cull_stacks_find(&cull->stacks, &holder->room, &thread->stack) : NULL;
	uint32_t number = stack ? cull_take_unused(cull, holder) : 0;

	if (!number)
		return 0;
	fill_entry(cull_entry(cull, number), thread, event, stack);
	if (replaced)
		chain_entry(cull, cull_entry(cull, number), event, replaced);
	cull_entry(cull, number)->written = written;
	return number;
}

static bool hold_entry(struct thread *thread, const struct event *event, uint32_t replaced,
		       bool written)
{
	struct cull *cull = thread->forked ? NULL : cull_make();
	uint32_t number = 0, stale;
	bool done;

	if (cull && can_hold(cull))
		number = make_entry(thread, cull, event, replaced, written);
	if (!number)
		return false;
	// Before the table has it, from where others can free it.
	set_newest(thread, cull, number);
	done = cull_table_put(&cull->table, event->address, number, &stale);
	end_stale(thread, cull, stale);
	// A thread that ends the process meanwhile finds the entry in the table, or has set
	// `finished` before.
	if (done && !can_hold(cull))
		done = !cull_table_take_this(&cull->table, event->address, number);
	if (!done)
		cull_give_back(thread, cull, number, false);
	return done;
}

/*
 * Measures how many ticks CULL's time is, by all the time since cull_make(). Never too many: the
 * ticks are read within the nanoseconds, at the start and now. No entry is older than this time.
 */
static void measure_limit(struct cull *cull)
{
	uint64_t wanted = config.value[SETTING_CULL], ticks, ns;

	if (process_system_calls_forbidden())
		return;
	ticks = clock_ticks() - cull->start_ticks;
	ns = clock_monotonic_ns() - cull->start_ns;
	if (!ticks || ns < (wanted < LOOK_NS / 10 ? wanted : LOOK_NS / 10)) {
		// Too short to be measured, and nothing can be old yet.
		__atomic_store_n(&cull->interval, ticks, __ATOMIC_RELAXED);
		return;
	}

	double rate = (double)ticks / (double)ns;
	double limit = (double)wanted * rate;
	double interval = limit / LOOKS < LOOK_NS * rate ? LOOK_NS * rate : limit / LOOKS;

	if (limit > (double)(CULL_NEVER / 2))
		limit = (double)(CULL_NEVER / 2);
	__atomic_store_n(&cull->limit, (uint64_t)limit, __ATOMIC_RELAXED);
	__atomic_store_n(&cull->interval, (uint64_t)interval, __ATOMIC_RELAXED);
}

/*
 * Measures the limit for the first time, at an event: perhaps nobody has looked around since,
 * because the program did nothing for a while. If it cannot be measured, everything counts as old.
 */
static never_inline uint64_t limit_slow(struct cull *cull)
{
	if (process_system_calls_forbidden())
		return 0;
	measure_limit(cull);
	return __atomic_load_n(&cull->limit, __ATOMIC_RELAXED);
}

static bool is_old(struct cull *cull, uint64_t born, uint64_t ticks)
{
	uint64_t limit = __atomic_load_n(&cull->limit, __ATOMIC_RELAXED);

	if (unlikely(limit == CULL_NEVER))
		limit = limit_slow(cull);
	return ticks > born && ticks - born >= limit;
}

/* The entry that cull_takes() took. NULL: it was the parent's, before a fork. */
static struct cull_entry *taken_entry(struct cull *cull, uint32_t number, uint64_t address)
{
	struct cull_entry *entry = cull ? cull_entry(cull, number) : NULL;

	return entry && entry->address == address ? entry : NULL;
}

bool cull_holds(struct thread *thread, struct event *event, uint32_t replaced)
{
	struct cull *cull = cull_current();
	struct cull_entry *old = replaced ? taken_entry(cull, replaced, event->old_address) : NULL;
	bool goes_on =
		!old || (old->length < CULL_CHAIN_MAX && !is_old(cull, old->born, event->ticks));

	if (replaced && !old)
		admission_make_allocation(event); // the old block was the parent's
	if (goes_on && hold_entry(thread, event, old ? replaced : 0, false))
		return true;
	if (old) {
		write_whole(thread, cull, old);
		count_culled(old, old->temporary);
		cull_give_back(thread, cull, replaced, false);
	}
	if (goes_on)
		cull_forgets_newest(thread);
	else
		cull_notes(thread, event);
	return false;
}

void cull_notes(struct thread *thread, const struct event *event)
{
	if (!hold_entry(thread, event, 0, true))
		cull_forgets_newest(thread);
}

void cull_forgets_newest(struct thread *thread)
{
	if (thread->holder)
		__atomic_store_n(&thread->holder->newest, 0, __ATOMIC_RELAXED);
}

/* Decides for an entry whose block ends. The entry is the caller's, and is given back. */
static bool end_entry(struct thread *thread, struct cull *cull, uint32_t number, uint64_t ticks,
		      bool temporary, bool in_handler)
{
	struct cull_entry *entry = cull_entry(cull, number);
	// If a survivor and a free have the same time, readers take the free first.
	bool old = ticks > cull_made(entry) && is_old(cull, entry->born, ticks);
	bool culled = !entry->written && (!old || in_handler);

	if (!culled && !entry->written)
		write_whole(thread, cull, entry);
	count_culled(entry, temporary);
	settle_chain(thread, cull, entry, in_handler);
	cull_give_back(thread, cull, number, in_handler);
	return culled;
}

bool cull_ends(struct thread *thread, uint64_t address, uint64_t ticks, bool in_handler)
{
	struct cull *cull = cull_current();
	uint32_t number = cull ? cull_table_take(&cull->table, address) : 0;

	return number && end_entry(thread, cull, number, ticks,
				   is_newest(cull_entry(cull, number), number), in_handler);
}

uint32_t cull_takes(struct thread *thread, uint64_t address)
{
	struct cull *cull = cull_current();
	uint32_t number = cull ? cull_table_take(&cull->table, address) : 0;
	struct cull_entry *entry = number ? cull_entry(cull, number) : NULL;

	if (!entry)
		return 0;
	entry->temporary = is_newest(entry, number);
	if (!entry->written)
		return number;
	// It was written, so the realloc is, too. If that fails, the block was counted as freed
	// when temporary blocks are counted; nothing else is wrong then.
	count_culled(entry, entry->temporary);
	cull_give_back(thread, cull, number, true);
	return 0;
}

void cull_puts_back(struct thread *thread, uint32_t number, uint64_t address)
{
	struct cull *cull = cull_current();
	uint32_t stale = 0;

	if (!taken_entry(cull, number, address))
		return;
	if (!cull_table_put(&cull->table, address, number, &stale)) {
		process_count_loss(TRACE_LOSS_NO_MEMORY); // its bucket was filled meanwhile
		settle_chain(thread, cull, cull_entry(cull, number), true);
		cull_give_back(thread, cull, number, true);
	}
	if (stale) {
		settle_chain(thread, cull, cull_entry(cull, stale), true);
		cull_give_back(thread, cull, stale, true);
	}
}

bool cull_ends_taken(struct thread *thread, uint32_t number, uint64_t address, uint64_t ticks,
		     bool in_handler)
{
	struct cull *cull = cull_current();
	const struct cull_entry *entry = taken_entry(cull, number, address);

	return entry && end_entry(thread, cull, number, ticks, entry->temporary, in_handler);
}

void cull_gives_up(struct thread *thread, uint32_t number, uint64_t address)
{
	struct cull *cull = cull_current();
	struct cull_entry *entry = taken_entry(cull, number, address);

	if (!entry)
		return;
	count_culled(entry, entry->temporary);
	settle_chain(thread, cull, entry, true);
	cull_give_back(thread, cull, number, true);
}

uint32_t cull_replaces(struct thread *thread, uint32_t number, uint64_t address, bool in_handler)
{
	if (!taken_entry(cull_current(), number, address))
		return 0;
	if (!in_handler)
		return number;
	cull_gives_up(thread, number, address);
	return 0;
}

/*
 * Writes the entries of a segment that were born before `born` and made before `made`. `made` is a
 * while ago, so that no free has the same time, which readers would take first.
 */
static void write_segment(struct thread *thread, struct cull *cull, uint32_t segment, uint64_t born,
			  uint64_t made)
{
	struct cull_entry *entries = __atomic_load_n(&cull->segments[segment], __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; entries && i < CULL_SEGMENT_ENTRIES; i++) {
		uint32_t number = segment << CULL_SEGMENT_BITS | i;
		struct cull_entry *entry = &entries[i];
		uint64_t address = __atomic_load_n(&entry->address, __ATOMIC_RELAXED);

		if (!address || entry->born >= born || cull_made(entry) >= made || entry->written ||
		    (born != CULL_NEVER && !entry->last && is_newest(entry, number)) ||
		    !cull_table_take_this(&cull->table, address, number))
			continue;
		// The entry may have become another block's between the look and the taking. Then
		// that block is written before it is old.
		if (!entry->written)
			write_whole(thread, cull, entry);
		cull_give_back(thread, cull, number, false);
	}
}

/* Looks through one of LOOKS pieces of the sums, and one of LOOKS / 4 pieces of the entries. */
static void look_at_piece(struct thread *thread, struct cull *cull, uint64_t ticks)
{
	uint32_t look = __atomic_fetch_add(&cull->look, 1, __ATOMIC_RELAXED) % LOOKS;
	uint64_t limit = __atomic_load_n(&cull->limit, __ATOMIC_RELAXED);
	uint64_t interval = __atomic_load_n(&cull->interval, __ATOMIC_RELAXED);
	struct cull_holder *holder = cull_holder(thread, cull);

	if (!holder)
		return;
	for (uint32_t i = look % (LOOKS / 4); limit < ticks && i < cull_segments(cull);
	     i += LOOKS / 4)
		write_segment(thread, cull, i, ticks - limit, ticks - interval);
	for (uint32_t i = look; i < CULL_STACKS_HEADS; i += LOOKS)
		cull_stacks_write(&cull->stacks, i, thread, holder->scratch);
}

struct looking {
	struct thread *thread;
	struct cull *cull;
	uint64_t pieces;
	uint64_t ticks;
};

static void look_around(void *argument)
{
	const struct looking *looking = argument;

	measure_limit(looking->cull);
	for (uint64_t i = 0; i < looking->pieces && i < LOOKS && looking->thread->cursor; i++)
		look_at_piece(looking->thread, looking->cull, looking->ticks);
}

static never_inline void look_around_slow(struct thread *thread, struct cull *cull, uint64_t due,
					  uint64_t ticks)
{
	uint64_t interval = __atomic_load_n(&cull->interval, __ATOMIC_RELAXED);
	uint64_t pieces = due && interval ? (ticks - due) / interval + 1 : 1;
	struct looking looking = {thread, cull, pieces, ticks};

	if (!__atomic_compare_exchange_n(&cull->next_look, &due, ticks + interval, false,
					 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return; // another thread does it
	signal_bracket_run(look_around, &looking);
}

void cull_look_around(struct thread *thread, uint64_t ticks)
{
	struct cull *cull = cull_current();
	uint64_t due = cull ? __atomic_load_n(&cull->next_look, __ATOMIC_RELAXED) : CULL_NEVER;

	if (unlikely(ticks >= due) && thread->cursor && !thread->forked)
		look_around_slow(thread, cull, due, ticks);
}

bool cull_write_all(struct thread *thread)
{
	struct cull *cull = cull_current();
	struct cull_holder *holder;

	if (!cull)
		return true;
	holder = thread->forked ? NULL : cull_holder(thread, cull);
	if (!holder)
		return false;
	for (uint32_t i = 0; i < cull_segments(cull); i++)
		write_segment(thread, cull, i, CULL_NEVER, CULL_NEVER);
	for (uint32_t i = 0; i < CULL_STACKS_HEADS; i++)
		cull_stacks_write(&cull->stacks, i, thread, holder->scratch);
	return true;
}

void cull_lose(enum trace_loss reason)
{
	struct cull *cull = cull_current();

	for (uint32_t i = 1; cull && i < cull_segments(cull) << CULL_SEGMENT_BITS; i++) {
		const struct cull_entry *entry = cull_entry(cull, i);

		if (entry && entry->address && !entry->written &&
		    cull_table_take_this(&cull->table, entry->address, i))
			process_count_losses(reason, entry->length + 1u);
	}
	for (uint32_t i = 0; cull && i < CULL_STACKS_HEADS; i++)
		process_count_losses(reason, cull_stacks_drop(&cull->stacks, i));
}

bool cull_finish(struct thread *thread)
{
	struct cull *cull = cull_current();

	if (!cull)
		return true;
	__atomic_store_n(&cull->finished, 1, __ATOMIC_SEQ_CST);
	return cull_write_all(thread);
}

void cull_resume(void)
{
	struct cull *cull = cull_current();

	if (cull)
		__atomic_store_n(&cull->finished, 0, __ATOMIC_SEQ_CST);
}

void cull_thread_ends(struct thread *thread)
{
	struct cull *cull = cull_current();
	struct cull_holder *holder = thread->holder;

	thread->holder = NULL;
	if (!cull || !holder || holder->cull != cull)
		return;
	if (holder->newest)
		cull_entry(cull, holder->newest)->last = true;
	__atomic_store_n(&holder->newest, 0, __ATOMIC_RELAXED);
	cull_leave_holder(cull, holder);
}
