/* Names of a recording's frames in no module: code that the program made at run time. */
#ifndef MALLOW_ANALYSIS_NAMES_SYMBOLS_JIT_H
#define MALLOW_ANALYSIS_NAMES_SYMBOLS_JIT_H

#include "analysis/recording.h"
#include "hosted/vec.h"
#include "symbols/perf_map.h"

/* A zeroed one is empty. */
struct symbols_jit {
	VEC(struct perf_map_place) places; /* of all such frames, sorted by address */
	struct arena arena;                /* names */
};

/*
 * Reads the file that the program wrote for perf. It is used only if the recording was made on this
 * machine, and the file was written by that program. Strings live until symbols_jit_deinit().
 */
struct err *symbols_jit_init(struct symbols_jit *jit, const struct recording *recording);
void symbols_jit_deinit(struct symbols_jit *jit);

/* What is known of an address. NULL: no name. */
const struct perf_map_place *symbols_jit_find(const struct symbols_jit *jit, uint64_t address);

#endif
