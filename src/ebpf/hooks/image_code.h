/* Reads the machine code of a program or library, function by function. Addresses are the file's.
 */
#ifndef MALLOW_EBPF_HOOKS_IMAGE_CODE_H
#define MALLOW_EBPF_HOOKS_IMAGE_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "symbols/load_segments.h"
#include "hosted/vec.h"
#include "symbols/elf_image.h"

/*
 * The functions of an image, as its .eh_frame lists them: an FDE for each, or for each part of one.
 * Stripped files have them, too.
 */
struct fde_range {
	uint64_t start, end;
};

/* Zeroed: empty. */
struct fde_ranges {
	VEC(struct fde_range) list; /* sorted by start */
};

/*
 * Reads them into the empty *ret. What follows damage is left out. An error: no memory. No error if
 * there is no .eh_frame.
 */
struct err *fde_ranges_read(const struct elf_image *image, struct fde_ranges *ret);
void fde_ranges_deinit(struct fde_ranges *ranges);

/* The one that covers an address; NULL: none. */
const struct fde_range *fde_ranges_find(const struct fde_ranges *ranges, uint64_t address);

struct image_code {
	const struct elf_image *image; /* borrowed */
	struct load_segments segments;
	bool ranges_known;
	struct fde_ranges ranges;
	VEC(uint8_t) bytes; /* that were read last */
};

/* false: it is no image of this architecture. */
bool image_code_init(struct image_code *code, const struct elf_image *image);
void image_code_deinit(struct image_code *code);

/* The file offset of an address. false: no code is there. */
bool image_code_offset(const struct image_code *code, uint64_t address, uint64_t *ret);

/*
 * Reads so many bytes, or fewer where the segment ends, into code->bytes, in place of what is
 * there. false: no code is there, or no memory.
 */
bool image_code_read(struct image_code *code, uint64_t address, uint64_t size);

/*
 * The function at an address, or the part of one, by the unwind table: symbol tables of stripped
 * files know only the functions that are exported. *ret NULL: it is not known. An error: no memory.
 */
struct err *image_code_function(struct image_code *code, uint64_t address,
				const struct fde_range **ret);

enum image_jump {
	IMAGE_JUMP_NONE,    /* it is another instruction */
	IMAGE_JUMP_HERE,    /* to *ret */
	IMAGE_JUMP_OUTSIDE, /* to a function of another image, *name */
	IMAGE_JUMP_UNKNOWN,
};

/*
 * Where the code at an address jumps to at once, as the stubs of the procedure linkage table do:
 * the caller of a function that another image may replace jumps there.
 */
enum image_jump image_code_jump(struct image_code *code, uint64_t address, uint64_t *ret,
				const char **name);

#endif
