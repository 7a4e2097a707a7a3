#include "report/export/live_points.h"

#include <stdlib.h>

#include "analysis/views/series.h"
#include "hosted/cleanup.h"

void live_points_deinit(struct live_points *points)
{
	free(points->points);
}

bool live_points_have_events(const struct export_subject *subject)
{
	return subject->blocks && recording_blocks(subject->blocks)->count &&
	       !recording_facts(subject->blocks)->live;
}

static struct err *create_series(const struct export_subject *subject, uint64_t start_ns,
				 uint64_t end_ns, uint32_t steps, struct series **ret)
{
	cleanup(block_groups_deinit) struct block_groups groups = {0};
	struct series_query query = {
		.bits = subject->match ? subject->match->words : NULL,
		.start_ns = start_ns,
		.end_ns = end_ns,
		.steps = steps,
		.groups = &groups,
		.top = 1,
	};
	struct err *err = block_groups_create(subject->blocks, subject->symbolized,
					      BLOCK_GROUPS_FATE, 0, &groups);

	return err ? err : series_create(subject->blocks, &query, ret);
}

static void add_point(struct live_points *points, uint64_t time_ns, uint64_t bytes, uint64_t slack)
{
	points->points[points->count++] = (struct live_point){time_ns, bytes, slack};
}

/* The points of the curve, with the peak before the step that it is in ends. */
static struct err *add_curve(const struct export_subject *subject,
			     const struct recording_summary *sum, uint32_t steps,
			     struct live_points *points)
{
	cleanup(series_destroy_at) struct series *series = NULL;
	cleanup(series_destroy_at) struct series *peak = NULL;
	uint64_t end_ns = recording_facts(subject->blocks)->duration_ns;
	uint64_t peak_ns = sum->peak_time_ns < end_ns ? sum->peak_time_ns : end_ns;
	struct err *err = create_series(subject, 0, end_ns, steps, &series);

	if (!err)
		err = create_series(subject, peak_ns, peak_ns, 1, &peak);
	if (err)
		return err;
	for (uint32_t i = 0; i < series->steps; i++) {
		if (points->peak == 0 && series->ends[i] >= peak_ns) {
			points->peak = points->count;
			add_point(points, peak_ns, sum->peak_bytes, peak->slack[0]);
		}
		add_point(points, series->ends[i], series->all.points[i].bytes, series->slack[i]);
	}
	return NULL;
}

struct err *live_points_create(const struct export_subject *subject, uint32_t steps,
			       struct live_points *ret)
{
	const struct recording_facts *facts = recording_facts(subject->recording);
	const struct recording_summary *sum = recording_summary(subject->recording);
	cleanup(live_points_deinit) struct live_points points = {
		.points = calloc(steps + 3u, sizeof(*points.points)),
	};
	struct err *err = NULL;

	if (!points.points)
		return err_no_memory();
	add_point(&points, 0, 0, 0);
	if (live_points_have_events(subject)) {
		err = add_curve(subject, sum, steps, &points);
	} else {
		points.peak = points.count;
		if (!facts->live && !facts->peaks_added)
			add_point(&points, sum->peak_time_ns, sum->peak_bytes, 0);
		add_point(&points, facts->duration_ns, sum->live_bytes, 0);
	}
	if (err)
		return err;
	*ret = points;
	points.points = NULL;
	return NULL;
}
