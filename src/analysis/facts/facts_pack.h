/*
 * Run facts as they stand in an index: docs/trace-format.md, section "index". The bytes are not
 * trusted when they are read.
 */
#ifndef MALLOW_ANALYSIS_FACTS_FACTS_PACK_H
#define MALLOW_ANALYSIS_FACTS_FACTS_PACK_H

#include "analysis/facts/facts_cache.h"
#include "hosted/buf.h"

/* Appends the facts of a recording to ret, a buffer in memory, which has the failures. */
void facts_pack(const struct recording *recording, const struct run_facts *facts, struct buf *ret);

/*
 * Reads them for the same recording, whose tables are read already. *ret must be empty. *used
 * false: the bytes are wrong, and *ret is empty. The only error: no memory.
 */
struct err *facts_unpack(const struct recording *recording, const uint8_t *data, size_t size,
			 struct owned_facts *ret, bool *used);

#endif
