/*
 * Between random_recording.c, which makes the file, random_events.c, which fills it, and
 * random_facts.c, which adds what is no operation on a block.
 */
#ifndef MALLOW_TESTS_RANDOM_RECORDING_INSIDE_H
#define MALLOW_TESTS_RANDOM_RECORDING_INSIDE_H

#include "random_recording.h"

/* Makes all events, and so all items, in any order. */
void random_events_make(struct random_recording *random);

/* random_events.c: true once in so many times. */
bool random_one_in(struct random_recording *random, uint64_t many);
/* An address in a place where modules are loaded, or in one where none ever is. */
unsigned int random_some_pc(struct random_recording *random);
/* Changes the stack by the stream's next record. */
void random_change_stack(struct random_recording *random, struct random_stream *stream);
/* To be called after each record: it comes to the file. from: where it begins in the encoder. */
void random_finish_record(struct random_recording *random, struct random_stream *stream,
			  size_t from);

/* random_facts.c: each writes a record, now and then two. */
void random_define_frame(struct random_recording *random, struct random_stream *stream);
void random_change_modules(struct random_recording *random, struct random_stream *stream);
void random_use_pool(struct random_recording *random, struct random_stream *stream);
void random_tell(struct random_recording *random, struct random_stream *stream);

#endif
