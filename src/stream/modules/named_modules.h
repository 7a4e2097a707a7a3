/*
 * The modules that a recording names: its programs and libraries, by build id. A sender looks here
 * for the path of a file that it is asked for, a receiver for what to ask for.
 *
 *	chunk, chunk, … ──► named_modules_add() ──► 0: 3f12…, /usr/bin/server
 *	                                            1: a0c4…, /usr/lib/libc.so.6
 *
 * The bytes need not be trusted. Whatever they are, a list takes at most 64 MiB for modules, and 16
 * MiB for the stack of frames that records change. A list belongs to one thread.
 */
#ifndef MALLOW_STREAM_MODULES_NAMED_MODULES_H
#define MALLOW_STREAM_MODULES_NAMED_MODULES_H

#include <stddef.h>
#include <stdint.h>

#include "hosted/files/byte_source.h"
#include "hosted/vec.h"

#define NAMED_MODULES_MAX      65536u      /* of a recording; further ones are not noted */
#define NAMED_MODULES_PATH_MAX 4096u       /* bytes; a module with a longer path is not noted */
#define NAMED_MODULES_BYTES    (64u << 20) /* of all paths and build ids; further are not noted */

struct named_module {
	const uint8_t *build_id;
	size_t build_id_size; /* 1 … MESSAGE_BUILD_ID_MAX */
	const char *path;     /* as recorded: any bytes, may be empty, or "[vdso]" */
};

struct named_modules;

struct err *named_modules_create(struct named_modules **ret);
/* Accepts NULL. */
void named_modules_destroy(struct named_modules *modules);

/*
 * Notes the modules of an events chunk: a sealed one, or the copy of a slot. Other chunks name
 * none. chunk: from its header on, size bytes of it, which may be fewer than its header says. Of a
 * damaged chunk all is noted that stands before the damage. Each build id is noted once, with the
 * first path that came with it. The only error: no memory. The chunk can then be added again.
 *
 * A receiver does this with each chunk that arrives: 45 million records a second (250 MB/s),
 * measured on a chunk of allocations and frees with stack changes of two frames.
 */
struct err *named_modules_add(struct named_modules *modules, const void *chunk, size_t size);

/* Modules are only ever appended: indices from 0 to the count stay valid. */
size_t named_modules_count(const struct named_modules *modules);
/* Valid until the list is destroyed. */
const struct named_module *named_modules_at(const struct named_modules *modules, size_t index);

/* The path of the module with that build id. NULL: the recording names none. */
const char *named_modules_find(const struct named_modules *modules, const uint8_t *build_id,
			       size_t size);

/*
 * A walk finds the modules that a growing recording names, and looks at no sealed chunk twice.
 * Zeroed: nothing was looked at.
 */
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
