/*
 * What the programs for the kernel's own memory and their loader share, besides bpf_shared.h.
 *
 *	blocks    address of an object, of a struct page, or PERCPU_KEY() -> struct block
 *	stacks    a stack's frames[0] is its source, see below; the frames follow
 *	caches    address of a struct kmem_cache -> struct cache
 *	movable   a bit for each page frame
 */
#ifndef MALLOW_EBPF_BPF_KERNEL_SHARED_H
#define MALLOW_EBPF_BPF_KERNEL_SHARED_H

#include "ebpf/bpf/bpf_shared.h"

/* The kernel's own limit for bpf_get_stack() (sysctl kernel.perf_event_max_stack). */
#define KERNEL_FRAMES_MAX 127

/*
 * Where a stack's memory comes from. Allocations with the same frames and another source are
 * another stack. Else it is the address of a struct kmem_cache.
 */
#define SOURCE_KMALLOC  1ull
#define SOURCE_PERCPU   2ull
#define SOURCE_PAGES    3ull /* pages that the kernel cannot move: its own, for the most part */
#define SOURCE_MOVABLE  4ull /* pages that it can move: of programs and of the page cache */
#define SOURCE_ANY_SLAB 5ull /* of a cache that the kernel's tracepoint does not name */
#define SOURCE_LAST     5ull

/* Addresses of per-CPU memory are offsets: apart from all others. */
#define PERCPU_KEY(address) (((address) & ~(1ull << 63)) ^ (1ull << 62))

struct cache {
	char name[48];
	uint64_t old_frees; /* of objects that are in no table: they are older than we are */
};
#define CACHES_MAX 4096

/* How the parameters of the kernel's tracepoints are ordered, which changed in 5.19 and 6.1. */
enum slab_layout {
	SLAB_SIZES,       /* call, pointer, requested, allocated, … */
	SLAB_CACHE_SIZES, /* call, pointer, cache, requested, allocated, … */
	SLAB_CACHE,       /* call, pointer, cache, flags, node */
};

/* Constant while the programs are loaded. */
struct kernel_settings {
	uint32_t kmalloc_layout, cache_layout; /* enum slab_layout */
	uint32_t free_names_cache;             /* kmem_cache_free has the cache as a parameter */
	uint32_t all_pages;                    /* movable pages have stacks, and are in `blocks` */
	uint64_t page_base;   /* the address of the struct page of frame 0; 0: unknown */
	uint64_t frame_words; /* of `movable` */
};

/* What went wrong, since the start. */
struct kernel_losses {
	uint64_t missed_frees; /* an allocation at the address of another */
	uint64_t mistaken;     /* of the stacks that were walked to check: it was another way */
	uint64_t scratch;      /* no room to take a stack: interrupted too often */
};

/* Where page_places.bpf.c sees that the kernel put things. */
struct page_places {
	uint64_t page;   /* the struct page of the last page that the thread got */
	uint64_t object; /* the last object of kmalloc() that is at least two pages large */
	uint64_t object_page;
	uint64_t page_size; /* of a struct page, in bytes */
};

#endif
