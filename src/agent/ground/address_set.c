#include "agent/ground/address_set.h"

#include <stddef.h>

#include "agent/ground/own_pages.h"

#define LEAF_WORDS (1u << (ADDRESS_SET_LEAF_BITS - ADDRESS_SET_UNIT_BITS - 6))

struct address_set_leaf {
	uint64_t words[LEAF_WORDS]; /* atomic */
};

struct address_set_middle {
	struct address_set_leaf *leaves[1u << ADDRESS_SET_MIDDLE_BITS]; /* atomic */
};

struct address_set_top {
	struct address_set_middle *middles[1u << ADDRESS_SET_TOP_BITS]; /* atomic */
};

static uint64_t top_index(uint64_t address)
{
	return address >> (ADDRESS_SET_LEAF_BITS + ADDRESS_SET_MIDDLE_BITS);
}

static uint64_t middle_index(uint64_t address)
{
	return address >> ADDRESS_SET_LEAF_BITS & ((1u << ADDRESS_SET_MIDDLE_BITS) - 1);
}

static uint64_t word_index(uint64_t address)
{
	return (address & ((1u << ADDRESS_SET_LEAF_BITS) - 1)) >> (ADDRESS_SET_UNIT_BITS + 6);
}

uint64_t *address_set_word(const struct address_set *set, uint64_t address)
{
	const struct address_set_top *top = __atomic_load_n(&set->top, __ATOMIC_ACQUIRE);
	const struct address_set_middle *middle;
	struct address_set_leaf *leaf;

	if (!top || top_index(address) >= 1u << ADDRESS_SET_TOP_BITS)
		return NULL;
	middle = __atomic_load_n(&top->middles[top_index(address)], __ATOMIC_ACQUIRE);
	if (!middle)
		return NULL;
	leaf = __atomic_load_n(&middle->leaves[middle_index(address)], __ATOMIC_ACQUIRE);
	return leaf ? &leaf->words[word_index(address)] : NULL;
}

bool address_set_add(struct address_set *set, uint64_t address)
{
	struct address_set_top *top;
	struct address_set_middle *middle;
	struct address_set_leaf *leaf;
	bool own;

	if (top_index(address) >= 1u << ADDRESS_SET_TOP_BITS)
		return false;
	top = own_pages_once(&set->top, sizeof(*top), &own);
	middle = top ? own_pages_once(&top->middles[top_index(address)], sizeof(*middle), &own)
		     : NULL;
	leaf = middle ? own_pages_once(&middle->leaves[middle_index(address)], sizeof(*leaf), &own)
		      : NULL;
	if (!leaf)
		return false;
	__atomic_fetch_or(&leaf->words[word_index(address)], address_set_bit(address),
			  __ATOMIC_RELEASE);
	return true;
}

bool address_set_remove(struct address_set *set, uint64_t address)
{
	uint64_t bit = address_set_bit(address);
	uint64_t *word = address_set_word(set, address);

	// Most addresses are not there: a look costs less than a locked operation.
	return word && __atomic_load_n(word, __ATOMIC_RELAXED) & bit &&
	       __atomic_fetch_and(word, ~bit, __ATOMIC_ACQUIRE) & bit;
}
