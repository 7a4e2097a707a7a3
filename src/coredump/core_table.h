/*
 * Puts a live table together from where its pages are in a dump:
 *
 *   table's file   │ header │ chunk │ chunk │ chunk │ …
 *                      ▲        ▲       ▲       ▲          extents: which part of the file
 *   memory          ───┴────────┴───────┴───┬───┘          was mapped where
 *                                           │              segments: which memory the dump has
 *   dump            ────────────────────────┴──────
 *
 * The extents come from the dump's list of mapped files, or else from what each chunk says itself.
 */
#ifndef MALLOW_COREDUMP_CORE_TABLE_H
#define MALLOW_COREDUMP_CORE_TABLE_H

#include "coredump/core_scan.h"
#include "hosted/files/byte_source.h"

/* A part of the table's file, and the address where the process had it mapped. */
struct table_extent {
	uint64_t offset, size;
	uint64_t address;
};

/* Zeroed: none. */
struct core_table {
	VEC(struct table_extent) extents;
	VEC(struct byte_piece) pieces; /* by offset in the table's file, without overlap */
	uint64_t size;                 /* of the table's file, as far as it is known */
	uint64_t missing;              /* bytes of it that the dump has not */
	bool has_header;               /* the header's page is there, */
	bool header_made;              /* … made of what chunks know of it */
	int header_fd;                 /* with header_made: a file that has it, owned */
};

void core_table_deinit(struct core_table *table);

/*
 * Finds the extents of the table that the process `image->pid` had mapped as a file in memory.
 * None: the dump has no list of mappings, or no table is among them. A forked process has its
 * parent's table mapped, until it begins its own: *pid is whose table it is.
 */
struct err *core_table_by_mappings(const struct core_image *image, struct core_table *ret,
				   uint32_t *pid);

/*
 * Makes a header of the copy that some chunk has of it, if the page itself is not in the dump. *ret
 * false: no chunk has one.
 */
struct err *core_table_make_header(const char *name, struct core_table *table, bool *ret);

/*
 * Finds the extents by what chunks say. Of several tables it is that of the process, else the one
 * with most chunks. raw: the addresses of segments are not known, and only chunks tell.
 */
struct err *core_table_by_chunks(struct core_image *image, const struct core_scan *scan, bool raw,
				 struct core_table *ret, uint32_t *pid);

#endif
