/* `mallow info`: what a recording is, and whether all of it is there. */
#ifndef MALLOW_REPORT_TEXT_INFO_TEXT_H
#define MALLOW_REPORT_TEXT_INFO_TEXT_H

#include "analysis/recording.h"
#include "report/words/style.h"

/* modules: also list the loaded files and their build ids. */
void info_text_write(struct buf *buf, const struct style *style, const struct recording *recording,
		     bool modules);

#endif
