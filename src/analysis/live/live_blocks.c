#include "analysis/live/live_blocks.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/live/live_snapshot.h"
#include "base/bytes.h"
#include "base/compiler.h"
#include "hosted/cleanup.h"

/* A region of the program's memory, and its first group. */
struct region {
	uint64_t start;
	uint64_t head;  /* where its head is in the file */
	uint32_t group; /* its name */
	uint8_t map;
	bool moved; /* its full group was replaced by another one, which was not read */
};

/*
 * Entries of a part that were read, by number. Each is read once, so reading ends whatever names
 * what.
 */
struct numbered {
	uint64_t count;
	uint8_t *met; /* a bit for each */
};

struct reading {
	const struct byte_source *source;
	struct chunk_index *index;
	struct damage *damage;
	struct region *regions;
	size_t region_count;
	uint64_t *cells; /* LIVE_CELL_WORDS each */
	struct live_full *fulls;
	struct spill region_memory, cell_memory, full_memory; /* of these three */
	struct numbered cell_numbers, full_numbers;
	struct live_blocks *blocks;
};

static void reading_deinit(struct reading *reading)
{
	spill_deinit(&reading->region_memory);
	spill_deinit(&reading->cell_memory);
	spill_deinit(&reading->full_memory);
	free(reading->cell_numbers.met);
	free(reading->full_numbers.met);
}

void live_blocks_deinit(struct live_blocks *blocks)
{
	spill_deinit(&blocks->memory);
	*blocks = (struct live_blocks){0};
}

/* Makes room for one more entry. false: no memory. */
static bool make_room(struct spill *memory, size_t count, size_t entry_size)
{
	return (count + 1) * entry_size <= memory->size ||
	       spill_grow(memory, (2 * count + 64) * entry_size);
}

static bool add_region(struct reading *reading, const struct region *region)
{
	if (!make_room(&reading->region_memory, reading->region_count, sizeof(*region)))
		return false;
	reading->regions = reading->region_memory.data;
	reading->regions[reading->region_count++] = *region;
	return true;
}

static uint32_t name_of(uint32_t head, uint32_t map)
{
	return head & LIVE_LEAVING ? live_group_staying(head, map) : head;
}

/* Reads a leaf at offset. place: its word in live_chunk.leaves; 0: the leaf is not in use. */
static struct err *read_leaf(struct reading *reading, uint64_t place, uint64_t offset)
{
	uint64_t map = (place & (LIVE_LEAF_SIZE - 1)) - 1;
	uint8_t heads[LIVE_LEAF_SIZE];
	size_t got;
	struct err *err;

	if (map >= LIVE_MAPS)
		return NULL;
	err = byte_source_read(reading->source, offset, heads, sizeof(heads), &got);
	for (size_t i = 0; !err && i < got / 4; i++) {
		struct region region = {
			.start = place - map - 1 + ((uint64_t)i << live_maps[map].region_bits),
			.head = offset + 4 * i,
			.group = name_of(bytes_u32(heads + 4 * i), (uint32_t)map),
			.map = (uint8_t)map,
		};

		if (region.group && !add_region(reading, &region))
			err = err_no_memory();
	}
	return err;
}

/* Finds the regions of a chunk, as far as the file has their heads. */
static struct err *find_regions(struct reading *reading, struct chunk_extent extent)
{
	uint64_t places[(LIVE_ARRAY_OFFSET - LIVE_CHUNK_OFFSET - sizeof(struct live_chunk)) / 8] = {
		0};
	struct live_chunk chunk;
	struct err *err = live_chunk_read(reading->source, extent, &chunk);
	size_t got;

	if (err || chunk.part != LIVE_PART_HEADS || chunk.entry_size != LIVE_LEAF_SIZE)
		return err;
	err = byte_source_read(reading->source, extent.offset + LIVE_CHUNK_OFFSET + sizeof(chunk),
			       places, sizeof(places), &got);
	for (size_t i = 0; !err && i < ARRAY_COUNT(places) && i < chunk.count; i++)
		err = read_leaf(reading, places[i],
				extent.offset + LIVE_ARRAY_OFFSET + i * LIVE_LEAF_SIZE);
	return err;
}

static struct err *add(struct reading *reading, uint64_t address, uint64_t size, uint32_t owner,
		       uint32_t time)
{
	struct found_block block = {
		.address = address,
		.size = size,
		.ticks = live_time_unpack(time),
		.site = owner >> LIVE_THREAD_BITS,
		.thread = owner & (LIVE_THREADS - 1),
	};

	struct live_blocks *blocks = reading->blocks;

	if (!make_room(&blocks->memory, blocks->count, sizeof(block)))
		return err_no_memory();
	blocks->list = blocks->memory.data;
	blocks->list[blocks->count++] = block;
	return NULL;
}

