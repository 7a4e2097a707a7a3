#include "analysis/filter/filter_sites.h"

#include <string.h>

#include "analysis/blocks/site_usage.h"
#include "analysis/filter/filter_stacks.h"
#include "analysis/filter/filter_times.h"
#include "base/wide.h"
#include "hosted/cleanup.h"

static bool whole_group_leaked(const struct filter *filter)
{
	return filter_has(filter, FILTER_LIFETIME) &&
	       filter->conditions[FILTER_LIFETIME].number == FILTER_LIFETIME_GROUP_LEAKED;
}

static bool has_interval(const struct filter *filter)
{
	return filter_has(filter, FILTER_GROUP_INTERVAL_MIN) ||
	       filter_has(filter, FILTER_GROUP_INTERVAL_MAX);
}

static bool has_usage(const struct filter *filter)
{
	return filter_has(filter, FILTER_GROUP_MAX_TOTAL_USAGE_FIRST_SEEN_MIN) ||
	       filter_has(filter, FILTER_GROUP_MAX_TOTAL_USAGE_FIRST_SEEN_MAX);
}

static bool has_sums(const struct filter *filter)
{
	return filter_has(filter, FILTER_GROUP_ALLOCATIONS_MIN) ||
	       filter_has(filter, FILTER_GROUP_ALLOCATIONS_MAX) ||
	       filter_has(filter, FILTER_GROUP_LEAKED_ALLOCATIONS_MIN) ||
	       filter_has(filter, FILTER_GROUP_LEAKED_ALLOCATIONS_MAX) ||
	       filter_has(filter, FILTER_BACKTRACES) || whole_group_leaked(filter);
}

/*
 * Whether value is within the bounds of the conditions min and min + 1. A percentage means that of
 * whole.
 */
static bool within(const struct filter *filter, enum filter_id min, uint64_t value, uint64_t whole)
{
	struct wide part = wide_product(value, 100 * PERCENT);
	const struct filter_condition *low = &filter->conditions[min], *high = low + 1;

	if (low->name && (low->percent ? wide_less(part, wide_product(low->number, whole))
				       : value < low->number))
		return false;
	return !high->name || (high->percent ? !wide_less(wide_product(high->number, whole), part)
					     : value <= high->number);
}

static bool passes(const struct filter *filter, const struct site *site)
{
	if (filter_has(filter, FILTER_BACKTRACES) &&
	    site->stack != filter->conditions[FILTER_BACKTRACES].number)
		return false;
	if (whole_group_leaked(filter) && site->leaked_blocks != site->calls)
		return false;
	return within(filter, FILTER_GROUP_ALLOCATIONS_MIN, site->calls, site->calls) &&
	       within(filter, FILTER_GROUP_LEAKED_ALLOCATIONS_MIN, site->leaked_blocks,
		      site->calls);
}

/* The interval from a site's first allocation to its last. Culled blocks have no times. */
static struct err *keep_intervals(const struct filter *filter, const struct recording *recording,
				  uint32_t count, uint8_t *sites)
{
	uint64_t run = recording_facts(recording)->duration_ns;
	const struct site_span *spans;
	struct err *err = recording_site_spans(recording, &spans);

	if (err)
		return err;
	for (uint32_t i = 0; i < count; i++)
		sites[i] &= spans[i].blocks && within(filter, FILTER_GROUP_INTERVAL_MIN,
						      spans[i].last_ns - spans[i].first_ns, run);
	return NULL;
}

/* By when a site had most bytes live. What was culled has no times. */
static struct err *keep_usage(const struct filter *filter, const struct recording *recording,
			      uint32_t count, uint8_t *sites)
{
	auto_free uint64_t *most_ns = NULL;
	int64_t min = INT64_MIN, max = INT64_MAX;
	bool set;
	struct err *err = filter_moment(filter, recording,
					FILTER_GROUP_MAX_TOTAL_USAGE_FIRST_SEEN_MIN, &set, &min);

	if (!err)
		err = filter_moment(filter, recording, FILTER_GROUP_MAX_TOTAL_USAGE_FIRST_SEEN_MAX,
				    &set, &max);
	if (!err)
		err = site_usage_most(recording, &most_ns);
	for (uint32_t i = 0; !err && i < count; i++)
		sites[i] &= most_ns[i] != SITE_USAGE_NEVER && (int64_t)most_ns[i] >= min &&
			    (int64_t)most_ns[i] <= max;
	return err;
}

static struct err *keep_stacks(const struct filter *filter, const struct recording *recording,
			       struct symbolized *symbolized, uint8_t *sites)
{
	auto_free uint32_t *stacks = NULL;
	uint32_t count;
	const struct site *all = recording_sites(recording, &count);

	stacks = malloc(((size_t)count + 1) * sizeof(*stacks));
	if (!stacks)
		return err_no_memory();
	for (uint32_t i = 0; i < count; i++)
		stacks[i] = all[i].stack;
	return filter_stacks(filter, recording, symbolized, stacks, count, sites);
}

struct err *filter_sites(const struct filter *filter, const struct recording *recording,
			 struct symbolized *symbolized, uint8_t **ret)
{
	auto_free uint8_t *sites = NULL;
	struct err *err = NULL;
	const struct site *all;
	uint32_t count;

	*ret = NULL;
	if (!filter_has_stacks(filter) && !has_interval(filter) && !has_sums(filter) &&
	    !has_usage(filter))
		return NULL;
	all = recording_sites(recording, &count);
	sites = malloc((size_t)count + 1);
	if (!sites)
		return err_no_memory();
	for (uint32_t i = 0; i < count; i++)
		sites[i] = passes(filter, &all[i]);
	if (has_interval(filter))
		err = keep_intervals(filter, recording, count, sites);
	if (!err && has_usage(filter))
		err = keep_usage(filter, recording, count, sites);
	// Last, because it names frames: only of sites that are left.
	if (!err && filter_has_stacks(filter))
		err = keep_stacks(filter, recording, symbolized, sites);
	if (err)
		return err;
	*ret = steal(&sites);
	return NULL;
}
