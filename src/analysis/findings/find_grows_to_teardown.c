/*
 * What grows all the time, and is freed only when the program ends: a cache that never evicts, in a
 * program that destroys its objects at exit. While it runs, it is no different from a leak.
 */
#include <stdlib.h>

#include "analysis/findings/finding_search.h"
#include "hosted/cleanup.h"

#define BEFORE_END (FACTS_POINTS - 2) /* the last part's end but one */
#define PEAK_PART  3                  /* a third of the peak, or more */
#define RUN_NS_MIN 50000000           /* a shorter run is nothing but start-up */

/*
 * Something that grows over 14 parts to a third of the peak grows in each part by a 28th of the
 * other two thirds, which may come and go.
 */
#define GROWN_PART 30

/* The curve of what is called after a function. */
struct curve {
	uint64_t live[FACTS_POINTS];
};

/*
 * Whether it grew in all steps of two parts but one until teardown began, and hardly anything of it
 * is left at the end.
 */
static bool is_torn_down(const struct curve *curve, unsigned int begin)
{
	const uint64_t *live = curve->live;
	unsigned int grew = 0;

	for (unsigned int i = 0; i < FACTS_POINTS; i++)
		if ((double)live[i] * 95 > (double)live[begin] * 100)
			return false;
	for (unsigned int i = begin; i >= 2; i -= 2)
		grew += live[i] > live[i - 2];
	return grew >= begin / 2 - 1 && live[FACTS_POINTS - 1] < live[begin] / 10;
}

/*
 * Whether what is live of a site fell before the fall that it is in at the end of that part, by
 * more than a tenth, and grew again: working memory, whose fall says nothing of the program.
 */
static bool comes_and_goes(const uint64_t *live, unsigned int part)
{
	while (part > 0 && live[part - 1] >= live[part])
		part--;
	for (; part > 0; part--)
		if ((double)live[part] * 100 < (double)live[part - 1] * 90)
			return true;
	return false;
}

/*
 * Whether the program only frees from the end of that part to that of the next. What comes and goes
 * may fall as well, but then something else goes on to grow, or nothing else is freed.
 */
static bool is_freeing(const struct finding_search *search, unsigned int part)
{
	uint64_t grown = 0, freed = 0;

	for (uint32_t i = 0; i < search->site_count; i++) {
		const uint64_t *live = search->facts->sites[i].live;

		if (live[part + 1] > live[part])
			grown += live[part + 1] - live[part];
		else if (live[part + 1] < live[part] && !comes_and_goes(live, part))
			freed += live[part] - live[part + 1];
	}
	return grown < freed / GROWN_PART;
}

static uint64_t live_at(const struct finding_search *search, unsigned int part)
{
	uint64_t live = 0;

	for (uint32_t i = 0; i < search->site_count; i++)
		live += search->facts->sites[i].live[part];
	return live;
}

unsigned int finding_search_teardown(const struct finding_search *search)
{
	unsigned int begin = BEFORE_END;

	// Freeing that is over long before the end is no teardown: the program went on.
	while (begin > 0 && is_freeing(search, begin - 1))
		begin--;
	if (begin < FACTS_POINTS / 2 ||
	    live_at(search, FACTS_POINTS - 1) >= live_at(search, begin) / 10)
		return BEFORE_END;
	return begin;
}

/* Sets search->values to what each site had when teardown began, if its function is torn down. */
static struct err *find_curves(struct finding_search *search, unsigned int begin)
{
	auto_free struct curve *curves = NULL;
	const uint32_t *named;
	uint32_t count;
	struct err *err = own_functions_named(search->functions, &named, &count);

	if (err)
		return err;
	curves = calloc((size_t)count + 1, sizeof(*curves));
	if (!curves)
		return err_no_memory();
	for (uint32_t i = 0; i < search->site_count; i++)
		for (int j = 0; named[i] != UINT32_MAX && j < FACTS_POINTS; j++)
			curves[named[i]].live[j] += search->facts->sites[i].live[j];
	for (uint32_t i = 0; i < search->site_count; i++) {
		bool found = named[i] != UINT32_MAX && is_torn_down(&curves[named[i]], begin);

		search->values[i] = found ? search->facts->sites[i].live[begin] : 0;
	}
	return NULL;
}

/* What all sites of a function had when teardown began. */
struct sum {
	const struct finding_search *search;
	unsigned int begin; /* of teardown */
	uint64_t bytes;
};

static void add_site(void *argument, uint32_t site)
{
	struct sum *sum = argument;

	sum->bytes += sum->search->facts->sites[site].live[sum->begin];
}

struct err *find_grows_to_teardown(struct finding_search *search)
{
	const struct recording_facts *facts = recording_facts(search->recording);
	uint64_t peak = recording_summary(search->recording)->peak_bytes;
	struct finding finding = {.kind = FINDING_GROWS_TO_TEARDOWN, .trust = FINDING_TRUST_LIKELY};
	struct sum sum = {.search = search};
	struct picked_function picked;
	struct err *err;

	if (!search->facts || !recording_facts_have_end(facts) || facts->duration_ns < RUN_NS_MIN)
		return NULL;
	sum.begin = finding_search_teardown(search);
	err = find_curves(search, sum.begin);
	if (!err)
		err = own_functions_pick_called(search->functions, search->values, &picked);
	if (err || !picked.frame || !picked.own)
		return err;
	err = own_functions_take(search->functions, &picked, add_site, &sum);
	if (err || sum.bytes < FINDING_SPREAD_MIN || sum.bytes < peak / PEAK_PART ||
	    sum.bytes < facts->sample_mean * FINDING_SAMPLES_MIN)
		return err;
	finding.bytes = sum.bytes;
	finding_set(&finding, FINDING_NUMBER_bytes, sum.bytes);
	finding_set(&finding, FINDING_NUMBER_at_ns, search->facts->ends_ns[sum.begin]);
	err = finding_condition_ns(search, &finding, "alive_at", search->facts->ends_ns[sum.begin]);
	if (!err)
		err = finding_set_function(search, &finding, &picked);
	return err ? err : finding_search_add(search, &finding);
}
