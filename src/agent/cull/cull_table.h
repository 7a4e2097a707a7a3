/*
 * The addresses of blocks that are held back (cull.h), each with the number of its entry:
 *
 *   buckets of 16 words, by hash of the address      word: address / 8 << 20 | number, 0: free
 *
 * An address is in its own bucket or nowhere. Whoever takes a word out of the table has the entry
 * to itself: of several that try, one is told so. An entry's word is there for as long as it may
 * be taken, so that the same word never means another block.
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
 * false: its bucket is full, or it is no address of a program. *stale receives the entry that was
 * there with this address, and is the caller's now, or 0: the end of that block was not seen.
 */
bool cull_table_put(struct cull_table *table, uint64_t address, uint32_t number, uint32_t *stale);

/* The entry with that address, which is the caller's now; 0: there is none. */
uint32_t cull_table_take(struct cull_table *table, uint64_t address);

/* The same for one entry. false: it is not there, or somebody else's. */
bool cull_table_take_this(struct cull_table *table, uint64_t address, uint32_t number);

#endif
