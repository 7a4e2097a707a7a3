/* Which parts of the main arena of glibc's malloc some of a recording's blocks take, by address. */
#ifndef MALLOW_ANALYSIS_VIEWS_HEAP_REGIONS_H
#define MALLOW_ANALYSIS_VIEWS_HEAP_REGIONS_H

#include <stddef.h>

#include "analysis/recording.h"

struct heap_region {
	uint64_t start, end; /* end: behind the last byte */
};

/*
 * *ret: the chunks of the blocks in bits (block_bits.h), by address; chunks that touch or overlap
 * are joined. The caller owns it (free()). *whole: from the first to the last chunk of all blocks;
 * zeros if there is none. order: all blocks by address. With other allocators than glibc's there
 * are none.
 */
struct err *heap_regions_create(const struct recording *recording, const uint64_t *bits,
				const uint32_t *order, struct heap_region *whole,
				struct heap_region **ret, size_t *count);

#endif
