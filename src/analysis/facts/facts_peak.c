/* The peak of a recording: which allocation reached it, and what it were without a large block. */
#include <stdlib.h>

#include "analysis/facts/facts_steps.h"
#include "hosted/cleanup.h"
#include "hosted/lower_bound.h"

static uint64_t bytes_of(const struct facts_input *input, uint64_t block)
{
	return input->blocks->size[block] * facts_weight(input, block);
}

/*
 * Of the blocks first … last, which were allocated at one time, finds the one after whose
 * allocation so many bytes were live. freed: for each of them, bytes that were freed right before.
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

struct err *facts_peak_find(const struct recording_summary *summary, struct facts_input *input)
{
	uint64_t first = lower_bound(input->blocks->allocated_ns, 0, input->blocks->count,
				     summary->peak_time_ns);
	uint64_t last = first;
	auto_free uint64_t *freed = NULL;

	input->peak = UINT64_MAX;
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

struct err *facts_peak_without(const struct facts_input *input, const uint64_t *numbers,
			       struct large_block *large, uint32_t count)
{
	const struct block_columns *blocks = input->blocks;
	auto_free uint64_t *freed = calloc(blocks->count + 1, sizeof(*freed));
	uint64_t live = 0;

	if (!freed)
		return err_no_memory();
	for (uint64_t i = 0; i < blocks->count; i++)
		if (blocks->free_turn[i] != RECORDING_NONE)
			freed[blocks->free_turn[i]] += bytes_of(input, i);
	for (uint64_t i = 0; i < blocks->count; i++) {
		live += bytes_of(input, i) - freed[i];
		for (uint32_t j = 0; j < count; j++) {
			uint64_t number = numbers[j], without = live;

			if (i >= number && i < blocks->free_turn[number])
				without -= bytes_of(input, number);
			if (without > large[j].without_bytes) {
				large[j].without_bytes = without;
				large[j].without_ns = blocks->allocated_ns[i];
			}
		}
	}
	return NULL;
}
