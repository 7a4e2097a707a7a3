#include "report/json/breakdown_json.h"

#include "report/json/json_report.h"

/* Writes what a row is about. A value that is not known is null. */
static void put_identity(struct json_writer *json, enum block_groups_by by,
			 const struct breakdown_row *row)
{
	bool of_files = by == BLOCK_GROUPS_FILE || by == BLOCK_GROUPS_LINE;
	const struct named_frame *frame = row->frame;

	if (by == BLOCK_GROUPS_THREAD) {
		json_key(json, "tid");
		if (row->thread)
			json_u64(json, row->thread->tid);
		else
			json_null(json);
		json_field_text(json, "thread", row->thread ? row->thread->name : NULL);
		return;
	}
	if (by == BLOCK_GROUPS_SIZE && row->culled) {
		json_field_text(json, "size_min", NULL);
		json_field_text(json, "size_max", NULL);
		return;
	}
	if (by == BLOCK_GROUPS_SIZE) {
		json_field_u64(json, "size_min", row->smallest);
		json_field_u64(json, "size_max", row->largest);
		return;
	}
	json_field_text(json, "name", row->name);
	if (by == BLOCK_GROUPS_FUNCTION || by == BLOCK_GROUPS_FRAME)
		json_stacks_function(json, frame && frame->has_symbol ? frame : NULL);
	if (of_files)
		json_field_text(json, "file", frame ? frame->file : NULL);
	if (by == BLOCK_GROUPS_LINE && frame && frame->file)
		json_field_u64(json, "line", frame->line);
	if (!of_files || (frame && !frame->file))
		json_field_text(json, "module", frame ? frame->module : NULL);
}

void breakdown_json_write(struct json_writer *json, const struct breakdown_view *view)
{
	json_field_text(json, "by", block_groups_word(view->by));
	json_field_u64(json, "row_count", view->count);
	json_key(json, "rows");
	json_array(json);
	for (uint32_t i = 0; i < breakdown_view_rows(view); i++) {
		const struct breakdown_row *row = &view->rows[i];

		json_object(json);
		put_identity(json, view->by, row);
		if (row->culled)
			json_field_bool(json, "culled", true);
		json_key(json, "own_peak_bytes");
		if (row->own_peak_known)
			json_u64(json, row->own.own_peak_bytes);
		else
			json_null(json);
		json_report_site_sums(json, &row->own);
		if (!breakdown_view_of_blocks(view->by)) {
			json_key(json, "inclusive");
			json_object(json);
			json_report_site_sums(json, &row->inclusive);
			json_end(json);
		}
		json_end(json);
	}
	json_end(json);
}
