/*
 * libFuzzer target: bytes as what happens to the table of live blocks, against a plain list of what
 * is in it. Groups of regions without blocks are taken back, while a thread is in the middle of its
 * use of the table; a reader goes through it, and things happen between any two of its reads.
 *
 * A step is a byte, what happens, and up to two more: where.
 */
#include <stdlib.h>
#include <string.h>

#include "../unit/live_memory_fake.h"
#include "agent/live_blocks/block_table_fast.h"
#include "agent/live_blocks/reclaim.h"
#include "analysis/live/live_blocks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
struct err *__wrap_chunk_index_renew(const struct byte_source *source, struct damage *damage,
				     struct chunk_index *index);
struct err *__wrap_byte_source_read(const struct byte_source *source, uint64_t offset, void *buffer,
				    size_t size, size_t *ret);

#define REQUIRE(condition)                                                                         \
	do {                                                                                       \
		if (!(condition))                                                                  \
			abort();                                                                   \
	} while (0)

/* Where blocks may begin: 16 regions of small ones, in twos in their 32 bytes, and large ones. */
#define REGIONS      16
#define SLOTS        32
#define SMALL_PLACES (REGIONS * SLOTS * 2)
#define LARGE_PLACES 64
#define PLACES       (SMALL_PLACES + LARGE_PLACES)

struct place {
	uint64_t address;
	struct known_block block;
	bool live;
	bool held;        /* it is the user's in the middle of its use */
	uint32_t changed; /* by count of changes */
	unsigned int found;
};

#define OWNERS (1u << 16)

static struct place places[PLACES];
static uint16_t place_of_owner[OWNERS];
static uint32_t owners, changes;

static struct block_table table;
static struct block_near nears[2];
static struct reclaim reclaim;

/* A thread that has found the entry of a block, and puts it or takes it later. */
static struct {
	struct place *place; /* NULL: it is outside */
	uint64_t *entry;
	bool came_before; /* what is leaving */
} user;

static const uint8_t *input, *input_end;
static bool reading;

static uint8_t next_byte(void)
{
	return input < input_end ? *input++ : 0;
}

static uint64_t address_of(unsigned int number)
{
	unsigned int large = number - SMALL_PLACES;
	unsigned int map = 1 + large % 3;

	if (number >= SMALL_PLACES) // four in a region
		return ((uint64_t)map << 40) +
		       ((uint64_t)(large / 3 / 4) << live_maps[map].region_bits) +
		       large / 3 % 4 * 512;
	return UINT64_C(0x7f0000000000) + ((uint64_t)(number / (8 * SLOTS * 2)) << 28) +
	       number / 2 % (8 * SLOTS) * 32 + number % 2 * 16;
}

static uint64_t size_of(unsigned int number)
{
	if (number >= SMALL_PLACES)
		return (UINT64_C(1) << live_maps[1 + (number - SMALL_PLACES) % 3].size_bits) +
		       number;
	return number % 2 ? 8 : number % 97;
}

static struct place *next_small(void)
{
	unsigned int low = next_byte();

	return &places[(low | (unsigned int)next_byte() << 8) % SMALL_PLACES];
}

static struct block_near *near_of(const struct place *place)
{
	return &nears[place->address >> 6 & 1];
}

/* Its block is another one from now on. */
static void renew(struct place *place)
{
	unsigned int number = (unsigned int)(place - places);

	owners = owners % (OWNERS - 1) + 1;
	place_of_owner[owners] = (uint16_t)number;
	place->block.owner = owners;
	place->block.size = size_of(number);
	place->block.time = block_table_time((uint64_t)owners << 10, place->block.size);
}

static void set_live(struct place *place, bool live)
{
	place->live = live;
	place->changed = ++changes;
}

static void require_same(const struct known_block *a, const struct known_block *b)
{
	REQUIRE(a->owner == b->owner && a->size == b->size && a->time == b->time);
}

static void put(struct place *place)
{
	struct known_block stale;

	if (place->live || place->held)
		return;
	renew(place);
	REQUIRE(block_table_put(&table, near_of(place), place->address, &place->block, &stale));
	REQUIRE(!stale.owner);
	set_live(place, true);
}

static void take(struct place *place)
{
	struct known_block found;

	if (place->held)
		return;
	REQUIRE(block_table_take(&table, near_of(place), place->address, &found) == place->live);
	if (place->live)
		require_same(&found, &place->block);
	if (place->live)
		set_live(place, false);
}

