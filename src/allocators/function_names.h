/*
 * Which names of functions are those of an allocator, and what such a function does: the list in
 * functions.def, with the prefixes that allocators give their functions.
 *
 * This room is freestanding: the agent, the tool and the loader of BPF programs use it.
 */
#ifndef MALLOW_ALLOCATORS_FUNCTION_NAMES_H
#define MALLOW_ALLOCATORS_FUNCTION_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocators/act.h"

/*
 * The allocator that a function belongs to, one bit each, by its prefix or by what stands instead.
 */
enum allocator_group {
	ALLOCATOR_PLAIN = 1, /* without a prefix */
	ALLOCATOR_JE = 2,
	ALLOCATOR_TC = 4,
	ALLOCATOR_MI = 8,
	ALLOCATOR_RP = 16,
	ALLOCATOR_SN = 32,
	ALLOCATOR_LIBC = 64,
	ALLOCATOR_USER = 128, /* the user's prefix */
	ALLOCATOR_MOZ = 256,
	ALLOCATOR_ANY = 511,
	ALLOCATOR_CXX = 512,
	ALLOCATOR_RUST = 1024,
	ALLOCATOR_MAP = 2048,
};

/* A function of the list. Numbers of arguments count from 1; 0: there is none. */
struct allocator_function {
	const char *name; /* without a prefix */
	uint16_t groups;  /* in which it can be */
	uint8_t act;      /* enum allocator_act */
	uint8_t size;     /* the argument that is the block's size … */
	uint8_t times;    /* … to be multiplied by this one */
	uint8_t pointer;  /* the block that it frees or resizes */
	uint8_t alignment;
	uint8_t arguments; /* how many it has */
	uint8_t operation; /* enum trace_op; 0: none, of mappings */
	bool stores;       /* the block's address is where argument 1 points to, if it returns 0 */
	bool returns;      /* what it returns matters, and it always returns */
	bool throws;       /* it may throw an exception */
};

/* The list, for look-ups. No memory of its own. */
#define FUNCTION_NAMES_SLOTS 512
struct function_names {
	const char *prefix; /* the user's, borrowed; NULL: none */
	uint16_t slots[FUNCTION_NAMES_SLOTS];
};

/* What a symbol is. */
struct function_match {
	const struct allocator_function *function; /* static */
	uint32_t rank;                             /* the lower, the better known is the name */
	uint32_t group;                            /* one of function->groups */
};

void function_names_init(struct function_names *names, const char *prefix);

/* Whether it is a mangled name in a namespace or module. Of those only a few of Rust's matter. */
static inline bool function_names_nested(const char *symbol)
{
	return symbol[0] == '_' && (symbol[1] == 'R' || (symbol[1] == 'Z' && symbol[2] == 'N'));
}

/* Whether the symbol's name is in the list. Rust's names may be mangled. */
bool function_names_match(const struct function_names *names, const char *symbol,
			  struct function_match *ret);

/*
 * If the symbol is jemalloc's mallocx() with a prefix, which then is not in the list: copies that
 * to ret. Else ret stays as it is.
 */
#define FUNCTION_NAMES_PREFIX 32
void function_names_prefix(const char *symbol, char ret[FUNCTION_NAMES_PREFIX]);

/*
 * The allocator that has a function of that name. *rank: if an image has functions of several
 * allocators, the one with the lowest rank counts. NULL: any can have it.
 */
const char *function_names_allocator(const char *symbol, uint32_t *rank);

/* The name of the allocator whose group this is; NULL: it is nobody's. */
const char *function_names_of_group(uint32_t group);

/* The group of an allocator that calls a function of that name in itself; 0: none is known. */
uint32_t function_names_inside(const char *symbol);

#endif
