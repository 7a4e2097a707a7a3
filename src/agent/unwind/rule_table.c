/* Inserting into, growing and pruning the table of rules. See rule_table.h. */
#include "agent/unwind/rule_table.h"

#include "agent/unwind/rule.h"
#include "base/compiler.h"

#define FIRST_CAPACITY 4096

/* At 5/8 a miss still ends after three words; clang++ with 18.8 k rules stays at 512 KiB. */
#define TABLE_FULL(capacity) ((capacity) / 8 * 5)

/* The table before unwind_init(), or without memory: always empty. */
static struct rule_table no_table = {.shift = 63, .entries = {{0}}};

struct rule_table *_Atomic rule_table_current = &no_table;

static void *(*allocate_pages)(size_t size);
static atomic_flag grow_lock = ATOMIC_FLAG_INIT;
static atomic_size_t table_bytes;

static struct rule_table *current_table(void)
{
	return atomic_load_explicit(&rule_table_current, memory_order_acquire);
}

/* Whether the table may take one more word. no_table never may. */
static bool has_room(struct rule_table *table)
{
	return atomic_load_explicit(&table->used, memory_order_relaxed) <
	       TABLE_FULL(table->mask + 1);
}

static struct rule_table *create_table(size_t capacity)
{
	size_t size = sizeof(struct rule_table) + capacity * sizeof(struct rule_entry);
	struct rule_table *table = allocate_pages(size);

	if (!table)
		return NULL;
	table->mask = capacity - 1;
	table->shift = 64 - (uint64_t)__builtin_ctzll(capacity);
	atomic_fetch_add_explicit(&table_bytes, size, memory_order_relaxed);
	return table;
}

void rule_table_init(void *(*allocate)(size_t size))
{
	struct rule_table *table;

	allocate_pages = allocate;
	table = create_table(FIRST_CAPACITY);
	if (table)
		atomic_store_explicit(&rule_table_current, table, memory_order_release);
}

/* The index of pc's word, SIZE_MAX if it has none. */
static size_t find_index(struct rule_table *table, uint64_t pc)
{
	for (size_t i = rule_table_home(table, pc);; i++) {
		uint64_t word = atomic_load_explicit(&table->entries[i & table->mask].word,
						     memory_order_relaxed);

		if (word >> 16 == pc)
			return i & table->mask;
		if (word == 0)
			return SIZE_MAX;
	}
}

/*
 * Puts the word at the first free place for its pc, or over a forgotten one of the same pc. There
 * is an empty place, although several writers may pass has_room() together: they exceed the limit
 * by their number at most.
 */
static size_t put_word(struct rule_table *table, uint64_t new)
{
	for (size_t i = rule_table_home(table, new >> 16);; i++) {
		_Atomic uint64_t *place = &table->entries[i & table->mask].word;
		uint64_t old = atomic_load_explicit(place, memory_order_relaxed);

		if (old == 0) {
			if (atomic_compare_exchange_strong_explicit(
				    place, &old, new, memory_order_release, memory_order_relaxed)) {
				atomic_fetch_add_explicit(&table->used, 1, memory_order_relaxed);
				return i & table->mask;
			}
		}
		if (old >> 16 != new >> 16)
			continue;
		// Another thread put the same rule there first, unless it was forgotten since.
		if ((old & 0xffff) == RULE_NONE)
			atomic_compare_exchange_strong_explicit(
				place, &old, new, memory_order_release, memory_order_relaxed);
		return i & table->mask;
	}
}

/* Twice the size, unless more than half of the words are forgotten ones. */
static size_t next_capacity(struct rule_table *table)
{
	size_t known = 0;

	for (size_t i = 0; i <= table->mask; i++) {
		uint64_t word = atomic_load_explicit(&table->entries[i].word, memory_order_relaxed);

		known += (word & 0xffff) != RULE_NONE;
	}
	return known < TABLE_FULL(table->mask + 1) / 2 ? table->mask + 1 : (table->mask + 1) * 2;
}

static void copy_table(struct rule_table *from, struct rule_table *to)
{
	for (size_t i = 0; i <= from->mask; i++) {
		uint64_t word = atomic_load_explicit(&from->entries[i].word, memory_order_acquire);
		uint32_t id = atomic_load_explicit(&from->entries[i].id, memory_order_relaxed);

		// Forgotten words are left behind: nobody looks for them any more.
		if ((word & 0xffff) != RULE_NONE)
			atomic_store_explicit(&to->entries[put_word(to, word)].id, id,
					      memory_order_relaxed);
	}
}

