#include "analysis/blocks/block_order.h"

#include <stdlib.h>
#include <string.h>

#include "hosted/cleanup.h"
#include "hosted/parallel.h"

/*
 * Radix sort, the lowest digit first. Rows are cut into as many pieces as run at the same time.
 * Each piece counts its digits; from all counts follows where its entries go, behind those of
 * earlier pieces. So equal entries stay in order.
 */
#define DIGIT_BITS 11
#define DIGITS     (1u << DIGIT_BITS)
#define PIECES_MAX 8

struct entry {
	uint64_t key;
	uint32_t row;
};

struct sorting {
	const struct entry *from;
	struct entry *to;
	uint64_t count;
	uint64_t piece; /* entries of a piece */
	unsigned int shift;
	uint64_t places[PIECES_MAX][DIGITS];
};

static uint64_t end_of(const struct sorting *sorting, size_t number)
{
	uint64_t end = (number + 1) * sorting->piece;

	return end < sorting->count ? end : sorting->count;
}

static uint32_t digit(const struct sorting *sorting, const struct entry *entry)
{
	return (uint32_t)(entry->key >> sorting->shift) & (DIGITS - 1);
}

static void count_piece(void *argument, size_t number)
{
	struct sorting *sorting = argument;
	uint64_t *places = sorting->places[number];

	memset(places, 0, sizeof(sorting->places[number]));
	for (uint64_t i = number * sorting->piece; i < end_of(sorting, number); i++)
		places[digit(sorting, &sorting->from[i])]++;
}

static void move_piece(void *argument, size_t number)
{
	struct sorting *sorting = argument;
	uint64_t *places = sorting->places[number];

	for (uint64_t i = number * sorting->piece; i < end_of(sorting, number); i++)
		sorting->to[places[digit(sorting, &sorting->from[i])]++] = sorting->from[i];
}

/* Turns the counts into the place of the first entry of each digit. */
static void add_up(struct sorting *sorting, size_t pieces)
{
	uint64_t place = 0;

	for (uint32_t value = 0; value < DIGITS; value++) {
		for (size_t i = 0; i < pieces; i++) {
			uint64_t count = sorting->places[i][value];

			sorting->places[i][value] = place;
			place += count;
		}
	}
}

static void sort(struct sorting *sorting, struct entry *entries, struct entry *others,
		 uint64_t differing, const struct entry **ret)
{
	size_t pieces = parallel_width();

	if (pieces > PIECES_MAX)
		pieces = PIECES_MAX;
	sorting->piece = sorting->count / pieces + 1;
	for (sorting->shift = 0; sorting->shift < 64; sorting->shift += DIGIT_BITS) {
		struct entry *sorted = others;

		// Skip digits that are the same in all keys: addresses have many.
		if (!(differing >> sorting->shift & (DIGITS - 1)))
			continue;
		sorting->from = entries;
		sorting->to = others;
		parallel_run(count_piece, sorting, pieces);
		add_up(sorting, pieces);
		parallel_run(move_piece, sorting, pieces);
		others = entries;
		entries = sorted;
	}
	*ret = entries;
}

struct err *block_order_make(const uint64_t *keys, uint64_t count, struct spill *ret)
{
	cleanup(spill_deinit) struct spill memory = {0}, other_memory = {0}, rows = {0};
	auto_free struct sorting *sorting = malloc(sizeof(*sorting));
	const struct entry *sorted;
	uint64_t differing = 0;
	struct entry *entries;
	uint32_t *row;

	if (!sorting || !spill_grow(&memory, count * sizeof(*entries)) ||
	    !spill_grow(&other_memory, count * sizeof(*entries)) ||
	    !spill_grow(&rows, count * sizeof(*row)))
		return err_no_memory();
	entries = memory.data;
	for (uint64_t i = 0; i < count; i++) {
		entries[i] = (struct entry){keys[i], (uint32_t)i};
		differing |= keys[i] ^ keys[0];
	}
	sorting->count = count;
	sort(sorting, entries, other_memory.data, differing, &sorted);
	row = rows.data;
	for (uint64_t i = 0; i < count; i++)
		row[i] = sorted[i].row;
	spill_settle(&rows, count * sizeof(*row));
	*ret = rows;
	rows = (struct spill){0};
	return NULL;
}
