/* A tree of places in the source as the REST API's clients know it: docs/rest-api.md. */
#ifndef MALLOW_REPORT_TEXT_ASCII_TREE_H
#define MALLOW_REPORT_TEXT_ASCII_TREE_H

#include "analysis/views/source_tree.h"
#include "hosted/buf.h"

/* strip: functions without the arguments of their templates (template_args.h). */
struct err *ascii_tree_write(struct buf *buf, struct symbolized *symbolized,
			     const struct source_tree *tree, bool strip);

#endif
