#include "analysis/aggregate/aggregate.h"
#include "analysis/filter/filter_sites.h"
#include "base/compiler.h"
#include "hosted/cleanup.h"

/* The conditions that hold for all blocks of a stack, or for none. */
static const enum filter_id of_stacks[] = {
	FILTER_ALIVE_AT,
	FILTER_FUNCTION_REGEX,
	FILTER_SOURCE_REGEX,
	FILTER_MODULE_REGEX,
	FILTER_NEGATIVE_FUNCTION_REGEX,
	FILTER_NEGATIVE_SOURCE_REGEX,
	FILTER_NEGATIVE_MODULE_REGEX,
	FILTER_ALLOCATED_BY,
	FILTER_BACKTRACE_DEPTH_MIN,
	FILTER_BACKTRACE_DEPTH_MAX,
	FILTER_BACKTRACES,
	FILTER_GROUP_ALLOCATIONS_MIN,
	FILTER_GROUP_ALLOCATIONS_MAX,
	FILTER_GROUP_LEAKED_ALLOCATIONS_MIN,
	FILTER_GROUP_LEAKED_ALLOCATIONS_MAX,
};

static struct err *check_conditions(const struct filter *filter)
{
	for (int id = 0; id < FILTER_COUNT; id++) {
		bool known = !filter_has(filter, id);

		for (size_t i = 0; !known && i < ARRAY_COUNT(of_stacks); i++)
			known = of_stacks[i] == (enum filter_id)id;
		if (!known)
			return err_create("%s: this is not known of sums of stacks, which have no "
					  "single blocks",
					  filter->conditions[id].name);
	}
	return NULL;
}

struct err *filter_aggregate(const struct filter *filter, const struct recording *recording,
			     struct symbolized *symbolized, struct recording **ret)
{
	const struct aggregate *aggregate = recording_facts(recording)->aggregate;
	const struct aggregate_moment *moment = NULL, nothing = {0};
	auto_free uint8_t *sites = NULL;
	int64_t ns;
	struct err *err = check_conditions(filter);

	if (!err && filter_has(filter, FILTER_ALIVE_AT) &&
	    !(aggregate->known >> TRACE_SUM_LIVE_BYTES & 1))
		err = err_create("alive_at: what was live when is not known of this import");
	if (!err && filter_has(filter, FILTER_ALIVE_AT)) {
		err = moment_resolve(&filter->conditions[FILTER_ALIVE_AT].moment, recording, false,
				     &ns);
		if (!err)
			moment = aggregate_at(aggregate, ns);
		moment = moment ? moment : &nothing; // nothing was live before the first
	}
	if (!err)
		err = filter_sites(filter, recording, symbolized, &sites);
	return err ? err : aggregate_filter(recording, sites, moment, ret);
}
