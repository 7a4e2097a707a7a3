/*
 * What a core dump, or a raw dump, has of a process: pieces of its memory, and the files that it
 * had mapped.
 *
 *   memory   0x7f90e0ad6000 ──────────────► 0x7f90e0bd7000      a segment: size bytes
 *                 │ the first `held` of them      │ the rest is not in the file
 *   file          └ offset ────► offset + held ───┘
 */
#ifndef MALLOW_COREDUMP_CORE_IMAGE_H
#define MALLOW_COREDUMP_CORE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hosted/arena.h"
#include "hosted/err.h"
#include "hosted/vec.h"

struct core_segment {
	uint64_t address, size;
	uint64_t offset, held;
	int fd; /* borrowed */
};

/* A file, or a part of it, that the process had mapped. */
struct core_mapping {
	uint64_t start, end; /* addresses; end is exclusive */
	uint64_t offset;     /* in the mapped file */
	const char *path;
};

/* Zeroed: empty. */
struct core_image {
	VEC(struct core_segment) segments; /* by address */
	VEC(struct core_mapping) mappings;
	struct arena arena; /* paths */
	uint32_t pid;       /* 0: the dump does not say */
	uint32_t signal;    /* that ended the process; 0: none, or not said */
	uint64_t cut;       /* bytes that should stand behind the end of the file */
};

void core_image_deinit(struct core_image *image);

/*
 * Sorts the segments by address, and makes one of those that follow each other in memory and in the
 * file: a table may lie across them. To be called once they are all there, before
 * core_image_find().
 */
void core_image_sort(struct core_image *image);

/* The first segment that ends behind address; image->segments.count: there is none. */
size_t core_image_find(const struct core_image *image, uint64_t address);

/* Whether a file that begins with these bytes is an ELF core dump, of either byte order. */
bool core_image_is_elf(const void *head, size_t size);

/*
 * Reads what the ELF core dump at fd says about itself: its segments, and its notes. fd stays the
 * caller's. name: for messages. ret: empty; also on failure it is to be freed. A core dump whose
 * notes are damaged or cut has fewer mappings.
 */
struct err *core_image_read_elf(const char *name, int fd, struct core_image *ret);

#endif
