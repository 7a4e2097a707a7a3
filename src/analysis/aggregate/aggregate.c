#include "analysis/aggregate/aggregate.h"

#include <stdlib.h>

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

/* What a moment says of itself alone. */
#define LIVE_SUMS (1u << TRACE_SUM_LIVE_BLOCKS | 1u << TRACE_SUM_LIVE_BYTES)

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

/* Keeps the sums of some sites. index: of each site in the copy, RECORDING_NONE: it is not kept. */
static struct aggregate_moment narrow_moment(const struct aggregate *from,
					     const struct aggregate_moment *moment,
					     const uint32_t *index, struct aggregate_sum *sums,
					     size_t first)
{
	struct aggregate_moment ret = {.time_ns = moment->time_ns, .first = first};

	for (size_t i = 0; i < moment->count; i++) {
		const struct aggregate_sum *sum = &from->sums[moment->first + i];

		if (index[sum->site] == RECORDING_NONE)
			continue;
		sums[first + ret.count] = *sum;
		sums[first + ret.count++].site = index[sum->site];
		ret.live_bytes += sum->values[TRACE_SUM_LIVE_BYTES];
		ret.live_blocks += sum->values[TRACE_SUM_LIVE_BLOCKS];
	}
	return ret;
}

/* Gives the copy its own moments, or the one that it is of. */
static struct err *narrow(const struct aggregate *from, const struct aggregate_moment *moment,
			  const uint32_t *index, struct recording *filtered)
{
	const struct aggregate_moment *all = moment ? moment : from->moments;
	size_t count = moment ? 1 : from->moment_count, sum_count = 0;
	struct aggregate_moment *moments;
	struct aggregate_sum *sums;
	struct aggregate *ret;

	for (size_t i = 0; i < count; i++)
		sum_count += all[i].count;
	ret = malloc(sizeof(*ret) + count * sizeof(*moments) + sum_count * sizeof(*sums));
	if (!ret)
		return err_no_memory();
	moments = (struct aggregate_moment *)(ret + 1);
	sums = (struct aggregate_sum *)(moments + count);
	*ret = *from;
	ret->moments = moments;
	ret->moment_count = count;
	ret->sums = sums;
	if (moment) {
		ret->known &= LIVE_SUMS;
		ret->peak_is_live = true;
	}
	for (size_t i = 0, at = 0; i < count; at += moments[i++].count)
		moments[i] = narrow_moment(from, &all[i], index, sums, at);
	filtered->aggregate = ret;
	filtered->facts.aggregate = ret;
	return NULL;
}

struct err *aggregate_filter(const struct recording *recording, const uint8_t *sites,
			     const struct aggregate_moment *moment, struct recording **ret)
{
	cleanup(recording_close_at) struct recording *filtered = NULL;
	uint32_t count;
	const struct site *all = recording_sites(recording, &count);
	struct err *err = recording_create_alike(recording, &filtered);
	auto_free struct site *live = calloc((size_t)count + 1, sizeof(*live));
	auto_free uint32_t *index = malloc(((size_t)count + 1) * sizeof(*index));

	if (!err && (!live || !index))
		err = err_no_memory();
	if (err)
		return err;
	if (moment)
		keep_moment(live, recording->facts.aggregate, moment);
	for (uint32_t i = 0; i < count; i++) {
		struct site site = moment ? live[i] : all[i];

		index[i] = RECORDING_NONE;
		if ((sites && !sites[i]) || (moment && !site.peak_bytes && !site.peak_blocks))
			continue;
		err = site_table_append(&filtered->sites, all[i].stack, &index[i]);
		if (err)
			return err;
		site.stack = all[i].stack;
		site.leaked_bytes = moment ? site.peak_bytes : site.leaked_bytes;
		site.leaked_blocks = moment ? site.peak_blocks : site.leaked_blocks;
		filtered->sites.sites.items[index[i]] = site;
	}
	filtered->facts.filtered = true;
	site_table_finish(&filtered->sites, &filtered->summary);
	filtered->summary.peak_time_ns = moment ? moment->time_ns : recording->summary.peak_time_ns;
	err = narrow(recording->facts.aggregate, moment, index, filtered);
	if (!err)
		*ret = steal(&filtered);
	return err;
}
