/*
 * A tree of places in the source, in the format that clients of the REST API know:
 * docs/rest-api.md.
 */
#ifndef MALLOW_REPORT_TEXT_ASCII_TREE_H
#define MALLOW_REPORT_TEXT_ASCII_TREE_H

#include "analysis/views/source_tree.h"
#include "hosted/buf.h"

/* A tree of which some lines are written already. */
struct ascii_tree;

/*
 * Symbolizer and tree must live longer. strip: functions without the arguments of templates
 * (template_args.h). The only error: no memory.
 */
struct err *ascii_tree_create(struct symbolized *symbolized, const struct source_tree *tree,
			      bool strip, struct ascii_tree **ret);
/* Accepts NULL. */
void ascii_tree_destroy(struct ascii_tree *ascii);

/*
 * Writes the lines that follow until buf has `size` bytes. Sets *done behind the last, after which
 * it must not be called again. It asks the symbolizer.
 */
struct err *ascii_tree_more(struct ascii_tree *ascii, struct buf *buf, size_t size, bool *done);

#endif
