#include "analysis/blocks/block_times.h"

#include "analysis/blocks/block_store.h"
#include "hosted/parallel.h"

#define PIECE_ROWS ((uint64_t)64 << 10) /* rows that a thread converts at a time */
#define ROWS_MORE  4096                 /* the least by which the columns grow */

void block_times_deinit(struct block_times *times)
{
	spill_deinit(&times->allocated);
	spill_deinit(&times->freed);
	*times = (struct block_times){0};
}

void block_times_give_back(const struct block_times *times)
{
	spill_give_back(&times->allocated);
	spill_give_back(&times->freed);
}

struct conversion {
	const struct tick_clock *clock;
	const struct block_rows *rows;
	uint64_t first, end;
	uint64_t *allocated, *freed;
};

static uint64_t convert_end(const struct tick_clock *clock, uint64_t ticks)
{
	return ticks == TIME_NEVER ? ticks : tick_clock_ns(clock, ticks);
}

static void convert_piece(void *argument, size_t number)
{
	const struct conversion *conversion = argument;
	const struct block_rows *rows = conversion->rows;
	uint64_t first = conversion->first + number * PIECE_ROWS, end = first + PIECE_ROWS;

	if (end > conversion->end)
		end = conversion->end;
	for (uint64_t i = first; i < end; i++) {
		conversion->allocated[i] = tick_clock_ns(conversion->clock, rows->allocated_ns[i]);
		conversion->freed[i] = convert_end(conversion->clock, rows->freed_ns[i]);
	}
}

void block_times_convert(const struct tick_clock *clock, const struct block_rows *rows,
			 uint64_t first, uint64_t end, uint64_t *allocated, uint64_t *freed)
{
	struct conversion conversion = {clock, rows, first, end, allocated, freed};

	parallel_run(convert_piece, &conversion, (end - first + PIECE_ROWS - 1) / PIECE_ROWS);
}

static bool grow(struct block_times *times, uint64_t count)
{
	uint64_t capacity = count + count / 4 + ROWS_MORE;

	if (count <= times->capacity)
		return true;
	times->allocated.early = times->freed.early = true;
	if (!spill_grow(&times->allocated, capacity * sizeof(uint64_t)) ||
	    !spill_grow(&times->freed, capacity * sizeof(uint64_t)))
		return false;
	times->capacity = capacity;
	return true;
}

/* Converts the ends of blocks that were there before. */
static void convert_ends(struct block_times *times, const struct block_store *store)
{
	uint64_t *freed = times->freed.data;

	for (size_t i = 0; i < store->ended.count; i++) {
		uint32_t block = store->ended.items[i];

		if (block < times->count)
			freed[block] = convert_end(&times->clock, store->rows.freed_ns[block]);
	}
}

static bool is_same(const struct tick_clock *a, const struct tick_clock *b)
{
	return a->start == b->start && a->ticks == b->ticks && a->nanoseconds == b->nanoseconds;
}

struct err *block_times_renew(struct block_times *times, struct block_store *store,
			      const struct tick_clock *clock, struct block_columns *columns)
{
	if (!grow(times, store->count))
		return err_no_memory();
	if (!is_same(&times->clock, clock))
		times->count = 0;
	times->clock = *clock;
	convert_ends(times, store);
	block_times_convert(clock, &store->rows, times->count, store->count, times->allocated.data,
			    times->freed.data);
	times->count = store->count;
	store->ended.count = 0;
	store->ended_wanted = true;
	columns->count = store->count;
#define BLOCK_COLUMN(name, type) columns->name = store->rows.name;
	BLOCK_COLUMNS(BLOCK_COLUMN)
#undef BLOCK_COLUMN
	columns->allocated_ns = times->allocated.data;
	columns->freed_ns = times->freed.data;
	return NULL;
}
