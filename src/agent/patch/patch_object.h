/* Patches the functions of one loaded object. */
#ifndef MALLOW_AGENT_PATCH_PATCH_OBJECT_H
#define MALLOW_AGENT_PATCH_PATCH_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/ground/text.h"
#include "agent/patch/patched.h"

#define PATCH_CELLS_MAX 256  /* patched functions of one object */
#define PATCH_TEXT_MAX  2048 /* of a record */

struct link_map;

/* What was done with an object that has an allocator. */
struct patch_report {
	const struct link_map *map; /* NULL: it is gone */
	bool told;
	uint32_t refused, cell_count;
	struct patched *cells[PATCH_CELLS_MAX];
	struct text text; /* path, allocator and refused functions, each ended by NUL */
	char bytes[PATCH_TEXT_MAX];
	struct patch_report *next;
};

/* Once, before the first object. false: no memory. */
bool patch_object_begin(void);

/*
 * Patches what the object has of an allocator. take(): gives a report whose object is gone, or a
 * new one; NULL: no memory. It is asked for if there is something to tell. Under the caller's lock.
 */
void patch_object(const struct link_map *map, struct patch_report *(*take)(void));

#endif
