/* Work that could be saved: blocks that are made and freed at once, grown step by step, handed on.
 */
#include <string.h>

#include "analysis/facts/chain_facts.h"
#include "analysis/findings/finding_search.h"
#include "base/first_where.h"

#define TEMPORARY_MIN     10000
#define TEMPORARY_PERCENT 30

#define CHURN_MIN     100000 /* calls */
#define CHURN_PERCENT 30
#define CHURN_TURNS   1000 /* so often, in the mean, room for its blocks was asked for again */

#define CHAIN_STEPS       4 /* so often, in the mean, a block is grown */
#define CHAIN_COPIED_PART 10

#define HANDED_MIN            10000
#define HANDED_PERCENT        20 /* of all frees */
#define HANDED_THREAD_PERCENT 80 /* of those by another thread than the allocating one */

/* Sums of the sites of a function, by what is looked for. */
struct work_sum {
	const struct finding_search *search;
	uint64_t temporary, calls;
	uint64_t bytes, live; /* allocated; live at once at most, or less */
	uint64_t handed_blocks, handed_bytes;
};

static void add_site(void *argument, uint32_t site)
{
	struct work_sum *sum = argument;

	sum->temporary += sum->search->sites[site].temporary;
	sum->calls += sum->search->sites[site].calls;
	sum->bytes += sum->search->sites[site].total_bytes;
	sum->live += sum->search->sites[site].own_peak_bytes;
	if (!sum->search->facts)
		return;
	sum->handed_blocks += sum->search->facts->sites[site].handed_blocks;
	sum->handed_bytes += sum->search->facts->sites[site].handed_bytes;
}

struct err *find_temporary(struct finding_search *search)
{
	const struct recording_summary *all = recording_summary(search->recording);
	struct finding finding = {.kind = FINDING_TEMPORARY};
	struct work_sum sum = {.search = search};
	struct picked_function picked;
	struct err *err;

	if (all->temporary < TEMPORARY_MIN ||
	    !is_percent(all->temporary, all->calls, TEMPORARY_PERCENT))
		return NULL;
	for (uint32_t i = 0; i < search->site_count; i++)
		search->values[i] = search->sites[i].temporary;
	// Whoever calls it made no more of them: a request's handler is below all that a server
	// does.
	err = own_functions_pick_called(search->functions, search->values, &picked);
	if (!err)
		err = own_functions_take(search->functions, &picked, add_site, &sum);
	if (err)
		return err;
	finding.sort = "temporary";
	finding_set(&finding, FINDING_NUMBER_calls, sum.temporary);
	finding_set(&finding, FINDING_NUMBER_all_calls, all->temporary);
	err = finding_set_function(search, &finding, &picked);
	return err ? err : finding_search_add(search, &finding);
}

static bool is_churn(uint64_t bytes, uint64_t live)
{
	return live && bytes / CHURN_TURNS >= live;
}

/* Whether its temporary calls were found already. */
static bool is_found(const struct finding_search *search, const struct picked_function *picked)
{
	for (size_t i = 0; i < search->found.count; i++) {
		const struct named_frame *frame = search->found.items[i].frame;

		if (search->found.items[i].kind == FINDING_TEMPORARY &&
		    (!frame || strcmp(frame->function, picked->frame->function) == 0))
			return true;
	}
	return false;
}

/*
 * A loop that makes some blocks and frees them all: few of them are temporary, as others are
 * allocated in between. Of its sites the most that was ever live is known, so this is no guess.
 */
struct err *find_churn(struct finding_search *search)
{
	const struct recording_facts *facts = recording_facts(search->recording);
	uint64_t calls = recording_summary(search->recording)->calls;
	struct finding finding = {.kind = FINDING_CHURN};
	struct work_sum sum = {.search = search};
	struct picked_function picked;
	struct err *err;

	// Neither of a sample nor of what was culled is it known what was live.
	if (calls < CHURN_MIN || facts->sample_mean || facts->cull_ns)
		return NULL;
	for (uint32_t i = 0; i < search->site_count; i++) {
		const struct site *site = &search->sites[i];
		bool churn = is_churn(site->total_bytes, site->own_peak_bytes);

		search->values[i] = churn ? site->calls : 0;
	}
	err = own_functions_pick_called(search->functions, search->values, &picked);
	if (!err && picked.frame)
		err = own_functions_take(search->functions, &picked, add_site, &sum);
	if (err || sum.calls < CHURN_MIN || !is_percent(sum.calls, calls, CHURN_PERCENT) ||
	    !is_churn(sum.bytes, sum.live) || is_found(search, &picked))
		return err;
	finding.sort = "calls";
	finding_set(&finding, FINDING_NUMBER_calls, sum.calls);
	finding_set(&finding, FINDING_NUMBER_all_calls, calls);
	finding_set(&finding, FINDING_NUMBER_bytes, sum.bytes);
	finding_set(&finding, FINDING_NUMBER_live_bytes, sum.live);
	err = finding_set_function(search, &finding, &picked);
	return err ? err : finding_search_add(search, &finding);
}

