/*
 * The allocations that are held back (cull.h), and the threads that they belong to:
 *
 *   thread ──► holder: its unused entries, what others put back, its newest
 *   table:     address ──► number of an entry ──► segments[]: entries, each of one holder for good
 *
 * A process has one `struct cull`. None of it is ever freed, since other threads may look at it.
 */
#ifndef MALLOW_AGENT_CULL_CULL_ENTRIES_H
#define MALLOW_AGENT_CULL_CULL_ENTRIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/arch/machine.h"

/*
 * The distinct stacks of allocations that were held back (cull.h), each with the sums of what was
 * culled there. A hash table with chains, shared by all threads; nothing is removed:
 *
 *   heads[hash] ──► stack ──► stack ──► NULL          a new one goes in front
 *
 * Frames are kept by their ids in the recording: these stay true when their module is gone.
 *
 * Lock-free. If a thread is interrupted for good in the middle of something, a piece of memory
 * stays unused.
 */
#define CULL_STACKS_HEADS 65536u
#define CULL_STACKS_MAX   (256u << 20) /* bytes in all */

struct stack_cache;
struct thread;

struct cull_stack {
	struct cull_stack *next;
	uint64_t hash;
	uint64_t calls, bytes, temporary; /* atomic: culled, and not yet written */
	uint32_t id;                      /* atomic: in the recording; 0: not defined there */
	uint32_t depth;
	uint64_t frames[]; /* outermost first: id * 2 + 1, or pc * 2 of a frame without an id */
};

/* Zero: empty. */
struct cull_stacks {
	struct cull_stack *heads[CULL_STACKS_HEADS]; /* atomic */
	uint64_t used;                               /* atomic: bytes */
	uint32_t next_id;                            /* atomic */
};

/* A thread's memory for new stacks. Zero: none yet. */
struct cull_room {
	uint8_t *next;
	size_t left;
};

/*
 * Finds or adds the stack that the cache holds. It must be settled, and its frames must have ids.
 * NULL: no room.
 */
struct cull_stack *cull_stacks_find(struct cull_stacks *stacks, struct cull_room *room,
				    const struct stack_cache *cache);

/* Adds to the sums of what was culled. Any thread, at any time. */
static inline void cull_stack_count(struct cull_stack *stack, uint64_t calls, uint64_t bytes,
				    bool temporary)
{
	__atomic_fetch_add(&stack->bytes, bytes, __ATOMIC_RELAXED);
	__atomic_fetch_add(&stack->calls, calls, __ATOMIC_RELAXED);
	if (temporary)
		__atomic_fetch_add(&stack->temporary, 1, __ATOMIC_RELAXED);
}

/*
 * The id of a stack in the recording; defines it there, by `thread`, if need be. scratch:
 * CULL_SCRATCH bytes. 0: it could not be written, which is counted.
 */
#define CULL_SCRATCH 4096
uint32_t cull_stack_define(struct cull_stacks *stacks, struct cull_stack *stack,
			   struct thread *thread, uint8_t *scratch);

/*
 * Writes the sums of the stacks of one head, by `thread`, and sets them to 0. In a signal bracket,
 * so that nothing is lost in between.
 */
void cull_stacks_write(struct cull_stacks *stacks, uint32_t head, struct thread *thread,
		       uint8_t *scratch);

/* Drops these sums instead. Returns how many allocations that were. */
uint64_t cull_stacks_drop(struct cull_stacks *stacks, uint32_t head);

/*
 * The addresses of blocks that are held back (cull.h), each with the number of its entry:
 *
 *   buckets of 16 words, by hash of the address      word: address / 8 << 20 | number, 0: free
 *
 * An address is in its own bucket or nowhere. A thread that takes a word out of the table owns the
 * entry; if several try, one succeeds. The word is there as long as the entry may be taken, so one
 * word never stands for two blocks.
 *
 * Lock-free and async-signal-safe.
 */
#define CULL_NUMBER_BITS (64 - (ARCH_ADDRESS_BITS - 3)) /* of entries, 0 being none */
#define CULL_BUCKET      16
#define CULL_BUCKET_BITS 16

/* Zero: empty. 8 MiB, touched as far as it is used. */
struct cull_table {
	uint64_t words[(1u << CULL_BUCKET_BITS) * CULL_BUCKET]; /* atomic */
};

/*
 * Puts an entry in. false: its bucket is full, or it is no address of a program. *stale: an older
 * entry with this address, whose block ended unseen; it was taken out, and is the caller's now. 0:
 * there was none.
 */
bool cull_table_put(struct cull_table *table, uint64_t address, uint32_t number, uint32_t *stale);

