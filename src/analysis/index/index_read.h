/*
 * Reads what index_pack.h wrote: docs/trace-format.md, section "index". Bytes of unknown origin:
 * every count and reference is checked, and an index that is not as it should be is none.
 */
#ifndef MALLOW_ANALYSIS_INDEX_INDEX_READ_H
#define MALLOW_ANALYSIS_INDEX_INDEX_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/recording.h"

#define INDEX_VERSION        3
#define INDEX_VERSION_FIRST  1 /* without the environment and the switches */
#define INDEX_VERSION_SECOND 2 /* without the program's own pools and what was culled */

enum index_flags { INDEX_ENDED = 1, INDEX_COMPLETE = 2, INDEX_ENVIRONMENT = 4 };

/* The columns of the sites behind that of their stacks, in their order. */
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
 * Fills a recording whose header and chunks were read: all facts but those of header and chunks,
 * summary, and lists. *used false: the index is damaged, of another version, or of other chunks
 * than the recording's fingerprint says, and the recording is as it was. An error is "no memory".
 */
struct err *index_read(struct recording *recording, const uint8_t *data, size_t size, bool *used);

/* Undoes an index_read() that used it. facts: those before. */
void index_forget(struct recording *recording, const struct recording_facts *facts);

/* What index_pack_errors() wrote of the same recording, after index_read(). As above. */
struct err *index_read_errors(struct recording *recording, const uint8_t *data, size_t size,
			      bool *used);

#endif