static struct err *add_small(struct reading *reading, const struct region *region, uint64_t entry)
{
	uint64_t start = (entry & ((1u << LIVE_START_BITS) - 1)) - 1;

	return add(reading, region->start + start * 8,
		   entry >> LIVE_SIZE_SHIFT & (LIVE_LARGE_MIN - 1),
		   (uint32_t)(entry >> LIVE_OWNER_SHIFT),
		   (uint32_t)(entry >> LIVE_TIME_SHIFT) & ((1u << LIVE_TIME_BITS) - 1));
}

static bool is_block(const struct region *region, uint64_t entry)
{
	uint64_t start = entry & ((1u << LIVE_START_BITS) - 1);

	return start && (start - 1) * 8 >> live_maps[region->map].region_bits == 0 &&
	       entry >> LIVE_OWNER_SHIFT;
}

static struct err *read_entries(struct reading *reading, const struct region *region,
				const uint64_t *entries, size_t count)
{
	struct err *err = NULL;

	for (size_t i = 0; !err && i < count; i++)
		if (is_block(region, entries[i]))
			err = add_small(reading, region, entries[i]);
	return err;
}

static struct err *read_large(struct reading *reading, const uint64_t *words)
{
	uint64_t state = words[LIVE_WORD_STATE];

	// The block is just being put in or taken out.
	if (!(state >> LIVE_LARGE_SHIFT))
		return NULL;
	return add(reading, words[LIVE_WORD_ADDRESS], words[LIVE_WORD_SIZE],
		   (uint32_t)(state >> LIVE_LARGE_SHIFT), (uint32_t)state);
}

/* Marks entries as read. Returns whether none of them was read before. */
static bool meet(struct numbered *numbered, uint32_t first, uint32_t count)
{
	bool new = true;

	for (uint32_t i = first; i < first + count; i++) {
		new = new && !(numbered->met[i / 8] & 1u << i % 8);
		numbered->met[i / 8] |= (uint8_t)(1u << i % 8);
	}
	return new;
}

/* Whether a cell belongs to another region by now. Then this region has nothing behind it. */
static bool has_moved(const struct region *region, const uint64_t *words)
{
	return region->map != LIVE_MAP_SMALL &&
	       (words[LIVE_WORD_ADDRESS] ^ region->start) >> live_maps[region->map].region_bits;
}

/* The region's group of that name. NULL: it is not there, or was read already. */
static const uint64_t *take_group(struct reading *reading, const struct region *region,
				  uint32_t name)
{
	uint32_t group = live_group_number(name), cells = live_group_cells(name);
	const uint64_t *words;

	if (!group || group >= reading->cell_numbers.count ||
	    cells > reading->cell_numbers.count - group)
		return NULL;
	words = &reading->cells[(size_t)group * LIVE_CELL_WORDS];
	return !has_moved(region, words) && meet(&reading->cell_numbers, group, cells) ? words
										       : NULL;
}

/* Reads the blocks of a full group. *chain: the name of the chain behind it. */
static struct err *read_full(struct reading *reading, const struct region *region, uint32_t name,
			     uint32_t *chain)
{
	uint32_t number = live_group_number(name);
	const struct live_full *full = &reading->fulls[number];

	*chain = 0;
	if (!number || number >= reading->full_numbers.count ||
	    !meet(&reading->full_numbers, number, 1))
		return NULL;
	*chain = full->chain;
	return read_entries(reading, region, full->entries, LIVE_FULL_ENTRIES);
}

static struct err *read_region(struct reading *reading, const struct region *region)
{
	bool small = region->map == LIVE_MAP_SMALL;
	uint32_t name = region->group;
	struct err *err = NULL;
	const uint64_t *words;

	if (region->moved)
		return NULL;
	if (small && live_group_is_full(name))
		err = read_full(reading, region, name, &name);
	while (!err && live_group_is_chain(name) &&
	       (words = take_group(reading, region, name)) != NULL) {
		err = small ? read_entries(reading, region, words + 1,
					   (size_t)live_group_cells(name) * LIVE_CELL_WORDS - 1)
			    : read_large(reading, words);
		name = (uint32_t)words[0];
	}
	return err;
}

/*
 * Reads a part, at most max entries, or as many as the file has room for. The chunks are found
 * anew, because entries that were named so far may be in a new chunk.
 */
