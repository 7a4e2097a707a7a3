#include "analysis/errors/heap_errors_inside.h"

#include <stdlib.h>

#include "analysis/recording_data.h"

/* How many suspects are looked up: each block is compared with all of them that lie in it. */
#define LOOKED_FOR 256

struct wanted {
	uint64_t address;
	uint64_t rows;
	uint64_t time_ns;
	size_t suspect;
};

static int compare(const void *left, const void *right)
{
	const struct wanted *a = left, *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

static size_t collect(const struct recording *recording, const struct tick_clock *clock,
		      struct wanted *wanted)
{
	const struct heap_errors *errors = &recording->heap_errors;
	size_t count = 0;

	for (size_t i = 0; i < errors->suspects.count && count < LOOKED_FOR; i++) {
		const struct heap_suspect *suspect = &errors->suspects.items[i];

		if (suspect->block != BLOCK_NONE)
			continue;
		wanted[count++] = (struct wanted){
			.address = suspect->address,
			.rows = suspect->rows,
			.time_ns = tick_clock_ns(clock, suspect->ticks),
			.suspect = i,
		};
	}
	if (count)
		qsort(wanted, count, sizeof(*wanted), compare);
	return count;
}

/* The index of the first wanted address behind `address`. */
static size_t first_behind(const struct wanted *wanted, size_t count, uint64_t address)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (wanted[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void heap_errors_inside(const struct recording *recording, const struct tick_clock *clock,
			uint64_t *inside)
{
	const struct block_columns *blocks = &recording->blocks.columns;
	struct wanted wanted[LOOKED_FOR];
	size_t count = collect(recording, clock, wanted);

	for (size_t i = 0; i < recording->heap_errors.suspects.count; i++)
		inside[i] = BLOCK_NONE;
	for (uint64_t row = 0; count && row < blocks->count; row++) {
		uint64_t address = blocks->address[row];

		for (size_t i = first_behind(wanted, count, address);
		     i < count && wanted[i].address - address < blocks->size[row]; i++) {
			if (row < wanted[i].rows && blocks->freed_ns[row] >= wanted[i].time_ns)
				inside[wanted[i].suspect] = row;
		}
	}
}
