#include "analysis/blocks/block_ranks.h"

#include <stdlib.h>

#include "analysis/blocks/block_bits.h"
#include "hosted/parallel.h"

#define STEP ((uint64_t)4096) /* rows: whole words of bits */

struct counting {
	const struct block_ranks *ranks;
	uint64_t steps, piece; /* in all, and of a piece */
};

static uint64_t row_at(const struct block_ranks *ranks, uint64_t at)
{
	return ranks->order ? ranks->order[at] : at;
}

static bool has(const struct block_ranks *ranks, uint64_t at)
{
	return block_bits_has(ranks->bits, row_at(ranks, at));
}

static uint64_t end_of(const struct block_ranks *ranks, uint64_t step)
{
	uint64_t end = (step + 1) * STEP;

	return end < ranks->blocks ? end : ranks->blocks;
}

static uint64_t count_step(const struct block_ranks *ranks, uint64_t step)
{
	uint64_t count = 0, end = end_of(ranks, step);

	if (ranks->order)
		for (uint64_t at = step * STEP; at < end; at++)
			count += has(ranks, at);
	else
		for (uint64_t at = step * STEP; at < end; at += 64)
			count += (uint64_t)__builtin_popcountll(ranks->bits[at / 64]);
	return count;
}

static void count_piece(void *argument, size_t number)
{
	const struct counting *counting = argument;
	uint64_t first = number * counting->piece, end = first + counting->piece;

	for (uint64_t step = first; step < end && step < counting->steps; step++)
		counting->ranks->before[step + 1] = count_step(counting->ranks, step);
}

struct err *block_ranks_create(const uint64_t *bits, const uint32_t *order, uint64_t blocks,
			       struct block_ranks *ret)
{
	struct block_ranks ranks = {.bits = bits, .order = order, .blocks = blocks};
	uint64_t steps = (blocks + STEP - 1) / STEP;
	struct counting counting = {&ranks, steps, 64};

	if (bits) {
		ranks.before = calloc(steps + 1, sizeof(*ranks.before));
		if (!ranks.before)
			return err_no_memory();
		parallel_run(count_piece, &counting, (size_t)(steps / counting.piece + 1));
		for (uint64_t step = 0; step < steps; step++)
			ranks.before[step + 1] += ranks.before[step];
	}
	*ret = ranks;
	return NULL;
}

void block_ranks_deinit(struct block_ranks *ranks)
{
	free(ranks->before);
	*ranks = (struct block_ranks){0};
}

/* The step with the matching row of that number, of which there must be one. */
static uint64_t step_of(const struct block_ranks *ranks, uint64_t number)
{
	uint64_t low = 0, high = (ranks->blocks + STEP - 1) / STEP;

	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;

		if (ranks->before[middle] <= number)
			low = middle;
		else
			high = middle;
	}
	return low;
}

void block_walk_begin(const struct block_ranks *ranks, uint64_t number, bool descending,
		      struct block_walk *ret)
{
	struct block_walk walk = {.ranks = ranks, .descending = descending};
	uint64_t steps = (ranks->blocks + STEP - 1) / STEP, step;

	if (!ranks->before) {
		walk.at = descending ? ranks->blocks - number : number;
	} else if (descending) {
		uint64_t ascending = ranks->before[steps] - 1 - number;

		step = step_of(ranks, ascending);
		walk.at = end_of(ranks, step);
		for (uint64_t left = ranks->before[step + 1] - 1 - ascending; left; left--)
			block_walk_next(&walk);
	} else {
		step = step_of(ranks, number);
		walk.at = step * STEP;
		for (uint64_t left = number - ranks->before[step]; left; left--)
			block_walk_next(&walk);
	}
	*ret = walk;
}

/* Whether no row of the step matches. */
static bool is_empty(const struct block_ranks *ranks, uint64_t step)
{
	return ranks->before && ranks->before[step] == ranks->before[step + 1];
}

uint64_t block_walk_next(struct block_walk *walk)
{
	const struct block_ranks *ranks = walk->ranks;

	if (walk->descending) {
		do
			while (walk->at % STEP == 0 && is_empty(ranks, walk->at / STEP - 1))
				walk->at -= STEP;
		while (!has(ranks, --walk->at));
		return row_at(ranks, walk->at);
	}
	do
		while (walk->at % STEP == 0 && is_empty(ranks, walk->at / STEP))
			walk->at += STEP;
	while (!has(ranks, walk->at++));
	return row_at(ranks, walk->at - 1);
}
