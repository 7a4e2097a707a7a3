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
#ifndef MALLOW_AGENT_CULL_CULL_TABLE_H
#define MALLOW_AGENT_CULL_CULL_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#define CULL_NUMBER_BITS 20 /* of entries, 0 being none */
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

#endif
