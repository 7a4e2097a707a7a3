#include "agent/live/block_table.h"

#include <stddef.h>

#include "agent/live/add.h"
#include "base/compiler.h"

#define always_inline static inline __attribute__((always_inline))

/* Of a large block whose address and size are not there yet. */
#define STATE_BUSY UINT64_C(1)

always_inline uint64_t *group_end(uint64_t *words, uint32_t name)
{
	return words + (uint64_t)LIVE_CELL_WORDS * live_group_cells(name);
}

/* The small block's entry, or NULL. */
static uint64_t *find_small(const struct block_table *table, struct block_near *near,
			    uint64_t address)
{
	const uint32_t *head = heads_find_small(&table->heads, near ? &near->heads : NULL, address);
	uint64_t start = block_start(address);
	uint32_t name = head ? __atomic_load_n(head, __ATOMIC_ACQUIRE) : 0;

	while (name) {
		uint64_t *words = cells_at(&table->cells, live_group_number(name));
		uint64_t *end = group_end(words, name);

		for (uint64_t *word = words + 1; word < end; word++) {
			if ((__atomic_load_n(word, __ATOMIC_RELAXED) & BLOCK_START_MASK) != start)
				continue;
			if (near)
				block_near_note(near, address, word);
			return word;
		}
		name = (uint32_t)words[0];
	}
	return NULL;
}

/* Puts a group that was filled in front of a region's. */
static void push_group(uint32_t *head, uint32_t name, uint64_t *words)
{
	uint32_t first = __atomic_load_n(head, __ATOMIC_RELAXED);

	do
		words[0] = first;
	while (!__atomic_compare_exchange_n(head, &first, name, true, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED));
}

/* The region has so many groups, which are full. */
static uint64_t *add_group(struct block_table *table, uint32_t *head, unsigned int groups,
			   uint64_t entry)
{
	// 3 + 7 + 7 + 15 entries: as many as there are blocks of 32 bytes in a region.
	unsigned int log = groups == 0 ? 0 : groups < 3 ? 1 : 2;
	uint64_t *words;
	uint32_t number = cells_take(&table->cells, log, &words);

	if (!number)
		return NULL;
	words[1] = entry;
	push_group(head, live_group_name(number, log), words);
	return &words[1];
}

/* Where a block that is to be put into a region was looked for. */
struct look {
	uint64_t *same; /* entry of one that begins there, or NULL */
	uint64_t *free; /* the first free entry, or NULL */
	unsigned int groups;
};

always_inline struct look look_through(const struct block_table *table, const uint32_t *head,
				       uint64_t start)
{
	uint32_t name = __atomic_load_n(head, __ATOMIC_ACQUIRE);
	struct look look = {0};

	while (name) {
		uint64_t *words = cells_at(&table->cells, live_group_number(name)),
			 *end = group_end(words, name);

		for (uint64_t *word = words + 1; word < end; word++) {
			uint64_t entry = __atomic_load_n(word, __ATOMIC_RELAXED);

			if (!entry)
				look.free = look.free ? look.free : word;
			else if (unlikely((entry & BLOCK_START_MASK) == start))
				look.same = word;
		}
		look.groups++;
		name = (uint32_t)words[0];
	}
	return look;
}

/* Returns the entry; NULL: there is no room. */
static uint64_t *put_into(struct block_table *table, uint32_t *head, uint64_t entry,
			  struct known_block *stale)
{
	struct look look;

	// Another thread may come first to an entry: there is another one.
	do {
		look = look_through(table, head, entry & BLOCK_START_MASK);
		if (unlikely(look.same)) {
			block_from_entry(stale, __atomic_load_n(look.same, __ATOMIC_RELAXED));
			__atomic_store_n(look.same, entry, __ATOMIC_RELAXED);
			return look.same;
		}
		if (!look.free)
			return add_group(table, head, look.groups, entry);
	} while (unlikely(!add_claim(look.free, entry)));
	return look.free;
}

static bool put_small(struct block_table *table, struct block_near *near, uint64_t address,
		      uint64_t entry, struct known_block *stale)
{
	uint32_t *head = heads_find_small(&table->heads, &near->heads, address);
	uint64_t *place;

	if (unlikely(!head))
		head = heads_reach(&table->heads, LIVE_MAP_SMALL, address);
	place = head ? put_into(table, head, entry, stale) : NULL;
	if (place)
		block_near_note(near, address, place);
	return place != NULL;
}

/* The large block that begins there, as the words of its cell, or NULL. */
static uint64_t *find_in_map(const struct block_table *table, unsigned int map, uint64_t address)
{
	const uint32_t *head = heads_find(&table->heads, map, address);
	uint32_t name = head ? __atomic_load_n(head, __ATOMIC_ACQUIRE) : 0;

	while (name) {
		uint64_t *words = cells_at(&table->cells, live_group_number(name));

		if (__atomic_load_n(&words[LIVE_WORD_STATE], __ATOMIC_ACQUIRE) >>
			    LIVE_LARGE_SHIFT &&
		    __atomic_load_n(&words[LIVE_WORD_ADDRESS], __ATOMIC_RELAXED) == address)
			return words;
		name = (uint32_t)words[0];
	}
	return NULL;
}

static uint64_t *find_large(const struct block_table *table, uint64_t address)
{
	uint64_t *words = NULL;

	for (unsigned int map = LIVE_MAP_SMALL + 1; !words && map < LIVE_MAPS; map++)
		words = find_in_map(table, map, address);
	return words;
}

