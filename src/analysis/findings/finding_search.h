/* The search for findings: what all of its parts share. */
#ifndef MALLOW_ANALYSIS_FINDINGS_FINDING_SEARCH_H
#define MALLOW_ANALYSIS_FINDINGS_FINDING_SEARCH_H

#include "analysis/facts/run_facts.h"
#include "analysis/findings/findings.h"
#include "analysis/findings/percent.h"
#include "hosted/arena.h"
#include "hosted/vec.h"

/* From so many bytes on memory stands out, and so large a part of the peak it must be. */
#define FINDING_BYTES_MIN       (UINT64_C(64) << 10)
#define FINDING_GROWING_MIN     (UINT64_C(16) << 10) /* what grows matters sooner */
#define FINDING_PLUMBING_MIN    (UINT64_C(1) << 20)  /* what no own code asked for, later */
#define FINDING_SPREAD_MIN      (UINT64_C(1) << 20) /* pages, slack and the kernel's numbers, too */
#define FINDING_GROWING_PERCENT 1
#define FINDING_CALM_PERCENT    5 /* of what is never freed and does not grow */

/* The least number of sampled blocks: the times of fewer say nothing. */
#define FINDING_SAMPLES_MIN 20

/* At most so many findings of one kind about functions. */
#define FINDING_FUNCTIONS_MAX 3

struct finding_search {
	const struct recording *recording;
	struct symbolized *symbolized;
	const struct run_facts *facts; /* NULL: not known */
	struct own_functions *functions;
	const struct map_sites *mappings;
	const struct resident *resident;
	const struct site *sites;
	uint32_t site_count;
	uint64_t *values; /* one for each site, for own_functions_pick() */
	struct arena *arena;
	VEC(struct finding) found;
};

/*
 * The part of the run (run_facts.h) at whose end the program begins to free everything before it
 * ends: what is live only falls from there on, part by part. The last part but one, if teardown is
 * shorter, or there is none. facts are known.
 */
unsigned int finding_search_teardown(const struct finding_search *search);

/* Takes the finding. */
struct err *finding_search_add(struct finding_search *search, const struct finding *finding);

static inline void finding_set(struct finding *finding, enum finding_number number, uint64_t value)
{
	finding->numbers[number] = value;
	finding->has |= UINT64_C(1) << number;
}

/* Adds conditions. The values live as long as the findings; the errors are no memory. */
struct err *finding_condition_text(struct finding *finding, const char *name, const char *value);
struct err *finding_condition_ns(struct finding_search *search, struct finding *finding,
				 const char *name, uint64_t ns);
struct err *finding_condition_u64(struct finding_search *search, struct finding *finding,
				  const char *name, uint64_t value);

/* Sets the finding's function, if it is own code, and what is said of it. */
void finding_show_function(struct finding *finding, const struct picked_function *picked);

/* The same, and adds the condition that means exactly its stacks. */
struct err *finding_set_function(struct finding_search *search, struct finding *finding,
				 const struct picked_function *picked);

/* The parts of the search. */
struct err *find_never_freed(struct finding_search *search);
struct err *find_grows_to_teardown(struct finding_search *search);
struct err *find_large_blocks(struct finding_search *search);
struct err *find_slack(struct finding_search *search);
struct err *find_temporary(struct finding_search *search);
struct err *find_churn(struct finding_search *search);
struct err *find_chains(struct finding_search *search);
struct err *find_freed_by_others(struct finding_search *search);
struct err *find_sparse_pages(struct finding_search *search);
struct err *find_resident(struct finding_search *search);
struct err *find_mapped(struct finding_search *search);
struct err *find_wrong_frees(struct finding_search *search);
struct err *find_doubts(struct finding_search *search);

#endif
