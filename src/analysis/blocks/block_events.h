/*
 * Turns the blocks of a recording into events again: allocations and frees, in the order in which
 * the engine took them. For export formats that are lists of events. A turn is an allocation and
 * the frees before it:
 *
 *	turn 0       block 0 is allocated
 *	turn 1       frees, by time; then block 1 is allocated
 *	…
 *	turn count   frees, by time
 */
#ifndef MALLOW_ANALYSIS_BLOCKS_BLOCK_EVENTS_H
#define MALLOW_ANALYSIS_BLOCKS_BLOCK_EVENTS_H

#include "analysis/recording.h"

struct block_event {
	enum { BLOCK_ALLOCATED, BLOCK_FREED, BLOCK_EVENTS_END } kind;
	uint64_t block;
	uint64_t time_ns; /* never less than that of the event before */
};

struct block_events;

/*
 * recording: must have blocks. matching: a bit for each block, 64 in a word; only blocks whose bit
 * is set take part; NULL: all. Both must outlive *ret. The only error: no memory.
 */
struct err *block_events_create(const struct recording *recording, const uint64_t *matching,
				struct block_events **ret);
/* Accepts NULL. */
void block_events_destroy(struct block_events *events);

/* *ret: the next event; after the last one BLOCK_EVENTS_END, also if asked again. */
struct err *block_events_next(struct block_events *events, struct block_event *ret);

/* Goes back to the first event. */
void block_events_rewind(struct block_events *events);

#endif
