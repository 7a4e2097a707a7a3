/*
 * The entries of .eh_frame and .debug_frame. Both sections hold the same two kinds, one behind the
 * other. A CIE is what several functions have in common. An FDE is about one function, or a part of
 * one, and names its CIE.
 *
 *	            .eh_frame (Linux Standard Base)      .debug_frame (DWARF 5, section 6.4)
 *	a CIE       its id is 0                          its id has all bits set
 *	an FDE      its CIE: bytes back from that field  its CIE: offset in the section
 *	addresses   in an encoding that the CIE names    8 bytes
 */
#ifndef MALLOW_CFI_EH_ENTRY_H
#define MALLOW_CFI_EH_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "cfi/cfa_program.h"
#include "cfi/eh_cursor.h"

enum eh_format {
	EH_FORMAT_EH_FRAME,
	EH_FORMAT_DEBUG_FRAME, /* the image is that section and nothing else */
};

/* A CIE, and after eh_entry_read_fde() an FDE of it. */
struct eh_entry {
	struct cfa_program program; /* but for the saved_register, which is up to the user */
	uint64_t size;              /* of the FDE's code; it begins at program.start */
	uint8_t encoding;           /* of the FDE's addresses */
	bool sized_augmentation;    /* 'z' */
	bool signal;                /* 'S': the frame that a signal handler returns to */
};

/* The answer of eh_entry_enter() for a CIE. */
#define EH_ENTRY_IS_CIE UINT64_MAX

/* A cursor from that address to the end of the image. Bad if the image does not hold it. */
struct eh_cursor eh_entry_at(const struct eh_image *image, uint64_t address);

/*
 * Reads the head of the entry at the cursor, limits the cursor to the entry's body, and returns the
 * address of the FDE's CIE. The cursor gets bad at the end of the section.
 */
uint64_t eh_entry_enter(struct eh_cursor *cursor, enum eh_format format);

/* Reads the CIE at the cursor. False: it makes no sense. */
bool eh_entry_read_cie(struct eh_cursor cursor, enum eh_format format, struct eh_entry *ret);

/* Reads the FDE that the cursor has entered. *ret holds its CIE. False: it makes no sense. */
bool eh_entry_read_fde(struct eh_cursor body, struct eh_entry *ret);

#endif
