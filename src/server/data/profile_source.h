/*
 * What /debug/pprof and /metrics are of, if not of a recording: running processes, which are looked
 * at anew for each answer.
 */
#ifndef MALLOW_SERVER_DATA_PROFILE_SOURCE_H
#define MALLOW_SERVER_DATA_PROFILE_SOURCE_H

#include "report/export/prometheus.h"

/* What a look shows; valid during the call. */
typedef struct err *profile_use(void *argument, const struct recording *recording,
				struct symbolized *symbolized,
				const struct prometheus_facts *facts);

struct profile_source {
	void *argument;
	/*
	 * Looks, and calls `use` if there is anything to look at; *any says so. For any thread: one
	 * look waits for another.
	 */
	struct err *(*look)(void *argument, profile_use *use, void *use_argument, bool *any);
};

#endif
