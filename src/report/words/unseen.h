/* What a recording cannot show (analysis/sight/sight.h) in words, for all views. */
#ifndef MALLOW_REPORT_WORDS_UNSEEN_H
#define MALLOW_REPORT_WORDS_UNSEEN_H

#include "analysis/recording.h"
#include "analysis/sight/sight.h"
#include "hosted/json_writer.h"
#include "report/words/style.h"

/*
 * Writes one of them without newline, safe for terminals: what, where, and what to do. facts NULL:
 * of no recording, so that no object is "the program".
 */
void unseen_put(struct buf *buf, const struct recording_facts *facts, const struct unseen *unseen);

/* Whether the recording's sums can be judged: sight_is_whole(). Failures are in buf. */
bool unseen_is_whole(struct buf *buf, const struct recording_facts *facts);

/* Writes a line for each, beginning with "  ! ", at most a few. Failures are in buf. */
void unseen_write(struct buf *buf, const struct style *style, const struct recording_facts *facts);

/*
 * Writes a line, wrapped, for each allocator that is recorded by its patched functions, at most a
 * few; and all of them as objects, into the array that is open. Failures are in the buffer.
 */
void patched_write(struct buf *buf, const struct style *style, const struct recording_facts *facts);
void patched_json(struct json_writer *json, const struct recording_facts *facts);

/* Writes them as objects, into the array that is open. Failures are in the writer's buffer. */
void unseen_json(struct json_writer *json, const struct recording_facts *facts);

#endif
