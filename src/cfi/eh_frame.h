/*
 * Finding the unwind table row of a pc in .eh_frame, by the binary search table of .eh_frame_hdr
 * (Linux Standard Base, chapter "Exception Frames"). Pure: reads only the image it is given, which
 * may hold anything.
 */
#ifndef MALLOW_CFI_EH_FRAME_H
#define MALLOW_CFI_EH_FRAME_H

#include <stdint.h>

#include "cfi/cfa_program.h"
#include "cfi/eh_cursor.h"

enum eh_frame_answer {
	EH_FRAME_FOUND,
	EH_FRAME_NONE, /* no entry covers the pc */
	EH_FRAME_BAD,  /* there is one, or the table itself, that makes no sense */
};

struct eh_frame_row {
	struct cfa_row row;
	uint64_t start; /* of the code that the entry covers: a function, or a part of one */
	bool signal;    /* augmentation S: this is the frame that a signal handler returns to */
};

/*
 * header: address of .eh_frame_hdr; it and .eh_frame lie in the image. reg: the register that the
 * row is to tell of, besides the CFA and the return address.
 */
enum eh_frame_answer eh_frame_find(const struct eh_image *image, uint64_t header, uint64_t pc,
				   uint8_t reg, struct eh_frame_row *ret);

#endif
