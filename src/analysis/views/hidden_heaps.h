/*
 * Finds hidden heaps: memory of allocators of a language's or library's own, which get it for many
 * blocks at once. No hook sees these blocks, so they are in no sum of a recording.
 */
#ifndef MALLOW_ANALYSIS_VIEWS_HIDDEN_HEAPS_H
#define MALLOW_ANALYSIS_VIEWS_HIDDEN_HEAPS_H

#include <stdbool.h>

#include "analysis/names/symbolized.h"
#include "analysis/recording.h"

enum hidden_heap { HIDDEN_HEAP_PYTHON, HIDDEN_HEAP_PHP, HIDDEN_HEAP_RUBY, HIDDEN_HEAP_COUNT };

struct hidden_heaps {
	struct {
		uint32_t count;      /* of arenas, chunks or pages that were ever mapped */
		uint64_t peak_bytes; /* mapped at once at most */
	} of[HIDDEN_HEAP_COUNT];
};

/* "Python", "PHP", "Ruby". */
const char *hidden_heap_owner(enum hidden_heap heap);
/* The option that shows more of an owner's heap: each of its blocks, or what mapped it. */
const char *hidden_heap_option(const char *owner);

/*
 * The language whose own blocks lie in what an operation maps. HIDDEN_HEAP_COUNT: none. The call is
 * in the language's own code, and the memory anonymous and private. Python's arenas are of exactly
 * one size, as are Ruby's pages of objects; PHP maps chunks of one size and single blocks that are
 * larger. With PYTHONMALLOC=malloc
 * and USE_ZEND_ALLOC=0 there are none.
 */
enum hidden_heap hidden_heap_of(const struct recording *recording,
				const struct mapping_operation *mapping);

/* From the recording's mappings. The only error: no memory. */
struct err *hidden_heaps_find(const struct recording *recording, struct hidden_heaps *ret);

/* Allocators of libraries which call malloc for many blocks at once. */
enum hidden_pool { HIDDEN_POOL_LIBSTDCXX, HIDDEN_POOL_GLIB, HIDDEN_POOL_TCL, HIDDEN_POOL_COUNT };

/* "GLib's slice allocator". */
const char *hidden_pool_owner(enum hidden_pool pool);
/* Whether --force-malloc has it call malloc for each block. */
bool hidden_pool_is_forced(enum hidden_pool pool);

/* ret: by enum hidden_pool, whether memory was allocated for it. Names of functions tell. */
struct err *hidden_pools_find(const struct recording *recording, struct symbolized *symbolized,
			      bool ret[HIDDEN_POOL_COUNT]);

#endif
