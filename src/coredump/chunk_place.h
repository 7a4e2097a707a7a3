/*
 * Recognises a live table's header page and chunks in memory, of either byte order
 * (docs/trace-format.md, sections 2 and 10.2). Nothing is trusted.
 */
#ifndef MALLOW_COREDUMP_CHUNK_PLACE_H
#define MALLOW_COREDUMP_CHUNK_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/format.h"

/* A table has less than 2^38 bytes: what says more is damaged. */
#define CHUNK_PLACE_BITS 38

/* Where a chunk belongs, as it says. */
struct chunk_place {
	uint8_t id[TRACE_PLACE_ID];
	uint64_t offset; /* in the table's file */
	uint64_t size;
	uint64_t address; /* in the memory of the process */
};

/* false: there is no chunk of a live table at data, or it does not say its place. */
bool chunk_place_read(const uint8_t *data, size_t size, struct chunk_place *ret);

/* false: there is no header of a live table at data. */
bool chunk_place_of_header(const uint8_t *data, size_t size, uint8_t id[16], uint32_t *pid);

#endif
