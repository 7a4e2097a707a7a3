#include "analysis/views/map_lives.h"

#include <string.h>

#include "base/first_where.h"
#include "hosted/cleanup.h"
#include "hosted/vec.h"

/* A range of addresses that is mapped now. */
struct piece {
	uint64_t start, end;
	uint32_t life; /* index */
};

/*
 * By address; no two have a byte in common. There is room on both sides, because the kernel maps
 * downwards, and the program may map upwards:
 *
 *	|  before  | items … count |  behind  |
 */
struct pieces {
	struct piece *items;
	size_t count, before, behind;
};

struct walk {
	struct pieces pieces;
	VEC(struct map_life) lives;
	VEC(struct map_cut) cuts; /* in the order of time */
	uint64_t last_break;      /* 0: not known */
};

static void walk_deinit(struct walk *walk)
{
	if (walk->pieces.items)
		free(walk->pieces.items - walk->pieces.before);
	vec_deinit(&walk->lives);
	vec_deinit(&walk->cuts);
}

/* The first piece that ends behind an address. */
static size_t find(const struct walk *walk, uint64_t address)
{
	return first_where(i, 0, walk->pieces.count, walk->pieces.items[i].end > address);
}

/* Makes room on both sides, half as much as there is in all. */
static bool make_room(struct pieces *pieces)
{
	size_t room = pieces->count / 2 + 8;
	struct piece *all = malloc((pieces->count + 2 * room) * sizeof(*all));

	if (!all)
		return false;
	if (pieces->count)
		memcpy(all + room, pieces->items, pieces->count * sizeof(*all));
	if (pieces->items)
		free(pieces->items - pieces->before);
	*pieces = (struct pieces){all + room, pieces->count, room, room};
	return true;
}

static bool insert(struct walk *walk, size_t at, struct piece piece)
{
	struct pieces *pieces = &walk->pieces;

	if ((!pieces->before || !pieces->behind) && !make_room(pieces))
		return false;
	if (at < pieces->count / 2) {
		memmove(pieces->items - 1, pieces->items, at * sizeof(piece));
		pieces->items--;
		pieces->before--;
	} else {
		memmove(&pieces->items[at + 1], &pieces->items[at],
			(pieces->count - at) * sizeof(piece));
		pieces->behind--;
	}
	pieces->items[at] = piece;
	pieces->count++;
	return true;
}

/* Removes the pieces from first on that are before end. */
static void erase(struct pieces *pieces, size_t first, size_t end)
{
	size_t gone = end - first, behind = pieces->count - end;

	if (!gone)
		return;
	if (first < behind) {
		memmove(pieces->items + gone, pieces->items, first * sizeof(*pieces->items));
		pieces->items += gone;
		pieces->before += gone;
	} else {
		memmove(&pieces->items[first], &pieces->items[end],
			behind * sizeof(*pieces->items));
		pieces->behind += gone;
	}
	pieces->count -= gone;
}

/* Takes [start, end) of a piece's life. false: no memory. */
static bool lose(struct walk *walk, const struct piece *piece, uint64_t start, uint64_t end,
		 uint32_t operation)
{
	struct map_life *lost = &walk->lives.items[piece->life];

	lost->left -= end - start;
	lost->cuts++;
	if (!lost->left)
		lost->gone = operation;
	return vec_push(&walk->cuts, (struct map_cut){start, end - start, piece->life, operation});
}

/* Takes a range out of all pieces. false: no memory. */
static bool cut(struct walk *walk, uint64_t start, uint64_t end, uint32_t operation)
{
	size_t first = find(walk, start), next = first;

	if (first == walk->pieces.count || start >= end)
		return true;
	if (walk->pieces.items[first].start < start) {
		struct piece *piece = &walk->pieces.items[first];
		struct piece behind = {end, piece->end, piece->life};
		uint64_t last = piece->end < end ? piece->end : end;

		if (!lose(walk, piece, start, last, operation))
			return false;
		piece->end = start;
		if (behind.start < behind.end)
			return insert(walk, first + 1, behind);
		next = ++first;
	}
	for (; next < walk->pieces.count && walk->pieces.items[next].end <= end; next++) {
		const struct piece *piece = &walk->pieces.items[next];

		if (!lose(walk, piece, piece->start, piece->end, operation))
			return false;
	}
	erase(&walk->pieces, first, next);
	if (first < walk->pieces.count && walk->pieces.items[first].start < end) {
		struct piece *piece = &walk->pieces.items[first];

		if (!lose(walk, piece, piece->start, end, operation))
			return false;
		piece->start = end;
	}
	return true;
}

