/*
 * The rules found so far, by pc: an insert-only, lock-free hash table with open addressing. An
 * entry is
 *
 *   word = pc << 16 | rule        0: empty; rule RULE_NONE: forgotten, to be found again
 *   id   = the frame's id in the recording, 0: none yet
 *
 * The id lies beside the rule because a capture needs both. A word never changes its pc, so the id
 * belongs to the pc for good.
 *
 * A full table is replaced by one of twice the size. The old one is never freed, since a reader may
 * be in the middle of it. While nothing is forgotten, all old ones together are smaller than the
 * current one.
 *
 * All functions but rule_table_forget() may run in any thread, and in a signal handler that
 * interrupted any of them.
 */
#ifndef MALLOW_AGENT_UNWIND_RULE_TABLE_H
#define MALLOW_AGENT_UNWIND_RULE_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RULE_TABLE_PC_BITS 48 /* user addresses have fewer bits; a higher pc is never kept */

struct rule_entry {
	_Atomic uint64_t word;
	_Atomic uint32_t id;
};

struct rule_table {
	uint64_t mask;
	uint64_t shift;     /* of the hash: 64 - log2(mask + 1) */
	atomic_size_t used; /* words that are not empty */
	struct rule_entry entries[];
};

/* Hidden, or each look-up would go through the GOT. */
extern struct rule_table *_Atomic rule_table_current __attribute__((visibility("hidden")));

/* Before everything else. allocate: see struct unwind_host. */
void rule_table_init(void *(*allocate)(size_t size));

static inline size_t rule_table_home(const struct rule_table *table, uint64_t pc)
{
	return (size_t)(pc * UINT64_C(0x9e3779b97f4a7c15) >> table->shift);
}

/*
 * Finds the packed rule of pc (RULE_NONE: not known) and returns the place of its word, for
 * rule_table_id_at(). table may be any that was current.
 */
static inline size_t rule_table_place(const struct rule_table *table, uint64_t pc, unsigned *rule)
{
	for (size_t i = rule_table_home(table, pc);; i++) {
		uint64_t word = atomic_load_explicit(&table->entries[i & table->mask].word,
						     memory_order_relaxed);

		if (word >> 16 == pc || word == 0) {
			*rule = (unsigned)(word & 0xffff);
			return i & table->mask;
		}
	}
}

static inline unsigned rule_table_find(const struct rule_table *table, uint64_t pc)
{
	unsigned rule;

	rule_table_place(table, pc, &rule);
	return rule;
}

/* The id at a place that rule_table_place() returned. 0: none yet. */
static inline uint32_t rule_table_id_at(const struct rule_table *table, size_t place)
{
	return atomic_load_explicit(&table->entries[place].id, memory_order_acquire);
}

/* Keeps a rule if there is room and nobody is growing the table at this moment. */
void rule_table_insert(uint64_t pc, uint16_t rule);

/* The frame's id. 0: none. */
uint32_t rule_table_id(uint64_t pc);

/* Returns the valid id: the given one, unless another thread set one first. */
uint32_t rule_table_set_id(uint64_t pc, uint32_t id);

/* Calls each(argument, pc, id) for every id that the current table has. */
void rule_table_each_id(void (*each)(void *argument, uint64_t pc, uint32_t id), void *argument);

/* Forgets rules and ids of start <= pc - 1 < end. Not from a signal handler. */
void rule_table_forget(uint64_t start, uint64_t end);

/* In a forked child: forgets all ids and frees the lock, whose holder does not exist there. */
void rule_table_after_fork(void);

/* Bytes of all tables, the old ones too. */
size_t rule_table_memory(void);

#endif
