/* What of the main arena of glibc's malloc some of a recording's blocks take, as an address map. */
#ifndef MALLOW_ANALYSIS_VIEWS_HEAP_REGIONS_H
#define MALLOW_ANALYSIS_VIEWS_HEAP_REGIONS_H

#include <stddef.h>

#include "analysis/recording.h"

struct heap_region {
	uint64_t start, end; /* end is behind the last byte */
};

/*
 * *ret: the chunks of the blocks of bits (block_bits.h) by address, those that touch or lie above
 * each other made one; to be freed. *whole: from the first to the last chunk of all blocks, zeros
 * where there is none. order: all blocks by address. None with other allocators than glibc's.
 */
struct err *heap_regions_create(const struct recording *recording, const uint64_t *bits,
				const uint32_t *order, struct heap_region *whole,
				struct heap_region **ret, size_t *count);

#endif
