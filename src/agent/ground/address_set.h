/*
 * A set of addresses of blocks, by which a block is known again at its end. It is used for blocks
 * that are recorded with SAMPLE, or while recording may be switched off. Exact. A radix tree with
 * one bit for each 8 bytes of address space:
 *
 *   top      4096 pointers, one for each 32 GiB
 *   middle   2048 pointers, one for each 16 MiB
 *   leaf     2 Mi bits, 256 KiB, of which a page serves 256 KiB of the program's memory
 *
 * It takes at most 1/64 of the memory that holds such blocks, and three loads to find that an
 * address is not there. Lock-free and async-signal-safe. Memory from own_pages.h, never given back.
 */
#ifndef MALLOW_AGENT_GROUND_ADDRESS_SET_H
#define MALLOW_AGENT_GROUND_ADDRESS_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/arch/machine.h"
#include "base/compiler.h"

#define ADDRESS_SET_UNIT_BITS   3
#define ADDRESS_SET_LEAF_BITS   24
#define ADDRESS_SET_MIDDLE_BITS 11
#define ADDRESS_SET_MOST_BITS   (ADDRESS_SET_MIDDLE_BITS + ADDRESS_SET_LEAF_BITS)
#define ADDRESS_SET_TOP_BITS                                                                       \
	(ARCH_ADDRESS_BITS > ADDRESS_SET_MOST_BITS ? ARCH_ADDRESS_BITS - ADDRESS_SET_MOST_BITS : 0)

struct address_set_top;
struct address_set_leaf;

/* Zero: empty. A child empties its copy by forgetting the pointer. */
struct address_set {
	struct address_set_top *top; /* atomic */
};

/* The word that holds the address's bit. NULL: nothing near the address is in the set. */
uint64_t *address_set_word(const struct address_set *set, uint64_t address);

static inline uint64_t address_set_bit(uint64_t address)
{
	return UINT64_C(1) << (address >> ADDRESS_SET_UNIT_BITS & 63);
}

static inline bool address_set_has(const struct address_set *set, uint64_t address)
{
	const uint64_t *word = address_set_word(set, address);

	return word && __atomic_load_n(word, __ATOMIC_RELAXED) & address_set_bit(address);
}

/* false: no memory, or no address of a program; the set is as before. */
bool address_set_add(struct address_set *set, uint64_t address);

/*
 * Removes the address. Returns whether it was there; if several threads remove it at once, one gets
 * true.
 */
bool address_set_remove(struct address_set *set, uint64_t address);

#endif
