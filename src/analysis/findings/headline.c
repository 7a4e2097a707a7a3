#include "analysis/findings/headline.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/aggregate/aggregate.h"
#include "analysis/facts/run_facts.h"
#include "analysis/findings/percent.h"
#include "analysis/names/library_state.h"
#include "analysis/sight/sight.h"
#include "hosted/cleanup.h"

#define FUNCTION_PERCENT 35
#define STEADY_PERCENT   95
#define LIBRARY_BLOCK    (UINT64_C(1) << 20)

const char *headline_clause_name(enum headline_clause clause)
{
	static const char *const names[] = {NULL, "block", "function", "steady", "spread"};

	return names[clause];
}

/* Adds a fact, unless two are there. */
static void add(struct headline *headline, enum headline_fact fact, uint64_t first, uint64_t second)
{
	if (headline->fact_count < HEADLINE_FACTS)
		headline->facts[headline->fact_count++] =
			(struct headline_said){fact, {first, second}};
}

/* The first finding of a kind: that with the most bytes at stake. NULL: none. */
static const struct finding *first_of(const struct findings *findings, enum finding_kind kind)
{
	uint32_t count;
	const struct finding *list = findings_list(findings, &count);

	for (uint32_t i = 0; i < count; i++)
		if (list[i].kind == kind)
			return &list[i];
	return NULL;
}

/*
 * What can be said of the end. own: something that own code allocated is never freed. blind: not
 * all memory was seen.
 */
static struct headline_said freed(const struct recording_summary *sum,
				  const struct findings *findings, bool own, bool blind)
{
	const struct map_sites *mappings = findings_mappings(findings); // NULL: not known
	uint64_t left = mappings ? findings_resident(findings)->own.left_bytes +
					   mappings->of[MAP_KIND_LANGUAGE].left_bytes
				 : 0;

	if (sum->leaked_blocks && own)
		return (struct headline_said){HEADLINE_NEVER_FREED,
					      {sum->leaked_bytes, sum->leaked_blocks}};
	if (left || !mappings)
		return (struct headline_said){HEADLINE_MAPPINGS_LEFT, {left, sum->leaked_bytes}};
	if (blind)
		return (struct headline_said){HEADLINE_SEEN_FREED, {sum->leaked_bytes, 0}};
	if (sum->leaked_blocks)
		return (struct headline_said){HEADLINE_LIBRARIES, {sum->leaked_bytes, 0}};
	return (struct headline_said){HEADLINE_ALL_FREED, {0, 0}};
}

/* What grows may be several findings, and stacks may be in more than one: the largest is said. */
static void add_facts(const struct recording *recording, const struct findings *findings, bool own,
		      struct headline *headline)
{
	const struct recording_summary *sum = recording_summary(recording);
	const struct finding *finding = first_of(findings, FINDING_UNEXPLAINED);

	if (finding)
		add(headline, HEADLINE_UNEXPLAINED, finding->numbers[FINDING_NUMBER_bytes], 0);
	finding = first_of(findings, FINDING_HIDDEN_HEAP);

	if (finding && finding->numbers[FINDING_NUMBER_bytes] > sum->peak_bytes) {
		add(headline, HEADLINE_UNSEEN, finding->numbers[FINDING_NUMBER_bytes], 0);
		headline->unseen = finding->subject;
	}
	finding = first_of(findings, FINDING_MAPPED);
	if (finding) {
		add(headline, HEADLINE_MAPPED, finding->bytes,
		    finding->numbers[FINDING_NUMBER_mappings]);
		headline->mapper = finding->frame;
		headline->mapper_call = finding->subject;
		headline->mapper_owner = finding->owner;
	}
	finding = first_of(findings, FINDING_GROWS);
	if (finding)
		add(headline, HEADLINE_GROWS, finding->bytes,
		    finding->numbers[FINDING_NUMBER_bytes_per_second]);
	finding = first_of(findings, FINDING_GROWS_TO_TEARDOWN);
	if (finding)
		add(headline, HEADLINE_GREW, finding->bytes, 0);
	finding = first_of(findings, FINDING_STAYED_RESIDENT);
	if (finding)
		add(headline, HEADLINE_RESIDENT, finding->numbers[FINDING_NUMBER_resident_bytes],
		    finding->numbers[FINDING_NUMBER_live_bytes]);
	if (first_of(findings, FINDING_TEMPORARY))
		add(headline, HEADLINE_TEMPORARY, sum->temporary, sum->calls);
	finding = first_of(findings, FINDING_WRONG_FREES);
	if (finding)
		add(headline, HEADLINE_WRONG_FREES, finding->numbers[FINDING_NUMBER_calls], 0);
	headline->freed = freed(sum, findings, own, headline->blind);
	if (!headline->fact_count)
		add(headline, headline->freed.fact, headline->freed.numbers[0],
		    headline->freed.numbers[1]);
}

/* *ret: something that is never freed was allocated by own code, and not for a library's state. */
static struct err *leaks_own(const struct recording *recording, struct symbolized *symbolized,
			     bool *ret)
{
	uint32_t count;
	const struct site *sites = recording_sites(recording, &count);
	struct err *err = NULL;
	bool kept = true;

	for (uint32_t i = 0; !err && kept && i < count; i++)
		if (sites[i].leaked_blocks)
			err = library_state_has(symbolized, sites[i].stack, &kept);
	*ret = !kept;
	return err;
}

/* Picks a function, but none that is not own code. */
static struct err *pick_own(struct own_functions *functions, const uint64_t *values,
			    struct picked_function *ret)
{
	struct err *err = own_functions_pick(functions, values, ret);

