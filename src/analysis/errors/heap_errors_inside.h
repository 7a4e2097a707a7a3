/* Finds the block that a wrong address lies in: for heap_errors.c. */
#ifndef MALLOW_ANALYSIS_ERRORS_HEAP_ERRORS_INSIDE_H
#define MALLOW_ANALYSIS_ERRORS_HEAP_ERRORS_INSIDE_H

#include <stdint.h>

struct recording;
struct tick_clock;

/*
 * For each suspect that freed no block, sets inside[suspect] to the block that was live then and
 * contains the address, not at its first byte; BLOCK_NONE: there is none. If there are very many
 * suspects, only the first ones are looked up.
 */
void heap_errors_inside(const struct recording *recording, const struct tick_clock *clock,
			uint64_t *inside);

#endif
