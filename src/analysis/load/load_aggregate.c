/*
 * Makes the sites of an aggregate, which has no events, of its sum records: docs/trace-format.md,
 * section 4.7.
 */
#include <stdlib.h>

#include "analysis/load/load.h"

struct err *load_aggregate_take(struct load *load, const struct decode_event *event)
{
	struct load_sum sum = {.time = event->time, .stack = event->sum.stack};

	memcpy(sum.values, event->sum.values, sizeof(sum.values));
	load->sums_known |= (uint32_t)event->sum.known;
	return vec_push(&load->sums, sum) ? NULL : err_no_memory();
}

/* Orders sums by time; those of one moment as they were read. */
static int compare_times(const void *left, const void *right)
{
	const struct load_sum *a = left, *b = right;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

/* Adds the sums of one stack at one moment. */
static struct err *take_sum(struct load *load, const struct load_sum *from,
			    struct aggregate_sum *ret)
{
	uint32_t node = RECORDING_NONE, depth;
	struct err *err = from->stack ? load_culled_node(load, from->stack, &depth, &node) : NULL;

	if (!err)
		err = site_table_at(&load->recording->sites, node, &ret->site);
	memcpy(ret->values, from->values, sizeof(ret->values));
	return err;
}

/* Takes the sums of one moment, which are in a row from first on, and what they come to. */
static struct err *take_moment(struct load *load, size_t first, struct aggregate_sum *sums,
			       struct aggregate_moment *moment)
{
	const struct load_sum *from = load->sums.items;
	struct err *err = NULL;
	size_t at = first;

	*moment = (struct aggregate_moment){.time_ns = from[first].time, .first = first};
	for (; !err && at < load->sums.count && from[at].time == from[first].time; at++) {
		err = take_sum(load, &from[at], &sums[at]);
		moment->live_bytes += from[at].values[TRACE_SUM_LIVE_BYTES];
		moment->live_blocks += from[at].values[TRACE_SUM_LIVE_BLOCKS];
	}
	moment->count = at - first;
	return err;
}

/* Adds what the moment of the peak says of it: what was live then, or what the file calls the peak.
 */
static void add_peak(struct site *site, const uint64_t *values, bool live)
{
	site->peak_bytes += values[live ? TRACE_SUM_LIVE_BYTES : TRACE_SUM_PEAK_BYTES];
	site->peak_blocks += values[live ? TRACE_SUM_LIVE_BLOCKS : TRACE_SUM_PEAK_BLOCKS];
}

/* Adds what the last moment says, of which all but what is live is about the time until then. */
static void add_last(struct site *site, const uint64_t *values)
{
	site->calls += values[TRACE_SUM_CALLS];
	site->total_bytes += values[TRACE_SUM_BYTES];
	site->leaked_blocks += values[TRACE_SUM_LIVE_BLOCKS];
	site->leaked_bytes += values[TRACE_SUM_LIVE_BYTES];
	site->own_peak_bytes += values[TRACE_SUM_OWN_PEAK_BYTES];
	site->temporary += values[TRACE_SUM_TEMPORARY];
}

/*
 * The moment of the peak: the first at which most was live; or, if the file says what the peak was,
 * the last at which it does.
 */
static const struct aggregate_moment *find_peak(const struct aggregate *aggregate)
{
	const struct aggregate_moment *moments = aggregate->moments, *peak = moments;

	for (size_t i = 0; i < aggregate->moment_count; i++) {
		uint64_t bytes = 0;

		for (size_t j = 0; !aggregate->peak_is_live && j < moments[i].count; j++)
			bytes += aggregate->sums[moments[i].first + j].values[TRACE_SUM_PEAK_BYTES];
		if (aggregate->peak_is_live ? moments[i].live_bytes > peak->live_bytes : bytes > 0)
			peak = &moments[i];
	}
	return peak;
}

/* Makes the sums of the sites. Returns the moment of the peak. */
static const struct aggregate_moment *add_up(struct site *sites, const struct aggregate *aggregate)
{
	const struct aggregate_moment *moments = aggregate->moments;
	const struct aggregate_moment *peak = find_peak(aggregate);
	const struct aggregate_moment *last = &moments[aggregate->moment_count - 1];

	for (size_t i = 0; i < last->count; i++)
		add_last(&sites[aggregate->sums[last->first + i].site],
			 aggregate->sums[last->first + i].values);
	for (size_t i = 0; i < peak->count; i++)
		add_peak(&sites[aggregate->sums[peak->first + i].site],
			 aggregate->sums[peak->first + i].values, aggregate->peak_is_live);
	for (size_t i = 0; i < last->first + last->count; i++) {
		struct site *site = &sites[aggregate->sums[i].site];
		uint64_t live = aggregate->sums[i].values[TRACE_SUM_LIVE_BYTES];

		if (site->own_peak_bytes < site->peak_bytes)
			site->own_peak_bytes = site->peak_bytes;
		site->own_peak_bytes = live > site->own_peak_bytes ? live : site->own_peak_bytes;
	}
	return peak;
}

struct err *load_aggregate_add(struct load *load)
{
	struct recording *recording = load->recording;
	size_t count = load->sums.count;
	struct aggregate *aggregate = arena_alloc(&recording->tables->arena, sizeof(*aggregate));
	struct aggregate_sum *sums =
		arena_array(&recording->tables->arena, count + 1, sizeof(*sums));
	struct aggregate_moment *moments;
	struct err *err = NULL;
	size_t different = 1;

	for (size_t i = 0; i < count; i++)
		load->sums.items[i].number = i;
	if (count)
		qsort(load->sums.items, count, sizeof(*load->sums.items), compare_times);
	for (size_t i = 1; i < count; i++)
		different += load->sums.items[i].time != load->sums.items[i - 1].time;
	moments = arena_array(&recording->tables->arena, different, sizeof(*moments));
	if (!aggregate || !sums || !moments)
		return err_no_memory();
	*aggregate = (struct aggregate){
		.known = load->sums_known,
		.peak_is_live = !(load->sums_known >> TRACE_SUM_PEAK_BYTES & 1) &&
				load->sums_known >> TRACE_SUM_LIVE_BYTES & 1,
		.moments = moments,
		.moment_count = different,
		.sums = sums,
	};
	for (size_t i = 0, at = 0; !err && at < count; at += moments[i++].count)
		err = take_moment(load, at, sums, &moments[i]);
	if (err)
		return err;
	recording->sites.peak_ticks = add_up(recording->sites.sites.items, aggregate)->time_ns;
	recording->facts.aggregate = aggregate;
	return NULL;
}

void load_aggregate_finish(struct load *load)
{
	const struct aggregate *aggregate = load->recording->facts.aggregate;
	// They are in its memory, which is not shared yet.
	struct aggregate_moment *moments = (struct aggregate_moment *)aggregate->moments;
	struct recording_facts *facts = &load->recording->facts;

	for (size_t i = 0; i < aggregate->moment_count; i++)
		moments[i].time_ns = tick_clock_ns(&load->clock, moments[i].time_ns);
	facts->allocations = load->recording->summary.calls;
	facts->frees = facts->allocations > load->recording->summary.leaked_blocks
			       ? facts->allocations - load->recording->summary.leaked_blocks
			       : 0;
}
