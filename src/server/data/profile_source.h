/*
 * What /debug/pprof and /metrics are of, if not of a recording: running processes, which are looked
 * at anew for each answer.
 */
#ifndef MALLOW_SERVER_DATA_PROFILE_SOURCE_H
#define MALLOW_SERVER_DATA_PROFILE_SOURCE_H

#include "analysis/sites/site_ledger.h"
#include "report/export/prometheus.h"

/* What a look shows; valid during the call. */
struct profile_look {
	const struct recording *recording; /* all that runs now, as one */
	struct symbolized *symbolized;
	const struct site_ledger *sums; /* of it, and of what has ended: `now` of site_ledger.h */
	const struct prometheus_facts *facts;
};

typedef struct err *profile_use(void *argument, const struct profile_look *look);

struct profile_source {
	void *argument;
	/*
	 * Looks, and calls `use` if there is anything to look at; *any says so. For any thread: one
	 * look waits for another.
	 */
	struct err *(*look)(void *argument, profile_use *use, void *use_argument, bool *any);
};

#endif
