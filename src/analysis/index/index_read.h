/*
 * Reads what index_pack.h wrote: docs/trace-format.md, section "index". The bytes are not trusted:
 * every count and reference is checked, and a wrong index is ignored.
 */
#ifndef MALLOW_ANALYSIS_INDEX_INDEX_READ_H
#define MALLOW_ANALYSIS_INDEX_INDEX_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/recording.h"

#define INDEX_VERSION        4
#define INDEX_VERSION_FIRST  1 /* has no environment and no switches */
#define INDEX_VERSION_SECOND 2 /* has no pools of the program's own, and no culled sums */
#define INDEX_VERSION_THIRD  3 /* has no run facts */

enum index_flags { INDEX_ENDED = 1, INDEX_COMPLETE = 2, INDEX_ENVIRONMENT = 4 };

/* The columns of the sites, in their order, behind that of their stacks. */
#define INDEX_SITE_COLUMNS(X)                                                                      \
	X(calls)                                                                                   \
	X(total_bytes)                                                                             \
	X(peak_bytes)                                                                              \
	X(peak_blocks)                                                                             \
	X(own_peak_bytes)                                                                          \
	X(leaked_bytes)                                                                            \
	X(leaked_blocks)                                                                           \
	X(temporary)

/*
 * Fills a recording whose header and chunks were read: the remaining facts, the summary and the
 * lists. *used false: the index is damaged, of another version, or of other chunks (by the
 * fingerprint); the recording is as it was then. The only error: no memory.
 */
struct err *index_read(struct recording *recording, const uint8_t *data, size_t size, bool *used);

/* Undoes an index_read() that set *used. facts: those before it. */
void index_forget(struct recording *recording, const struct recording_facts *facts);

/*
 * Reads what index_pack_errors() wrote for the same recording, after index_read(). *used and errors
 * as there.
 */
struct err *index_read_errors(struct recording *recording, const uint8_t *data, size_t size,
			      bool *used);

#endif
