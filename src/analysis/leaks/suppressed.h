/* A copy of a recording without suppressed leaks: suppressions.h. */
#ifndef MALLOW_ANALYSIS_LEAKS_SUPPRESSED_H
#define MALLOW_ANALYSIS_LEAKS_SUPPRESSED_H

#include "analysis/leaks/suppressions.h"
#include "analysis/names/symbolized.h"

/* The leaks of some sites. */
struct suppressed_sum {
	uint64_t sites, blocks, bytes;
};

struct suppressed {
	const struct suppressions *suppressions;
	/*
	 * The copy, to be closed before the original. Sites and summary are its own; all else it
	 * shares. A suppressed site has leaked bytes and blocks of 0, and the summary has so many
	 * fewer. All else is as it was, also live_bytes.
	 */
	struct recording *recording;
	struct suppressed_sum *sums; /* for each suppression */
	struct suppressed_sum all;
	/*
	 * [0] for the empty stack, [node + 1] for a stack: the index of its suppression + 1. 0:
	 * none.
	 */
	uint32_t *stacks;
};

/*
 * *ret: what suppressed.stacks holds, by which suppression each stack that leaks is suppressed; the
 * caller owns it (free()). symbolized: as below.
 */
struct err *suppressed_stacks(const struct suppressions *suppressions,
			      const struct recording *recording, struct symbolized *symbolized,
			      uint32_t **ret);

/* symbolized: the recording's, or that of the one it was made from. */
struct err *suppressed_create(const struct suppressions *suppressions,
			      const struct recording *recording, struct symbolized *symbolized,
			      struct suppressed *ret);
/*
 * The same without the leaks that libraries keep for themselves (library_state.h) instead of those
 * of a list: ret->suppressions and ret->sums are NULL.
 */
struct err *suppressed_create_own(const struct recording *recording, struct symbolized *symbolized,
				  struct suppressed *ret);
/*
 * Gives the copy the run facts of the original, from which it was made: so findings know what grows
 * of the leaks that are not suppressed. The curves of facts still have all blocks.
 */
void suppressed_keep_facts(struct suppressed *suppressed, const struct recording *original);
/* Accepts a zeroed struct. */
void suppressed_deinit(struct suppressed *suppressed);

#endif
