#include "symbols/span_map.h"

#include <stdlib.h>

#include "base/first_where.h"
#include "hosted/cleanup.h"

struct err *span_ranges_add(struct span_ranges *ranges, uint64_t low, uint64_t high, uint32_t value)
{
	if (low >= high)
		return NULL;
	size_t order = ranges->list.count;

	// order has 32 bits. No real program has so many ranges.
	if (order >= UINT32_MAX || !vec_push(&ranges->list, (struct span_range){
								    .low = low,
								    .high = high,
								    .value = value,
								    .order = (uint32_t)order,
							    }))
		return err_no_memory();
	return NULL;
}

void span_ranges_deinit(struct span_ranges *ranges)
{
	vec_deinit(&ranges->list);
}

/* Outer ranges before inner ones: a range that is pushed later covers those below it. */
static int compare_ranges(const void *a, const void *b)
{
	const struct span_range *x = a, *y = b;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	if (x->high != y->high)
		return x->high > y->high ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* Most callers add ranges in order: checking that is cheaper than sorting. */
static void sort_ranges(struct span_ranges *ranges)
{
	struct span_range *items = ranges->list.items;

	for (size_t i = 1; i < ranges->list.count; i++) {
		if (compare_ranges(&items[i - 1], &items[i]) > 0) {
			qsort(items, ranges->list.count, sizeof(*items), compare_ranges);
			return;
		}
	}
}

/* The state of span_map_init(): the ranges open at the present address, the last opened on top. */
struct sweep {
	struct span_map *map;
	const struct span_range **open;
	size_t depth;
};

static void emit_span(struct span_map *map, uint64_t low, uint32_t value)
{
	if (map->count && map->spans[map->count - 1].low == low)
		map->count--;
	if (map->count ? map->spans[map->count - 1].value == value : value == SPAN_NONE)
		return;
	map->spans[map->count++] = (struct span){.low = low, .value = value};
}

/* Closes the ranges that end at or below address. */
static void close_until(struct sweep *sweep, uint64_t address)
{
	while (sweep->depth && sweep->open[sweep->depth - 1]->high <= address) {
		uint64_t end = sweep->open[--sweep->depth]->high;

		// Drop those below the top that ended while they were covered.
		while (sweep->depth && sweep->open[sweep->depth - 1]->high <= end)
			sweep->depth--;
		emit_span(sweep->map, end,
			  sweep->depth ? sweep->open[sweep->depth - 1]->value : SPAN_NONE);
	}
}

struct err *span_map_init(struct span_map *map, struct span_ranges *ranges)
{
	*map = (struct span_map){0};
	if (!ranges->list.count)
		return NULL;
	sort_ranges(ranges);

	// A range emits at most two spans: one when it begins, one when it ends.
	auto_free struct span *spans = calloc(ranges->list.count, 2 * sizeof(*spans));
	auto_free const struct span_range **open = calloc(ranges->list.count, sizeof(*open));

	if (!spans || !open)
		return err_no_memory();
	map->spans = steal(&spans);

	struct sweep sweep = {.map = map, .open = open};

	for (size_t i = 0; i < ranges->list.count; i++) {
		close_until(&sweep, ranges->list.items[i].low);
		open[sweep.depth++] = &ranges->list.items[i];
		emit_span(map, ranges->list.items[i].low, ranges->list.items[i].value);
	}
	close_until(&sweep, UINT64_MAX);

	if (!map->count)
		return NULL;

	struct span *fitting = realloc(map->spans, map->count * sizeof(*map->spans));

	if (fitting)
		map->spans = fitting;
	return NULL;
}

void span_map_deinit(struct span_map *map)
{
	free(map->spans);
	*map = (struct span_map){0};
}

uint32_t span_map_find(const struct span_map *map, uint64_t address)
{
	size_t behind = first_where(i, 0, map->count, map->spans[i].low > address);

	return behind ? map->spans[behind - 1].value : SPAN_NONE;
}
