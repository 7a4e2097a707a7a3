/* The live table of a process, for the files of this room. */
#ifndef MALLOW_AGENT_LIVE_LIVE_STATE_H
#define MALLOW_AGENT_LIVE_LIVE_STATE_H

#include "agent/live/live_reclaim.h"
#include "agent/live/live_threads.h"
#include "agent/live/sites.h"
#include "agent/live_blocks/block_table.h"
#include "base/compiler.h"

#define LIVE_TAKEN 8 /* reallocs of one thread at a time: handlers may nest */

/* Zero: empty. */
struct live {
	struct live_header *header;
	uint32_t ended;          /* atomic: the last report was begun */
	uint32_t wanted;         /* atomic: reports that must wait, a bit for each sort */
	uint64_t next_look;      /* atomic, in ticks from the start: live_reports.c */
	uint64_t next_report_ns; /* INTERVAL */
	struct block_table blocks;
	struct live_reclaim reclaim;
	struct live_threads threads;
	struct sites sites;
};

/* A block that a realloc has taken out and may have to put back. */
struct live_taken {
	uint64_t address;
	struct known_block block;
};

#define LIVE_RECENT_LOG 11

/* A thread's own, in the memory after struct thread. */
struct live_own {
	struct live_sums sums;
	/*
	 * Equal to process->live if the thread counts each block in sums of its own. Else another
	 * pointer, not NULL.
	 */
	const void *exact;
	uint32_t next;    /* index into taken */
	uint32_t site;    /* the site of the last stack that was looked up … */
	uint32_t depth;   /* … and the depth of that stack; 0: none */
	uint32_t tickets; /* counts blocks of signal handlers that wait */
	uint32_t looks;   /* without stacks: allocations until the next look at the clock */
	uint64_t coarse;  /* what clock_coarse() said … */
	uint64_t ticks;   /* … at this time from the start */
	struct block_near near;
	struct live_taken taken[LIVE_TAKEN];
	struct site_turns turns[1u << SITE_TURNS_LOG];
	/* The sites of stacks that were looked up lately, by hash, as entries of stack_index.h. */
	uint64_t recent[1u << LIVE_RECENT_LOG];
	/*
	 * Two arrays by the index of stack_cache.frames. nodes: the nodes of a new stack, valid for
	 * the outermost node_depth frames. hashes: of the stack up to that frame.
	 */
	uint32_t *nodes;
	uint32_t node_depth;
	uint64_t hashes[];
};

/* Starts a report if one is due. ticks: since the start. Also notes the time for readers. */
void live_reports_look_slow(struct live *live, uint64_t ticks);

static inline void live_reports_look(struct live *live, uint64_t ticks)
{
	if (unlikely(ticks >= __atomic_load_n(&live->next_look, __ATOMIC_RELAXED)))
		live_reports_look_slow(live, ticks);
}

#endif