/* Takes the entry with that address out, which is the caller's now. 0: there is none. */
uint32_t cull_table_take(struct cull_table *table, uint64_t address);

/* Takes this entry out. false: it is not there, or another thread has taken it. */
bool cull_table_take_this(struct cull_table *table, uint64_t address, uint32_t number);

#define CULL_SEGMENT_BITS    7
#define CULL_SEGMENT_ENTRIES (1u << CULL_SEGMENT_BITS)
#define CULL_SEGMENTS        4096u /* 512 Ki entries: half of what the table has words for */
#define CULL_NEVER           UINT64_MAX
#define CULL_CHAIN_MAX       1024 /* reallocs in one chain; a longer chain is written */

struct thread;

/* An allocation that is held back. The thread of its holder fills it; whoever took it reads it. */
struct cull_entry {
	uint64_t address;
	uint64_t ticks;
	uint64_t born; /* when its chain began; equal to ticks if it has no chain */
	uint64_t size;
	union {
		uint64_t alignment;
		uint64_t duration; /* of a realloc: ticks from the old block's end to this one */
	};
	uint64_t slack;
	struct cull_stack *stack;
	struct cull_holder *holder; /* always the same */
	uint32_t stream;
	uint32_t tag;
	uint32_t next; /* next unused entry */
	uint8_t operation;
	uint8_t heap_flags;
	bool written;    /* already an event; kept only because it is its thread's newest */
	bool last;       /* the newest of a thread that has ended */
	bool temporary;  /* it was the newest when it was taken */
	uint16_t length; /* of the chain before this entry */
	/*
	 * The entry of the block that the realloc replaced; 0: none. It is in the chain, but not in
	 * the table, until the chain is decided.
	 */
	uint32_t before;
};

/* A thread's entries. The next thread gets them when it ends. */
struct cull_holder {
	uint32_t unused;       /* its own list */
	uint32_t returned;     /* atomic: list of those that other threads put back */
	uint32_t newest;       /* atomic: an entry; 0: none, or not known */
	struct cull *cull;     /* the one that its entries belong to */
	struct cull_room room; /* for stacks */
	struct cull_holder *next_idle;
	uint8_t scratch[CULL_SCRATCH];
};

/* Zero: nothing held back. */
struct cull {
	struct cull_table table;
	struct cull_stacks stacks;
	struct cull_entry *segments[CULL_SEGMENTS]; /* atomic, the first count of them */
	uint32_t count;                             /* atomic, may exceed SEGMENTS */
	uint32_t finished;                          /* atomic */
	uint64_t start_ns, start_ticks;             /* when it was made, in this order */
	uint64_t limit;     /* atomic: the age at which blocks are old, ticks */
	uint64_t interval;  /* atomic: ticks between looks */
	uint64_t next_look; /* atomic: ticks */
	uint32_t look;      /* atomic: number of the next one */
	uint32_t idle_lock;
	struct cull_holder *idle; /* of threads that ended */
};

/* The process's. NULL: nothing was held back yet. */
struct cull *cull_current(void);

/* The same, made if need be. NULL: no memory. */
struct cull *cull_make(void);

/* The thread's entries. NULL: no memory. */
struct cull_holder *cull_holder(struct thread *thread, struct cull *cull);

/* Leaves the holder to the next thread. In a signal bracket. */
void cull_leave_holder(struct cull *cull, struct cull_holder *holder);

/*
 * Takes an unused entry of the calling thread's holder. If a handler leaves the caller by longjmp,
 * the entry stays unused. 0: no memory.
 */
uint32_t cull_take_unused(struct cull *cull, struct cull_holder *holder);

/* Gives an entry back, which is the caller's. in_handler: the thread may be using its own list. */
void cull_give_back(struct thread *thread, struct cull *cull, uint32_t number, bool in_handler);

/* How many segments there are; the last ones may be NULL for a moment. */
static inline uint32_t cull_segments(const struct cull *cull)
{
	uint32_t count = __atomic_load_n(&cull->count, __ATOMIC_RELAXED);

	return count < CULL_SEGMENTS ? count : CULL_SEGMENTS;
}

/* When the block was allocated: for a realloc, its end. */
static inline uint64_t cull_made(const struct cull_entry *entry)
{
	return entry->ticks + (entry->before ? entry->duration : 0);
}

/* Entries are numbered from 1. NULL: there is none with that number. */
static inline struct cull_entry *cull_entry(struct cull *cull, uint32_t number)
{
	struct cull_entry *segment =
		__atomic_load_n(&cull->segments[number >> CULL_SEGMENT_BITS], __ATOMIC_ACQUIRE);

	return segment ? &segment[number & (CULL_SEGMENT_ENTRIES - 1)] : NULL;
}

#endif
