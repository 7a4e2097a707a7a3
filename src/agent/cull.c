#include "agent/cull.h"

#include "agent/clock.h"
#include "agent/cull_stacks.h"
#include "agent/cull_table.h"
#include "agent/event.h"
#include "agent/pool.h"
#include "agent/process.h"
#include "agent/record.h"
#include "agent/slow.h"
#include "agent/thread.h"

#define SEGMENT_BITS    7
#define SEGMENT_ENTRIES (1u << SEGMENT_BITS)
#define SEGMENTS        4096u     /* 512 Ki entries: half of what the table has words for */
#define LOOKS           64u       /* a round of the look around, in so many pieces */
#define LOOK_NS         10000000u /* at least so long between two of them */
#define NEVER           UINT64_MAX

/* An allocation held back. Filled by the thread of its holder, read by whoever took it. */
struct cull_entry {
	uint64_t address;
	uint64_t ticks;
	uint64_t born; /* ticks, or when the first block of its chain of reallocs came to be */
	uint64_t size;
	uint64_t alignment;
	uint64_t slack;
	struct cull_stack *stack;
	struct cull_holder *holder; /* always the same */
	uint32_t stream;
	uint32_t tag;
	uint32_t next; /* of the unused ones */
	uint8_t operation;
	uint8_t heap_flags;
	bool written;   /* it is an event already, and here for being the newest alone */
	bool last;      /* the newest of a thread that has ended */
	bool temporary; /* it was the newest when it was taken */
};

/* A thread's entries; they are handed on when it ends. */
struct cull_holder {
	uint32_t unused;       /* its own list */
	uint32_t returned;     /* atomic: those that others put back */
	uint32_t newest;       /* atomic: an entry, 0: none that is known */
	struct cull *cull;     /* that its entries are of */
	struct cull_room room; /* for stacks */
	struct cull_holder *next_idle;
	uint8_t scratch[CULL_SCRATCH];
};

/* Of one recording. Zero: nothing held back. Its first two parts are whole pages: cull_forget(). */
struct cull {
	struct cull_table table;
	struct cull_stacks stacks;
	struct cull_entry *segments[SEGMENTS]; /* atomic, the first count of them */
	uint32_t count;                        /* atomic, may exceed SEGMENTS */
	uint32_t finished;                     /* atomic */
	uint64_t limit;                        /* atomic: the age at which blocks are old, ticks */
	uint64_t interval;                     /* atomic: ticks between looks */
	uint64_t next_look;                    /* atomic: ticks */
	uint32_t look;                         /* atomic: number of the next one */
	uint32_t recording;                    /* whose it is: struct thread */
	uint32_t idle_lock;
	struct cull_holder *idle; /* of threads that ended */
};

static struct cull *current(void)
{
	return process ? __atomic_load_n(&process->cull, __ATOMIC_ACQUIRE) : NULL;
}

/* That of the recording which the thread writes to. */
static struct cull *get(const struct thread *thread)
{
	struct cull *cull = current();

	return cull && cull->recording == thread->recording ? cull : NULL;
}

/* Entries are numbered from 1. */
static struct cull_entry *entry_at(struct cull *cull, uint32_t number)
{
	struct cull_entry *segment =
		__atomic_load_n(&cull->segments[number >> SEGMENT_BITS], __ATOMIC_ACQUIRE);

	return segment ? &segment[number & (SEGMENT_ENTRIES - 1)] : NULL;
}

static struct cull *make(const struct thread *thread)
{
	struct cull *none = NULL, *made;

	// If there is none, the one of a former recording may just have gone
	// (process_begin_next()).
	if (current() || thread_is_former(thread))
		return get(thread);
	made = pool_allocate(sizeof(*made));
	if (!made)
		return NULL;
	made->limit = NEVER;
	made->recording = thread->recording;
	// If another thread was faster, this one stays unused.
	__atomic_compare_exchange_n(&process->cull, &none, made, false, __ATOMIC_ACQ_REL,
				    __ATOMIC_ACQUIRE);
	return get(thread);
}

static struct cull_holder *take_idle(struct cull *cull)
{
	struct cull_holder *holder;

	if (!cull->idle || !slow_try_lock(&cull->idle_lock))
		return NULL;
	holder = cull->idle;
	if (holder)
		cull->idle = holder->next_idle;
	slow_unlock(&cull->idle_lock);
	return holder;
}

static struct cull_holder *holder_of(struct thread *thread, struct cull *cull)
{
	struct slow slow;

