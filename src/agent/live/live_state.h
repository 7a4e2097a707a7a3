/* The live table of a process, as live.c and its kin see it. */
#ifndef MALLOW_AGENT_LIVE_LIVE_STATE_H
#define MALLOW_AGENT_LIVE_LIVE_STATE_H

#include "agent/live/live_reclaim.h"
#include "agent/live/live_threads.h"
#include "agent/live/sites.h"
#include "agent/live_blocks/block_table.h"

#define LIVE_TAKEN 8 /* reallocs of one thread at once: a handler's within another's */

/* Zero: empty. */
struct live {
	struct live_header *header;
	uint64_t start_ticks;
	uint32_t ended;          /* atomic: the last report was asked for */
	uint32_t wanted;         /* atomic: reports that found no room, a bit for each sort */
	uint64_t next_look;      /* atomic, in ticks from the start: live_reports.c */
	uint64_t next_report_ns; /* INTERVAL */
	struct block_table blocks;
	struct live_reclaim reclaim;
	struct live_threads threads;
	struct sites sites;
};

/* A block that a realloc has ended and may have to bring back. */
struct live_taken {
	uint64_t address;
	struct known_block block;
};

#define LIVE_RECENT_LOG 11

/* A thread's own, behind struct thread. */
struct live_own {
	struct live_sums sums;
	/* The table, if the thread counts each block there in sums of its own; else not NULL. */
	const void *exact;
	uint32_t next;    /* of taken */
	uint32_t site;    /* of the last stack that was looked up … */
	uint32_t depth;   /* … and its depth, 0: none */
	uint32_t tickets; /* of blocks of signal handlers that wait */
	uint32_t looks;   /* without stacks: so many allocations until the next look at the clock */
	uint64_t coarse;  /* clock_coarse() when … */
	uint64_t ticks;   /* … it was so late, from the start */
	struct block_near near;
	struct live_taken taken[LIVE_TAKEN];
	struct site_turns turns[1u << SITE_TURNS_LOG];
	/* Sites of stacks that were looked up lately, by their hash, as entries of stack_index.h.
	 */
	uint64_t recent[1u << LIVE_RECENT_LOG];
	/*
	 * By the index of stack_cache.frames: the nodes of new stacks, which are true of so many of
	 * the outermost frames; and hashes of the stack up to there.
	 */
	uint32_t *nodes;
	uint32_t node_depth;
	uint64_t hashes[];
};

#endif
