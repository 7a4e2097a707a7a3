#include "analysis/views/series.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/aggregate/aggregate.h"
#include "analysis/views/series_data.h"
#include "base/wide.h"
#include "hosted/cleanup.h"
#include "hosted/parallel.h"

void series_destroy(struct series *series)
{
	if (!series)
		return;
	free(series->ends);
	free(series->most);
	free(series->slack);
	free(series->all.points);
	if (series->curves)
		free(series->curves[0].points);
	free(series->curves);
	free(series);
}

/* A group's live bytes, added up over the nanoseconds of the span. */
struct area {
	struct wide sum;
	bool any; /* some of its blocks were live in the span */
};

struct ranking {
	const struct series_job *job;
	uint64_t length; /* blocks of a piece, words of bits as a whole */
	struct area *areas;
};

static void add_areas(void *argument, size_t number)
{
	const struct ranking *ranking = argument;
	const struct series_job *job = ranking->job;
	const struct block_columns *blocks = job->blocks;
	const struct series_query *query = job->query;
	struct area *areas = ranking->areas + number * query->groups->count;
	uint64_t begin = number * ranking->length, end = begin + ranking->length;

	if (end > blocks->count)
		end = blocks->count;
	for (uint64_t i = block_bits_next(query->bits, end, begin); i < end;
	     i = block_bits_next(query->bits, end, i + 1)) {
		uint64_t from = blocks->allocated_ns[i], to = series_freed(blocks, i);
		struct area *area;

		if (from > query->end_ns || to < query->start_ns)
			continue;
		if (from < query->start_ns)
			from = query->start_ns;
		if (to > query->end_ns)
			to = query->end_ns;
		area = &areas[block_groups_of(query->groups, blocks, i)];
		area->any = true;
		area->sum = wide_sum(area->sum, wide_times(wide_product(to - from, blocks->size[i]),
							   series_weight(job, i)));
	}
}

/* *ret: the areas of the groups, owned by the caller. */
static struct err *find_areas(const struct series_job *job, struct area **ret)
{
	size_t groups = job->query->groups->count;
	size_t count = parallel_pieces(job->blocks->count, SERIES_PIECE);
	auto_free struct area *areas = calloc(count * groups + 1, sizeof(*areas));
	struct ranking ranking = {job, (job->blocks->count / count / 64 + 1) * 64, areas};

	if (!areas)
		return err_no_memory();
	parallel_run(add_areas, &ranking, count);
	for (size_t i = groups; i < count * groups; i++) {
		areas[i % groups].sum = wide_sum(areas[i % groups].sum, areas[i].sum);
		areas[i % groups].any |= areas[i].any;
	}
	*ret = steal(&areas);
	return NULL;
}

/* The groups with the largest areas, the largest first. */
struct largest {
	uint32_t groups[SERIES_TOP_MAX];
	uint32_t count, most;
	uint32_t others; /* how many groups besides are live in the span */
};

static void find_largest(const struct area *areas, uint32_t count, struct largest *largest)
{
	uint32_t *groups = largest->groups;

	for (uint32_t group = 0; group < count; group++) {
		uint32_t place = largest->count;

		if (!areas[group].any)
			continue;
		while (place && wide_less(areas[groups[place - 1]].sum, areas[group].sum))
			place--;
		if (largest->count < largest->most)
			largest->count++;
		else
			largest->others++;
		if (place == largest->most)
			continue;
		memmove(&groups[place + 1], &groups[place],
			(largest->count - 1 - place) * sizeof(*groups));
		groups[place] = group;
	}
}

static struct err *make_curves(struct series *series, uint32_t count)
{
	struct series_point *points = calloc((size_t)count * series->steps + 1, sizeof(*points));

	series->curve_count = count;
	series->curves = calloc((size_t)count + 1, sizeof(*series->curves));
	if (!points || !series->curves) {
		free(points);
		return err_no_memory();
	}
	// The first one, which always exists, owns the points of all.
	for (uint32_t i = 0; i < count || i == 0; i++)
		series->curves[i] = (struct series_curve){
			.group = i,
			.groups = 1,
			.points = points + (size_t)i * series->steps,
		};
	return NULL;
}

/* Gives each group its curve. */
static struct err *choose_curves(struct series_job *job)
{
	const struct series_query *query = job->query;
	struct largest largest = {.most = query->top};
	auto_free struct area *areas = NULL;
	struct series *series = job->series;
	struct err *err;

