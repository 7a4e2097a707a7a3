#include "agent/live_blocks/small_blocks.h"

/*
 * A region has room for twelve blocks of this size, with glibc's 8 bytes for each. Then a full
 * group costs 22 bytes a block, and with the group of 3 before it 29 % of the region.
 */
#define CLOSE_SIZE  72
#define CLOSE_MANY  12
#define CLOSE_FIRST 3 /* so many of them may lie in the group that was there before */

/* For larger blocks than this a wide group of 7 is enough: a region has few of them. */
#define SPARSE_SIZE 256u

static uint64_t *words_end(uint64_t *words, uint32_t name)
{
	return words + (uint64_t)LIVE_CELL_WORDS * live_group_cells(name);
}

uint32_t small_blocks_find_in(const struct block_table *table, uint32_t chain, uint64_t address)
{
	uint32_t name = chain;

	if (live_group_is_full(chain))
		name = __atomic_load_n(&small_blocks_full(table, chain)->chain, __ATOMIC_ACQUIRE);
	while (name) {
		uint64_t *words = block_table_group(table, name), *end = words_end(words, name);

		for (uint64_t *word = words + 1; word < end; word++)
			if (block_entry_is_at(word, address))
				return cells_word_number(live_group_number(name),
							 (uint32_t)(word - words));
		name = cells_next(words);
	}
	return 0;
}

/* The result of searching a chain for a place for a block. */
struct look {
	uint32_t same; /* word of the entry of a block at the same address, or 0 */
	uint32_t free; /* the last free entry, or 0 */
	unsigned int groups;
	uint64_t bytes;   /* of all blocks in the chain */
	uint32_t chained; /* struct live_full */
};

/* The bit of an entry that is not free in live_full.chained. */
static uint32_t chained_bit(uint64_t entry)
{
	return 1u << (((entry & BLOCK_START_MASK) - 1) >> (LIVE_FULL_BITS - 3));
}

static struct look look_through(const struct block_table *table, uint32_t name, uint64_t start)
{
	struct look look = {0};

	while (name) {
		uint64_t *words = block_table_group(table, name), *end = words_end(words, name);
		uint32_t number = cells_word_number(live_group_number(name), 1);

		for (uint64_t *word = words + 1; word < end; word++, number++) {
			uint64_t entry = __atomic_load_n(word, __ATOMIC_RELAXED);

			if (!entry) {
				look.free = number;
				continue;
			}
			if (unlikely((entry & BLOCK_START_MASK) == start))
				look.same = number;
			look.bytes += block_entry_size(entry);
			look.chained |= chained_bit(entry);
		}
		look.groups++;
		name = cells_next(words);
	}
	return look;
}

/* Whether the region has a full group and many blocks. */
static bool is_crowded(const struct block_table *table, uint32_t name)
{
	unsigned int count = name & LIVE_FULL_CHAIN ? CLOSE_FIRST : 0;
	const struct live_full *full;

	if (!live_group_is_full(name))
		return false;
	full = small_blocks_full(table, name);
	for (uint32_t i = 0; i < LIVE_FULL_ENTRIES; i++)
		count += __atomic_load_n(&full->entries[i], __ATOMIC_RELAXED) != 0;
	return count >= CLOSE_MANY;
}

/* Whether a region without a free entry gets a full group for this one. */
static bool wants_full(const struct block_table *table, const uint32_t *head,
		       const struct look *look, uint64_t entry)
{
	uint64_t size = block_entry_size(entry);

	// The region before the first one of a leaf is not known.
	if (!look->groups)
		return size <= CLOSE_SIZE && (uintptr_t)head % LIVE_LEAF_SIZE &&
		       is_crowded(table, __atomic_load_n(head - 1, __ATOMIC_ACQUIRE));
	return look->groups == 1 && look->bytes + size <= (uint64_t)CLOSE_SIZE * 4;
}

/* How a try to put a block ended. */
enum end {
	END_PUT,
	END_AGAIN, /* another thread came first */
	END_NO_ROOM,
};

/* A block to be put. */
struct putting {
	uint64_t address;
	uint64_t entry;
	struct known_block *stale;
	uint32_t *word; /* as of small_blocks_put() */
};

/*
 * The bits in the header of a new wide group for the blocks in the chain after it; chained: their
 * bits in live_full.chained.
 */
