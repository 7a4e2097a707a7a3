#include "report/json/diff_json.h"

#include "hosted/cleanup.h"
#include "report/json/json_report.h"

static const char *const side_names[DIFF_SIDES] = {"before", "after"};

static void put_side(struct json_writer *json, const struct diff_view *view, int side)
{
	const struct diff_side_view *shown = &view->sides[side];
	const struct report_subject subject = {
		.recording = view->diff->sides[side],
		.processes = shown->processes,
		.suppressed = shown->suppressed,
	};

	json_field_object(json, side_names[side]);
	json_field_text(json, "typed", shown->typed);
	json_field_bool(json, "moment", shown->moment);
	json_field_double(json, "scale", shown->scale);
	json_report_subject(json, &subject);
	json_end(json);
}

static void put_frame(struct json_writer *json, enum diff_by by, const struct named_frame *frame)
{
	if (by == DIFF_BY_FUNCTION || by == DIFF_BY_SITE)
		json_stacks_function(json, frame && frame->has_symbol ? frame : NULL);
	if (by != DIFF_BY_MODULE)
		json_field_text(json, "file", frame ? frame->file : NULL);
	if (by != DIFF_BY_FILE)
		json_field_text(json, "module", frame ? frame->module : NULL);
}

static struct err *put_row(struct json_writer *json, const struct diff_view *view,
			   struct json_stacks *stacks, const struct diff_row *row)
{
	struct err *err = NULL;

	json_object(json);
	json_field_i64(json, "change", diff_row_change(row, view->metric));
	if (view->by != DIFF_BY_SITE)
		json_field_text(json, "name", row->name);
	put_frame(json, view->by, row->frame);
	for (int side = 0; side < DIFF_SIDES; side++) {
		json_field_object(json, side_names[side]);
		json_report_site_sums(json, &row->sums[side]);
		json_end(json);
	}
	if (view->by == DIFF_BY_SITE) {
		json_key(json, "stack");
		err = json_stacks_put(stacks, json, row->stack);
	}
	if (!err)
		json_end(json);
	return err;
}

struct err *diff_json_write(struct json_writer *json, const struct diff_view *view)
{
	cleanup(json_stacks_deinit) struct json_stacks stacks = {0};
	struct err *err = NULL;

	json_stacks_init(&stacks, view->diff->sides[DIFF_AFTER], view->diff->symbolized, false);
	json_object(json);
	for (int side = 0; side < DIFF_SIDES; side++)
		put_side(json, view, side);
	json_field_text(json, "by", diff_view_by_name(view->by));
	json_field_text(json, "sorted_by", metric_info(view->metric)->name);
	json_field_i64(json, "change", diff_change(view->diff, view->metric));
	json_field_u64(json, "row_count", view->rows->count);
	json_field_array(json, "rows");
	for (uint32_t i = 0; !err && i < diff_view_rows(view); i++)
		err = put_row(json, view, &stacks, &view->rows->items[i]);
	if (err)
		return err;
	json_end(json);
	if (view->by == DIFF_BY_SITE)
		err = json_stacks_finish(&stacks, json);
	if (!err)
		json_end(json);
	return err;
}
