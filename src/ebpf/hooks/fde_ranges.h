/*
 * The functions of an image, as its .eh_frame lists them: an FDE for each, or for each part of one.
 * Stripped files have them, too.
 */
#ifndef MALLOW_EBPF_HOOKS_FDE_RANGES_H
#define MALLOW_EBPF_HOOKS_FDE_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "hosted/vec.h"
#include "symbols/elf_image.h"

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

#endif
