/* What the kernel uses its pages for, by their flags: /proc/kpageflags. */
#ifndef MALLOW_EBPF_KERNEL_PAGE_FLAGS_H
#define MALLOW_EBPF_KERNEL_PAGE_FLAGS_H

#include <stddef.h>
#include <stdint.h>

#include "hosted/err.h"

enum page_use {
	PAGE_KERNEL,    /* none of the following: the kernel's own */
	PAGE_PROGRAM,   /* memory of programs that is in no file */
	PAGE_FILE,      /* of files, in the page cache; shared memory, too */
	PAGE_TABLE,     /* page tables */
	PAGE_SLAB,      /* objects of the kernel's caches */
	PAGE_SLAB_PART, /* maybe: it belongs to the page before it */
	PAGE_FREE,
	PAGE_UNKNOWN, /* there is no such page, or the flags cannot be read */
	PAGE_USES,
};

/* One look at the flags: each is read once, when it is asked for, together with its neighbours. */
struct page_flags;

/* Accepts that /proc/kpageflags cannot be read: then all pages are PAGE_UNKNOWN. */
struct err *page_flags_create(struct page_flags **ret);
/* Accepts NULL. */
void page_flags_destroy(struct page_flags *flags);

enum page_use page_flags_use(struct page_flags *flags, uint64_t frame);

/* How many page frames the machine has, counting from 0. 0: unknown. */
uint64_t page_flags_frames(void);

/* Where the kernel keeps its struct pages, and where it maps all memory. What is unknown is 0. */
struct kernel_places {
	uint64_t page_base;   /* the address of the struct page of frame 0 */
	uint64_t page_size;   /* of a struct page */
	uint64_t direct_base; /* where frame 0 is mapped */
};

/*
 * Finds them by experiment, since no symbol tells: asks the kernel for pages, looks which struct
 * pages it takes, and reads their numbers in /proc/self/pagemap. Without the right to read those
 * (CAP_SYS_ADMIN) they stay unknown.
 */
struct err *page_places_find(struct kernel_places *ret);

#endif
