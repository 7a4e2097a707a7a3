/* Which block a wrong address lies in: for heap_errors.c. */
#ifndef MALLOW_ANALYSIS_ERRORS_HEAP_ERRORS_INSIDE_H
#define MALLOW_ANALYSIS_ERRORS_HEAP_ERRORS_INSIDE_H

#include <stdint.h>

struct recording;
struct tick_clock;

/*
 * inside receives of each suspect of the recording that freed no block the number of the block
 * within which the address lay, behind its first byte, while that was live; BLOCK_NONE: in none.
 * Of very many suspects only the first ones are looked for.
 */
void heap_errors_inside(const struct recording *recording, const struct tick_clock *clock,
			uint64_t *inside);

#endif
