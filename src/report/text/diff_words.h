/* The numbers of a diff, as sentences and tables have them. */
#ifndef MALLOW_REPORT_TEXT_DIFF_WORDS_H
#define MALLOW_REPORT_TEXT_DIFF_WORDS_H

#include "report/views/diff_view.h"
#include "report/words/format.h"
#include "report/words/style.h"

/* A number of a metric: bytes, or a count. */
struct formatted diff_words_value(const struct style *style, enum metric metric, uint64_t number);
/* How much more it is, with its sign. */
struct formatted diff_words_change(const struct style *style, enum metric metric, int64_t number);
/* "+17.5 %", "-50 %", "new", "gone"; "-" if both are the same. */
struct formatted diff_words_percent(uint64_t before, uint64_t after);
/* What a metric is, behind a number: "12 MB live at the peak". */
const char *diff_words_metric(const struct diff_view *view, enum metric metric);

#endif
