/*
 * The blocks of a recording as the events they were made of: allocations and frees, in the order in
 * which the engine took them. For formats that are a list of events.
 *
 *	turn        0           1           2     ...   count
 *	events   frees, +0   frees, +1   frees, +2  ...  frees      by time within a turn
 */
#ifndef MALLOW_ANALYSIS_BLOCKS_BLOCK_EVENTS_H
#define MALLOW_ANALYSIS_BLOCKS_BLOCK_EVENTS_H

#include "analysis/recording.h"

struct block_event {
	enum { BLOCK_ALLOCATED, BLOCK_FREED, BLOCK_EVENTS_END } kind;
	uint64_t block;
	uint64_t time_ns; /* never below that of the event before */
};

struct block_events;

/*
 * The recording, which has blocks, must outlive it, and so must matching: a bit for each block, 64
 * in a word, only those with a set one take part. NULL: all. Fails without memory.
 */
struct err *block_events_create(const struct recording *recording, const uint64_t *matching,
				struct block_events **ret);
/* Accepts NULL. */
void block_events_destroy(struct block_events *events);

/* The next event; after the last BLOCK_EVENTS_END, however often it is asked. */
struct err *block_events_next(struct block_events *events, struct block_event *ret);

/* The next event is the first one again. */
void block_events_rewind(struct block_events *events);

#endif
