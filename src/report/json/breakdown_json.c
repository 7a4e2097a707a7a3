#include "report/json/breakdown_json.h"

#include "report/json/json_report.h"

/* Writes what a row is about. A value that is not known is null. */
static void put_identity(struct json_writer *json, enum breakdown_by by,
			 const struct breakdown_row *row)
{
	bool of_files = by == BREAKDOWN_FILE || by == BREAKDOWN_LINE;
	const struct named_frame *frame = row->frame;

	if (by == BREAKDOWN_THREAD) {
		json_key(json, "tid");
		if (row->thread)
			json_u64(json, row->thread->tid);
		else
			json_null(json);
		json_field_text(json, "thread", row->thread ? row->thread->name : NULL);
		return;
	}
	if (by == BREAKDOWN_SIZE && row->culled) {
		json_field_text(json, "size_min", NULL);
		json_field_text(json, "size_max", NULL);
		return;
	}
	if (by == BREAKDOWN_SIZE) {
		json_field_u64(json, "size_min", row->smallest);
		json_field_u64(json, "size_max", row->largest);
		return;
	}
	json_field_text(json, "name", row->name);
	if (by == BREAKDOWN_FUNCTION || by == BREAKDOWN_FRAME)
		json_stacks_function(json, frame && frame->has_symbol ? frame : NULL);
	if (of_files)
		json_field_text(json, "file", frame ? frame->file : NULL);
	if (by == BREAKDOWN_LINE && frame && frame->file)
		json_field_u64(json, "line", frame->line);
	if (!of_files || (frame && !frame->file))
		json_field_text(json, "module", frame ? frame->module : NULL);
}

void breakdown_json_write(struct json_writer *json, const struct breakdown_view *view)
{
	const struct breakdown *breakdown = view->breakdown;
	const struct breakdown_info *info = breakdown_info(breakdown->by);

	json_field_text(json, "by", info->name);
	json_field_u64(json, "row_count", breakdown->count);
	json_key(json, "rows");
	json_array(json);
	for (uint32_t i = 0; i < breakdown_view_rows(view); i++) {
		const struct breakdown_row *row = &breakdown->rows[i];

		json_object(json);
		put_identity(json, breakdown->by, row);
		if (row->culled)
			json_field_bool(json, "culled", true);
		json_key(json, "own_peak_bytes");
		if (row->own_peak_known)
			json_u64(json, row->own.own_peak_bytes);
		else
			json_null(json);
		json_report_site_sums(json, &row->own);
		if (!breakdown_of_blocks(breakdown->by)) {
			json_key(json, "inclusive");
			json_object(json);
			json_report_site_sums(json, &row->inclusive);
			json_end(json);
		}
		json_end(json);
	}
	json_end(json);
}