static bool take_large(const struct block_table *table, uint64_t address, struct known_block *ret)
{
	uint64_t *words = find_large(table, address), state;

	if (!words)
		return false;
	state = __atomic_load_n(&words[LIVE_WORD_STATE], __ATOMIC_RELAXED);
	ret->owner = (uint32_t)(state >> LIVE_LARGE_SHIFT);
	ret->time = (uint32_t)state;
	ret->size = __atomic_load_n(&words[LIVE_WORD_SIZE], __ATOMIC_RELAXED);
	__atomic_store_n(&words[LIVE_WORD_STATE], 0, __ATOMIC_RELEASE);
	return true;
}

static void fill_large(uint64_t *words, uint64_t address, const struct known_block *block)
{
	__atomic_store_n(&words[LIVE_WORD_ADDRESS], address, __ATOMIC_RELAXED);
	__atomic_store_n(&words[LIVE_WORD_SIZE], block->size, __ATOMIC_RELAXED);
	__atomic_store_n(&words[LIVE_WORD_STATE],
			 (uint64_t)block->owner << LIVE_LARGE_SHIFT | block->time,
			 __ATOMIC_RELEASE);
}

/* A cell of the region's that nobody has. NULL: there is none. */
static uint64_t *claim_large(const struct block_table *table, const uint32_t *head)
{
	uint32_t name = __atomic_load_n(head, __ATOMIC_ACQUIRE);

	while (name) {
		uint64_t *words = cells_at(&table->cells, live_group_number(name)), none = 0;

		if (__atomic_compare_exchange_n(&words[LIVE_WORD_STATE], &none, STATE_BUSY, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return words;
		name = (uint32_t)words[0];
	}
	return NULL;
}

static bool put_large(struct block_table *table, uint64_t address, const struct known_block *block,
		      struct known_block *stale)
{
	uint32_t *head = heads_reach(&table->heads, live_map_of(block->size), address), number;
	uint64_t *words;

	if (!head)
		return false;
	// What is still there may be of any size.
	block_table_take(table, NULL, address, stale);
	words = claim_large(table, head);
	if (words) {
		fill_large(words, address, block);
		return true;
	}
	number = cells_take(&table->cells, 0, &words);
	if (!number)
		return false;
	fill_large(words, address, block);
	push_group(head, live_group_name(number, 0), words);
	return true;
}

bool block_table_put(struct block_table *table, struct block_near *near, uint64_t address,
		     const struct known_block *block, struct known_block *stale)
{
	stale->owner = 0;
	if (unlikely(address & 7))
		return false;
	if (unlikely(block->size >= LIVE_LARGE_MIN))
		return put_large(table, address, block, stale);
	return put_small(table, near, address, block_entry(address, block), stale);
}

bool block_table_take(const struct block_table *table, struct block_near *near, uint64_t address,
		      struct known_block *ret)
{
	uint64_t *entry;

	if (unlikely(address & 7))
		return false;
	entry = find_small(table, near, address);
	if (!entry)
		return take_large(table, address, ret);
	block_from_entry(ret, __atomic_load_n(entry, __ATOMIC_RELAXED));
	__atomic_store_n(entry, 0, __ATOMIC_RELAXED);
	return true;
}

/* Of an entry or a state. */
static bool change(uint64_t *word, unsigned int shift, uint32_t from, uint32_t to)
{
	uint64_t before = __atomic_load_n(word, __ATOMIC_RELAXED);

	return before >> shift == from &&
	       __atomic_compare_exchange_n(word, &before,
					   (uint64_t)to << shift |
						   (before & ((UINT64_C(1) << shift) - 1)),
					   false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

bool block_table_change_owner(const struct block_table *table, uint64_t address, uint32_t from,
			      uint32_t to)
{
	uint64_t *entry = address & 7 ? NULL : find_small(table, NULL, address);
	uint64_t *large = entry ? NULL : find_large(table, address);

	if (entry)
		return change(entry, LIVE_OWNER_SHIFT, from, to);
	return large && change(&large[LIVE_WORD_STATE], LIVE_LARGE_SHIFT, from, to);
}

/* One that is being filled stays. */
static void empty_large(const void *argument, const uint32_t *head)
{
	const struct block_table *table = argument;
	uint32_t name = __atomic_load_n(head, __ATOMIC_ACQUIRE);

	while (name) {
		uint64_t *words = cells_at(&table->cells, live_group_number(name));
		uint64_t state = __atomic_load_n(&words[LIVE_WORD_STATE], __ATOMIC_RELAXED);

		if (state != STATE_BUSY)
			__atomic_compare_exchange_n(&words[LIVE_WORD_STATE], &state, 0, false,
						    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
		name = (uint32_t)words[0];
	}
}

static void empty_small(const void *argument, const uint32_t *head)
{
	const struct block_table *table = argument;
	uint32_t name = __atomic_load_n(head, __ATOMIC_ACQUIRE);

	while (name) {
		uint64_t *words = cells_at(&table->cells, live_group_number(name)),
			 *end = group_end(words, name);

		for (uint64_t *word = words + 1; word < end; word++)
			__atomic_store_n(word, 0, __ATOMIC_RELAXED);
		name = (uint32_t)words[0];
	}
}

void block_table_empty(const struct block_table *table)
{
	for (unsigned int map = 0; map < LIVE_MAPS; map++)
		heads_each(&table->heads, map, map == LIVE_MAP_SMALL ? empty_small : empty_large,
			   table);
}

void block_table_release(struct block_table *table)
{
	heads_release(&table->heads);
}
