#include "analysis/sums/chain_sums.h"

#include <stdlib.h>

#include "analysis/blocks/block_bits.h"
#include "analysis/sites/sample_weight.h"
#include "hosted/cleanup.h"

struct err *chain_sums_create(const struct recording *recording, const uint64_t *bits,
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
