/*
 * Finds the pages of live tables in a dump that does not say where they are: by the magic numbers
 * of their headers and chunks, of either byte order (docs/trace-format.md, section 10.2).
 */
#ifndef MALLOW_COREDUMP_CORE_SCAN_H
#define MALLOW_COREDUMP_CORE_SCAN_H

#include "coredump/core_image.h"
#include "hosted/err.h"
#include "trace/format.h"

/* A table's header page. */
struct found_header {
	uint8_t id[16];
	uint32_t pid;
	size_t segment;
	uint64_t at; /* where in its segment */
};

/* One of its chunks, as it says itself. */
struct found_chunk {
	uint8_t id[TRACE_PLACE_ID];
	uint64_t offset, size; /* in the table's file */
	uint64_t address;
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