static uint64_t elsewhere_of(uint32_t name, uint32_t chained)
{
	uint64_t ret = 0;

	for (uint32_t i = 0; i < LIVE_FULL_ENTRIES; i++)
		if (chained >> i & 1)
			ret |= small_blocks_elsewhere(
				small_blocks_wide_index(name, (uint64_t)i << LIVE_FULL_BITS));
	return ret;
}

/*
 * The logarithm of the number of cells of the next group. All groups of a region together have an
 * entry for each 32 bytes.
 */
static unsigned int next_log(const struct look *look, uint64_t entry)
{
	if (!look->groups)
		return 0;
	return look->groups == 1 && look->bytes + block_entry_size(entry) > SPARSE_SIZE * 4 ? 1 : 2;
}

/*
 * Puts the block into a new group in front of a chain, whose first group was `first`. If another
 * thread has changed the chain meanwhile, the new group is wasted.
 */
static enum end add_group(struct block_table *table, uint32_t *chain, uint32_t first,
			  const struct look *look, const struct putting *putting)
{
	unsigned int log = next_log(look, putting->entry);
	uint64_t *words;
	uint32_t number = cells_take(&table->cells, log, &words), index = 1, name;

	if (!number)
		return END_NO_ROOM;
	name = live_group_name(number, log);
	words[0] = first;
	if (log) {
		words[0] |= elsewhere_of(name, look->chained);
		index = small_blocks_wide_index(name, putting->address);
	}
	words[index] = putting->entry;
	if (!__atomic_compare_exchange_n(chain, &first, name, false, __ATOMIC_RELEASE,
					 __ATOMIC_RELAXED))
		return END_AGAIN;
	*putting->word = log ? 0 : cells_word_number(number, index);
	return END_PUT;
}

static enum end add_full(struct block_table *table, uint32_t *head, uint32_t first,
			 uint32_t chained, const struct putting *putting)
{
	uint32_t number, name;
	struct live_full *full = full_groups_take(&table->fulls, &number);
	uint64_t *entry;

	if (!full)
		return END_NO_ROOM;
	name = live_group_name(number, LIVE_FULL_LOG) | (first ? LIVE_FULL_CHAIN : 0);
	entry = &full->entries[small_blocks_full_index(putting->address)];
	__atomic_store_n(&full->chain, first, __ATOMIC_RELAXED);
	__atomic_store_n(&full->chained, chained, __ATOMIC_RELAXED);
	__atomic_store_n(entry, putting->entry, __ATOMIC_RELAXED);
	if (__atomic_compare_exchange_n(head, &first, name, false, __ATOMIC_RELEASE,
					__ATOMIC_RELAXED))
		return END_PUT;
	__atomic_store_n(entry, 0, __ATOMIC_RELAXED);
	full_groups_give_back(&table->fulls, number);
	return END_AGAIN;
}

static enum end replace_entry(uint64_t *entry, const struct putting *putting)
{
	block_from_entry(putting->stale, __atomic_load_n(entry, __ATOMIC_RELAXED));
	__atomic_store_n(entry, putting->entry, __ATOMIC_RELAXED);
	return END_PUT;
}

/* Puts the block into a free entry of the chain; first: its first group. */
static enum end put_elsewhere(const struct block_table *table, uint32_t first,
			      const struct look *look, const struct putting *putting)
{
	// In any order: nobody asks for the block before this returns.
	if (small_blocks_is_wide(first))
		__atomic_fetch_or(
			block_table_group(table, first),
			small_blocks_elsewhere(small_blocks_wide_index(first, putting->address)),
			__ATOMIC_RELAXED);
	return atomic_add_claim(cells_word(&table->cells, look->free), putting->entry) ? END_PUT
										       : END_AGAIN;
}

/* Puts the block into a chain: the region's, or that of the region's full group. */
static enum end put_into_chain(struct block_table *table, uint32_t *chain, uint32_t *head,
			       const struct putting *putting)
{
	uint32_t first = __atomic_load_n(chain, __ATOMIC_ACQUIRE);
	struct look look;
	uint64_t *own;

	if (unlikely(!live_group_is_chain(first)))
		return END_AGAIN;
	look = look_through(table, first, block_start(putting->address));
	*putting->word = look.same ? look.same : look.free;
	if (unlikely(look.same))
		return replace_entry(cells_word(&table->cells, look.same), putting);
	if (small_blocks_is_wide(first)) {
		own = &block_table_group(table,
					 first)[small_blocks_wide_index(first, putting->address)];
		if (!__atomic_load_n(own, __ATOMIC_RELAXED)) {
			*putting->word = 0; // not worth noting
			return atomic_add_claim(own, putting->entry) ? END_PUT : END_AGAIN;
		}
	}
	if (look.free)
		return put_elsewhere(table, first, &look, putting);
	if (chain == head && wants_full(table, head, &look, putting->entry)) {
		enum end end = add_full(table, head, first, look.chained, putting);

		if (likely(end != END_NO_ROOM))
			return end;
	}
	return add_group(table, chain, first, &look, putting);
}