/* Chains of the sites of a function. */
struct chain_sum {
	const struct finding_search *search;
	struct chain_facts all;
};

static const struct chain_facts *chain_of(const struct run_facts *facts, uint32_t site)
{
	uint32_t at = first_where(i, 0, facts->chain_count, facts->chains[i].site >= site);

	return at < facts->chain_count && facts->chains[at].site == site ? &facts->chains[at]
									 : NULL;
}

static void add_chain(void *argument, uint32_t site)
{
	struct chain_sum *sum = argument;
	const struct chain_facts *chain = chain_of(sum->search->facts, site);

	if (!chain)
		return;
	sum->all.steps += chain->steps;
	sum->all.copied += chain->copied;
	for (int i = 0; i < 64; i++)
		sum->all.ends[i] += chain->ends[i];
}

struct err *find_chains(struct finding_search *search)
{
	uint64_t total = recording_summary(search->recording)->total_bytes;
	struct finding finding = {.kind = FINDING_REALLOC_CHAINS};
	struct chain_sum sum = {.search = search};
	struct picked_function picked;
	uint64_t chains, covered, reserve;
	struct err *err;

	if (!search->facts || !search->facts->chain_count)
		return NULL;
	memset(search->values, 0, search->site_count * sizeof(*search->values));
	for (uint32_t i = 0; i < search->facts->chain_count; i++)
		search->values[search->facts->chains[i].site] = search->facts->chains[i].copied;
	err = own_functions_pick(search->functions, search->values, &picked);
	if (!err && picked.frame)
		err = own_functions_take(search->functions, &picked, add_chain, &sum);
	chains = chain_facts_ended(&sum.all);
	if (err || sum.all.copied < FINDING_SPREAD_MIN ||
	    sum.all.copied < total / CHAIN_COPIED_PART || !chains ||
	    sum.all.steps / chains < CHAIN_STEPS)
		return err;
	finding_set(&finding, FINDING_NUMBER_calls, sum.all.steps);
	finding_set(&finding, FINDING_NUMBER_copied_bytes, sum.all.copied);
	finding_set(&finding, FINDING_NUMBER_chains, chains);
	reserve = chain_facts_reserve(&sum.all, &covered);
	finding_set(&finding, FINDING_NUMBER_reserve_bytes, reserve);
	finding_set(&finding, FINDING_NUMBER_reserved_chains, covered);
	err = finding_condition_text(&finding, "position_in_chain_min", "1");
	if (!err)
		err = finding_set_function(search, &finding, &picked);
	return err ? err : finding_search_add(search, &finding);
}

struct err *find_freed_by_others(struct finding_search *search)
{
	uint64_t frees = recording_facts(search->recording)->frees, handed = 0;
	struct finding finding = {.kind = FINDING_FREED_BY_OTHERS};
	struct work_sum sum = {.search = search};
	const struct thread_facts *threads;
	struct picked_function picked;
	uint32_t count, most = 0;
	struct err *err;

	if (!search->facts)
		return NULL;
	recording_threads(search->recording, &count);
	threads = search->facts->threads;
	for (uint32_t i = 0; i < count; i++) {
		handed += threads[i].handed_blocks;
		if (threads[i].handed_blocks > threads[most].handed_blocks)
			most = i;
	}
	if (handed < HANDED_MIN || !is_percent(handed, frees, HANDED_PERCENT) ||
	    !is_percent(threads[most].handed_blocks, handed, HANDED_THREAD_PERCENT))
		return NULL;
	for (uint32_t i = 0; i < search->site_count; i++)
		search->values[i] = search->facts->sites[i].handed_blocks;
	err = own_functions_pick(search->functions, search->values, &picked);
	if (!err)
		err = own_functions_take(search->functions, &picked, add_site, &sum);
	if (err)
		return err;
	finding_set(&finding, FINDING_NUMBER_blocks, threads[most].handed_blocks);
	finding_set(&finding, FINDING_NUMBER_bytes, threads[most].handed_bytes);
	finding_set(&finding, FINDING_NUMBER_all_blocks, handed);
	finding_set(&finding, FINDING_NUMBER_calls, sum.calls);
	finding_set(&finding, FINDING_NUMBER_thread, most);
	err = finding_set_function(search, &finding, &picked);
	return err ? err : finding_search_add(search, &finding);
}