static void change_owner(struct place *place)
{
	uint32_t before = place->block.owner;

	if (!place->live || place->held)
		return;
	owners = owners % (OWNERS - 1) + 1;
	place_of_owner[owners] = (uint16_t)(place - places);
	place->block.owner = owners;
	REQUIRE(block_table_change_owner(&table, place->address, before, owners));
	set_live(place, true);
}

/* As many of a region as make it crowded, or all of them. */
static void each_of_region(void (*what)(struct place *place), unsigned int region,
			   unsigned int step)
{
	for (unsigned int i = 0; i < SLOTS * 2; i += step)
		what(&places[region % REGIONS * SLOTS * 2 + i]);
}

static uint32_t name_at(uint64_t address)
{
	return heads_name_fast(heads_find(&table.heads, LIVE_MAP_SMALL, address));
}

/* The first half of a use of the table, by a fast way: what is seen then is used in the second. */
static void begin_use(struct place *place)
{
	uint32_t name = name_at(place->address), chain;

	if (user.place || (!live_group_is_full(name) && !small_blocks_is_wide(name)))
		return;
	user.entry = place->live ? small_blocks_find(&table, name, place->address, &chain)
				 : small_blocks_new_entry(&table, name, place->address);
	if (!user.entry)
		return;
	user.place = place;
	user.came_before = false;
	place->held = true;
}

static void end_use(void)
{
	struct place *place = user.place;
	struct known_block found, stale;

	if (!place)
		return;
	user.place = NULL;
	place->held = false;
	if (place->live) {
		REQUIRE(block_entry_is_at(user.entry, place->address));
		block_entry_take(user.entry, &found);
		require_same(&found, &place->block);
		set_live(place, false);
		return;
	}
	renew(place);
	if (!block_table_claim(user.entry, block_entry(place->address, &place->block), false))
		REQUIRE(block_table_put(&table, near_of(place), place->address, &place->block,
					&stale) &&
			!stale.owner);
	set_live(place, true);
}

/* A baseline. */
static void empty(void)
{
	end_use();
	block_table_empty(&table);
	for (unsigned int i = 0; i < PLACES; i++)
		if (places[i].live)
			set_live(&places[i], false);
}

static void begin_reclaim(void)
{
	if (!reclaim.leaf && reclaim_begin(&reclaim, &table) == RECLAIM_FOUND_SOME)
		user.came_before = user.place != NULL;
}

static void end_reclaim(void)
{
	if (reclaim.leaf && !(user.place && user.came_before))
		reclaim_end(&reclaim, &table);
}

static void reclaim_all(void)
{
	enum reclaim_found found;

	end_reclaim();
	reclaim = (struct reclaim){0}; // from the start
	do {
		found = reclaim_begin(&reclaim, &table);
		if (found == RECLAIM_FOUND_SOME)
			reclaim_end(&reclaim, &table);
	} while (found != RECLAIM_FOUND_END);
}

static void read_blocks(void);

static void step(void)
{
	uint8_t what = next_byte();

	switch (what % 16) {
	case 0:
	case 1:
		return put(next_small());
	case 2:
	case 3:
		return take(next_small());
	case 4:
		return put(&places[SMALL_PLACES + next_byte() % LARGE_PLACES]);
	case 5:
		return take(&places[SMALL_PLACES + next_byte() % LARGE_PLACES]);
	case 6:
		return each_of_region(put, next_byte(), 4);
	case 7:
		return each_of_region(take, next_byte(), 1);
	case 8:
	case 9:
		return begin_reclaim();
	case 10:
	case 11:
		return end_reclaim();
	case 12:
		return begin_use(next_small());
	case 13:
		return end_use();
	case 14:
		return change_owner(what & 16 ? next_small()
					      : &places[SMALL_PLACES + next_byte() % LARGE_PLACES]);
	default:
		if (what & 16)
			empty();
		else if (what & 32)
			memset(nears, 0, sizeof(nears));
		else
			read_blocks();
	}
}

/*
 * The file that the reader has: a chunk of each array, and of each leaf, which are looked up while
 * they are read.
 */
#define CHUNK_SIZE (UINT64_C(4) << 20)

/* So many as may be in use: a whole array is large. */
static uint64_t count_of(const struct fake_part *part)
{
	return part->part == LIVE_PART_HEADS ? 1 : part->count / 8;
}

