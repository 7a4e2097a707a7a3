/* Verdicts in words, the same in all formats. Nothing here ends a line; all is safe for terminals.
 */
#ifndef MALLOW_REPORT_CHECK_CHECK_WORDS_H
#define MALLOW_REPORT_CHECK_CHECK_WORDS_H

#include "hosted/buf.h"
#include "report/check/check_report.h"

/* Writes the name of the limit: "max-peak"; "baseline-peak" if it comes from the baseline. */
void check_rule_put(struct buf *buf, enum check check, bool of_baseline);

/* Writes "peak 300 B: 100 B above the limit of 200 B". */
void check_verdict_put(struct buf *buf, const struct verdict *verdict);

/* Writes "4,160,000 B  100 %  Cache::put  src/leaky.cpp:10, calling std::string::assign". */
void check_place_put(struct buf *buf, const struct check_about *about,
		     const struct verdict *verdict, const struct verdict_place *place);

/* Writes "mallow report --sort peak a.mallow": where more is to be seen. */
void check_command_put(struct buf *buf, const struct check_about *about,
		       const struct check_subject *subject, const struct verdict *verdict);

/* Whether a limit may hold by mistake for that reason. */
bool check_has_doubt(const struct check_subject *subject, enum check_doubt doubt);

/* Whether the user accepts that. */
bool check_allows(const struct check_about *about, const struct check_subject *subject,
		  enum check_doubt doubt);

/* The rule that such a recording breaks: "incomplete"; what is said of it: "is whole." */
const char *check_doubt_rule(enum check_doubt doubt);
const char *check_doubt_text(enum check_doubt doubt);

/* The option by which the user accepts it: "--allow-incomplete". */
const char *check_doubt_option(enum check_doubt doubt);

/* Writes why it is incomplete: "the recording is incomplete: 3 events are lost". */
void check_gap_put(struct buf *buf, const struct recording_facts *facts);

/* Writes the reason. */
void check_doubt_put(struct buf *buf, const struct check_subject *subject, enum check_doubt doubt);

/*
 * What scratch holds, a buffer in memory; valid until the next call for it. "" if it failed: then
 * buf, into which the text was to go, has failed, too.
 */
const char *check_text(struct buf *buf, struct buf *scratch);

/* The frame's source file, from about->directory on if it is below that. NULL: not known. */
const char *check_source(const struct check_about *about, const struct named_frame *frame);

#endif
