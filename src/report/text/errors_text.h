/* `mallow report --errors`: frees that are errors of the program. */
#ifndef MALLOW_REPORT_TEXT_ERRORS_TEXT_H
#define MALLOW_REPORT_TEXT_ERRORS_TEXT_H

#include "analysis/errors/heap_errors.h"
#include "analysis/names/symbolized.h"
#include "report/words/style.h"

/* The function that an operation of a block stands for: "malloc", "operator delete[]". */
const char *errors_text_function(uint8_t operation);

/*
 * recording: opened with RECORDING_HEAP_ERRORS. top: how many kinds of errors are shown at most; 0:
 * all.
 */
struct err *errors_text_write(struct buf *buf, const struct style *style,
			      const struct recording *recording, struct symbolized *symbolized,
			      uint32_t top);

#endif
