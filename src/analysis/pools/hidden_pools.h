/*
 * Memory pools of languages' own allocators, which map memory for many blocks at once. No hook sees
 * these blocks, so they are in no sum of a recording.
 */
#ifndef MALLOW_ANALYSIS_POOLS_HIDDEN_POOLS_H
#define MALLOW_ANALYSIS_POOLS_HIDDEN_POOLS_H

#include <stdbool.h>

#include "analysis/names/symbolized.h"
#include "analysis/recording.h"

enum hidden_pool { HIDDEN_POOL_PYTHON, HIDDEN_POOL_PHP, HIDDEN_POOL_COUNT };

struct hidden_pools {
	struct {
		uint32_t count;      /* of arenas or chunks that were ever mapped */
		uint64_t peak_bytes; /* mapped at once at most */
	} of[HIDDEN_POOL_COUNT];
};

/* "Python", "PHP". */
const char *hidden_pool_owner(enum hidden_pool pool);

/* From the recording's mappings. The only error: no memory. */
struct err *hidden_pools_find(const struct recording *recording, struct hidden_pools *ret);

/* Whether libstdc++ allocated for __pool_alloc or __mt_alloc. */
struct err *hidden_pools_of_cxx(const struct recording *recording, struct symbolized *symbolized,
				bool *ret);

#endif
