/*
 * Sums of stacks by their identity, over processes that come and go and looks at them: numbers of
 * stacks and sites are new at each look at a live table.
 *
 *	gone     the allocations of processes that have ended
 *	now      gone + what runs now: never less than before
 *	then     the same at an earlier look
 *
 *	look 1   site 17 parse: 100 calls ─┐ the same site_id
 *	look 2   site 3  parse: 130 calls ─┴─► 30 calls since
 */
#ifndef MALLOW_ANALYSIS_SITES_SITE_LEDGER_H
#define MALLOW_ANALYSIS_SITES_SITE_LEDGER_H

#include "analysis/names/symbolized.h"
#include "hosted/map.h"
#include "hosted/vec.h"

struct site_ledger_row {
	uint64_t identity; /* site_identity.site */
	struct site sums;
};

/* Zeroed: nothing. */
struct site_ledger {
	struct map index; /* from identities to numbers of rows */
	VEC(struct site_ledger_row) rows;
};

void site_ledger_deinit(struct site_ledger *ledger);

/*
 * Adds the sums of a recording: of a process that has ended its calls and total_bytes alone, as
 * nothing of it is live. symbolized: its names.
 */
struct err *site_ledger_add(struct site_ledger *ledger, const struct recording *recording,
			    struct symbolized *symbolized, bool ended);

/* Adds another ledger. */
struct err *site_ledger_join(struct site_ledger *ledger, const struct site_ledger *other);

enum site_since {
	SITE_SINCE_ALLOCATED, /* calls and total_bytes; what is live is as it is now */
	SITE_SINCE_ALL,       /* what is live, too: negative in two's complement if it is less */
};

/*
 * *ret: the sites of a recording of what runs now, in its order, with what came since; the caller
 * frees it. Sites of one identity have theirs together at the first of them. rest: gets what came
 * at stacks that the recording does not have. then NULL: since the beginning.
 */
struct err *site_ledger_since(const struct site_ledger *now, const struct site_ledger *then,
			      const struct recording *recording, struct symbolized *symbolized,
			      enum site_since what, struct site **ret, struct site *rest);

#endif
