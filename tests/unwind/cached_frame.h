/* A frame of a stack cache for tests to look at, settled or not, so that they leave that as it is.
 */
#ifndef MALLOW_TESTS_CACHED_FRAME_H
#define MALLOW_TESTS_CACHED_FRAME_H

#include "agent/unwind/leaf_cache.h"

/* i: from 1, the outermost, to cache->depth. */
static inline const struct cached_frame *cached_frame(const struct stack_cache *cache, size_t i)
{
	return i <= cache->settled ? &cache->frames[i]
				   : &cache->top->frames[i - cache->settled - 1];
}

#endif