	if (likely(thread->holder && thread->holder->cull == cull))
		return thread->holder;
	slow_begin(&slow); // the lock must not be left
	thread->holder = take_idle(cull);
	slow_end(&slow);
	if (!thread->holder)
		thread->holder = pool_allocate(sizeof(*thread->holder));
	if (thread->holder)
		thread->holder->cull = cull;
	return thread->holder;
}

/* More entries for a holder that has no unused one. */
static bool add_segment(struct cull *cull, struct cull_holder *holder)
{
	struct cull_entry *segment;
	uint32_t number;

	if (__atomic_load_n(&cull->count, __ATOMIC_RELAXED) >= SEGMENTS)
		return false;
	segment = pool_allocate(SEGMENT_ENTRIES * sizeof(*segment));
	number = segment ? __atomic_fetch_add(&cull->count, 1, __ATOMIC_RELAXED) : SEGMENTS;
	if (number >= SEGMENTS)
		return false; // memory that stays unused, but once for each thread
	// The number 0 is none.
	for (uint32_t i = number ? 0 : 1; i < SEGMENT_ENTRIES; i++) {
		segment[i].next = holder->unused;
		segment[i].holder = holder;
		holder->unused = number << SEGMENT_BITS | i;
	}
	__atomic_store_n(&cull->segments[number], segment, __ATOMIC_RELEASE);
	return true;
}

/* An unused one of the thread's, 0: none. Left in between, it is not used again. */
static uint32_t take_unused(struct cull *cull, struct cull_holder *holder)
{
	uint32_t number;

	if (!holder->unused)
		holder->unused = __atomic_exchange_n(&holder->returned, 0, __ATOMIC_ACQUIRE);
	if (!holder->unused && !add_segment(cull, holder))
		return 0;
	number = holder->unused;
	holder->unused = entry_at(cull, number)->next;
	return number;
}