/*
 * Puts the block into a region with a full group. Its entry may be taken, or the old block may
 * still be in the chain.
 */
static enum end put_into_full(struct block_table *table, uint32_t *head, uint32_t name,
			      const struct putting *putting)
{
	struct live_full *full = small_blocks_full(table, name);
	uint32_t index = small_blocks_full_index(putting->address), same = 0;
	uint64_t *entry = &full->entries[index], there = __atomic_load_n(entry, __ATOMIC_RELAXED);

	if (unlikely((there & BLOCK_START_MASK) == block_start(putting->address)))
		return replace_entry(entry, putting);
	if (name & LIVE_FULL_CHAIN)
		same = small_blocks_find_in(table, name, putting->address);
	if (unlikely(same))
		return replace_entry(cells_word(&table->cells, same), putting);
	if (!there)
		return atomic_add_claim(entry, putting->entry) ? END_PUT : END_AGAIN;
	// In any order: nobody asks for the block before this returns.
	__atomic_fetch_or(&full->chained, 1u << index, __ATOMIC_RELAXED);
	__atomic_fetch_or(head, LIVE_FULL_CHAIN, __ATOMIC_RELEASE);
	return put_into_chain(table, &full->chain, head, putting);
}

bool small_blocks_put(struct block_table *table, uint64_t address, uint64_t entry,
		      struct known_block *stale, uint32_t *word)
{
	const struct putting putting = {address, entry, stale, word};
	uint32_t *head = heads_find(&table->heads, LIVE_MAP_SMALL, address), name;
	enum end end;

	if (unlikely(!head))
		head = heads_reach(&table->heads, LIVE_MAP_SMALL, address);
	if (unlikely(!head))
		return false;
	do {
		*word = 0;
		name = heads_name(head, LIVE_MAP_SMALL);
		end = live_group_is_full(name) ? put_into_full(table, head, name, &putting)
					       : put_into_chain(table, head, head, &putting);
	} while (unlikely(end == END_AGAIN));
	return end == END_PUT;
}

static void empty_words(uint64_t *words, const uint64_t *end)
{
	for (uint64_t *word = words; word < end; word++)
		__atomic_store_n(word, 0, __ATOMIC_RELAXED);
}

static void empty_region(const void *argument, uint32_t *head)
{
	const struct block_table *table = argument;
	uint32_t name = heads_name(head, LIVE_MAP_SMALL);

	if (live_group_is_full(name)) {
		struct live_full *full = small_blocks_full(table, name);

		empty_words(full->entries, full->entries + LIVE_FULL_ENTRIES);
		name = __atomic_load_n(&full->chain, __ATOMIC_ACQUIRE);
	}
	while (name) {
		uint64_t *words = block_table_group(table, name);

		empty_words(words + 1, words_end(words, name));
		name = cells_next(words);
	}
}

bool small_blocks_are_gone(const struct block_table *table, uint32_t name)
{
	const struct live_full *full = small_blocks_full(table, name);

	for (uint32_t i = 0; i < LIVE_FULL_ENTRIES; i++)
		if (__atomic_load_n(&full->entries[i], __ATOMIC_RELAXED))
			return false;
	return true;
}

bool small_blocks_leave(struct block_table *table, uint32_t *head, uint32_t name)
{
	const struct live_full *full = small_blocks_full(table, name);
	uint32_t chain = __atomic_load_n(&full->chain, __ATOMIC_ACQUIRE);

	if (!__atomic_compare_exchange_n(head, &name, chain, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return false;
	full_groups_give_back(&table->fulls, live_group_number(name));
	return true;
}

void small_blocks_empty(const struct block_table *table)
{
	heads_each(&table->heads, LIVE_MAP_SMALL, empty_region, table);
}