	if (query->groups->by == BLOCK_GROUPS_FATE)
		return make_curves(series, query->groups->count);
	err = find_areas(job, &areas);
	if (err)
		return err;
	find_largest(areas, query->groups->count, &largest);
	err = make_curves(series, largest.count + (largest.others != 0));
	if (err)
		return err;
	job->curve_of = malloc(((size_t)query->groups->count + 1) * sizeof(*job->curve_of));
	if (!job->curve_of)
		return err_no_memory();
	for (uint32_t i = 0; i < query->groups->count; i++)
		job->curve_of[i] = largest.count;
	for (uint32_t i = 0; i < largest.count; i++)
		job->curve_of[series->curves[i].group = largest.groups[i]] = i;
	if (largest.others) {
		series->curves[largest.count].group = RECORDING_NONE;
		series->curves[largest.count].groups = largest.others;
	}
	return NULL;
}

/* Makes a series of steps, with no curves yet. */
static struct err *make_steps(const struct series_query *query, struct series **ret)
{
	cleanup(series_destroy_at) struct series *series = calloc(1, sizeof(*series));
	uint64_t span = query->end_ns - query->start_ns;
	uint32_t steps = span < query->steps ? (uint32_t)span : query->steps;

	if (!series)
		return err_no_memory();
	steps += !steps;
	series->steps = steps;
	series->ends = malloc(steps * sizeof(*series->ends));
	series->most = calloc(steps, sizeof(*series->most));
	series->slack = calloc(steps, sizeof(*series->slack));
	series->all.points = calloc(steps, sizeof(*series->all.points));
	if (!series->ends || !series->most || !series->slack || !series->all.points)
		return err_no_memory();
	for (uint32_t i = 0; i < steps; i++) {
		uint64_t end = 0;

		wide_scale(span, i + 1, steps, &end); // at most the span
		series->ends[i] = query->start_ns + end;
	}
	series->all.group = RECORDING_NONE;
	series->all.groups = query->groups->count;
	*ret = steal(&series);
	return NULL;
}

struct err *series_make(const struct series_query *query, uint32_t curves, struct series **ret)
{
	cleanup(series_destroy_at) struct series *series = NULL;
	struct err *err = make_steps(query, &series);

	if (!err)
		err = make_curves(series, curves);
	if (!err)
		*ret = steal(&series);
	return err;
}

void series_fill_curve(struct series *series, uint32_t curve, const struct curve_flow *before,
		       const struct curve_flow *flows, size_t apart)
{
	uint64_t bytes = before->allocated_bytes, blocks = before->allocated_blocks;

	for (uint32_t step = 0; step < series->steps; step++, flows += apart) {
		bytes += flows->allocated_bytes - flows->freed_bytes;
		blocks += flows->allocated_blocks - flows->freed_blocks;
		series->curves[curve].points[step] = (struct series_point){
			.bytes = bytes,
			.blocks = blocks,
			.allocated_bytes = flows->allocated_bytes,
			.allocated_blocks = flows->allocated_blocks,
			.freed_bytes = flows->freed_bytes,
			.freed_blocks = flows->freed_blocks,
		};
		series_point_add(&series->all.points[step], &series->curves[curve].points[step]);
	}
}

static struct series_job make_job(const struct recording *recording,
				  const struct series_query *query, struct series *series)
{
	uint64_t span = query->end_ns - query->start_ns;

	return (struct series_job){
		.blocks = recording_blocks(recording),
		.query = query,
		.series = series,
		.sample_mean = recording_facts(recording)->sample_mean,
		.last_step = series->steps - 1,
		.steps_per_ns = span ? (double)series->steps / (double)span : 0,
	};
}

/* The curve of an aggregate: what was live at the last moment before the end of each step. */
static struct err *make_of_moments(const struct recording *recording,
				   const struct series_query *query, struct series **ret)
{
	const struct aggregate *aggregate = recording_facts(recording)->aggregate;
	struct err *err = series_make(query, 1, ret);
	struct series *series = *ret;

	if (err)
		return err;
	series->curves[0].group = RECORDING_NONE;
	series->curves[0].groups = query->groups->count;
	for (uint32_t i = 0; i < series->steps; i++) {
		const struct aggregate_moment *moment =
			aggregate_at(aggregate, (int64_t)series->ends[i]);

		if (!moment)
			continue;
		series->all.points[i].bytes = moment->live_bytes;
		series->all.points[i].blocks = moment->live_blocks;
		series->curves[0].points[i] = series->all.points[i];
		series->most[i] = moment->live_bytes;
	}
	for (size_t i = 0, step = 0; i < aggregate->moment_count; i++) {
		const struct aggregate_moment *moment = &aggregate->moments[i];

		if (moment->time_ns < query->start_ns || moment->time_ns > query->end_ns)
			continue;
		while (series->ends[step] < moment->time_ns)
			step++;
		if (moment->live_bytes > series->most[step])
			series->most[step] = moment->live_bytes;
		if (moment->live_bytes <= series->peak_bytes)
			continue;
		series->peak_bytes = moment->live_bytes;
		series->peak_blocks = moment->live_blocks;
		series->peak_ns = moment->time_ns;
	}
	series->peak_thread = series->peak_site = RECORDING_NONE;
	return NULL;
}

