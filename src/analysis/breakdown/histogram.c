#include "analysis/breakdown/histogram.h"

#include "analysis/sites/sample_weight.h"
#include "hosted/cleanup.h"
#include "hosted/parallel.h"

#define PIECE_WORDS (UINT64_C(1) << 14) /* words of the match: a million blocks */

/* The counts of one piece. Each has its own, so that no two threads write to the same place. */
struct counts {
	struct histogram_sum classes[SCALE_CLASSES];
	struct histogram_sum leaked;
};

struct counting {
	enum histogram_of of;
	const struct scale *scale;
	const struct filter_match *match;
	const struct block_columns *blocks;
	uint64_t mean;
	struct counts *pieces;
};

static void add(struct histogram_sum *sum, const struct histogram_sum *more)
{
	sum->calls += more->calls;
	sum->bytes += more->bytes;
}

static void count_block(const struct counting *counting, uint64_t block, struct counts *counts)
{
	const struct block_columns *blocks = counting->blocks;
	uint64_t size = blocks->size[block], value = size, weight = 1;
	struct histogram_sum *sum;

	if (counting->mean)
		weight = sample_weight(counting->mean, size, block + 1);
	// A free that is recorded late (docs/trace-format.md, section 8) may seem to come before
	// the allocation.
	if (counting->of == HISTOGRAM_LIFETIME)
		value = blocks->freed_ns[block] > blocks->allocated_ns[block]
				? blocks->freed_ns[block] - blocks->allocated_ns[block]
				: 0;
	if (counting->of == HISTOGRAM_LIFETIME && blocks->freed_ns[block] == TIME_NEVER)
		sum = &counts->leaked;
	else
		sum = &counts->classes[scale_class(counting->scale, value)];
	sum->calls += weight;
	sum->bytes += size * weight;
}

static void count_piece(void *argument, size_t number)
{
	const struct counting *counting = argument;
	uint64_t words = (counting->match->blocks + 63) / 64;
	uint64_t end = (number + 1) * PIECE_WORDS < words ? (number + 1) * PIECE_WORDS : words;

	for (uint64_t word = number * PIECE_WORDS; word < end; word++)
		for (uint64_t bits = counting->match->words[word]; bits; bits &= bits - 1)
			count_block(counting, word * 64 + (uint64_t)__builtin_ctzll(bits),
				    &counting->pieces[number]);
}

static void finish(struct histogram *histogram, const struct recording *recording)
{
	const struct recording_facts *facts = recording_facts(recording);

	histogram->first = histogram->end = 0;
	add(&histogram->all, &histogram->leaked);
	for (size_t i = 0; i < histogram->scale.count; i++) {
		add(&histogram->all, &histogram->classes[i]);
		if (!histogram->classes[i].calls)
			continue;
		if (!histogram->end)
			histogram->first = i;
		histogram->end = i + 1;
	}
	if (facts->filtered)
		return;
	histogram->culled.calls = facts->culled_allocations;
	histogram->culled.bytes = facts->culled_bytes;
	add(&histogram->all, &histogram->culled);
}

struct err *histogram_create(enum histogram_of of, const struct recording *recording,
			     const struct seen_blocks *seen, struct histogram *ret)
{
	uint64_t words = (seen->match->blocks + 63) / 64;
	size_t count = (words + PIECE_WORDS - 1) / PIECE_WORDS;
	auto_free struct counts *pieces = calloc(count + 1, sizeof(*pieces));
	struct counting counting = {
		.of = of,
		.scale = &ret->scale,
		.match = seen->match,
		.blocks = recording_blocks(seen->recording),
		.mean = recording_facts(seen->recording)->sample_mean,
		.pieces = pieces,
	};

	if (!pieces)
		return err_no_memory();
	*ret = (struct histogram){.of = of};
	if (of == HISTOGRAM_SIZE)
		scale_of_sizes(&ret->scale);
	else
		scale_of_times(&ret->scale);
	parallel_run(count_piece, &counting, count);
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < ret->scale.count; j++)
			add(&ret->classes[j], &pieces[i].classes[j]);
		add(&ret->leaked, &pieces[i].leaked);
	}
	finish(ret, recording);
	return NULL;
}
