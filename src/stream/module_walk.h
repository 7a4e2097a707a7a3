/* Finds the modules that a growing recording names, and looks at no sealed chunk twice. */
#ifndef MALLOW_STREAM_MODULE_WALK_H
#define MALLOW_STREAM_MODULE_WALK_H

#include <stdint.h>

#include "hosted/files/byte_source.h"
#include "stream/named_modules.h"

/*
 * Notes the modules of all chunks that are new, and those of all slots. *walked: up to where sealed
 * chunks have been looked at; 0 at first.
 */
struct err *module_walk(struct named_modules *modules, const struct byte_source *source,
			uint64_t *walked);
/* Notes those of one chunk. */
struct err *module_walk_chunk(struct named_modules *modules, const struct byte_source *source,
			      uint64_t offset, uint32_t size);

#endif
