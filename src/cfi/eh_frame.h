/*
 * Finds the row of the unwind table for a pc in .eh_frame, through the binary search table of
 * .eh_frame_hdr (Linux Standard Base, chapter "Exception Frames"). A pure function: it reads only
 * the image, which may hold anything.
 */
#ifndef MALLOW_CFI_EH_FRAME_H
#define MALLOW_CFI_EH_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "cfi/cfa_program.h"
#include "cfi/eh_cursor.h"
#include "cfi/eh_entry.h"

enum eh_frame_answer {
	EH_FRAME_FOUND,
	EH_FRAME_NONE, /* no entry covers the pc */
	EH_FRAME_BAD,  /* the entry, or the search table, makes no sense */
};

struct eh_frame_row {
	struct cfa_row row;
	uint64_t start; /* of the code that the entry covers: a function, or a part of one */
	bool signal;    /* augmentation S: this is the frame that a signal handler returns to */
};

/* The search table, sorted: for each FDE the start of its code, and where the FDE lies itself. */
struct eh_frame_table {
	const uint8_t *entries; /* in the image, or made elsewhere */
	uint64_t count;
	uint64_t header; /* the address that the entries count from */
	uint64_t frames; /* the address of .eh_frame */
};

/*
 * Finds the row for pc. The image holds .eh_frame and .eh_frame_hdr; header: the address of the
 * latter. reg: the register that ret->row.saved is to be about. *ret is valid only with
 * EH_FRAME_FOUND.
 */
enum eh_frame_answer eh_frame_find(const struct eh_image *image, uint64_t header, uint64_t pc,
				   uint8_t reg, struct eh_frame_row *ret);

/* The same by a table. The image holds .eh_frame. */
enum eh_frame_answer eh_frame_find_in(const struct eh_image *image,
				      const struct eh_frame_table *table, uint64_t pc, uint8_t reg,
				      struct eh_frame_row *ret);

/* False: the header has no table, or makes no sense. */
bool eh_frame_table(const struct eh_image *image, uint64_t header, struct eh_frame_table *ret);

/* Where the code of entry i starts, and the address of its FDE. Nothing is known about them. */
static inline uint64_t eh_frame_table_start(const struct eh_frame_table *table, uint64_t i)
{
	return table->header + (uint64_t)(int32_t)bytes_u32(table->entries + i * 8);
}

static inline uint64_t eh_frame_table_entry(const struct eh_frame_table *table, uint64_t i)
{
	return table->header + (uint64_t)(int32_t)bytes_u32(table->entries + i * 8 + 4);
}

/*
 * All rows of .eh_frame or .debug_frame, rather than that of one pc. First the places of the FDEs:
 *
 *	.eh_frame_hdr's table (eh_frame_table())  or  eh_walk_next() through the section itself
 *
 * then eh_walk_entry() for each, in any order. It runs the FDE's instructions once and calls back
 * for each row. Pure functions: they read only the image, which may hold anything.
 */
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
