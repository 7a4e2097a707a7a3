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

#endif
