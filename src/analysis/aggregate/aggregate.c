#include "analysis/aggregate/aggregate.h"

#include "analysis/recording_data.h"
#include "base/first_where.h"
#include "hosted/buf.h"
#include "hosted/cleanup.h"

/* The sum that a metric is of. */
static const enum trace_sum sum_of[METRIC_COUNT] = {
	[METRIC_PEAK] = TRACE_SUM_PEAK_BYTES,     [METRIC_LEAKED] = TRACE_SUM_LIVE_BYTES,
	[METRIC_TOTAL] = TRACE_SUM_BYTES,         [METRIC_CALLS] = TRACE_SUM_CALLS,
	[METRIC_TEMPORARY] = TRACE_SUM_TEMPORARY,
};

bool aggregate_knows(const struct recording_facts *facts, enum metric metric)
{
	const struct aggregate *aggregate = facts->aggregate;

	if (!aggregate || aggregate->known >> sum_of[metric] & 1)
		return true;
	return metric == METRIC_PEAK && aggregate->peak_is_live;
}

enum metric aggregate_first_metric(const struct recording_facts *facts)
{
	for (int metric = 0; metric < METRIC_COUNT; metric++)
		if (aggregate_knows(facts, metric))
			return metric;
	return METRIC_PEAK;
}

struct err *aggregate_settle(const struct recording_facts *facts, bool asked, enum metric *metric)
{
	cleanup(buf_deinit) struct buf known = BUF_EMPTY;

	if (aggregate_knows(facts, *metric))
		return NULL;
	if (!asked) {
		*metric = aggregate_first_metric(facts);
		return NULL;
	}
	for (int i = 0; i < METRIC_COUNT; i++)
		if (aggregate_knows(facts, i))
			buf_printf(&known, "%s%s", known.size ? ", " : "", metric_info(i)->name);
	return err_create("'%s' is not known of %s: %s", metric_info(*metric)->name,
			  facts->agent_version, buf_string(&known) ? known.data : "");
}

const struct aggregate_moment *aggregate_at(const struct aggregate *aggregate, int64_t ns)
{
	size_t later = first_where(i, 0, aggregate->moment_count,
				   ns < 0 || aggregate->moments[i].time_ns > (uint64_t)ns);

	return later ? &aggregate->moments[later - 1] : NULL;
}

/* What was live at the moment is all that the sites have. */
static void keep_moment(struct site *sites, const struct aggregate *aggregate,
			const struct aggregate_moment *moment)
{
	for (size_t i = 0; i < moment->count; i++) {
		const struct aggregate_sum *sum = &aggregate->sums[moment->first + i];
		struct site *site = &sites[sum->site];

		site->peak_bytes += sum->values[TRACE_SUM_LIVE_BYTES];
		site->peak_blocks += sum->values[TRACE_SUM_LIVE_BLOCKS];
	}
}

struct err *aggregate_filter(const struct recording *recording, const uint8_t *sites,
			     const struct aggregate_moment *moment, struct recording **ret)
{
	cleanup(recording_close_at) struct recording *filtered = NULL;
	uint32_t count;
	const struct site *all = recording_sites(recording, &count);
	struct err *err = recording_create_alike(recording, &filtered);
	auto_free struct site *live = calloc((size_t)count + 1, sizeof(*live));

	if (!err && !live)
		err = err_no_memory();
	if (err)
		return err;
	if (moment)
		keep_moment(live, recording->facts.aggregate, moment);
	for (uint32_t i = 0; i < count; i++) {
		struct site site = moment ? live[i] : all[i];
		uint32_t index;

		if ((sites && !sites[i]) || (moment && !site.peak_bytes && !site.peak_blocks))
			continue;
		err = site_table_append(&filtered->sites, all[i].stack, &index);
		if (err)
			return err;
		site.stack = all[i].stack;
		site.leaked_bytes = moment ? site.peak_bytes : site.leaked_bytes;
		site.leaked_blocks = moment ? site.peak_blocks : site.leaked_blocks;
		filtered->sites.sites.items[index] = site;
	}
	filtered->facts.filtered = true;
	site_table_finish(&filtered->sites, &filtered->summary);
	filtered->summary.peak_time_ns = moment ? moment->time_ns : recording->summary.peak_time_ns;
	*ret = steal(&filtered);
	return NULL;
}
