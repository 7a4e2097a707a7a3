/* Finds the modules that a growing recording names, and looks at no sealed chunk twice. */
#ifndef MALLOW_STREAM_MODULES_MODULE_WALK_H
#define MALLOW_STREAM_MODULES_MODULE_WALK_H

#include <stdint.h>

#include "hosted/files/byte_source.h"
#include "hosted/vec.h"
#include "stream/modules/named_modules.h"

/* Zeroed: nothing was looked at. */
struct module_walk {
	uint64_t end;        /* up to there it was looked */
	VEC(uint64_t) pages; /* a bit for each page of the file: the sealed chunk there is known */
};

enum module_walk_which {
	MODULE_WALK_NEW, /* chunks behind the last look's end, and slots */
	MODULE_WALK_ALL, /* chunks that have come to places before that, too */
};

/* What to look for; NULL: all. Once it is found the walk ends, and the next one goes on from there.
 */
struct module_walk_goal {
	const uint8_t *build_id;
	size_t size;
};

struct err *module_walk(struct named_modules *modules, const struct byte_source *source,
			enum module_walk_which which, const struct module_walk_goal *goal,
			struct module_walk *walk);
void module_walk_deinit(struct module_walk *walk);

/* Notes those of one chunk. */
struct err *module_walk_chunk(struct named_modules *modules, const struct byte_source *source,
			      uint64_t offset, uint32_t size);

#endif