static struct err *read_part(struct reading *reading, enum live_part part, size_t entry_size,
			     uint64_t max, struct numbered *numbered, struct spill *ret)
{
	struct err *err = chunk_index_renew(reading->source, reading->damage, reading->index);

	if (err)
		return err;
	numbered->count = reading->index->file_size / entry_size;
	if (numbered->count > max)
		numbered->count = max;
	err = live_part_read_large(reading->source, reading->index, part, entry_size,
				   &numbered->count, ret);
	if (err)
		return err;
	numbered->met = calloc(numbered->count / 8 + 1, 1);
	return numbered->met ? NULL : err_no_memory();
}

/* The leaf that was read last: a cache. */
struct leaf {
	uint64_t offset; /* in the file */
	uint8_t heads[LIVE_LEAF_SIZE];
};

/* Reads the name in the region's head again. */
static struct err *look_again(const struct reading *reading, const struct region *region,
			      struct leaf *leaf, uint32_t *name)
{
	uint64_t at = (region->start >> live_maps[region->map].region_bits) % LIVE_LEAF_HEADS * 4;
	struct err *err = NULL;
	size_t got;

	if (leaf->offset != region->head - at) {
		memset(leaf, 0, sizeof(*leaf));
		leaf->offset = region->head - at;
		err = byte_source_read(reading->source, leaf->offset, leaf->heads,
				       sizeof(leaf->heads), &got);
	}
	*name = name_of(bytes_u32(leaf->heads + at), region->map);
	return err;
}

/*
 * Reads the heads again of regions with full groups. If a group has left its region meanwhile, the
 * entries that were read may be another region's. *moved: some regions have another full group by
 * now.
 */
static struct err *look_again_at_full(struct reading *reading, bool *moved)
{
	struct leaf leaf = {.offset = UINT64_MAX};
	struct err *err = NULL;

	*moved = false;
	for (size_t i = 0; !err && i < reading->region_count; i++) {
		struct region *region = &reading->regions[i];
		uint32_t before = region->group;

		if (!live_group_is_full(before))
			continue;
		err = look_again(reading, region, &leaf, &region->group);
		region->moved = live_group_is_full(region->group) &&
				live_group_number(region->group) != live_group_number(before);
		*moved |= region->moved;
	}
	return err;
}

/*
 * How often full groups are read. Each time, groups that moved are known better; few move more than
 * once.
 */
#define READ_FULLS_MAX 3

static struct err *read_fulls(struct reading *reading)
{
	struct err *err = NULL;
	bool moved = true;

	for (int i = 0; !err && moved && i < READ_FULLS_MAX; i++) {
		free(steal(&reading->full_numbers.met));
		err = read_part(reading, LIVE_PART_FULLS, sizeof(*reading->fulls), LIVE_FULLS,
				&reading->full_numbers, &reading->full_memory);
		reading->fulls = reading->full_memory.data;
		if (!err)
			err = look_again_at_full(reading, &moved);
	}
	return err;
}

/* Reads LIVE_PART_BLOCKS, which small writers have in place of regions. */
static struct err *read_list(struct reading *reading)
{
	uint64_t count = reading->index->file_size / sizeof(struct live_listed_block);
	auto_free struct live_listed_block *list = NULL;
	struct err *err = live_part_read(reading->source, reading->index, LIVE_PART_BLOCKS,
					 sizeof(*list), &count, &list);

	for (uint64_t i = 0; !err && i < count; i++) {
		uint32_t owner = (uint32_t)(list[i].state >> LIVE_LARGE_SHIFT);

		if (owner)
			err = add(reading, list[i].address, list[i].size, owner,
				  (uint32_t)list[i].state);
	}
	return err;
}

static struct err *read_all(struct reading *reading)
{
	struct err *err = read_list(reading);

	// A thing is in the table before its name is. So read names before what they name.
	for (size_t i = 0; !err && i < reading->index->live.count; i++)
		err = find_regions(reading, reading->index->live.items[i]);
	if (err || !reading->region_count)
		return err;
	err = read_fulls(reading);
	if (!err)
		err = read_part(reading, LIVE_PART_CELLS, LIVE_CELL_SIZE, LIVE_CELLS,
				&reading->cell_numbers, &reading->cell_memory);
	reading->cells = reading->cell_memory.data;
	for (size_t i = 0; !err && i < reading->region_count; i++)
		err = read_region(reading, &reading->regions[i]);
	return err;
}

struct err *live_blocks_read(const struct byte_source *source, struct chunk_index *index,
			     struct damage *damage, struct live_blocks *ret)
{
	cleanup(reading_deinit) struct reading reading = {
		.source = source,
		.index = index,
		.damage = damage,
		.blocks = ret,
	};

	return read_all(&reading);
}
