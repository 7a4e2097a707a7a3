/* Chooses the blocks that stay, and sums up the others: two walks through all events. */
#ifndef MALLOW_STRIP_STRIP_CHOICE_H
#define MALLOW_STRIP_STRIP_CHOICE_H

#include "analysis/load/load_walk.h"
#include "hosted/vec.h"

struct strip_bits {
	VEC(uint64_t) words;
	uint64_t count;
};

/* What of a site is in sums only. */
struct strip_sum {
	uint64_t calls, bytes, temporary;
};

/* Two blocks, the second of which ended the first by getting its address. */
struct strip_heir {
	uint64_t old, heir;
};

struct strip_choice {
	/* What is wanted; times in ticks. */
	const struct byte_source *source;
	const struct chunk_index *index;
	uint64_t threshold; /* blocks that lived shorter go; UINT64_MAX: all that were freed */
	bool temporary;     /* temporary blocks are known by their events */
	bool part;          /* what happened up to `from` is not wanted */
	uint64_t from, until;
	recording_progress *progress;
	void *argument;

	/* The results. */
	struct strip_bits kept;     /* of blocks, by number - 1 */
	struct strip_bits *streams; /* whether an operation stays, in the order of each stream */
	uint32_t stream_count;
	VEC(struct strip_sum) sums; /* of each site */
	struct strip_sum culled;    /* of all sites; calls are blocks */
	uint64_t blocks;            /* how many stay */
	struct load_walk walk;
	struct recording *recording; /* with the sites, of the last walk */

	/* While a walk goes on. */
	const struct site_table *sites;
	bool begun;            /* the part has */
	uint64_t live, most;   /* bytes; at most, since the part began */
	uint64_t most_number;  /* how many blocks there had been then */
	uint64_t begun_number; /* the same when the part began */
	uint64_t count;        /* of blocks so far */
	VEC(uint64_t) peak;    /* numbers: ended since, and were live then */
	VEC(struct strip_heir) heirs;
};

void strip_choice_deinit(struct strip_choice *choice);

/* The members under "what is wanted" are set, all others zero. */
struct err *strip_choose(struct strip_choice *choice);

static inline bool strip_bit(const struct strip_bits *bits, uint64_t at)
{
	return at < bits->count && bits->words.items[at / 64] >> at % 64 & 1;
}

#endif
