#include "analysis/views/timeline.h"

#include <stdbool.h>
#include <stdlib.h>

#include "analysis/views/heap_chunk.h"
#include "hosted/cleanup.h"
#include "hosted/map.h"
#include "hosted/parallel.h"
#include "hosted/vec.h"

#define SECOND 1000000000u

/* Fewer blocks than this are not worth a thread. */
#define PIECE_MIN ((uint64_t)1 << 18)

/* What happened in one second. */
struct second {
	uint64_t number; /* counted from the second in which the recording begins */
	int64_t size, count;
	uint64_t freed;
	uint64_t leaked_size, leaked_count;
	int64_t chunks; /* bytes */
};

/* The addresses from the lowest to the highest of some chunks. low > high: there are none. */
struct extent {
	uint64_t low, high;
};

/*
 * What a piece of the blocks has come to.
 *
 * `extents` is a segment tree over the n seconds in which something happened: element n + i is the
 * second i, element i < n what elements 2 i and 2 i + 1 have in common. A block that lives at the
 * ends of the seconds 3 … 9 widens the few elements that make up this range.
 */
struct piece {
	VEC(struct second) seconds; /* in any order, until all pieces are joined */
	struct map by_number;       /* values: indices of seconds */
	size_t last;                /* the index found last */
	struct extent *extents;
	bool failed; /* no memory */
};

struct builder {
	const struct block_columns *blocks;
	bool glibc;
	uint64_t begun_ns; /* when the recording began, within its first second */
	uint64_t begun_s;
	struct piece *pieces; /* after join_seconds() the first one has the seconds of all */
	size_t piece_count;
	VEC(struct timeline_point) points;
};

static void builder_deinit(struct builder *builder)
{
	for (size_t i = 0; builder->pieces && i < builder->piece_count; i++) {
		vec_deinit(&builder->pieces[i].seconds);
		map_deinit(&builder->pieces[i].by_number);
		free(builder->pieces[i].extents);
	}
	free(builder->pieces);
	vec_deinit(&builder->points);
}

/* The rows of a piece. */
static void rows_of(const struct builder *builder, size_t number, uint64_t *begin, uint64_t *end)
{
	uint64_t count = builder->blocks->count, length = count / builder->piece_count + 1;

	*begin = number * length < count ? number * length : count;
	*end = count - *begin < length ? count : *begin + length;
}

static uint64_t number_of(const struct builder *builder, uint64_t time_ns)
{
	return (builder->begun_ns + time_ns) / SECOND;
}

/* The second with that number, valid until the next call. NULL: no memory. */
static struct second *second_at(struct piece *piece, uint64_t number)
{
	uint64_t *place;

	if (piece->seconds.count && piece->seconds.items[piece->last].number == number)
		return &piece->seconds.items[piece->last];
	place = map_put(&piece->by_number, number);
	if (!place)
		return NULL;
	if (*place == MAP_NONE) {
		*place = piece->seconds.count;
		if (!vec_push(&piece->seconds, (struct second){.number = number}))
			return NULL;
	}
	piece->last = *place;
	return &piece->seconds.items[*place];
}

static bool add_block(const struct builder *builder, struct piece *piece, uint64_t i)
{
	const struct block_columns *blocks = builder->blocks;
	struct second *second = second_at(piece, number_of(builder, blocks->allocated_ns[i]));
	bool leaked = blocks->freed_ns[i] == TIME_NEVER;
	int64_t size = (int64_t)blocks->size[i], chunk = 0;

	if (!second)
		return false;
	if (builder->glibc && heap_chunk_in_main_arena(blocks, i))
		chunk = (int64_t)(heap_chunk_end(blocks, i) - heap_chunk_start(blocks, i));
	second->size += size;
	second->count++;
	second->chunks += chunk;
	if (leaked) {
		second->leaked_size += blocks->size[i];
		second->leaked_count++;
		return true;
	}
	second = second_at(piece, number_of(builder, blocks->freed_ns[i]));
	if (!second)
		return false;
	second->size -= size;
	second->count--;
	second->freed++;
	second->chunks -= chunk;
	return true;
}

