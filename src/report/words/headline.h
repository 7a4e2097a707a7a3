/* The headline (analysis/findings/headline.h) in words, for all views. */
#ifndef MALLOW_REPORT_WORDS_HEADLINE_H
#define MALLOW_REPORT_WORDS_HEADLINE_H

#include "analysis/findings/headline.h"
#include "report/words/style.h"

/*
 * Writes the first sentence, about the peak, without newline: "Most memory at 179 ms: 11.9 MB live,
 * 99 % of it for Cache::put  leaky.cpp:10."
 */
void headline_write_peak(struct buf *buf, const struct style *style,
			 const struct headline *headline);

/*
 * Writes the second line, one or two sentences, without newline: "4.16 MB was never freed and grew
 * to the end, by 22.1 MB a second." Nothing if nothing was allocated.
 */
void headline_write_facts(struct buf *buf, const struct style *style,
			  const struct headline *headline);

/*
 * Writes what can be said of the end if all blocks of own code were freed: "Everything was freed."
 * Nothing if they were not, or nothing was allocated.
 */
void headline_write_freed(struct buf *buf, const struct style *style,
			  const struct headline *headline);

#endif
