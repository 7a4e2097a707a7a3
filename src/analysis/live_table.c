#include "analysis/live_table.h"

#include "hosted/pages.h"

#define FIRST_BITS 8
#define MOST_BITS  44

static size_t mask(const struct live_table *table)
{
	return ((size_t)1 << (64 - table->shift)) - 1;
}

static size_t bytes(const struct live_table *table)
{
	return table->places ? (mask(table) + 1) * sizeof(*table->places) : 0;
}

void live_table_deinit(struct live_table *table)
{
	pages_free(table->places, bytes(table));
	*table = (struct live_table){0};
}

static bool grow(struct live_table *table)
{
	unsigned int bits = table->places ? 64 - table->shift + 1 : FIRST_BITS;
	struct live_table grown = {.shift = 64 - bits, .count = table->count};

	if (bits > MOST_BITS)
		return false;
	grown.places = pages_alloc(sizeof(*grown.places) << bits);
	if (!grown.places)
		return false;
	grown.limit = ((size_t)1 << bits) / 2;
	for (size_t i = 0; table->places && i <= mask(table); i++) {
		size_t at;

		if (!table->places[i].number)
			continue;
		at = live_table_home(&grown, table->places[i].address);
		while (grown.places[at].number)
			at = (at + 1) & mask(&grown);
		grown.places[at] = table->places[i];
	}
	live_table_deinit(table);
	*table = grown;
	return true;
}

struct live_block *live_table_put(struct live_table *table, uint64_t address)
{
	if (table->count >= table->limit && !grow(table))
		return NULL;
	for (size_t i = live_table_home(table, address);; i = (i + 1) & mask(table)) {
		struct live_block *place = &table->places[i];

		if (!place->number) {
			place->address = address;
			table->count++;
			return place;
		}
		if (place->address == address)
			return place;
	}
}

/* Closes the gap: moves later blocks of the run back, as far as their home places allow. */
static void close_gap(struct live_table *table, size_t gap)
{
	struct live_block *places = table->places;

	for (size_t i = (gap + 1) & mask(table); places[i].number; i = (i + 1) & mask(table)) {
		size_t distance = (i - live_table_home(table, places[i].address)) & mask(table);

		if (distance >= ((i - gap) & mask(table))) {
			places[gap] = places[i];
			gap = i;
		}
	}
	places[gap].number = 0;
}

bool live_table_take(struct live_table *table, uint64_t address, struct live_block *ret)
{
	if (!table->places)
		return false;
	for (size_t i = live_table_home(table, address);; i = (i + 1) & mask(table)) {
		const struct live_block *place = &table->places[i];

		if (!place->number)
			return false;
		if (place->address == address) {
			*ret = *place;
			close_gap(table, i);
			table->count--;
			return true;
		}
	}
}
