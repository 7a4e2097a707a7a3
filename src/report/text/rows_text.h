/* What a query of a database gives, as a table for people. */
#ifndef MALLOW_REPORT_TEXT_ROWS_TEXT_H
#define MALLOW_REPORT_TEXT_ROWS_TEXT_H

#include "hosted/sql_database.h"
#include "report/words/style.h"

/*
 * Writes titles and rows, numbers to the right. Where the style's width is not enough, the widest
 * texts are cut. Safe for terminals.
 */
struct err *rows_text_write(struct buf *buf, const struct style *style, struct sql_rows *rows);

#endif
