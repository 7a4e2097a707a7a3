/*
 * A tree of places in the source, in the format that clients of the REST API know:
 * docs/rest-api.md.
 */
#ifndef MALLOW_REPORT_TEXT_ASCII_TREE_H
#define MALLOW_REPORT_TEXT_ASCII_TREE_H

#include "analysis/views/source_tree.h"
#include "hosted/buf.h"

/* Writes the tree. strip: functions without the arguments of templates (template_args.h). */
struct err *ascii_tree_write(struct buf *buf, struct symbolized *symbolized,
			     const struct source_tree *tree, bool strip);

#endif