/* in_handler: the thread may be using its own list. */
static void give_back(struct thread *thread, struct cull *cull, uint32_t number, bool in_handler)
{
	struct cull_entry *entry = entry_at(cull, number);
	struct cull_holder *holder = entry->holder;

	if (holder == thread->holder && !in_handler) {
		entry->next = holder->unused;
		holder->unused = number;
		return;
	}
	entry->next = __atomic_load_n(&holder->returned, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&holder->returned, &entry->next, number, false,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

static bool is_newest(const struct cull_entry *entry, uint32_t number)
{
	return entry->last || __atomic_load_n(&entry->holder->newest, __ATOMIC_RELAXED) == number;
}

/* The entry is the caller's. */
static void count(const struct cull_entry *entry, bool temporary)
{
	if (!entry->written)
		cull_stack_count(entry->stack, 1, entry->size, temporary);
	else if (temporary)
		cull_stack_count(entry->stack, 0, 0, true);
}

static void write_survivor(struct thread *thread, struct cull *cull, const struct cull_entry *entry)
{
	struct record record = {
		.kind = TRACE_RECORD_SURVIVOR, .has_time = true, .ticks = entry->ticks};
	struct cull_holder *holder = holder_of(thread, cull);
	uint32_t id;

	if (!holder)
		return process_count_loss(TRACE_LOSS_NO_MEMORY);
	id = cull_stack_define(&cull->stacks, entry->stack, thread, holder->scratch);
	if (!id)
		return;
	record_add(&record, id);
	record_add(&record, entry->stream);
	record_add(&record, entry->tag);
	record_add(&record,
		   entry->operation | (uint32_t)entry->heap_flags << TRACE_SURVIVOR_FLAGS_SHIFT);
	record_add(&record, entry->address);
	record_add(&record, entry->size);
	record_add(&record, entry->alignment);
	record_add(&record, entry->slack);
	record_write(thread, &record);
}

/* The one before it, if it was an event already, needs its entry no more. */
static void set_newest(struct thread *thread, struct cull *cull, uint32_t number)
{
	struct cull_holder *holder = thread->holder;
	uint32_t before = holder->newest;
	const struct cull_entry *entry = entry_at(cull, before);

	__atomic_store_n(&holder->newest, number, __ATOMIC_RELAXED);
	if (before && before != number && entry->written &&
	    cull_table_take_this(&cull->table, entry->address, before))
		give_back(thread, cull, before, false);
}

/* A block whose end was not seen: freed where nothing could be recorded. */
static void end_stale(struct thread *thread, struct cull *cull, uint32_t number)
{
	if (!number)
		return;
	count(entry_at(cull, number), false);
	give_back(thread, cull, number, false);
}

/* Whether it would be written some day. */
static bool can_hold(const struct cull *cull)
{
	return process_state() == PROCESS_RECORDING &&
	       !__atomic_load_n(&cull->finished, __ATOMIC_ACQUIRE);
}

/*
 * Field by field: another thread may be looking around here, and must not find a holder that is
 * NULL for a moment, as it would be if all were cleared first.
 */
static void fill(struct cull_entry *entry, const struct thread *thread, const struct event *event,
		 uint64_t born, struct cull_stack *stack)
{
	entry->address = event->address;
	entry->ticks = event->ticks;
	entry->born = born ? born : event->ticks;
	entry->size = event->size;
	entry->alignment = event->alignment;
	entry->slack = event->slack;
	entry->stack = stack;
	entry->stream = thread->stream;
	entry->tag = thread_tag;
	entry->operation = event->operation;
	entry->heap_flags = event->heap_flags;
	entry->last = entry->temporary = false;
}

/* Not in the table yet. 0: there is no room. */
static uint32_t make_entry(struct thread *thread, struct cull *cull, const struct event *event,
			   uint64_t born, bool written)
{
	struct cull_holder *holder = holder_of(thread, cull);
	struct cull_stack *stack =
		holder ? cull_stacks_find(&cull->stacks, &holder->room, &thread->stack) : NULL;
	uint32_t number = stack ? take_unused(cull, holder) : 0;

	if (!number)
		return 0;
	fill(entry_at(cull, number), thread, event, born, stack);
	entry_at(cull, number)->written = written;
	return number;
}

static bool hold(struct thread *thread, const struct event *event, uint64_t born, bool written)
{
	struct cull *cull = thread->forked ? NULL : make(thread);
	uint32_t number = 0, stale;
	bool done;

	if (cull && can_hold(cull))
		number = make_entry(thread, cull, event, born, written);
	if (!number)
		return false;
	// Before others can free it.
	set_newest(thread, cull, number);
	done = cull_table_put(&cull->table, event->address, number, &stale);
	end_stale(thread, cull, stale);
	// Whoever ends the process meanwhile either finds it there, or has said so before.
	if (done && !can_hold(cull))
		done = !cull_table_take_this(&cull->table, event->address, number);
	if (!done)
		give_back(thread, cull, number, false);
	return done;
}

static bool is_old(const struct cull *cull, uint64_t born, uint64_t ticks)
{
	return ticks > born && ticks - born >= __atomic_load_n(&cull->limit, __ATOMIC_RELAXED);
}

bool cull_holds(struct thread *thread, const struct event *event, uint64_t born)
{
	const struct cull *cull = born ? get(thread) : NULL;

	if (cull && is_old(cull, born, event->ticks)) {
		cull_notes(thread, event);
		return false;
	}
	if (hold(thread, event, born, false))
		return true;
	cull_forgets_newest(thread);
	return false;
}

void cull_notes(struct thread *thread, const struct event *event)
{
	if (!hold(thread, event, 0, true))
		cull_forgets_newest(thread);
}

void cull_forgets_newest(struct thread *thread)
{
	if (thread->holder)
		__atomic_store_n(&thread->holder->newest, 0, __ATOMIC_RELAXED);
}

/* The entry is the caller's, and goes. */
static bool end(struct thread *thread, struct cull *cull, uint32_t number, uint64_t ticks,
		bool temporary, bool in_handler)
{
	struct cull_entry *entry = entry_at(cull, number);
	// Of a survivor and a free at the same time readers take the free first.
	bool old = ticks > entry->ticks && is_old(cull, entry->born, ticks);
	bool culled = !entry->written && (!old || in_handler || thread_is_former(thread));

	if (!culled && !entry->written) {
		write_survivor(thread, cull, entry);
		entry->written = true;
	}
	count(entry, temporary);
	give_back(thread, cull, number, in_handler);
	return culled;
}

bool cull_ends(struct thread *thread, uint64_t address, uint64_t ticks, bool in_handler)
{
	struct cull *cull = get(thread);
	uint32_t number = cull ? cull_table_take(&cull->table, address) : 0;

	return number && end(thread, cull, number, ticks, is_newest(entry_at(cull, number), number),
			     in_handler);
}

uint32_t cull_takes(struct thread *thread, uint64_t address)
{
	struct cull *cull = get(thread);
	uint32_t number = cull ? cull_table_take(&cull->table, address) : 0;
	struct cull_entry *entry = number ? entry_at(cull, number) : NULL;

	if (!entry)
		return 0;
	entry->temporary = is_newest(entry, number);
	if (!entry->written)
		return number;
	// It is an event, and so is what comes of it. If the realloc fails, it was still freed in
	// the eyes of whoever counts temporary blocks: that is all that is lost.
	count(entry, entry->temporary);
	give_back(thread, cull, number, true);
	return 0;
}

/*
 * The entry that cull_takes() took. NULL: it was in a former recording.
 */
static struct cull_entry *taken(struct cull *cull, uint32_t number, uint64_t address)
{
	struct cull_entry *entry = cull ? entry_at(cull, number) : NULL;

	return entry && entry->address == address ? entry : NULL;
}

void cull_puts_back(struct thread *thread, uint32_t number, uint64_t address)
{
	struct cull *cull = get(thread);
	uint32_t stale = 0;

	if (!taken(cull, number, address))
		return;
	if (!cull_table_put(&cull->table, address, number, &stale)) {
		process_count_loss(TRACE_LOSS_NO_MEMORY); // its bucket was filled meanwhile
		give_back(thread, cull, number, true);
	}
	if (stale)
		give_back(thread, cull, stale, true);
}

bool cull_ends_taken(struct thread *thread, uint32_t number, uint64_t address, uint64_t ticks,
		     bool in_handler)
{
	struct cull *cull = get(thread);
	const struct cull_entry *entry = taken(cull, number, address);

	return entry && end(thread, cull, number, ticks, entry->temporary, in_handler);
}

uint64_t cull_replaces(struct thread *thread, uint32_t number, uint64_t address)
{
	struct cull *cull = get(thread);
	const struct cull_entry *entry = taken(cull, number, address);
	uint64_t born = entry ? entry->born : 0;

	if (!entry)
		return 0;
	count(entry, entry->temporary);
	give_back(thread, cull, number, true);
	return born;
}

/* How many ticks CULL is, by all the time that the recording has lasted. */
static void measure(struct cull *cull)
{
	const struct trace_header *header =
		__atomic_load_n(&process->file.header, __ATOMIC_RELAXED);
	uint64_t ticks, ns;

	if (process_system_calls_forbidden() || !header)
		return;
	ticks = clock_ticks() - header->start_ticks;
	ns = clock_monotonic_ns() - header->start_monotonic_ns;
	if (ns < LOOK_NS / 10 || !ticks) {
		// Too short to be measured, and to have anything old.
		__atomic_store_n(&cull->interval, ticks, __ATOMIC_RELAXED);
		return;
	}

	double rate = (double)ticks / (double)ns;
	double limit = (double)config.value[SETTING_CULL] * rate;
	double interval = limit / LOOKS < LOOK_NS * rate ? LOOK_NS * rate : limit / LOOKS;

	if (limit < (double)(NEVER / 2)) {
		__atomic_store_n(&cull->limit, (uint64_t)limit, __ATOMIC_RELAXED);
		__atomic_store_n(&cull->interval, (uint64_t)interval, __ATOMIC_RELAXED);
	}
}

/*
 * Of the entries of a segment those that are born before that time, and made before the other:
 * a while ago, so that no free has the same time, which readers would take first.
 */
static void write_segment(struct thread *thread, struct cull *cull, uint32_t segment, uint64_t born,
			  uint64_t made)
{
	struct cull_entry *entries = __atomic_load_n(&cull->segments[segment], __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; entries && i < SEGMENT_ENTRIES; i++) {
		uint32_t number = segment << SEGMENT_BITS | i;
		struct cull_entry *entry = &entries[i];
		uint64_t address = __atomic_load_n(&entry->address, __ATOMIC_RELAXED);

		if (!address || entry->born >= born || entry->ticks >= made || entry->written ||
		    (born != NEVER && !entry->last && is_newest(entry, number)) ||
		    !cull_table_take_this(&cull->table, address, number))
			continue;
		// It may have become another's between the look and the taking: then that one is
		// written before it is old.
		if (!entry->written)
			write_survivor(thread, cull, entry);
		give_back(thread, cull, number, false);
	}
}

static uint32_t segment_count(const struct cull *cull)
{
	uint32_t count = __atomic_load_n(&cull->count, __ATOMIC_RELAXED);

	return count < SEGMENTS ? count : SEGMENTS;
}

/* One of LOOKS pieces of all there is. Entries come four times as often as sums. */
static void look_at_piece(struct thread *thread, struct cull *cull, uint64_t ticks)
{
	uint32_t look = __atomic_fetch_add(&cull->look, 1, __ATOMIC_RELAXED) % LOOKS;
	uint64_t limit = __atomic_load_n(&cull->limit, __ATOMIC_RELAXED);
	uint64_t interval = __atomic_load_n(&cull->interval, __ATOMIC_RELAXED);
	struct cull_holder *holder = holder_of(thread, cull);

	if (!holder)
		return;
	for (uint32_t i = look % (LOOKS / 4); limit < ticks && i < segment_count(cull);
	     i += LOOKS / 4)
		write_segment(thread, cull, i, ticks - limit, ticks - interval);
	for (uint32_t i = look; i < CULL_STACKS_HEADS; i += LOOKS)
		cull_stacks_write(&cull->stacks, i, thread, holder->scratch);
}

static never_inline void look_around_slow(struct thread *thread, struct cull *cull, uint64_t due,
					  uint64_t ticks)
{
	uint64_t interval = __atomic_load_n(&cull->interval, __ATOMIC_RELAXED);
	uint64_t pieces = due && interval ? (ticks - due) / interval + 1 : 1;
	struct slow slow;

	if (!__atomic_compare_exchange_n(&cull->next_look, &due, ticks + interval, false,
					 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return; // another thread does
	slow_begin(&slow);
	measure(cull);
	for (uint64_t i = 0; i < pieces && i < LOOKS && thread->cursor; i++)
		look_at_piece(thread, cull, ticks);
	slow_end(&slow);
}

void cull_look_around(struct thread *thread, uint64_t ticks)
{
	struct cull *cull = get(thread);
	uint64_t due = cull ? __atomic_load_n(&cull->next_look, __ATOMIC_RELAXED) : NEVER;

	if (unlikely(ticks >= due) && thread->cursor && !thread->forked &&
	    !thread_is_former(thread))
		look_around_slow(thread, cull, due, ticks);
}

bool cull_write_all(struct thread *thread)
{
	struct cull *cull = get(thread);
	struct cull_holder *holder;

	if (!cull)
		return true;
	holder = thread->forked ? NULL : holder_of(thread, cull);
	if (!holder)
		return false;
	for (uint32_t i = 0; i < segment_count(cull); i++)
		write_segment(thread, cull, i, NEVER, NEVER);
	for (uint32_t i = 0; i < CULL_STACKS_HEADS; i++)
		cull_stacks_write(&cull->stacks, i, thread, holder->scratch);
	return true;
}

void cull_lose(enum trace_loss reason)
{
	struct cull *cull = current();

	for (uint32_t i = 1; cull && i < segment_count(cull) << SEGMENT_BITS; i++) {
		const struct cull_entry *entry = entry_at(cull, i);

		if (entry && entry->address && !entry->written &&
		    cull_table_take_this(&cull->table, entry->address, i))
			process_count_loss(reason);
	}
	for (uint32_t i = 0; cull && i < CULL_STACKS_HEADS; i++)
		process_count_losses(reason, cull_stacks_drop(&cull->stacks, i));
}

bool cull_finish(struct thread *thread)
{
	struct cull *cull = get(thread);

	if (!cull)
		return true;
	__atomic_store_n(&cull->finished, 1, __ATOMIC_SEQ_CST);
	return cull_write_all(thread);
}

void cull_resume(void)
{
	struct cull *cull = current();

	if (cull)
		__atomic_store_n(&cull->finished, 0, __ATOMIC_SEQ_CST);
}

void cull_forget(void)
{
	struct cull *cull = current();

	if (!cull)
		return;
	__atomic_store_n(&process->cull, NULL, __ATOMIC_RELEASE);
	pool_empty(cull->table.words, sizeof(cull->table.words));
	pool_empty(cull->stacks.heads, sizeof(cull->stacks.heads));
}

void cull_thread_ends(struct thread *thread)
{
	struct cull *cull = get(thread);
	struct cull_holder *holder = thread->holder;

	thread->holder = NULL;
	if (!cull || !holder || holder->cull != cull)
		return;
	if (holder->newest)
		entry_at(cull, holder->newest)->last = true;
	__atomic_store_n(&holder->newest, 0, __ATOMIC_RELAXED);
	if (!slow_try_lock(&cull->idle_lock))
		return; // one less: nobody waits for a lock here
	holder->next_idle = cull->idle;
	cull->idle = holder;
	slow_unlock(&cull->idle_lock);
}
