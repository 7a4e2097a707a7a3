#include "analysis/facts/facts_piece.h"

#include "analysis/facts/chain_facts.h"
#include "hosted/lower_bound.h"

struct chain_facts *facts_piece_chain(struct facts_piece *piece, uint32_t site)
{
	uint64_t *place = map_put(&piece->chain_of, site);

	if (place && *place == MAP_NONE) {
		*place = piece->sums.chains.count;
		if (!vec_push(&piece->sums.chains, (struct chain_facts){.site = site}))
			place = NULL;
	}
	piece->failed |= !place;
	return place ? &piece->sums.chains.items[*place] : NULL;
}

/* Takes the step of a realloc that ended the block. */
static void add_step(struct facts_piece *piece, const struct facts_input *input, uint64_t i)
{
	const struct block_columns *blocks = input->blocks;
	struct chain_facts *chain = facts_piece_chain(piece, blocks->site[blocks->successor[i]]);

	if (chain)
		chain_facts_add(chain, blocks, i, facts_weight(input, i));
}

/* Samples that are looked at one by one: most blocks end soon. */
#define SAMPLES_NEAR 4

/* The first sample of memory at that time or later, of those from `from` on. */
static uint32_t sample_from(const struct facts_input *input, uint32_t from, uint64_t time_ns)
{
	uint32_t count = input->sampled_count, near = from + SAMPLES_NEAR;

	for (; from < count && from < near; from++)
		if (input->sampled[from] >= time_ns)
			return from;
	return (uint32_t)lower_bound(input->sampled, from, count, time_ns);
}

static void add_life(struct facts_piece *piece, const struct facts_input *input, uint64_t i,
		     const struct facts_life *life, uint64_t bytes)
{
	struct site_facts *site = &piece->sums.sites[input->blocks->site[i]];

	if (life->part != life->freed_part) {
		site->live[life->part] += bytes;
		if (life->freed_part < FACTS_POINTS)
			site->live[life->freed_part] -= bytes;
	}
	if (life->sample != life->freed_sample) {
		piece->sums.sampled_live[life->sample] += bytes;
		piece->sums.sampled_live[life->freed_sample] -= bytes;
	}
}

static void add_kept(struct site_facts *site, const struct facts_input *input, uint64_t i,
		     unsigned int part, uint64_t weight)
{
	uint64_t bytes = input->blocks->size[i] * weight;

	site->kept[part] += bytes;
	if (input->blocks->allocated_ns[i] > input->late_ns) {
		site->late_bytes += bytes;
		site->late_blocks += weight;
	}
}

static void add_at_peak(struct facts_piece *piece, const struct facts_input *input, uint64_t i,
			uint64_t weight)
{
	const struct block_columns *blocks = input->blocks;
	struct run_facts *facts = &piece->sums.facts;

	piece->sums.sites[blocks->site[i]].peak_slack += blocks->slack[i] * weight;
	if (blocks->size[i] < input->large || facts->large_count == FACTS_SHARE)
		return;
	piece->numbers[facts->large_count] = i;
	facts->large[facts->large_count++] = (struct large_block){
		.site = blocks->site[i],
		.size = blocks->size[i],
		.allocated_ns = blocks->allocated_ns[i],
		.freed_ns = blocks->freed_ns[i],
	};
}

static void add_handed(struct facts_piece *piece, const struct block_columns *blocks, uint64_t i,
		       uint64_t weight)
{
	struct site_facts *site = &piece->sums.sites[blocks->site[i]];
	struct thread_facts *thread = &piece->sums.threads[blocks->free_thread[i]];

	site->handed_bytes += blocks->size[i] * weight;
	site->handed_blocks += weight;
	thread->handed_bytes += blocks->size[i] * weight;
	thread->handed_blocks += weight;
}

void facts_piece_add(struct facts_piece *piece, const struct facts_input *input, uint64_t i,
		     struct facts_life *life)
{
	const struct block_columns *blocks = input->blocks;
	uint64_t weight = facts_weight(input, i), freed = blocks->freed_ns[i];

	while (life->part < FACTS_POINTS - 1 && blocks->allocated_ns[i] > input->ends[life->part])
		life->part++;
	for (life->freed_part = life->part;
	     life->freed_part < FACTS_POINTS && freed > input->ends[life->freed_part];)
		life->freed_part++;
	life->sample = sample_from(input, life->sample, blocks->allocated_ns[i]);
	life->freed_sample = sample_from(input, life->sample, freed);
	add_life(piece, input, i, life, blocks->size[i] * weight);
	if (freed == TIME_NEVER)
		add_kept(&piece->sums.sites[blocks->site[i]], input, i, life->part, weight);
	if (facts_at_peak(input, i))
		add_at_peak(piece, input, i, weight);
	if (blocks->free_thread[i] != RECORDING_NONE && blocks->free_thread[i] != blocks->thread[i])
		add_handed(piece, blocks, i, weight);
	if (blocks->successor[i] != RECORDING_NONE)
		add_step(piece, input, i);
}
