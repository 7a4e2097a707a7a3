/*
 * What stands out in a recording: code whose memory is never freed and grows, blocks that make the
 * peak, work that is done over and over. Each finding has a kind, bytes at stake, numbers, the
 * function that it is about, and the conditions by which a report shows the same numbers.
 *
 *	findings_create()            all that is found, most important first
 *	finding_sentence_write()     in words: report/words/finding_sentence.h
 *
 * A recording without faults has none. Nothing is accused: what is never freed may be meant so.
 */
#ifndef MALLOW_ANALYSIS_FINDINGS_FINDINGS_H
#define MALLOW_ANALYSIS_FINDINGS_FINDINGS_H

#include "analysis/findings/finding_trust.h"
#include "analysis/findings/own_functions.h"
#include "analysis/views/resident.h"

enum finding_kind {
#define FINDING(NAME, name, group) FINDING_##NAME,
#include "analysis/findings/findings.def"
#include "hosted/cleanup.h"
#undef FINDING
	FINDING_KINDS,
};

enum finding_group {
	FINDING_GROUP_ERROR,
	FINDING_GROUP_MEMORY,
	FINDING_GROUP_WORK,
	FINDING_GROUP_DOUBT
};

/* "never_freed_grows". */
const char *finding_name(enum finding_kind kind);
enum finding_group finding_group(enum finding_kind kind);

/*
 * The numbers that findings have, in the order in which they are written. Bytes, blocks, calls and
 * nanoseconds since the start, as their names say; docs/report.md lists which kind has which.
 */
#define FINDING_NUMBERS(X)                                                                         \
	X(bytes)                                                                                   \
	X(blocks)                                                                                  \
	X(all_bytes)                                                                               \
	X(all_blocks)                                                                              \
	X(calls)                                                                                   \
	X(all_calls)                                                                               \
	X(bytes_per_second)                                                                        \
	X(steps)                                                                                   \
	X(at_ns)                                                                                   \
	X(since_ns)                                                                                \
	X(until_ns)                                                                                \
	X(lived_ns)                                                                                \
	X(without_bytes)                                                                           \
	X(without_ns)                                                                              \
	X(live_bytes)                                                                              \
	X(resident_bytes)                                                                          \
	X(pages)                                                                                   \
	X(few_pages)                                                                               \
	X(few_blocks)                                                                              \
	X(few_bytes)                                                                               \
	X(slack_bytes)                                                                             \
	X(copied_bytes)                                                                            \
	X(chains)                                                                                  \
	X(reserve_bytes)                                                                           \
	X(reserved_chains)                                                                         \
	X(thread)                                                                                  \
	X(places)                                                                                  \
	X(events)                                                                                  \
	X(chunks)                                                                                  \
	X(mappings)                                                                                \
	X(mean_bytes)                                                                              \
	X(cull_ns)

enum finding_number {
#define FINDING_NUMBER(name) FINDING_NUMBER_##name,
	FINDING_NUMBERS(FINDING_NUMBER)
#undef FINDING_NUMBER
		FINDING_NUMBER_COUNT,
};

const char *finding_number_name(enum finding_number number);

#define FINDING_CONDITIONS 4

/* A condition of filter.def: its name, and a value as users type it. */
struct finding_condition {
	const char *name;
	const char *value;
};

struct finding {
	enum finding_kind kind;
	enum finding_trust trust;
	uint64_t bytes; /* at stake; 0: of kinds that are not about memory */
	uint64_t numbers[FINDING_NUMBER_COUNT];
	uint64_t has; /* bit i: it has number i */
	/*
	 * The function, and a stack that shows it. NULL: it is about the whole run, or about
	 * stacks without own code.
	 */
	const struct named_frame *frame;
	uint32_t stack;
	uint32_t lines; /* on how many lines of the function it is; that of the frame has most */
	/* The call that the function made there for half of it or more, if it is plumbing. */
	const struct named_frame *call;
	bool call_most; /* for nine tenths or more */
	bool inclusive; /* about all stacks that the function is in, not of those called after it */
	/* Whose, if it is no function: a language's name. Of FINDING_MAPPED what there are several
	 * of: "mapping". NULL: none. */
	const char *subject;
	const char *owner; /* of FINDING_MAPPED: the allocator that mapped, instead of a function */
	/*
	 * The filter whose report shows the same numbers. 0 conditions: there is none. view: an
	 * option of `mallow report` instead; NULL: none.
	 */
	struct finding_condition conditions[FINDING_CONDITIONS];
	uint32_t condition_count;
	const char *view;
	const char *sort; /* the metric by which it stands first there; NULL: any */
};

static inline bool finding_has(const struct finding *finding, enum finding_number number)
{
	return finding->has >> number & 1;
}

struct findings;

/*
 * Finds what stands out. symbolized: this recording's. Without run facts (run_facts.h) only those
 * are found that need none; findings_missing() says so. Of a filtered recording or one of several
 * processes nothing is found. *ret lives no longer than symbolized.
 */
struct err *findings_create(const struct recording *recording, struct symbolized *symbolized,
			    struct findings **ret);
/* Accepts NULL. */
void findings_destroy(struct findings *findings);
CLEANUP_DEFINE(struct findings *, findings_destroy);

const struct finding *findings_list(const struct findings *findings, uint32_t *count);

/* Why some kinds could not be looked for. NULL: all were. */
const char *findings_missing(const struct findings *findings);

/* What the program mapped itself. NULL: nothing is looked for in such a recording. */
const struct map_sites *findings_mappings(const struct findings *findings);
const struct resident *findings_resident(const struct findings *findings);

/* The functions of the recording, for the headline. */
struct own_functions *findings_functions(const struct findings *findings);

#endif