struct err *series_create(const struct recording *recording, const struct series_query *query,
			  struct series **ret)
{
	cleanup(series_destroy_at) struct series *series = NULL;
	struct series_job job;
	struct err *err;

	if (recording_facts(recording)->aggregate)
		return make_of_moments(recording, query, ret);
	err = make_steps(query, &series);
	if (err)
		return err;
	job = make_job(recording, query, series);
	err = choose_curves(&job);
	if (!err)
		err = series_sum_up(&job);
	if (!err)
		err = series_find_peak(&job);
	free(job.curve_of);
	if (!err)
		*ret = steal(&series);
	return err;
}

struct err *series_create_of(const struct recording *recording, const struct series_query *query,
			     const uint32_t *groups, uint32_t count, struct series **ret)
{
	cleanup(series_destroy_at) struct series *series = NULL;
	auto_free uint32_t *curve_of = NULL;
	struct err *err = series_make(query, count + 1, &series);
	struct series_job job;

	if (err)
		return err;
	job = make_job(recording, query, series);
	job.curve_of = curve_of = malloc(((size_t)query->groups->count + 1) * sizeof(*curve_of));
	if (!curve_of)
		return err_no_memory();
	for (uint32_t i = 0; i < query->groups->count; i++)
		curve_of[i] = count;
	for (uint32_t i = 0; i < count; i++)
		curve_of[series->curves[i].group = groups[i]] = i;
	series->curves[count].group = RECORDING_NONE;
	series->curves[count].groups = query->groups->count - count;
	err = series_sum_up(&job);
	if (!err)
		*ret = steal(&series);
	return err;
}

struct err *series_memory(const struct recording *recording, const struct series *series,
			  uint64_t start_ns, struct memory_sample **ret, size_t *count)
{
	uint32_t samples, step = 0;
	const struct memory_sample *memory = recording_memory(recording, &samples);
	auto_free struct memory_sample *chosen = malloc((series->steps + 1u) * sizeof(*chosen));
	bool begun = false; /* the step has a sample: the last one chosen */
	size_t number = 0;

	if (!chosen)
		return err_no_memory();
	for (uint32_t i = 0; i < samples; i++) {
		uint64_t time = memory[i].time_ns;

		if (time < start_ns || time > series->ends[series->steps - 1])
			continue;
		for (; series->ends[step] < time; step++)
			begun = false;
		if (!begun)
			chosen[number++] = memory[i];
		else if (memory[i].resident > chosen[number - 1].resident)
			chosen[number - 1] = memory[i];
		begun = true;
	}
	*ret = steal(&chosen);
	*count = number;
	return NULL;
}

static int compare_gaps(const void *left, const void *right)
{
	const uint64_t *one = left, *other = right;

	return (*one > *other) - (*one < *other);
}

struct err *series_memory_usual(const struct recording *recording, uint64_t *ret)
{
	uint32_t samples, i;
	const struct memory_sample *memory = recording_memory(recording, &samples);
	uint64_t *gaps, sum = 0;

	*ret = 0;
	if (samples < 2)
		return NULL;
	gaps = malloc((samples - 1u) * sizeof(*gaps));
	if (!gaps)
		return err_no_memory();
	for (i = 0; i + 1 < samples; i++)
		gaps[i] = memory[i + 1].time_ns - memory[i].time_ns;
	qsort(gaps, samples - 1u, sizeof(*gaps), compare_gaps);
	for (i = 0; i + 1 < samples && 2 * sum < memory[samples - 1].time_ns - memory[0].time_ns;
	     i++)
		sum += gaps[i];
	*ret = i ? gaps[i - 1] : 0;
	free(gaps);
	return NULL;
}
