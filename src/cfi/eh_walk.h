/*
 * All rows of .eh_frame or .debug_frame, rather than that of one pc. First the places of the FDEs:
 *
 *	.eh_frame_hdr's table (eh_frame_table())  or  eh_walk_next() through the section itself
 *
 * then eh_walk_entry() for each, in any order. It runs the FDE's instructions once and calls back
 * for each row. Pure functions: they read only the image, which may hold anything.
 */
#ifndef MALLOW_CFI_EH_WALK_H
#define MALLOW_CFI_EH_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "cfi/eh_entry.h"
#include "cfi/eh_frame.h"

struct eh_walk {
	const struct eh_image *image;
	enum eh_format format;
	uint8_t reg;       /* the register that row.saved is about */
	uint64_t left;     /* bytes of entries that may be read until the image counts as damaged */
	uint64_t last_cie; /* address of the CIE in `last`; EH_ENTRY_IS_CIE: none yet */
	struct eh_entry last;
};

/*
 * Begins a walk. It reads several times as many bytes as the image has, and no more. So a damaged
 * table that names one huge FDE a million times takes no more time than an undamaged one. All FDEs
 * behind that limit make no sense.
 */
void eh_walk_begin(struct eh_walk *walk, const struct eh_image *image, enum eh_format format,
		   uint8_t reg);

/* An FDE and its code. */
struct eh_place {
	uint64_t start, size;
	uint64_t entry; /* the FDE's address in the image */
};

/*
 * Finds the next FDE that makes sense. cursor: in the section, at an entry; it is moved behind the
 * FDE. False: there is none.
 */
bool eh_walk_next(struct eh_walk *walk, struct eh_cursor *cursor, struct eh_place *ret);

/* row NULL: the row of [low, high) makes no sense. The row lives until the callback returns. */
typedef void eh_walk_row(void *argument, const struct eh_frame_row *row, uint64_t low,
			 uint64_t high);

/* Calls each() for all rows of the FDE at that address, in order. False: it makes no sense. */
bool eh_walk_entry(struct eh_walk *walk, uint64_t entry, eh_walk_row *each, void *argument);

#endif
