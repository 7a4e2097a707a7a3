#include "analysis/blocks/block_pages.h"

#include <stdlib.h>

#include "analysis/blocks/block_bits.h"
#include "base/first_where.h"
#include "hosted/parallel.h"

#define STEP ((uint64_t)4096) /* rows of a step: whole words of bits */

struct counting {
	const struct block_pages *pages;
	uint64_t steps, piece; /* steps in all, and steps of a piece */
};

static uint64_t row_at(const struct block_pages *pages, uint64_t at)
{
	return pages->order ? pages->order[at] : at;
}

static bool has(const struct block_pages *pages, uint64_t at)
{
	return block_bits_has(pages->bits, row_at(pages, at));
}

static uint64_t end_of(const struct block_pages *pages, uint64_t step)
{
	uint64_t end = (step + 1) * STEP;

	return end < pages->blocks ? end : pages->blocks;
}

static uint64_t count_step(const struct block_pages *pages, uint64_t step)
{
	uint64_t count = 0, end = end_of(pages, step);

	if (pages->order)
		for (uint64_t at = step * STEP; at < end; at++)
			count += has(pages, at);
	else
		for (uint64_t at = step * STEP; at < end; at += 64)
			count += (uint64_t)__builtin_popcountll(pages->bits[at / 64]);
	return count;
}

static void count_piece(void *argument, size_t number)
{
	const struct counting *counting = argument;
	uint64_t first = number * counting->piece, end = first + counting->piece;

	for (uint64_t step = first; step < end && step < counting->steps; step++)
		counting->pages->before[step + 1] = count_step(counting->pages, step);
}

struct err *block_pages_create(const uint64_t *bits, const uint32_t *order, uint64_t blocks,
			       struct block_pages *ret)
{
	struct block_pages pages = {.bits = bits, .order = order, .blocks = blocks};
	uint64_t steps = (blocks + STEP - 1) / STEP;
	struct counting counting = {&pages, steps, 64};

	if (bits) {
		pages.before = calloc(steps + 1, sizeof(*pages.before));
		if (!pages.before)
			return err_no_memory();
		parallel_run(count_piece, &counting, (size_t)(steps / counting.piece + 1));
		for (uint64_t step = 0; step < steps; step++)
			pages.before[step + 1] += pages.before[step];
	}
	*ret = pages;
	return NULL;
}

void block_pages_deinit(struct block_pages *pages)
{
	free(pages->before);
	*pages = (struct block_pages){0};
}

/* The step with the matching row of that number, which must exist. */
static uint64_t step_of(const struct block_pages *pages, uint64_t number)
{
	uint64_t steps = (pages->blocks + STEP - 1) / STEP;

	return first_where(i, 1, steps, pages->before[i] > number) - 1;
}

void block_cursor_begin(const struct block_pages *pages, uint64_t number, bool descending,
			struct block_cursor *ret)
{
	struct block_cursor cursor = {.pages = pages, .descending = descending};
	uint64_t steps = (pages->blocks + STEP - 1) / STEP, step;

	if (!pages->before) {
		cursor.at = descending ? pages->blocks - number : number;
	} else if (descending) {
		uint64_t ascending = pages->before[steps] - 1 - number;

		step = step_of(pages, ascending);
		cursor.at = end_of(pages, step);
		for (uint64_t left = pages->before[step + 1] - 1 - ascending; left; left--)
			block_cursor_next(&cursor);
	} else {
		step = step_of(pages, number);
		cursor.at = step * STEP;
		for (uint64_t left = number - pages->before[step]; left; left--)
			block_cursor_next(&cursor);
	}
	*ret = cursor;
}

/* Whether no row of the step matches. */
static bool is_empty(const struct block_pages *pages, uint64_t step)
{
	return pages->before && pages->before[step] == pages->before[step + 1];
}

uint64_t block_cursor_next(struct block_cursor *cursor)
{
	const struct block_pages *pages = cursor->pages;

	if (cursor->descending) {
		do
			while (cursor->at % STEP == 0 && is_empty(pages, cursor->at / STEP - 1))
				cursor->at -= STEP;
		while (!has(pages, --cursor->at));
		return row_at(pages, cursor->at);
	}
	do
		while (cursor->at % STEP == 0 && is_empty(pages, cursor->at / STEP))
			cursor->at += STEP;
	while (!has(pages, cursor->at++));
	return row_at(pages, cursor->at - 1);
}
