/*
 * Finds the module that holds an address, and the part of its memory from which the unwind tables
 * may be read. unwind_module_at(), the public half, is declared in unwind.h.
 */
#ifndef MALLOW_AGENT_UNWIND_MODULE_FIND_H
#define MALLOW_AGENT_UNWIND_MODULE_FIND_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/unwind/unwind.h"
#include "cfi/eh_cursor.h"

/* dl_find_object: see struct unwind_host. */
void module_find_init(int (*dl_find_object)(void *address, void *result));

struct module_tables {
	struct eh_image image; /* the segment around .eh_frame_hdr; size 0: no unwind tables */
	uint64_t header;       /* address of .eh_frame_hdr */
	uint64_t text_end;     /* the code at the address can be read up to here; 0: not at all */
};

/*
 * Whether the address is in code of a module, as its program headers say. *start: this code can be
 * read from here on.
 */
bool module_find_code(uint64_t address, uint64_t *start);

/* False: the address is in no module. */
bool module_find_tables(uint64_t address, struct module_tables *ret);

#endif
