/* Single allocations as CSV: `mallow export --to csv --blocks`, and the server's allocations.csv.
 */
#ifndef MALLOW_REPORT_CSV_BLOCKS_CSV_H
#define MALLOW_REPORT_CSV_BLOCKS_CSV_H

#include "report/csv/csv_report.h"

/* The names of the columns: of a block, and of its innermost frame, as CSV_REPORT_STACK has them.
 */
#define BLOCKS_CSV                                                                                 \
	"number address size slack allocated_ns freed_ns thread free_thread tag entry chain "      \
	"backtrace_id"
#define BLOCKS_CSV_FRAME "function file line module"

/*
 * Writes BLOCKS_CSV of a block of the subject's recording, and no end of the row. chains:
 * recording_block_chains(); NULL: not known. Returns the block's stack.
 */
uint32_t blocks_csv_put(struct csv_writer *csv, const struct report_subject *subject,
			const uint32_t *chains, uint64_t block);

/*
 * Writes the names of the columns, BLOCKS_CSV and BLOCKS_CSV_FRAME, and all rows, or those of the
 * blocks of bits (block_bits.h). Whole stacks are not in the rows: those of three million blocks
 * would take tens of gigabytes.
 */
struct err *blocks_csv_write(struct buf *buf, const struct report_subject *subject,
			     const uint64_t *bits);

#endif