static void copy_chunk(const struct fake_part *part, uint64_t offset, uint8_t *buffer, size_t size)
{
	const struct live_chunk chunk = {
		.part = part->part,
		.entry_size = part->entry_size,
		.first = part->part == LIVE_PART_HEADS ? 0 : part->first,
		.count = count_of(part),
	};
	uint64_t array = part->entry_size * count_of(part);

	memset(buffer, 0, size);
	if (offset == LIVE_CHUNK_OFFSET)
		memcpy(buffer, &chunk, size < sizeof(chunk) ? size : sizeof(chunk));
	else if (offset == LIVE_CHUNK_OFFSET + sizeof(chunk))
		memcpy(buffer, &part->first, sizeof(part->first));
	else if (offset >= LIVE_ARRAY_OFFSET && offset - LIVE_ARRAY_OFFSET < array)
		memcpy(buffer, (const uint8_t *)part->memory + (offset - LIVE_ARRAY_OFFSET),
		       size < array - (offset - LIVE_ARRAY_OFFSET)
			       ? size
			       : array - (offset - LIVE_ARRAY_OFFSET));
}

struct err *__wrap_byte_source_read(const struct byte_source *source, uint64_t offset, void *buffer,
				    size_t size, size_t *ret)
{
	(void)source;
	for (unsigned int count = next_byte() % 8; count; count--)
		step();
	copy_chunk(&fake_parts[offset / CHUNK_SIZE], offset % CHUNK_SIZE, buffer, size);
	*ret = size;
	return NULL;
}

/* What was there from the first read to the last is found, once, and nothing that never was there.
 */
static void check_found(const struct live_blocks *found, uint32_t since)
{
	for (unsigned int i = 0; i < PLACES; i++)
		places[i].found = 0;
	for (size_t i = 0; i < found->count; i++) {
		const struct found_block *block = &found->list[i];
		uint32_t owner = block->site << LIVE_THREAD_BITS | block->thread;
		struct place *place = &places[place_of_owner[owner % OWNERS]];

		REQUIRE(owner && owner <= OWNERS && block->address == place->address);
		REQUIRE(block->size == size_of((unsigned int)(place - places)));
		if (place->live && place->changed <= since)
			REQUIRE(owner == place->block.owner &&
				block->ticks == live_time_unpack(place->block.time));
		place->found++;
	}
	for (unsigned int i = 0; i < PLACES; i++)
		if (places[i].changed <= since)
			REQUIRE(places[i].found == places[i].live);
}

struct err *__wrap_chunk_index_renew(const struct byte_source *source, struct damage *damage,
				     struct chunk_index *index)
{
	(void)source, (void)damage;
	for (size_t i = index->live.count; i < fake_part_count; i++) {
		struct chunk_extent extent = {i * CHUNK_SIZE, CHUNK_SIZE};

		REQUIRE(vec_push(&index->live, extent));
	}
	index->file_size = CHUNK_SIZE * fake_part_count;
	return NULL;
}

static void read_blocks(void)
{
	const struct byte_source source = {.name = "fuzz", .fd = -1};
	struct chunk_index index = {0};
	struct damage damage = {0};
	struct live_blocks found = {0};
	uint32_t since = changes;

	if (reading)
		return;
	reading = true;
	REQUIRE(!__wrap_chunk_index_renew(&source, &damage, &index));
	REQUIRE(!live_blocks_read(&source, &index, &damage, &found));
	check_found(&found, since);
	live_blocks_deinit(&found);
	vec_deinit(&index.live);
}

static void begin(const uint8_t *data, size_t size)
{
	block_table_release(&table);
	fake_memory_reset();
	memset(&table, 0, sizeof(table));
	memset(nears, 0, sizeof(nears));
	memset(&reclaim, 0, sizeof(reclaim));
	memset(&user, 0, sizeof(user));
	memset(places, 0, sizeof(places));
	owners = changes = 0;
	reading = false;
	input = data;
	input_end = data + size;
	for (unsigned int i = 0; i < PLACES; i++)
		places[i].address = address_of(i);
}

/* Each block is there, and when all are out, each group is free. */
static void end(void)
{
	struct live_full *full;
	uint32_t number, count = 0;

	end_use();
	for (unsigned int i = 0; i < PLACES; i++)
		take(&places[i]);
	reclaim_all();
	while (count < table.fulls.last &&
	       (full = full_groups_take(&table.fulls, &number)) != NULL) {
		for (uint32_t i = 0; i < LIVE_FULL_ENTRIES; i++)
			REQUIRE(!full->entries[i]);
		count++;
	}
	REQUIRE(count == table.fulls.last && !(uint32_t)table.fulls.free.top);
	REQUIRE(table.fulls.last < (1u << FULL_GROUPS_CHUNK_BITS) / 8 &&
		table.cells.last < (1u << CELLS_CHUNK_BITS) / 8);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	begin(data, size);
	while (input < input_end)
		step();
	end();
	return 0;
}
