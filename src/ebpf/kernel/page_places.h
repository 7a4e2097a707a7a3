/* Where the kernel keeps its struct pages, and where it maps all memory. */
#ifndef MALLOW_EBPF_KERNEL_PAGE_PLACES_H
#define MALLOW_EBPF_KERNEL_PAGE_PLACES_H

#include <stdint.h>

#include "hosted/err.h"

/* What is unknown is 0. */
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
