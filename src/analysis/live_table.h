/*
 * Which block is live at an address, while a recording is loaded: a hash table that holds all
 * that the end of a block has to know of it, so that a free costs one cache line, and that line
 * can be asked for in advance. Open addressing, linear probing, removal by shifting back; at most
 * half full, since runs at three quarters are three times as long, and each end of a run is a
 * branch that no processor can foresee.
 */
#ifndef MALLOW_ANALYSIS_LIVE_TABLE_H
#define MALLOW_ANALYSIS_LIVE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct live_block {
	uint64_t address;
	uint64_t number; /* of the block, from 1; 0: a free place */
	uint64_t size;
	uint32_t site;
	uint32_t thread;
};

/* Zeroed: empty. */
struct live_table {
	struct live_block *places; /* 1 << (64 - shift) of them */
	size_t count;
	size_t limit; /* count at which it grows */
	unsigned int shift;
};

void live_table_deinit(struct live_table *table);

/*
 * The place of an address. A new one has number 0, which the caller replaces before the next
 * call. Valid until then. NULL: no memory, nothing changed.
 */
struct live_block *live_table_put(struct live_table *table, uint64_t address);

/* Removes the block at the address; false: there is none. */
bool live_table_take(struct live_table *table, uint64_t address, struct live_block *ret);

/* Addresses are multiples of 16 in bursts; the multiplication spreads them over the upper bits. */
static inline size_t live_table_home(const struct live_table *table, uint64_t address)
{
	return (size_t)((address ^ address >> 32) * 0x9e3779b97f4a7c15ull >> table->shift);
}

/*
 * The address will be put or taken soon. gcc holds a function that only prefetches for one without
 * effect, and drops its calls before it would inline them: hence the attribute.
 */
__attribute__((always_inline)) static inline void live_table_expect(const struct live_table *table,
								    uint64_t address)
{
	if (table->places) {
		const struct live_block *home = &table->places[live_table_home(table, address)];

		// A run most often ends within three places: in the same line of memory or the
		// next.
		__builtin_prefetch(home, 1);
		__builtin_prefetch(home + 2, 1);
	}
}

#endif