/*
 * What other threads insert into the old table while it is copied may be lost. A lost rule is
 * found again; a lost id makes the frame get a second one, which the format allows.
 */
static never_inline void grow_table_slow(struct rule_table *table)
{
	struct rule_table *bigger;

	if (table->mask == 0)
		return;
	if (atomic_flag_test_and_set_explicit(&grow_lock, memory_order_acquire))
		return;
	bigger = current_table() == table ? create_table(next_capacity(table)) : NULL;
	if (bigger) {
		copy_table(table, bigger);
		// A compare-and-swap, because the lock may not hold: a signal handler may have
		// forked and freed it (rule_table_after_fork()).
		atomic_compare_exchange_strong_explicit(&rule_table_current, &table, bigger,
							memory_order_release, memory_order_relaxed);
	}
	atomic_flag_clear_explicit(&grow_lock, memory_order_release);
}

void rule_table_insert(uint64_t pc, uint16_t rule)
{
	struct rule_table *table = current_table();

	if (pc >> RULE_TABLE_PC_BITS || rule == RULE_NONE)
		return;
	if (unlikely(!has_room(table))) {
		grow_table_slow(table);
		table = current_table();
		if (!has_room(table))
			return;
	}
	put_word(table, pc << 16 | rule);
}

uint32_t rule_table_id(uint64_t pc)
{
	struct rule_table *table = current_table();
	size_t index = find_index(table, pc);

	return index == SIZE_MAX
		       ? 0
		       : atomic_load_explicit(&table->entries[index].id, memory_order_acquire);
}

uint32_t rule_table_set_id(uint64_t pc, uint32_t id)
{
	struct rule_table *table = current_table();
	size_t index = find_index(table, pc);
	uint32_t old = 0;

	if (index == SIZE_MAX)
		return id;
	if (atomic_compare_exchange_strong_explicit(&table->entries[index].id, &old, id,
						    memory_order_acq_rel, memory_order_acquire))
		return id;
	return old;
}

void rule_table_each_id(void (*each)(void *argument, uint64_t pc, uint32_t id), void *argument)
{
	struct rule_table *table = current_table();

	for (size_t i = 0; i <= table->mask; i++) {
		uint32_t id = atomic_load_explicit(&table->entries[i].id, memory_order_acquire);

		if (id != 0)
			each(argument,
			     atomic_load_explicit(&table->entries[i].word, memory_order_relaxed) >>
				     16,
			     id);
	}
}

void rule_table_forget(uint64_t start, uint64_t end)
{
	struct rule_table *table;

	// Waits for the lock: a copy that is being made would bring the forgotten rules back. The
	// holder is another thread in a bounded loop, never one that this thread interrupted.
	while (atomic_flag_test_and_set_explicit(&grow_lock, memory_order_acquire))
		compiler_barrier();
	table = current_table();
	for (size_t i = 0; table->mask && i <= table->mask; i++) {
		uint64_t word = atomic_load_explicit(&table->entries[i].word, memory_order_relaxed);
		uint64_t position = (word >> 16) - 1;

		if (word == 0 || position < start || position >= end)
			continue;
		atomic_store_explicit(&table->entries[i].word, word & ~UINT64_C(0xffff),
				      memory_order_relaxed);
		atomic_store_explicit(&table->entries[i].id, 0, memory_order_relaxed);
	}
	atomic_flag_clear_explicit(&grow_lock, memory_order_release);
}

void rule_table_after_fork(void)
{
	struct rule_table *table = current_table();

	atomic_flag_clear_explicit(&grow_lock, memory_order_relaxed);
	for (size_t i = 0; table->mask && i <= table->mask; i++) {
		// Untouched pages of the table stay shared with the parent.
		if (atomic_load_explicit(&table->entries[i].id, memory_order_relaxed) != 0)
			atomic_store_explicit(&table->entries[i].id, 0, memory_order_relaxed);
	}
}

size_t rule_table_memory(void)
{
	return atomic_load_explicit(&table_bytes, memory_order_relaxed);
}