	if (!err && !ret->own)
		*ret = (struct picked_function){.stack = RECORDING_NONE, .all = ret->all};
	return err;
}

static struct err *take_block(const struct recording *recording, const struct run_facts *facts,
			      struct own_functions *functions, uint64_t *values,
			      struct headline *headline)
{
	const struct large_block *block = &facts->large[0];
	uint64_t end = block->freed_ns == TIME_NEVER ? recording_facts(recording)->duration_ns
						     : block->freed_ns;
	uint32_t site_count;
	struct err *err;

	recording_sites(recording, &site_count);
	// A library's own block matters only if it is large.
	headline->block_bytes = block->size;
	headline->block_freed = block->freed_ns != TIME_NEVER;
	headline->block_lived_ns = end > block->allocated_ns ? end - block->allocated_ns : 0;
	memset(values, 0, site_count * sizeof(*values));
	values[block->site] = 1;
	err = pick_own(functions, values, &headline->block_function);
	if (headline->block_function.frame || block->size >= LIBRARY_BLOCK)
		headline->clause = HEADLINE_BLOCK;
	return err;
}

/* Finds the moment from which live memory stays near the peak. */
static bool find_steady(const struct recording *recording, const struct run_facts *facts,
			uint64_t *ret)
{
	uint64_t peak = recording_summary(recording)->peak_bytes;
	unsigned int since = FACTS_POINTS;
	uint32_t site_count;

	recording_sites(recording, &site_count);
	for (unsigned int part = FACTS_POINTS; part-- > 0; since = part) {
		uint64_t live = 0;

		for (uint32_t i = 0; i < site_count; i++)
			live += facts->sites[i].live[part];
		if (!is_percent(live, peak, STEADY_PERCENT))
			break;
	}
	if (since > FACTS_POINTS / 2 - 1)
		return false;
	*ret = facts->ends_ns[since];
	return true;
}

/* The clause, unless a large block says more. */
static enum headline_clause clause_of(const struct recording *recording,
				      const struct run_facts *facts, struct headline *headline)
{
	if (!headline->peak_bytes)
		return HEADLINE_NOTHING;
	if (headline->function.frame &&
	    is_percent(headline->function.value, headline->peak_bytes, FUNCTION_PERCENT))
		return HEADLINE_FUNCTION;
	if (facts && find_steady(recording, facts, &headline->steady_ns))
		return HEADLINE_STEADY;
	return HEADLINE_SPREAD;
}

/* What an aggregate has, and so what its headline is about. */
static enum headline_of headline_of(const struct recording_facts *facts, enum metric metric)
{
	const struct aggregate *aggregate = facts->aggregate;

	if (!aggregate)
		return HEADLINE_OF_RUN;
	if (metric != METRIC_PEAK)
		return HEADLINE_OF_TOTAL;
	if (aggregate->moment_count > 1)
		return HEADLINE_OF_RUN;
	if (!aggregate->peak_is_live)
		return HEADLINE_OF_PEAK;
	return recording_facts_have_end(facts) ? HEADLINE_OF_LEAKS : HEADLINE_OF_DUMP;
}

struct err *headline_make(const struct recording *recording, const struct findings *findings,
			  struct headline *ret)
{
	const struct recording_summary *sum = recording_summary(recording);
	struct own_functions *functions = findings_functions(findings);
	const struct recording_facts *about = recording_facts(recording);
	// Of one that was cut off between two chunks nothing shows a gap.
	bool has_gaps = recording_facts_have_gaps(about) ||
			(about->ended && !about->complete && !about->live);
	enum metric metric = aggregate_first_metric(about);
	struct headline headline = {
		.of = headline_of(about, metric),
		.peak_bytes = metric_of_sum(metric, sum),
		.peak_blocks = sum->peak_blocks,
		.peak_ns = sum->peak_time_ns,
		.sums = about->aggregate,
		.untimed = about->imported && !about->duration_ns,
		.ended = !has_gaps && recording_facts_have_end(about),
	};
	const struct run_facts *facts;
	bool own;
	uint32_t site_count;
	const struct site *sites = recording_sites(recording, &site_count);
	auto_free uint64_t *values = calloc((size_t)site_count + 1, sizeof(*values));
	const struct unseen *unseen;
	uint32_t unseen_count;
	struct err *err;

	if (!values)
		return err_no_memory();
	err = sight_list(about, &unseen, &unseen_count);
	headline.blind = has_gaps || !sight_is_whole(unseen, unseen_count);
	if (!err)
		err = recording_run_facts(recording, &facts);
	for (uint32_t i = 0; !err && i < site_count; i++)
		values[i] = metric_of_site(metric, &sites[i]);
	if (!err)
		err = pick_own(functions, values, &headline.function);
	if (err)
		return err;
	err = leaks_own(recording, own_functions_symbolized(functions), &own);
	if (err)
		return err;
	if (!about->aggregate)
		add_facts(recording, findings, own, &headline);
	else if (sum->leaked_bytes &&
		 (headline.of == HEADLINE_OF_PEAK || headline.of == HEADLINE_OF_RUN))
		add(&headline, HEADLINE_NEVER_FREED, sum->leaked_bytes, sum->leaked_blocks);
	headline.clause = clause_of(recording, facts, &headline);
	if (facts && facts->large_count && sum->peak_bytes)
		err = take_block(recording, facts, functions, values, &headline);
	if (!err)
		*ret = headline;
	return err;
}
