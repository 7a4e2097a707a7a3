#include "analysis/checks/grown.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/diff/diff_rows.h"
#include "hosted/buf.h"
#include "hosted/cleanup.h"

void grown_deinit(struct grown *grown)
{
	diff_destroy(grown->diff);
	places_deinit(&grown->places);
	free(grown->function);
	arena_deinit(&grown->names);
	*grown = (struct grown){0};
}

static struct err *name_places(struct grown *grown)
{
	cleanup(buf_deinit) struct buf name = BUF_EMPTY;

	grown->function = calloc(grown->places.count + 1u, sizeof(*grown->function));
	if (!grown->function)
		return err_no_memory();
	for (uint32_t i = 0; i < grown->places.count; i++) {
		name.size = 0;
		breakdown_put_name(&name, BREAKDOWN_FUNCTION, grown->places.items[i].code.frame);
		if (!buf_string(&name))
			return buf_finish(&name);
		grown->function[i] = arena_text(&grown->names, name.data);
		if (!grown->function[i])
			return err_no_memory();
	}
	return NULL;
}

static struct err *make(const struct check_baseline *baseline, const struct recording *recording,
			struct symbolized *symbolized, struct grown *ret)
{
	const struct diff_side sides[DIFF_SIDES] = {
		{baseline->recording, baseline->symbolized, 1},
		{recording, symbolized, 1},
	};
	struct err *err = diff_create(sides, &ret->diff);

	if (!err)
		err = places_create(recording, symbolized, METRIC_CALLS, &ret->places);
	return err ? err : name_places(ret);
}

/*
 * The frame of the place that has most of a function of the newer recording: its line is to be
 * shown. Common frames of two builds have any of the function's lines. NULL: there is none.
 */
static const struct named_frame *find_line(const struct grown *grown, const char *function,
					   enum metric metric)
{
	const struct place *most = NULL;

	for (uint32_t i = 0; i < grown->places.count; i++) {
		const struct place *place = &grown->places.items[i];

		if (strcmp(grown->function[i], function) == 0 &&
		    (!most ||
		     metric_of_site(metric, &place->sum) > metric_of_site(metric, &most->sum)))
			most = place;
	}
	return most ? most->code.frame : NULL;
}

struct err *grown_find(struct grown *grown, const struct check_baseline *baseline,
		       const struct recording *recording, struct symbolized *symbolized,
		       struct verdict *verdict)
{
	cleanup(diff_rows_deinit) struct diff_rows rows = {0};
	enum metric metric = check_info(verdict->check)->metric;
	struct err *err = grown->diff ? NULL : make(baseline, recording, symbolized, grown);

	if (!err)
		err = diff_rows_create(grown->diff, DIFF_BY_FUNCTION, metric, &rows);
	for (uint32_t i = 0; !err && i < rows.count && verdict->place_count < VERDICT_PLACES; i++) {
		const struct diff_row *row = &rows.items[i];
		const struct named_frame *line;

		if (diff_row_change(row, metric) <= 0)
			continue;
		line = find_line(grown, row->name, metric);
		verdict->places[verdict->place_count++] = (struct verdict_place){
			.frame = line ? line : row->frame,
			.value = metric_of_site(metric, &row->sums[DIFF_AFTER]),
			.before = metric_of_site(metric, &row->sums[DIFF_BEFORE]),
		};
	}
	return err;
}
