/* Findings in words, the same in a text, in JSON and on a page; and the command that shows more. */
#ifndef MALLOW_REPORT_WORDS_FINDING_SENTENCE_H
#define MALLOW_REPORT_WORDS_FINDING_SENTENCE_H

#include "analysis/findings/findings.h"
#include "report/words/style.h"

/*
 * Writes one line without newline: "4.16 MB never freed, growing to the end: Cache::put
 * leaky.cpp:10". A style without colour and exact is what JSON has.
 */
void finding_sentence_write(struct buf *buf, const struct style *style,
			    const struct recording *recording, const struct finding *finding);

/* Whether a command shows the finding's numbers. */
bool finding_has_command(const struct finding *finding);

/*
 * Writes that command, quoted for a shell: "mallow report --lifetime only_leaked --function-regex
 * '^Cache::put\(' leaky.mallow". tool: how mallow was called; path: the recording's.
 */
void finding_command_write(struct buf *buf, const struct finding *finding, const char *tool,
			   const char *path);

#endif
