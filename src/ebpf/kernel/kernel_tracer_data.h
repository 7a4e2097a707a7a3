/* Inside of a tracer of the kernel: shared by the files that drive and read it. */
#ifndef MALLOW_EBPF_KERNEL_KERNEL_TRACER_DATA_H
#define MALLOW_EBPF_KERNEL_KERNEL_TRACER_DATA_H

#include "ebpf/bpf/kernel_shared.h"
#include "ebpf/bpf_map.h"
#include "ebpf/kernel/kernel_tracer.h"
#include "ebpf/kernel/page_flags.h"
#include "ebpf/kernel/slab_caches.h"

struct kernel_bpf;
struct bulk_free_bpf;
struct ring_buffer;

struct known_cache {
	uint64_t address; /* of its struct kmem_cache */
	struct cache cache;
};

struct kernel_tracer {
	struct kernel_options options;
	void (*on_call)(void *argument, const struct event *event);
	void *argument;

	struct kernel_symbols *symbols;
	struct kernel_places places;
	struct slab_caches before; /* when the tracing began; empty: unknown */
	struct kernel_bpf *bpf;
	struct bulk_free_bpf *bulk; /* NULL: the kernel does not take it … */
	char blind[160];            /* … because of this */
	struct ring_buffer *ring;
	struct shared_map stacks;
	struct shared_map movable; /* a bit for each page frame */
	uint64_t stack_words, frame_words;
	VEC(struct known_cache) caches; /* by address, as of the last reading */
	uint32_t handled;               /* events, by this kernel_tracer_poll() */
};

/* What the reading of the table found out about a stack, besides its sums. */
struct stack_facts {
	enum page_use
		use;    /* of pages; PAGE_SLAB_PART: they are behind objects that count already */
	bool pages;     /* it allocates pages, not objects */
	uint64_t young; /* blocks left out because of their age */
};

/* Blocks of kmalloc() by size: 8, 16, … 8192, 96, 192. */
#define KMALLOC_SIZES 16

/*
 * Holds the numbers of objects against those of /proc/slabinfo: fills in ret->doubts, and marks
 * their stacks. facts: of each stack; of_kmalloc: objects by kmalloc_size_index().
 */
struct err *cache_check(struct kernel_tracer *tracer, const struct stack_facts *facts,
			const uint64_t *of_kmalloc, struct kernel_outstanding *ret);
/* KMALLOC_SIZES: kmalloc() has no cache of that size. */
uint32_t kmalloc_size_index(uint64_t size);

#endif
