/* What the files of changes.h share. */
#ifndef MALLOW_STREAM_SENDER_CHANGES_DATA_H
#define MALLOW_STREAM_SENDER_CHANGES_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "hosted/files/byte_source.h"
#include "hosted/vec.h"
#include "stream/sender/changes.h"
#include "trace/chunk_check.h"

#define CHANGES_PUT_MAX (128u << 10) /* bytes in one put: a few seconds of a slow link */

struct changes_range {
	uint64_t offset, size;
};

/* A slot, and which part of it was put. */
struct changed_slot {
	uint64_t offset;
	uint32_t size;
	struct trace_chunk header; /* as it was put */
	bool begun;                /* something was put */
	bool sealed; /* it has become a sealed chunk in its place: nothing changes any more */
	bool found;  /* the same, but it has not been put yet: it is in `found` */
};

/* A sealed chunk that was found and not put yet. */
struct found_chunk {
	uint64_t offset;
	uint32_t size;
	uint32_t stream, sequence; /* TRACE_NO_STREAM, 0: it holds no events */
	size_t slot;               /* the slot that it was; SIZE_MAX: none */
	uint64_t key;              /* they are put in this order */
};

/* The committed part of a slot, copied while its writer went on. */
struct slot_copy {
	size_t slot;
	struct trace_chunk header;
	size_t at; /* in `copied`: the payload */
};

struct chunk_changes {
	uint64_t walked;                /* where the next chunk is looked for */
	VEC(struct changes_range) gaps; /* before that: no chunk that is whole stands there */
	VEC(struct changes_range) have; /* the receiver's sealed chunks, ascending */
	VEC(struct changed_slot) slots; /* in the order in which they were found */
	VEC(struct found_chunk) found;
	VEC(struct slot_copy) copies;
	VEC(uint8_t) copied;
};

#define PAGE_GROUP 512u

/*
 * Hashes of the pages that were put, in groups that exist where there were such pages. The lowest
 * bit says in which look the page was seen last; a page of zeros that was never put has 0.
 */
struct page_changes {
	VEC(uint64_t *) groups;
	uint64_t parity; /* 0 or 1, changes with each look */
};

struct changes {
	struct byte_source source;
	uint8_t header[TRACE_PAGE]; /* as of the last look */
	bool header_put;            /* as it stands */
	uint64_t size;
	bool changed; /* by the look under way */
	const struct changes_sink *sink;
	VEC(uint8_t) buffer;
	struct chunk_changes chunks;
	struct page_changes pages;
};

/* Passes bytes on in puts of at most CHANGES_PUT_MAX. */
struct err *changes_put(struct changes *changes, uint64_t offset, const void *data, uint64_t size);
/* Makes room for size bytes in `buffer`. */
struct err *changes_room(struct changes *changes, uint64_t size);
/*
 * The first page from offset on that may hold anything but zeros; end: none before end.
 */
uint64_t changes_next_data(const struct changes *changes, uint64_t offset, uint64_t end);

/* One look. The header page is the caller's. */
struct err *chunk_changes_look(struct changes *changes, enum changes_look which);

#endif
