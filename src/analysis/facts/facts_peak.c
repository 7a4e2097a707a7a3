/* The peak of a recording: which allocation reached it, and what it were without a large block. */
#include <stdlib.h>

#include "analysis/blocks/live_changes.h"
#include "analysis/facts/facts_steps.h"
#include "analysis/recording_data.h"
#include "base/first_where.h"
#include "hosted/cleanup.h"

static uint64_t bytes_of(const struct facts_input *input, uint64_t block)
{
	return input->blocks->size[block] * facts_weight(input, block);
}

/*
 * The blocks first … last were allocated at one time. Finds the one after whose allocation
 * `wanted` bytes were live. freed: for each of them, bytes that were freed right before.
 */
static uint64_t find_reached(const struct facts_input *input, uint64_t first, uint64_t last,
			     uint64_t wanted, uint64_t *freed)
{
	const struct block_columns *blocks = input->blocks;
	uint64_t live = 0;

	for (uint64_t i = 0; i <= last; i++) {
		uint64_t turn = blocks->free_turn[i];

		if (i <= first && turn > first)
			live += bytes_of(input, i);
		if (turn > first && turn <= last)
			freed[turn - first] += bytes_of(input, i);
	}
	for (uint64_t i = first; i < last; i++) {
		if (live == wanted)
			return i;
		live += bytes_of(input, i + 1) - freed[i + 1 - first];
	}
	return last;
}

struct err *facts_peak_find(const struct recording *recording, struct facts_input *input)
{
	const struct recording_summary *summary = &recording->summary;
	uint64_t first = first_where(i, 0, input->blocks->count,
				     input->blocks->allocated_ns[i] >= summary->peak_time_ns);
	uint64_t last = first;
	auto_free uint64_t *freed = NULL;

	input->peak = site_table_peak_block(&recording->sites);
	if (input->peak != UINT64_MAX)
		return NULL;
	if (!summary->peak_bytes || first == input->blocks->count)
		return NULL;
	while (last + 1 < input->blocks->count &&
	       input->blocks->allocated_ns[last + 1] == summary->peak_time_ns)
		last++;
	freed = calloc(last - first + 1, sizeof(*freed));
	if (!freed)
		return err_no_memory();
	input->peak = first == last ? first
				    : find_reached(input, first, last, summary->peak_bytes, freed);
	return NULL;
}

/* What is live without each of the large blocks, after each allocation of the window. */
static void walk_without(const struct facts_input *input, const struct live_changes *changes,
			 const uint64_t *numbers, struct large_block *large, uint32_t count,
			 uint64_t *live)
{
	const struct block_columns *blocks = input->blocks;

	for (uint64_t i = changes->begin; i < changes->stop; i++) {
		*live += changes->changes[i - changes->begin];
		for (uint32_t j = 0; j < count; j++) {
			uint64_t number = numbers[j], without = *live;

			if (i >= number && i < blocks->free_turn[number])
				without -= bytes_of(input, number);
			if (without > large[j].without_bytes) {
				large[j].without_bytes = without;
				large[j].without_ns = blocks->allocated_ns[i];
			}
		}
	}
}

struct err *facts_peak_without(const struct facts_input *input, const uint64_t *numbers,
			       struct large_block *large, uint32_t count)
{
	cleanup(live_changes_deinit) struct live_changes changes = {
		.blocks = input->blocks,
		.sample_mean = input->sample_mean,
		.end = input->blocks->count,
	};
	struct err *err = live_changes_begin(&changes);
	uint64_t live = 0;
	bool more = true;

	while (!err && more) {
		err = live_changes_next(&changes, &more);
		if (!err && more)
			walk_without(input, &changes, numbers, large, count, &live);
	}
	return err;
}
