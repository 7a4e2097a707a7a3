/* Moments, spans of time and percentages as people type them: the one parser of each. */
#ifndef MALLOW_ANALYSIS_FILTER_MOMENT_H
#define MALLOW_ANALYSIS_FILTER_MOMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/recording.h"

#define PERCENT UINT64_C(1000000) /* a percentage is in millionths of a percent */

/*
 * "1h2m3s", "500ms": numbers with h, m, s, ms, us or ns behind each, in any case; the last may go
 * without and is seconds then. Blanks mean nothing. *ret: nanoseconds. false: it is none.
 */
bool interval_parse(const char *text, uint64_t *ret);

/* "50%", "12.5%": six digits behind the point at most. *ret: in units of PERCENT. */
bool percent_parse(const char *text, uint64_t *ret);

/* So much of whole, rounded down; UINT64_MAX where it does not fit. */
uint64_t percent_of(uint64_t percent, uint64_t whole);

/* As typed; what it is in a recording, moment_resolve() tells. */
struct moment {
	enum {
		MOMENT_UNIX,    /* number: seconds since 1970 */
		MOMENT_RUNNING, /* number: nanoseconds since the recording's start */
		MOMENT_PERCENT, /* number: of the recording's duration */
		MOMENT_PEAK,    /* when most memory was live */
		MOMENT_END,
		MOMENT_ON,   /* number: recording began or went on for that time, from 1 */
		MOMENT_OFF,  /* number: the end of what MOMENT_ON of that number began */
		MOMENT_MARK, /* name: the first mark that is called so */
	} kind;
	uint64_t number;
	const char *name;
};

/*
 * A bare number is UNIX seconds, "1m30s" since the start, "12.5%" of the run, "peak", "end",
 * "on#2", "off#2"; what does not begin with a digit else is the name of a mark, which stays where
 * text is. false: it is none of these.
 */
bool moment_parse(const char *text, struct moment *ret);

/* What moment_parse() takes, for messages. */
extern const char moment_allowed[];

/*
 * Nanoseconds since the recording's start, which may be before it. last: of a UNIX second its last
 * nanosecond, else its first. Fails where the recording has no such mark, or was not on so often.
 */
struct err *moment_resolve(const struct moment *moment, const struct recording *recording,
			   bool last, int64_t *ret);

#endif
