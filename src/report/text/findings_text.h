/* The answer above the numbers: the headline, and what stands out. */
#ifndef MALLOW_REPORT_TEXT_FINDINGS_TEXT_H
#define MALLOW_REPORT_TEXT_FINDINGS_TEXT_H

#include "analysis/findings/headline.h"
#include "report/words/style.h"

/* How readers would call mallow, for commands that they copy. */
struct findings_text_words {
	const char *tool; /* as it was called: "mallow", "build/mallow" */
	const char *path; /* the recording, as they would type it */
};

/* Writes the headline's lines, of at most style->width columns. Nothing if nothing was allocated.
 */
void findings_text_headline(struct buf *buf, const struct style *style,
			    const struct headline *headline);

/*
 * Writes the findings, numbered, at most so many (0: all), each with the command that shows more;
 * and why some could not be looked for. Nothing if there are none.
 */
void findings_text_list(struct buf *buf, const struct style *style,
			const struct recording *recording, const struct findings *findings,
			uint32_t most, const struct findings_text_words *words);

#endif
