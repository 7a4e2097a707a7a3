#include "analysis/views/timeline.h"

#include <stdbool.h>

#include "analysis/views/heap_chunk.h"
#include "hosted/cleanup.h"
#include "hosted/map.h"
#include "hosted/vec.h"

#define SECOND 1000000000u

/* What happened in one second; later: what was so at its end. */
struct second {
	uint64_t number; /* counted from the second in which the recording begins */
	int64_t size, count;
	uint64_t leaked_size, leaked_count;
	int64_t chunks; /* bytes */
};

/*
 * A heap of blocks. Its top has the lowest start, or the highest end, of all chunks. Blocks that
 * were freed are removed when they come to the top.
 */
struct edge {
	const struct block_columns *blocks;
	VEC(uint64_t) rows;
	bool highest;
};

static uint64_t key(const struct edge *edge, size_t i)
{
	uint64_t row = edge->rows.items[i];

	return edge->highest ? ~heap_chunk_end(edge->blocks, row)
			     : heap_chunk_start(edge->blocks, row);
}

static void swap(struct edge *edge, size_t a, size_t b)
{
	uint64_t row = edge->rows.items[a];

	edge->rows.items[a] = edge->rows.items[b];
	edge->rows.items[b] = row;
}

static bool edge_push(struct edge *edge, uint64_t row)
{
	size_t i = edge->rows.count;

	if (!vec_push(&edge->rows, row))
		return false;
	for (; i && key(edge, i) < key(edge, (i - 1) / 2); i = (i - 1) / 2)
		swap(edge, i, (i - 1) / 2);
	return true;
}

static void edge_pop(struct edge *edge)
{
	size_t count = --edge->rows.count, i = 0;

	edge->rows.items[0] = edge->rows.items[count];
	for (;;) {
		size_t child = 2 * i + 1;

		if (child + 1 < count && key(edge, child + 1) < key(edge, child))
			child++;
		if (child >= count || key(edge, i) <= key(edge, child))
			return;
		swap(edge, i, child);
		i = child;
	}
}

/* *ret: the edge at the end of that second. false: nothing is live then. */
static bool edge_at(struct edge *edge, uint64_t end_ns, uint64_t *ret)
{
	while (edge->rows.count && edge->blocks->freed_ns[edge->rows.items[0]] < end_ns)
		edge_pop(edge);
	if (!edge->rows.count)
		return false;
	*ret = edge->highest ? ~key(edge, 0) : key(edge, 0);
	return true;
}

struct builder {
	const struct block_columns *blocks;
	bool glibc;
	uint64_t begun_ns; /* when the recording began, within its first second */
	uint64_t begun_s;
	VEC(struct second) seconds; /* in which something happened */
	struct map by_number;       /* values: indices of seconds, while these are summed up */
	size_t last;                /* the index found last */
	struct edge low, high;
	VEC(struct timeline_point) points;
};

static void builder_deinit(struct builder *builder)
{
	vec_deinit(&builder->seconds);
	map_deinit(&builder->by_number);
	vec_deinit(&builder->low.rows);
	vec_deinit(&builder->high.rows);
	vec_deinit(&builder->points);
}

/* The second of a time, valid until the next call. NULL: no memory. */
static struct second *second_at(struct builder *builder, uint64_t time_ns)
{
	uint64_t number = (builder->begun_ns + time_ns) / SECOND, *place;

	if (builder->seconds.count && builder->seconds.items[builder->last].number == number)
		return &builder->seconds.items[builder->last];
	place = map_put(&builder->by_number, number);
	if (!place)
		return NULL;
	if (*place == MAP_NONE) {
		*place = builder->seconds.count;
		if (!vec_push(&builder->seconds, (struct second){.number = number}))
			return NULL;
	}
	builder->last = *place;
	return &builder->seconds.items[*place];
}

static bool add_block(struct builder *builder, uint64_t i)
{
	const struct block_columns *blocks = builder->blocks;
	struct second *second = second_at(builder, blocks->allocated_ns[i]);
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
	second = second_at(builder, blocks->freed_ns[i]);
	if (!second)
		return false;
	second->size -= size;
	second->count--;
	second->chunks -= chunk;
	return true;
}

static int by_number(const void *left, const void *right)
{
	const struct second *a = left, *b = right;

	return (a->number > b->number) - (a->number < b->number);
}

static struct err *sum_up(struct builder *builder)
{
	for (uint64_t i = 0; i < builder->blocks->count; i++)
		if (!add_block(builder, i))
			return err_no_memory();
	if (builder->seconds.count)
		qsort(builder->seconds.items, builder->seconds.count,
		      sizeof(*builder->seconds.items), by_number);
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

/* Adds blocks that begin until that time to the edges. */
static struct err *advance(struct builder *builder, uint64_t end_ns, uint64_t *row)
{
	const struct block_columns *blocks = builder->blocks;

	for (; *row < blocks->count && blocks->allocated_ns[*row] < end_ns; (*row)++)
		if (builder->glibc && heap_chunk_in_main_arena(blocks, *row) &&
		    blocks->freed_ns[*row] >= end_ns &&
		    (!edge_push(&builder->low, *row) || !edge_push(&builder->high, *row)))
			return err_no_memory();
	return NULL;
}

static struct err *walk(struct builder *builder)
{
	struct timeline_point point = {0};
	struct err *err = NULL;
	uint64_t row = 0, low, high;
	int64_t chunks = 0;

	for (size_t i = 0; !err && i < builder->seconds.count; i++) {
		const struct second *second = &builder->seconds.items[i];
		uint64_t end_ns = (second->number + 1) * SECOND - builder->begun_ns;

		point.unix_s = builder->begun_s + second->number;
		point.size_delta = second->size;
		point.count_delta = second->count;
		point.size += (uint64_t)second->size;
		point.count += (uint64_t)second->count;
		point.leaked_size += second->leaked_size;
		point.leaked_count += second->leaked_count;
		chunks += second->chunks;
		err = advance(builder, end_ns, &row);
		if (!err)
			err = add_gap(builder, point.unix_s);
		point.fragmentation = 0;
		if (edge_at(&builder->low, end_ns, &low) &&
		    edge_at(&builder->high, end_ns, &high) && high - low > (uint64_t)chunks)
			point.fragmentation = high - low - (uint64_t)chunks;
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
		.low = {.blocks = blocks},
		.high = {.blocks = blocks, .highest = true},
	};
	struct err *err = sum_up(&builder);

	if (!err)
		err = walk(&builder);
	if (err)
		return err;
	*count = builder.points.count;
	*ret = steal(&builder.points.items);
	return NULL;
}
