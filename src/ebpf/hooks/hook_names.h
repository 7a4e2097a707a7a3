/*
 * Which names of functions are those of an allocator: the list in symbols/allocator_functions.def,
 * with the prefixes that allocators give their functions.
 */
#ifndef MALLOW_EBPF_HOOKS_HOOK_NAMES_H
#define MALLOW_EBPF_HOOKS_HOOK_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The allocator that a function belongs to, one bit each, by its prefix or by what stands instead.
 */
enum hook_group {
	HOOK_PLAIN = 1, /* without a prefix */
	HOOK_JE = 2,
	HOOK_TC = 4,
	HOOK_MI = 8,
	HOOK_RP = 16,
	HOOK_SN = 32,
	HOOK_LIBC = 64,
	HOOK_USER = 128, /* the user's prefix */
	HOOK_ANY = 255,
	HOOK_CXX = 256,
	HOOK_RUST = 512,
	HOOK_MAP = 1024,
};

/* A function of the list. */
struct hook_name {
	const char *name; /* without a prefix */
	uint32_t groups;  /* in which it can be */
	uint32_t cookie;  /* hook.h */
	bool throws;      /* it may throw an exception */
};

/* The list, sorted for one search. */
struct hook_names {
	uint16_t *sorted;   /* indices of the list; owned */
	const char *prefix; /* the user's, borrowed; NULL: none */
};

/* What a symbol is. */
struct hook_match {
	const struct hook_name *function;
	uint32_t rank;  /* its place in the list: the lower, the better known */
	uint32_t group; /* one of function->groups */
};

/* false: no memory. */
bool hook_names_init(struct hook_names *names, const char *prefix);
void hook_names_deinit(struct hook_names *names);

/* Whether the symbol's name is in the list. Rust's names may be mangled. */
bool hook_names_match(const struct hook_names *names, const char *symbol, struct hook_match *ret);

/*
 * The allocator that has a function of that name. *rank: if an image has functions of several
 * allocators, the one with the lowest rank counts. NULL: any can have it.
 */
const char *hook_names_allocator(const char *symbol, uint32_t *rank);

#endif
