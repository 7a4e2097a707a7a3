/*
 * Finds the pages of live tables in a dump that does not say where they are: by the magic numbers
 * of their headers and chunks, of either byte order (docs/trace-format.md, sections 2 and 10.2).
 * Nothing is trusted.
 */
#ifndef MALLOW_COREDUMP_CORE_SCAN_H
#define MALLOW_COREDUMP_CORE_SCAN_H

#include "coredump/core_image.h"
#include "hosted/err.h"
#include "trace/format.h"

/* A table has less than 2^38 bytes: what says more is damaged. */
#define CORE_SCAN_TABLE_BITS 38

/* Where a chunk belongs, as it says. */
struct chunk_place {
	uint8_t id[TRACE_PLACE_ID];
	uint64_t offset; /* in the table's file */
	uint64_t size;
	uint64_t address; /* in the memory of the process */
};

/* A table's header page. */
struct found_header {
	uint8_t id[16];
	uint32_t pid;
	size_t segment;
	uint64_t at; /* where in its segment */
};

/* One of its chunks. */
struct found_chunk {
	struct chunk_place place;
	size_t segment;
	uint64_t at;
};

/* Zeroed: nothing. */
struct core_scan {
	VEC(struct found_header) headers;
	VEC(struct found_chunk) chunks;
};

/* Looks through all that the image holds. name: for messages. ret: also on failure to be freed. */
struct err *core_scan_read(const char *name, const struct core_image *image, struct core_scan *ret);
void core_scan_deinit(struct core_scan *scan);

#endif