static void sum_piece(void *argument, size_t number)
{
	const struct builder *builder = argument;
	struct piece *piece = &builder->pieces[number];
	uint64_t i, end;

	rows_of(builder, number, &i, &end);
	for (; i < end && !piece->failed; i++)
		piece->failed = !add_block(builder, piece, i);
}

static int by_number(const void *left, const void *right)
{
	const struct second *a = left, *b = right;

	return (a->number > b->number) - (a->number < b->number);
}

/* Adds the seconds of all pieces to those of the first, and sorts these. */
static struct err *join_seconds(struct builder *builder)
{
	struct piece *all = &builder->pieces[0];

	for (size_t i = 0; i < builder->piece_count; i++) {
		const struct piece *piece = &builder->pieces[i];

		if (piece->failed)
			return err_no_memory();
		for (size_t k = 0; i && k < piece->seconds.count; k++) {
			const struct second *more = &piece->seconds.items[k];
			struct second *second = second_at(all, more->number);

			if (!second)
				return err_no_memory();
			second->size += more->size;
			second->count += more->count;
			second->freed += more->freed;
			second->leaked_size += more->leaked_size;
			second->leaked_count += more->leaked_count;
			second->chunks += more->chunks;
		}
	}
	if (all->seconds.count)
		qsort(all->seconds.items, all->seconds.count, sizeof(*all->seconds.items),
		      by_number);
	return NULL;
}

static void widen(struct extent *extent, const struct extent *by)
{
	if (by->low < extent->low)
		extent->low = by->low;
	if (by->high > extent->high)
		extent->high = by->high;
}

/* The index of the second with that number, which is there. */
static size_t index_of(const struct builder *builder, uint64_t number)
{
	const struct second *seconds = builder->pieces[0].seconds.items;
	const struct second wanted = {.number = number};
	const struct second *found = bsearch(&wanted, seconds, builder->pieces[0].seconds.count,
					     sizeof(*seconds), by_number);

	return (size_t)(found - seconds);
}

/* Widens the seconds at whose ends a block lives. */
static void add_extent(const struct builder *builder, struct extent *extents, uint64_t row)
{
	const struct block_columns *blocks = builder->blocks;
	size_t count = builder->pieces[0].seconds.count, begin, end = count;
	uint64_t born = number_of(builder, blocks->allocated_ns[row]);
	struct extent extent;

	if (blocks->freed_ns[row] != TIME_NEVER) {
		uint64_t gone = number_of(builder, blocks->freed_ns[row]);

		if (gone <= born)
			return;
		end = index_of(builder, gone);
	}
	if (!heap_chunk_in_main_arena(blocks, row))
		return;
	begin = index_of(builder, born);
	extent.low = heap_chunk_start(blocks, row);
	extent.high = heap_chunk_end(blocks, row);
	for (begin += count, end += count; begin < end; begin /= 2, end /= 2) {
		if (begin % 2)
			widen(&extents[begin++], &extent);
		if (end % 2)
			widen(&extents[--end], &extent);
	}
}

static void extend_piece(void *argument, size_t number)
{
	const struct builder *builder = argument;
	uint64_t i, end;

	rows_of(builder, number, &i, &end);
	for (; i < end; i++)
		add_extent(builder, builder->pieces[number].extents, i);
}

/* Makes the extents of the first piece those of all blocks, for each second. */
static struct err *find_extents(struct builder *builder)
{
	size_t count = builder->pieces[0].seconds.count;
	struct extent *all;

