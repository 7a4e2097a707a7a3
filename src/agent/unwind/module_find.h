/*
 * Finds the module that holds an address, and the part of its memory from which the unwind tables
 * may be read. unwind_module_at(), the public half, is declared in unwind.h.
 */
#ifndef MALLOW_AGENT_UNWIND_MODULE_FIND_H
#define MALLOW_AGENT_UNWIND_MODULE_FIND_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/unwind/unwind.h"
#include "agent/unwind/module_index.h"
#include "cfi/eh_frame.h"

/* dl_find_object: see struct unwind_host. */
void module_find_init(int (*dl_find_object)(void *address, void *result));

struct module_tables {
	struct eh_image image; /* the segment around the header; size 0: no unwind tables */
	uint64_t header; /* of .eh_frame_hdr or .ARM.exidx; 0: there is none, and index counts */
	uint64_t header_size; /* 0: not known */
	const struct module_index *index;
	uint64_t text_end; /* the code at the address can be read up to here; 0: not at all */
	uint64_t entry; /* of the program and the loader: where the kernel enters them. Of others:
			   nowhere */
};

/*
 * Whether the address is in code of a module, as its program headers say. *start: this code can be
 * read from here on.
 */
bool module_find_code(uint64_t address, uint64_t *start);

/* A module's code, and its dynamic section; 0: it has none. */
struct module_text {
	uint64_t start, end;
	uint64_t dynamic, bias;
	uint64_t entry; /* odd: ARM's Thumb code */
};

/* The same, with more about the module. */
bool module_find_text(uint64_t address, struct module_text *ret);

/*
 * False: the address is in no module. may_make: the index of a module without .eh_frame_hdr may be
 * made now. Only for a caller that runs by unwind_run_slow().
 */
bool module_find_tables(uint64_t address, bool may_make, struct module_tables *ret);

#endif
