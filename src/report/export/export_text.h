/* What formats of other programs have in common in their texts. */
#ifndef MALLOW_REPORT_EXPORT_EXPORT_TEXT_H
#define MALLOW_REPORT_EXPORT_EXPORT_TEXT_H

#include "analysis/recording.h"
#include "hosted/json_writer.h"

/*
 * Writes in one line what was recorded, and what its numbers do not say, as the text report does:
 * "./server --port 80  (pid 12); a sample, one in 524,288 B: all numbers are estimates". Formats
 * have one title, and most have no other place for this.
 */
void export_title(struct buf *buf, const struct recording_facts *facts);

/* Writes a text from a recording in one line; NULL: "???". */
void export_text(struct buf *buf, const char *text);

/* Writes what a buffer in memory holds as a text of JSON; if the buffer failed, this one has. */
void export_json_made(struct json_writer *json, const struct buf *made);

/* Writes export_title() as JSON. scratch: a buffer in memory. */
void export_json_title(struct json_writer *json, struct buf *scratch,
		       const struct recording_facts *facts);

#endif
