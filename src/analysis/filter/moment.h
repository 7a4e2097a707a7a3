/* Parses moments, spans of time and percentages as people type them. */
#ifndef MALLOW_ANALYSIS_FILTER_MOMENT_H
#define MALLOW_ANALYSIS_FILTER_MOMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/recording.h"

#define PERCENT UINT64_C(1000000) /* percentages are in millionths of a percent */

/*
 * Parses "1h2m3s" or "500ms": numbers with the units h, m, s, ms, us or ns, in upper or lower case.
 * The last number may have no unit: seconds. Blanks are ignored. *ret: nanoseconds. false: it is no
 * span of time.
 */
bool interval_parse(const char *text, uint64_t *ret);

/* Parses "50%" or "12.5%", at most six digits behind the point. *ret: in units of PERCENT. */
bool percent_parse(const char *text, uint64_t *ret);

/* That percentage of whole, rounded down; UINT64_MAX if it does not fit. */
uint64_t percent_of(uint64_t percent, uint64_t whole);

/* A moment as typed. moment_resolve() finds it in a recording. */
struct moment {
	enum {
		MOMENT_UNIX,    /* number: since 1970: seconds, or from 10^11 on milliseconds */
		MOMENT_RUNNING, /* number: nanoseconds since the recording's start */
		MOMENT_PERCENT, /* number: of the recording's duration, in units of PERCENT */
		MOMENT_PEAK,    /* when most memory was live */
		MOMENT_END,
		MOMENT_ON,   /* when recording began or went on for the number-th time, from 1 */
		MOMENT_OFF,  /* when recording stopped after MOMENT_ON of that number */
		MOMENT_MARK, /* name: the first mark of that name */
	} kind;
	uint64_t number;
	const char *name;
};

/*
 * Parses a moment: a number without unit (UNIX seconds or milliseconds), "1m30s" (since the start),
 * "12.5%" (of the run), "peak", "end", "on#2", "off#2". Other texts that do not begin with a digit
 * are names of marks; ret->name points into text then. false: it is none of these.
 */
bool moment_parse(const char *text, struct moment *ret);

/* What moment_parse() accepts, for messages. */
extern const char moment_allowed[];

/*
 * *ret: the moment in nanoseconds since the recording's start; may be negative. last: take the last
 * nanosecond of a UNIX second or millisecond, not the first. An error: the recording has no such
 * mark, or was not on so often.
 */
struct err *moment_resolve(const struct moment *moment, const struct recording *recording,
			   bool last, int64_t *ret);

#endif
