#include "agent/cull/cull_table.h"

#define ADDRESS_UNIT_BITS 3
#define ADDRESS_BITS      47
#define NUMBER_MASK       ((UINT64_C(1) << CULL_NUMBER_BITS) - 1)

static uint64_t word_of(uint64_t address, uint32_t number)
{
	return address >> ADDRESS_UNIT_BITS << CULL_NUMBER_BITS | number;
}

static bool has_address(uint64_t word, uint64_t address)
{
	return word >> CULL_NUMBER_BITS == address >> ADDRESS_UNIT_BITS;
}

static uint64_t *bucket_of(struct cull_table *table, uint64_t address)
{
	uint64_t hash = (address >> ADDRESS_UNIT_BITS) * UINT64_C(0x9e3779b97f4a7c15);

	return &table->words[(hash >> (64 - CULL_BUCKET_BITS)) * CULL_BUCKET];
}

static bool remove_word(uint64_t *place, uint64_t word)
{
	return __atomic_compare_exchange_n(place, &word, 0, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

bool cull_table_put(struct cull_table *table, uint64_t address, uint32_t number, uint32_t *stale)
{
	uint64_t *bucket = bucket_of(table, address);

	*stale = 0;
	if (address >> ADDRESS_BITS)
		return false;
	*stale = cull_table_take(table, address);
	for (int i = 0; i < CULL_BUCKET; i++) {
		uint64_t none = 0;

		if (!__atomic_load_n(&bucket[i], __ATOMIC_RELAXED) &&
		    __atomic_compare_exchange_n(&bucket[i], &none, word_of(address, number), false,
						__ATOMIC_RELEASE, __ATOMIC_RELAXED))
			return true;
	}
	return false;
}

uint32_t cull_table_take(struct cull_table *table, uint64_t address)
{
	uint64_t *bucket = bucket_of(table, address);

	for (int i = 0; i < CULL_BUCKET; i++) {
		uint64_t word = __atomic_load_n(&bucket[i], __ATOMIC_RELAXED);

		if (word && has_address(word, address) && remove_word(&bucket[i], word))
			return (uint32_t)(word & NUMBER_MASK);
	}
	return 0;
}

bool cull_table_take_this(struct cull_table *table, uint64_t address, uint32_t number)
{
	uint64_t *bucket = bucket_of(table, address), word = word_of(address, number);

	for (int i = 0; i < CULL_BUCKET; i++)
		if (__atomic_load_n(&bucket[i], __ATOMIC_RELAXED) == word)
			return remove_word(&bucket[i], word);
	return false;
}
