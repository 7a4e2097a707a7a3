/* What makes the peak: single blocks, and bytes that nobody asked for. */
#include <string.h>

#include "analysis/findings/finding_search.h"

#define SLACK_PERCENT 10

/* A block that lives longer than this part of the run is what the program works with. */
#define LARGE_LIFE_PART 2

/* *ret: the function of that site alone. */
static struct err *pick_site(struct finding_search *search, uint32_t site,
			     struct picked_function *ret)
{
	memset(search->values, 0, search->site_count * sizeof(*search->values));
	search->values[site] = 1;
	return own_functions_pick(search->functions, search->values, ret);
}

static struct err *add_large(struct finding_search *search, const struct large_block *block)
{
	uint64_t peak = recording_summary(search->recording)->peak_bytes;
	uint64_t duration = recording_facts(search->recording)->duration_ns;
	uint64_t end = block->freed_ns == TIME_NEVER ? duration : block->freed_ns;
	uint64_t lived = end > block->allocated_ns ? end - block->allocated_ns : 0;
	struct finding finding = {.kind = FINDING_LARGE_BLOCK};
	struct picked_function picked;
	struct err *err;

	if (block->size < FINDING_SPREAD_MIN || lived > duration / LARGE_LIFE_PART ||
	    block->without_bytes > peak - peak / FACTS_SHARE)
		return NULL;
	finding.bytes = peak - block->without_bytes;
	finding_set(&finding, FINDING_NUMBER_bytes, block->size);
	finding_set(&finding, FINDING_NUMBER_all_bytes, peak);
	finding_set(&finding, FINDING_NUMBER_at_ns, block->allocated_ns);
	finding_set(&finding, FINDING_NUMBER_lived_ns, lived);
	finding_set(&finding, FINDING_NUMBER_without_bytes, block->without_bytes);
	finding_set(&finding, FINDING_NUMBER_without_ns, block->without_ns);
	err = pick_site(search, block->site, &picked);
	if (!err)
		err = finding_condition_ns(search, &finding, "from", block->allocated_ns);
	if (!err)
		err = finding_condition_ns(search, &finding, "to", block->allocated_ns);
	if (!err)
		err = finding_condition_u64(search, &finding, "size_min", block->size);
	if (!err)
		err = finding_set_function(search, &finding, &picked);
	return err ? err : finding_search_add(search, &finding);
}

struct err *find_large_blocks(struct finding_search *search)
{
	struct err *err = NULL;

	for (uint32_t i = 0; search->facts && !err && i < search->facts->large_count; i++)
		err = add_large(search, &search->facts->large[i]);
	return err;
}

/* Sums of the sites of a function. */
struct slack_sum {
	const struct finding_search *search;
	uint64_t slack, live, blocks;
};

static void add_slack(void *argument, uint32_t site)
{
	struct slack_sum *sum = argument;

	sum->slack += sum->search->facts->sites[site].peak_slack;
	sum->live += sum->search->sites[site].peak_bytes;
	sum->blocks += sum->search->sites[site].peak_blocks;
}

struct err *find_slack(struct finding_search *search)
{
	uint64_t peak = recording_summary(search->recording)->peak_bytes;
	struct finding finding = {.kind = FINDING_SLACK};
	struct slack_sum sum = {.search = search};
	struct picked_function picked;
	struct err *err;
	uint64_t all = 0;

	if (!search->facts)
		return NULL;
	for (uint32_t i = 0; i < search->site_count; i++) {
		search->values[i] = search->facts->sites[i].peak_slack;
		all += search->values[i];
	}
	if (all < FINDING_SPREAD_MIN || !is_percent(all, peak, SLACK_PERCENT))
		return NULL;
	err = own_functions_pick(search->functions, search->values, &picked);
	if (!err)
		err = own_functions_take(search->functions, &picked, add_slack, &sum);
	if (err)
		return err;
	finding.bytes = all;
	finding_set(&finding, FINDING_NUMBER_all_bytes, all);
	finding_set(&finding, FINDING_NUMBER_slack_bytes, sum.slack);
	finding_set(&finding, FINDING_NUMBER_live_bytes, sum.live);
	finding_set(&finding, FINDING_NUMBER_blocks, sum.blocks);
	err = finding_condition_text(&finding, "alive_at", "peak");
	if (!err)
		err = finding_set_function(search, &finding, &picked);
	return err ? err : finding_search_add(search, &finding);
}
