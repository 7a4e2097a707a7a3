/*
 * Writes small core dumps with a live table for tests, from elf(5) and docs/trace-format.md,
 * sections 10 and 10.2. No memory: the test aborts.
 *
 *	struct core_writer core;
 *	core_writer_make(&core, CORE_WRITER_FILES);
 *	… core.data, core.size …
 *	core_writer_deinit(&core);
 *
 * The table has two sites: f called by main with blocks of 100 and 200 bytes at 0x10000 and
 * 0x20000, and main alone with one of 3000 bytes at 0x30000. Frame 1 is main, frame 2 is f.
 */
#ifndef MALLOW_TESTS_CORE_WRITER_H
#define MALLOW_TESTS_CORE_WRITER_H

#include <stddef.h>
#include <stdint.h>

#define CORE_WRITER_PID     4711u
#define CORE_WRITER_BLOCKS  3u
#define CORE_WRITER_BYTES   3300u
#define CORE_WRITER_ADDRESS 0x7f0000000000u /* where the table is in memory */

enum core_writer_flags {
	CORE_WRITER_FILES = 1, /* a list of mapped files */
	CORE_WRITER_APART =
		2,           /* what follows the events is a segment of its own, before the first */
	CORE_WRITER_RAW = 4, /* the memory alone, without headers */
};

struct core_writer {
	uint8_t *data;
	size_t size;
	size_t table;      /* bytes of the table */
	size_t table_from; /* where in data its first page is */
	size_t files_from; /* where NT_FILE's five longs are: count, page, start, end, offset; 0:
			      none */
};

void core_writer_make(struct core_writer *core, unsigned int flags);
void core_writer_deinit(struct core_writer *core);

#endif