	for (size_t i = 0; i < builder->piece_count; i++) {
		struct extent *extents = malloc((2 * count + 1) * sizeof(*extents));

		builder->pieces[i].extents = extents;
		if (!extents)
			return err_no_memory();
		for (size_t k = 0; k < 2 * count; k++)
			extents[k] = (struct extent){UINT64_MAX, 0};
	}
	parallel_run(extend_piece, builder, builder->piece_count);
	all = builder->pieces[0].extents;
	for (size_t i = 1; i < builder->piece_count; i++)
		for (size_t k = 0; k < 2 * count; k++)
			widen(&all[k], &builder->pieces[i].extents[k]);
	for (size_t k = 1; k < count; k++) {
		widen(&all[2 * k], &all[k]);
		widen(&all[2 * k + 1], &all[k]);
	}
	return NULL;
}

static struct err *add_point(struct builder *builder, struct timeline_point point)
{
	return vec_push(&builder->points, point) ? NULL : err_no_memory();
}

/* Adds the ends of a row of seconds without events, before that second. */
static struct err *add_gap(struct builder *builder, uint64_t unix_s)
{
	struct timeline_point flat;
	struct err *err = NULL;

	if (!builder->points.count)
		return NULL;
	flat = builder->points.items[builder->points.count - 1];
	flat.size_delta = flat.count_delta = 0;
	flat.allocated = flat.freed = 0;
	if (flat.unix_s + 1 < unix_s) {
		flat.unix_s++;
		err = add_point(builder, flat);
	}
	if (!err && flat.unix_s + 1 < unix_s) {
		flat.unix_s = unix_s - 1;
		err = add_point(builder, flat);
	}
	return err;
}

static uint64_t fragmentation(const struct extent *extent, int64_t chunks)
{
	uint64_t room = extent->high > extent->low ? extent->high - extent->low : 0;

	return room > (uint64_t)chunks ? room - (uint64_t)chunks : 0;
}

static struct err *make_points(struct builder *builder)
{
	const struct piece *all = &builder->pieces[0];
	struct timeline_point point = {0};
	struct err *err = NULL;
	int64_t chunks = 0;

	for (size_t i = 0; !err && i < all->seconds.count; i++) {
		const struct second *second = &all->seconds.items[i];

		point.unix_s = builder->begun_s + second->number;
		point.size_delta = second->size;
		point.count_delta = second->count;
		point.freed = second->freed;
		point.allocated = (uint64_t)(second->count + (int64_t)second->freed);
		point.size += (uint64_t)second->size;
		point.count += (uint64_t)second->count;
		point.leaked_size += second->leaked_size;
		point.leaked_count += second->leaked_count;
		chunks += second->chunks;
		if (builder->glibc)
			point.fragmentation =
				fragmentation(&all->extents[all->seconds.count + i], chunks);
		err = add_gap(builder, point.unix_s);
		if (!err)
			err = add_point(builder, point);
	}
	return err;
}

struct err *timeline_create(const struct recording *recording, struct timeline_point **ret,
			    size_t *count)
{
	const struct recording_facts *facts = recording_facts(recording);
	const struct block_columns *blocks = recording_blocks(recording);
	cleanup(builder_deinit) struct builder builder = {
		.blocks = blocks,
		.glibc = facts->allocator == TRACE_ALLOCATOR_GLIBC,
		.begun_s = facts->start_realtime_ns / SECOND,
		.begun_ns = facts->start_realtime_ns % SECOND,
		.piece_count = parallel_pieces(blocks->count, PIECE_MIN),
	};
	struct err *err;

	builder.pieces = calloc(builder.piece_count, sizeof(*builder.pieces));
	if (!builder.pieces)
		return err_no_memory();
	parallel_run(sum_piece, &builder, builder.piece_count);
	err = join_seconds(&builder);
	if (!err && builder.glibc)
		err = find_extents(&builder);
	if (!err)
		err = make_points(&builder);
	if (err)
		return err;
	*count = builder.points.count;
	*ret = steal(&builder.points.items);
	return NULL;
}
