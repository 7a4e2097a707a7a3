#include "analysis/blocks/block_temporary.h"

#include <string.h>

#include "hosted/cleanup.h"

struct err *block_temporary_find(const struct recording *recording, uint64_t **ret)
{
	const struct block_columns *blocks = recording_blocks(recording);
	const struct recording_facts *facts = recording_facts(recording);
	auto_free uint64_t *words = calloc(blocks->count / 64 + 1, sizeof(*words));
	auto_free uint64_t *following = NULL; // for each thread, its next allocation
	uint32_t threads;

	recording_threads(recording, &threads);
	following = malloc(((size_t)threads + 1) * sizeof(*following));
	if (!words || !following)
		return err_no_memory();
	memset(following, 0xff, ((size_t)threads + 1) * sizeof(*following));
	for (uint64_t i = facts->sample_mean || facts->cull_ns ? 0 : blocks->count; i-- > 0;) {
		uint64_t *next = &following[blocks->thread[i]];
		bool temporary =
			blocks->free_turn[i] <= *next && blocks->free_turn[i] != RECORDING_NONE;

		words[i / 64] |= (uint64_t)temporary << i % 64;
		*next = i;
	}
	*ret = steal(&words);
	return NULL;
}
