#include "analysis/facts/chain_facts.h"

#include <stdlib.h>

#include "analysis/blocks/block_bits.h"
#include "analysis/sites/sample_weight.h"
#include "hosted/cleanup.h"

#define COVERED 95 /* percent of chains */

/* The least i with size <= 1 << i. */
static unsigned int size_class(uint64_t size)
{
	return size < 2                   ? 0
	       : size > UINT64_C(1) << 63 ? 63
					  : 64 - (unsigned)__builtin_clzll(size - 1);
}

void chain_facts_add(struct chain_facts *chain, const struct block_columns *blocks, uint64_t block,
		     uint64_t weight)
{
	uint64_t to = blocks->successor[block];
	uint64_t from_size = blocks->size[block], to_size = blocks->size[to];

	chain->steps += weight;
	if (blocks->address[to] != blocks->address[block])
		chain->copied += weight * (from_size < to_size ? from_size : to_size);
	if (blocks->successor[to] == RECORDING_NONE)
		chain->ends[size_class(to_size)] += weight;
}

uint64_t chain_facts_ended(const struct chain_facts *chain)
{
	uint64_t ended = 0;

	for (int i = 0; i < 64; i++)
		ended += chain->ends[i];
	return ended;
}

uint64_t chain_facts_reserve(const struct chain_facts *chain, uint64_t *covered)
{
	double wanted = (double)chain_facts_ended(chain) * COVERED;
	unsigned int class = 0;

	*covered = chain->ends[0];
	while ((double)*covered * 100 < wanted && class < 63)
		*covered += chain->ends[++class];
	return UINT64_C(1) << class;
}

struct err *chain_facts_create(const struct recording *recording, const uint64_t *bits,
			       const struct block_groups *groups, const uint32_t *numbers,
			       uint32_t count, struct chain_facts **ret)
{
	const struct block_columns *blocks = recording_blocks(recording);
	uint64_t mean = recording_facts(recording)->sample_mean;
	auto_free struct chain_facts *chains = calloc((size_t)count + 1, sizeof(*chains));
	auto_free uint32_t *chain_of = malloc(((size_t)groups->count + 1) * sizeof(*chain_of));

	if (!chains || !chain_of)
		return err_no_memory();
	for (uint32_t i = 0; i < groups->count; i++)
		chain_of[i] = count;
	for (uint32_t i = 0; i < count; i++)
		chain_of[numbers[i]] = i;
	for (uint64_t i = 0; i < blocks->count; i++) {
		uint32_t to = blocks->successor[i], chain;

		if (to == RECORDING_NONE || !block_bits_has(bits, to))
			continue;
		chain = chain_of[block_groups_of(groups, blocks, to)];
		if (chain < count)
			chain_facts_add(&chains[chain], blocks, i,
					mean ? sample_weight(mean, blocks->size[i], i + 1) : 1);
	}
	*ret = steal(&chains);
	return NULL;
}
