#include "analysis/filter/filter_chains.h"

#include <string.h>

static bool has_successor(const struct block_columns *blocks, uint64_t block)
{
	return blocks->successor[block] < blocks->count;
}

/*
 * Passes the first block's value on through its chain. Each block's is larger by step than the one
 * before.
 */
static void hand_on(const struct block_columns *blocks, uint64_t step, uint64_t *values)
{
	for (uint64_t i = 0; i < blocks->count; i++)
		if (has_successor(blocks, i))
			values[blocks->successor[i]] = values[i] + step;
}

/* Passes the last block's value back through its chain. */
static void hand_back(const struct block_columns *blocks, uint64_t *values)
{
	for (uint64_t i = blocks->count; i-- > 0;)
		if (has_successor(blocks, i))
			values[i] = values[blocks->successor[i]];
}

static void copy(const struct block_columns *blocks, const uint64_t *column, uint64_t *ret)
{
	if (blocks->count)
		memcpy(ret, column, blocks->count * sizeof(*ret));
}

static void fill(const struct block_columns *blocks, uint64_t value, uint64_t *ret)
{
	for (uint64_t i = 0; i < blocks->count; i++)
		ret[i] = value;
}

void chain_values(const struct block_columns *blocks, enum chain_value value, uint64_t *ret)
{
	switch (value) {
	case CHAIN_FIRST_SIZE:
		copy(blocks, blocks->size, ret);
		hand_on(blocks, 0, ret);
		return;
	case CHAIN_LAST_SIZE:
		copy(blocks, blocks->size, ret);
		break;
	case CHAIN_LENGTH:
		fill(blocks, 1, ret);
		hand_on(blocks, 1, ret);
		break;
	case CHAIN_POSITION:
		fill(blocks, 0, ret);
		hand_on(blocks, 1, ret);
		return;
	case CHAIN_LIFETIME:
		copy(blocks, blocks->allocated_ns, ret);
		hand_on(blocks, 0, ret);
		for (uint64_t i = 0; i < blocks->count; i++)
			ret[i] = blocks->freed_ns[i] == TIME_NEVER ? TIME_NEVER
								   : blocks->freed_ns[i] - ret[i];
		break;
	case CHAIN_FREED:
		copy(blocks, blocks->freed_ns, ret);
		break;
	}
	hand_back(blocks, ret);
}