static bool add(struct walk *walk, uint64_t address, uint64_t length, uint32_t operation,
		uint32_t origin)
{
	struct map_life life = {
		.address = address,
		.length = length,
		.left = length,
		.made = operation,
		.origin = origin,
		.gone = RECORDING_NONE,
	};

	return cut(walk, address, address + length, operation) && vec_push(&walk->lives, life) &&
	       insert(walk, find(walk, address),
		      (struct piece){address, address + length, (uint32_t)walk->lives.count - 1});
}

/* The mmap whose memory is at an address; operation, if that is not known. */
static uint32_t origin_at(const struct walk *walk, uint64_t address, uint32_t operation)
{
	size_t at = find(walk, address);

	if (at == walk->pieces.count || walk->pieces.items[at].start > address)
		return operation;
	return walk->lives.items[walk->pieces.items[at].life].origin;
}

/* The kernel maps whole pages. */
static uint64_t whole_pages(uint64_t length)
{
	return (length + 4095) & ~UINT64_C(4095);
}

static bool is_range(uint64_t address, uint64_t length)
{
	return length && length <= UINT64_MAX - address;
}

/* The break is not rounded to pages: a mapping for each time that the program moved it up. */
static bool take_break(struct walk *walk, const struct mapping_operation *operation, uint32_t index)
{
	uint64_t now = operation->address, before = now - (uint64_t)operation->increment;

	if (!operation->increment && walk->last_break) // of older agents
		before = walk->last_break;
	walk->last_break = now;
	return before < now ? add(walk, before, now - before, index, index)
			    : cut(walk, now, before, index);
}

/* Calls that failed are not recorded, or have ranges that none can be. */
static bool take(struct walk *walk, const struct mapping_operation *operation, uint32_t index)
{
	uint64_t address = operation->address, length = whole_pages(operation->length);
	uint64_t old = operation->old_address, old_length = whole_pages(operation->old_length);
	uint32_t origin;

	switch (operation->kind) {
	case TRACE_RECORD_MMAP:
		return !is_range(address, length) || add(walk, address, length, index, index);
	case TRACE_RECORD_MUNMAP:
		return !is_range(address, length) || cut(walk, address, address + length, index);
	case TRACE_RECORD_MREMAP:
		origin = origin_at(walk, old, index);
		if (is_range(old, old_length) && !cut(walk, old, old + old_length, index))
			return false;
		return !is_range(address, length) || add(walk, address, length, index, origin);
	default:
		return take_break(walk, operation, index);
	}
}

/* Puts the cuts of each life together. false: no memory. */
static bool sort_cuts(struct walk *walk, struct map_cut **ret)
{
	struct map_cut *cuts = malloc((walk->cuts.count + 1) * sizeof(*cuts));
	uint32_t first = 0;

	if (!cuts)
		return false;
	for (size_t i = 0; i < walk->lives.count; i++) {
		struct map_life *life = &walk->lives.items[i];

		life->first_cut = first;
		first += life->cuts;
		life->cuts = 0;
	}
	for (size_t i = 0; i < walk->cuts.count; i++) {
		struct map_life *life = &walk->lives.items[walk->cuts.items[i].life];

		cuts[life->first_cut + life->cuts++] = walk->cuts.items[i];
	}
	*ret = cuts;
	return true;
}

void map_lives_deinit(struct map_lives *lives)
{
	free(lives->items);
	free(lives->cuts);
	*lives = (struct map_lives){0};
}

struct err *map_lives_create(const struct recording *recording, struct map_lives *ret)
{
	cleanup(walk_deinit) struct walk walk = {0};
	uint32_t operations;
	const struct mapping_operation *all = recording_mappings(recording, &operations);

	for (uint32_t i = 0; i < operations; i++)
		if (!take(&walk, &all[i], i))
			return err_no_memory();
	if (!sort_cuts(&walk, &ret->cuts))
		return err_no_memory();
	ret->count = walk.lives.count;
	ret->items = steal(&walk.lives.items);
	return NULL;
}
