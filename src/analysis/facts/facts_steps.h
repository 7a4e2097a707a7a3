/* The steps of making run facts: each a look over a recording's blocks. For facts_make.c. */
#ifndef MALLOW_ANALYSIS_FACTS_FACTS_STEPS_H
#define MALLOW_ANALYSIS_FACTS_FACTS_STEPS_H

#include "analysis/facts/run_facts.h"
#include "analysis/sites/sample_weight.h"

/* The blocks, and what all steps know of the recording. */
struct facts_input {
	const struct block_columns *blocks;
	uint64_t sample_mean; /* 0: each block counts once */
	uint64_t ends[FACTS_POINTS];
	uint64_t late_ns;        /* the last moments begin behind this */
	uint64_t peak;           /* the block whose allocation reached the peak; UINT64_MAX: none */
	uint64_t large;          /* a block of so many bytes is large */
	const uint64_t *sampled; /* times of the samples of memory, ascending */
	uint32_t sampled_count;
};

static inline uint64_t facts_weight(const struct facts_input *input, uint64_t block)
{
	if (__builtin_expect(!input->sample_mean, 1))
		return 1;
	return sample_weight(input->sample_mean, input->blocks->size[block], block + 1);
}

/* Whether the block was live when the most was. Turns tell it: times are often equal. */
static inline bool facts_at_peak(const struct facts_input *input, uint64_t block)
{
	return block <= input->peak && input->peak != UINT64_MAX &&
	       input->blocks->free_turn[block] > input->peak;
}

/* facts_peak.c: finds input->peak, by what is known of the peak already. */
struct err *facts_peak_find(const struct recording *recording, struct facts_input *input);

/* facts_peak.c: fills in what the peak were without each of the large blocks: numbers[]. */
struct err *facts_peak_without(const struct facts_input *input, const uint64_t *numbers,
			       struct large_block *large, uint32_t count);

/*
 * facts_pages.c: fills in the pages at ret->at_ns, and few_pages of the sites. Blocks of a sample
 * count once: others lay on their pages, too, and nobody knows which.
 */
struct err *facts_pages_find(const struct block_columns *blocks, struct page_facts *ret,
			     struct site_facts *sites);

#endif
