/*
 * The one line that comes first: how much memory there was at most, when, and what it was for; and
 * a second one of what else matters most. In words: report/words/headline.h.
 */
#ifndef MALLOW_ANALYSIS_FINDINGS_HEADLINE_H
#define MALLOW_ANALYSIS_FINDINGS_HEADLINE_H

#include "analysis/findings/findings.h"

/* What is said of the peak: the first that holds. */
enum headline_clause {
	HEADLINE_NOTHING,  /* nothing was ever allocated */
	HEADLINE_BLOCK,    /* one block is a fifth of the peak or more */
	HEADLINE_FUNCTION, /* one function has 35 % of it or more */
	HEADLINE_STEADY,   /* for half of the run, to its end, 95 % of the peak was live */
	HEADLINE_SPREAD,   /* none of these */
};

/* Facts of the second line, in this order; at most two are said. */
enum headline_fact {
	HEADLINE_UNEXPLAINED, /* resident, and neither in blocks nor in mappings: bytes */
	HEADLINE_UNSEEN,      /* a language's own allocator mapped more than the peak: bytes */
	HEADLINE_MAPPED,      /* the program's own mappings: bytes resident, mappings */
	HEADLINE_GROWS,       /* never freed, and growing to the end: bytes, bytes_per_second */
	HEADLINE_GREW,        /* until it was freed at the end: bytes */
	HEADLINE_RESIDENT,    /* stayed resident: resident_bytes, live_bytes */
	HEADLINE_TEMPORARY,   /* temporary calls: calls of all_calls */
	HEADLINE_WRONG_FREES,
	HEADLINE_NEVER_FREED,   /* none of these, but not everything was freed: bytes, blocks */
	HEADLINE_LIBRARIES,     /* the same, but all of it is libraries' state: bytes */
	HEADLINE_MAPPINGS_LEFT, /* all blocks, but not all mappings: bytes, 0: not known; bytes of
				   libraries */
	HEADLINE_SEEN_FREED,    /* all that was seen: bytes of libraries */
	HEADLINE_ALL_FREED,     /* none of these, and everything was */
};

#define HEADLINE_FACTS 2

struct headline_said {
	enum headline_fact fact;
	uint64_t numbers[2];
};

/* Whether it is said of a program that allocated nothing, too. */
static inline bool headline_needs_no_blocks(const struct headline_said *said)
{
	return said->fact == HEADLINE_MAPPED || said->fact == HEADLINE_UNEXPLAINED;
}

/* What the numbers of the peak are. All but the first: of an aggregate. */
enum headline_of {
	HEADLINE_OF_RUN,   /* what was live at the peak, at peak_ns */
	HEADLINE_OF_PEAK,  /* the same, but when that was is not known */
	HEADLINE_OF_DUMP,  /* what was live then */
	HEADLINE_OF_LEAKS, /* what was not freed at the end */
	HEADLINE_OF_TOTAL, /* what was allocated in all */
};

struct headline {
	enum headline_clause clause;
	enum headline_of of;
	uint64_t peak_bytes, peak_blocks, peak_ns;
	bool sums;    /* of an aggregate */
	bool untimed; /* the file that was imported has no times */
	/*
	 * The function that the peak is for (own_functions_pick()), and its bytes at the peak. Its
	 * frame is NULL if that is no own code; so is block_function's.
	 */
	struct picked_function function;
	/* Of HEADLINE_BLOCK: the largest block, how long it lived, to the end if not freed, and its
	 * function. */
	uint64_t block_bytes, block_lived_ns;
	bool block_freed;
	struct picked_function block_function;
	uint64_t steady_ns; /* of HEADLINE_STEADY: since when */
	struct headline_said facts[HEADLINE_FACTS];
	unsigned int fact_count;
	/* HEADLINE_NEVER_FREED or one behind it, said or not; not known of an aggregate. */
	struct headline_said freed;
	const char *unseen;               /* of HEADLINE_UNSEEN: the language */
	const struct named_frame *mapper; /* of HEADLINE_MAPPED; NULL: no own code */
	const char *mapper_call;          /* of the same: struct finding's subject … */
	const char *mapper_owner;         /* … and owner */
	/* Not all of the program's own memory was seen: sight_is_whole(), or there are gaps. */
	bool blind;
	bool ended; /* what is live at the recording's end is never freed */
};

/*
 * findings: of the same recording; they must outlive *ret. Of a recording without run facts the
 * headline says less.
 */
struct err *headline_make(const struct recording *recording, const struct findings *findings,
			  struct headline *ret);

/* "block", "function", "steady", "spread"; NULL for HEADLINE_NOTHING. */
const char *headline_clause_name(enum headline_clause clause);

#endif
