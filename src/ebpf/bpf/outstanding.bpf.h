/*
 * What is outstanding: the tables of live blocks and of their stacks, and the functions that change
 * them. Whoever includes this fills in `settings` (combined, stack_words) and the sizes of the
 * tables, before it loads the programs.
 */
#ifndef MALLOW_EBPF_BPF_OUTSTANDING_BPF_H
#define MALLOW_EBPF_BPF_OUTSTANDING_BPF_H

#include "ebpf/bpf/bpf_shared.h"

#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, uint64_t);
	__type(value, struct block);
} blocks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, uint64_t);
	__type(value, uint32_t);
} stack_ids SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 8);
} stacks SEC(".maps");

const volatile struct bpf_settings settings = {0};
struct bpf_state state = {0};

static __always_inline void count(uint64_t *counter)
{
	__sync_fetch_and_add(counter, 1);
}

/* Adds to the sums of a block's stack. sign: 1 or -1. */
static __always_inline void add_to_stack(const struct block *block, uint64_t sign)
{
	uint32_t zero = 0;
	uint64_t *words = bpf_map_lookup_elem(&stacks, &zero);
	uint64_t at = block->stack;

	if (!words || at >= settings.stack_words - STACK_HEAD_WORDS)
		return;
	__sync_fetch_and_add(&words[at + 1], sign * block->size);
	__sync_fetch_and_add(&words[at + 2], sign);
}

/* Takes a block out of the table, into *ret. false: it is not there. */
static __always_inline bool take_block(uint64_t address, struct block *ret)
{
	const struct block *block = bpf_map_lookup_elem(&blocks, &address);

	if (!block)
		return false;
	*ret = *block;
	// Another thread may free it at the same time, which is that program's bug: one of us wins.
	if (bpf_map_delete_elem(&blocks, &address))
		return false;
	if (settings.combined)
		add_to_stack(ret, -1ull);
	return true;
}

static __always_inline void put_block(uint64_t address, const struct block *block)
{
	struct block before;

	// A block that was there is one whose free was not seen.
	if (settings.combined)
		take_block(address, &before);
	if (bpf_map_update_elem(&blocks, &address, block, BPF_ANY)) {
		count(&state.losses.blocks);
		return;
	}
	if (settings.combined)
		add_to_stack(block, 1);
}

/*
 * Appends a stack's frames to `stacks`. end: enum stack_end. STACK_NONE: there is no room.
 */
static __always_inline uint32_t store_stack(const uint64_t *list, uint64_t frames, uint32_t end)
{
	uint32_t zero = 0;
	uint64_t *words = bpf_map_lookup_elem(&stacks, &zero);
	uint64_t at;

	if (!words || frames > STACK_FRAMES_MAX)
		return STACK_NONE;
	at = __sync_fetch_and_add(&state.words_used, (uint32_t)frames + STACK_HEAD_WORDS);
	if (at >= settings.stack_words - STACK_HEAD_WORDS - STACK_FRAMES_MAX) {
		// The counter must not come round to 0.
		__sync_fetch_and_add(&state.words_used, -((uint32_t)frames + STACK_HEAD_WORDS));
		return STACK_NONE;
	}
	words[at] = frames | (uint64_t)end << 32;
	bpf_probe_read_kernel(&words[at + STACK_HEAD_WORDS], frames * 8, list);
	return (uint32_t)at;
}

/*
 * The number of a stack: the one that it has already, or a new one. hash: of its frames and end.
 * STACK_NONE, counted: there is no room.
 */
static __always_inline uint32_t stack_number(uint64_t hash, const uint64_t *list, uint64_t frames,
					     uint32_t end)
{
	uint32_t *known = bpf_map_lookup_elem(&stack_ids, &hash);
	uint32_t number;

	if (known)
		return *known;
	number = store_stack(list, frames, end);
	if (number != STACK_NONE && bpf_map_update_elem(&stack_ids, &hash, &number, BPF_NOEXIST)) {
		// Another thread was faster, or the table is full.
		known = bpf_map_lookup_elem(&stack_ids, &hash);
		number = known ? *known : STACK_NONE;
	}
	if (number == STACK_NONE)
		count(&state.losses.stacks);
	return number;
}

#endif
