/*
 * What was live over the run, for formats that draw a curve: at equal steps, and at the peak.
 *
 *	0      step     step   peak step            end
 *	|-------|--------|------^-|--------|---------|
 */
#ifndef MALLOW_REPORT_EXPORT_LIVE_POINTS_H
#define MALLOW_REPORT_EXPORT_LIVE_POINTS_H

#include "report/export/export_format.h"

struct live_point {
	uint64_t time_ns;
	uint64_t bytes;
	uint64_t slack; /* usable bytes beyond these */
};

/* Zeroed: empty. */
struct live_points {
	struct live_point *points;
	size_t count;
	size_t peak; /* index */
};

/*
 * Makes at most steps + 2 points, the first at the start, the last at the end. Without events, as
 * of merged recordings or a live table, what is known: the peak, and the end. The only error: no
 * memory.
 */
struct err *live_points_create(const struct export_subject *subject, uint32_t steps,
			       struct live_points *ret);
/* Accepts a zeroed struct. */
void live_points_deinit(struct live_points *points);

/* Whether it is known when the subject's blocks were allocated and freed. */
bool live_points_have_events(const struct export_subject *subject);

#endif
