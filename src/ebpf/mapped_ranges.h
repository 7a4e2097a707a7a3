/*
 * What the process has mapped by mmap and mremap since the probes were set. The BPF programs send
 * each call; the list is kept here, because munmap and mremap may cut a mapping anywhere:
 *
 *	mmap    [0 ................ 16)         one range of 16 pages
 *	munmap        [4 .. 8)                  [0 .. 4) and [8 ........ 16), both of the same mmap
 */
#ifndef MALLOW_EBPF_MAPPED_RANGES_H
#define MALLOW_EBPF_MAPPED_RANGES_H

#include <stdint.h>

#include "hosted/err.h"
#include "hosted/vec.h"

struct mapped_range {
	uint64_t start, end; /* whole pages */
	uint64_t size; /* of [start, end) so many bytes were asked for; the rest fills a page */
	uint64_t time_ns;
	uint32_t stack;
	uint32_t tid;
};

/* A part that a thread is about to unmap, until it turns out that it could not. */
struct unmapped_part {
	struct mapped_range range;
	uint32_t by; /* that thread */
};

/* Zeroed: empty. */
struct mapped_ranges {
	VEC(struct mapped_range) list;      /* sorted by start; they do not overlap */
	VEC(struct unmapped_part) unmapped; /* of each thread, what its last call unmapped */
};

/* A new mapping, which replaces what was there. size: as asked for. An error: no memory. */
struct err *mapped_ranges_add(struct mapped_ranges *ranges, uint64_t address, uint64_t size,
			      uint64_t time_ns, uint32_t stack, uint32_t tid);
/* A thread is about to unmap [address, address + size), up to the end of the last page. */
struct err *mapped_ranges_remove(struct mapped_ranges *ranges, uint64_t address, uint64_t size,
				 uint32_t tid);
/* What the thread was about to unmap is still mapped. */
struct err *mapped_ranges_restore(struct mapped_ranges *ranges, uint32_t tid);
void mapped_ranges_deinit(struct mapped_ranges *ranges);

#endif
