#include "report/csv/csv_report.h"

#include "analysis/names/frame_label.h"
#include "hosted/cleanup.h"
#include "report/views/site_order.h"

void csv_report_sums(struct csv_writer *csv, const struct site *sum)
{
	csv_u64(csv, sum->peak_bytes);
	csv_u64(csv, sum->peak_blocks);
	csv_u64(csv, sum->leaked_bytes);
	csv_u64(csv, sum->leaked_blocks);
	csv_u64(csv, sum->total_bytes);
	csv_u64(csv, sum->calls);
	csv_u64(csv, sum->temporary);
}

/* Where in the text of struct csv_frames a frame is. */
struct csv_frame {
	size_t columns; /* function, file, line and module of its innermost line … */
	size_t labels;  /* … the labels of all its lines … */
	size_t end;     /* … and the end; 0: it is not there yet */
	bool quoted;    /* a cell with the labels needs quotes */
};

void csv_frames_deinit(struct csv_frames *frames)
{
	free(frames->frames);
	buf_deinit(&frames->text);
}

static void put_columns(struct buf *buf, bool raw, const struct named_frame *frame)
{
	struct csv_writer csv = {.buf = buf, .raw = raw};

	csv_text(&csv, frame->function);
	csv_text(&csv, frame->file);
	if (frame->line)
		csv_u64(&csv, frame->line);
	else
		csv_empty(&csv);
	csv_text(&csv, frame->module);
}

static struct err *make_frame(const struct csv_writer *csv, const struct report_subject *subject,
			      uint32_t index, struct buf *text, struct csv_frame *frame)
{
	cleanup(buf_deinit) struct buf label = BUF_EMPTY;
	const struct named_frame *lines;
	struct err *err;
	size_t count;

	err = symbolized_frame(subject->symbolized, index, &lines, &count);
	if (err)
		return err;
	frame->columns = text->size;
	put_columns(text, csv->raw, &lines[0]);
	frame->labels = text->size;
	for (size_t i = 0; i < count; i++) {
		label.size = 0;
		if (i)
			buf_char(text, ';');
		frame_label(&label, &lines[i]);
		if (!buf_string(&label))
			return buf_finish(&label);
		frame->quoted |= csv_escape(csv, text, label.data);
	}
	frame->end = text->size;
	return buf_finish(text);
}

/* *ret: a frame of the recording. */
static struct err *find_frame(const struct csv_writer *csv, const struct report_subject *subject,
			      struct csv_frames *frames, uint32_t index,
			      const struct csv_frame **ret)
{
	struct csv_frame *frame;
	uint32_t count;

	if (!frames->frames) {
		recording_frames(subject->recording, &count);
		frames->frames = calloc((size_t)count + 1, sizeof(*frames->frames));
		buf_init(&frames->text);
	}
	if (!frames->frames)
		return err_no_memory();
	frame = &frames->frames[index];
	*ret = frame;
	return frame->end ? NULL : make_frame(csv, subject, index, &frames->text, frame);
}

struct err *csv_report_frame(struct csv_writer *csv, const struct report_subject *subject,
			     uint32_t node, struct csv_frames *frames)
{
	const struct stack_node *nodes = recording_stacks(subject->recording, NULL);
	const struct csv_frame *frame;
	struct err *err;

	csv_begin(csv, false);
	if (node == RECORDING_NONE) {
		buf_text(csv->buf, ",,,");
		return NULL;
	}
	err = find_frame(csv, subject, frames, nodes[node].frame, &frame);
	if (!err)
		buf_put(csv->buf, frames->text.data + frame->columns,
			frame->labels - frame->columns);
	return err;
}

struct err *csv_report_stack(struct csv_writer *csv, const struct report_subject *subject,
			     uint32_t node, struct csv_frames *frames)
{
	const struct stack_node *nodes = recording_stacks(subject->recording, NULL);
	struct err *err = csv_report_frame(csv, subject, node, frames);
	const struct csv_frame *frame;
	bool quoted = false;

	for (uint32_t at = node; !err && at != RECORDING_NONE; at = nodes[at].parent) {
		err = find_frame(csv, subject, frames, nodes[at].frame, &frame);
		quoted |= !err && frame->quoted;
	}
	if (err)
		return err;
	csv_begin(csv, quoted);
	for (uint32_t at = node; at != RECORDING_NONE; at = nodes[at].parent) {
		frame = &frames->frames[nodes[at].frame];
		if (at != node)
			buf_char(csv->buf, ';');
		buf_put(csv->buf, frames->text.data + frame->labels, frame->end - frame->labels);
	}
	csv_end(csv, quoted);
	return NULL;
}

static struct err *put_site(struct csv_writer *csv, const struct report_subject *subject,
			    const char *path, const struct site *site, struct csv_frames *frames,
			    struct site_identities *identities)
{
	struct site_identity identity = {0};
	struct err *err;

	if (path)
		csv_text(csv, path);
	csv_u64(csv, site->own_peak_bytes);
	csv_report_sums(csv, site);
	err = csv_report_stack(csv, subject, site->stack, frames);
	if (!err)
		err = site_identities_find(identities, subject->symbolized, site->stack, &identity);
	csv_text(csv, site_identity_text(identity.site).digits);
	csv_text(csv, site_identity_text(identity.shape).digits);
	csv_text(csv, identity.weak ? "true" : "false");
	csv_end_row(csv);
	return err;
}

struct err *csv_report_write(struct csv_writer *csv, const struct report_subject *subject,
			     const char *path, enum metric metric, uint32_t top)
{
	cleanup(csv_frames_deinit) struct csv_frames frames = {0};
	cleanup(site_identities_deinit) struct site_identities identities = {0};
	auto_free uint32_t *order = NULL;
	uint32_t site_count, count;
	const struct site *sites = recording_sites(subject->recording, &site_count);
	struct err *err;

	err = site_order_create(sites, site_count, metric, SITE_ORDER_ALL, &order, &count);
	for (uint32_t i = 0; !err && i < count && (!top || i < top); i++)
		err = put_site(csv, subject, path, &sites[order[i]], &frames, &identities);
	return err;
}

#define INCLUSIVE                                                                                  \
	" inclusive_peak_bytes inclusive_peak_blocks inclusive_leaked_bytes "                      \
	"inclusive_leaked_blocks inclusive_total_bytes inclusive_calls inclusive_temporary"

const char *csv_report_breakdown_columns(enum block_groups_by by)
{
	switch (by) {
	case BLOCK_GROUPS_FUNCTION:
	case BLOCK_GROUPS_FRAME:
		return "function module own_peak_bytes " CSV_REPORT_SUMS INCLUSIVE;
	case BLOCK_GROUPS_FILE:
		return "file own_peak_bytes " CSV_REPORT_SUMS INCLUSIVE;
	case BLOCK_GROUPS_LINE:
		return "line own_peak_bytes " CSV_REPORT_SUMS INCLUSIVE;
	case BLOCK_GROUPS_MODULE:
		return "module own_peak_bytes " CSV_REPORT_SUMS INCLUSIVE;
	case BLOCK_GROUPS_THREAD:
		return "tid thread own_peak_bytes " CSV_REPORT_SUMS;
	case BLOCK_GROUPS_SIZE:
		return "size_min size_max own_peak_bytes " CSV_REPORT_SUMS;
	case BLOCK_GROUPS_MARK:
		return "mark from_ns to_ns own_peak_bytes " CSV_REPORT_SUMS;
	default:
		break;
	}
	return "";
}

static void put_identity(struct csv_writer *csv, enum block_groups_by by,
			 const struct breakdown_row *row)
{
	if (by == BLOCK_GROUPS_MARK)
		csv_text(csv, row->culled ? "[culled]" : row->mark);
	if (row->culled) {
		csv_empty(csv);
		csv_text(csv, by == BLOCK_GROUPS_THREAD ? "[culled]" : NULL);
	} else if (by == BLOCK_GROUPS_THREAD) {
		csv_u64(csv, row->thread->tid);
		csv_text(csv, row->thread->name);
	} else if (by == BLOCK_GROUPS_SIZE || by == BLOCK_GROUPS_MARK) {
		csv_u64(csv, row->smallest);
		csv_u64(csv, row->largest);
	} else {
		bool of_functions = by == BLOCK_GROUPS_FUNCTION || by == BLOCK_GROUPS_FRAME;
		bool named = !of_functions || !row->frame || !row->frame->has_symbol;

		csv_text(csv, named ? row->name : row->frame->function);
		if (of_functions)
			csv_text(csv, row->frame ? row->frame->module : NULL);
	}
}

void csv_report_breakdown(struct csv_writer *csv, const struct breakdown_view *view,
			  const char *path)
{
	for (uint32_t i = 0; i < breakdown_view_rows(view); i++) {
		const struct breakdown_row *row = &view->rows[i];

		if (path)
			csv_text(csv, path);
		put_identity(csv, view->by, row);
		if (row->own_peak_known)
			csv_u64(csv, row->own.own_peak_bytes);
		else
			csv_empty(csv);
		csv_report_sums(csv, &row->own);
		if (!breakdown_view_of_blocks(view->by))
			csv_report_sums(csv, &row->inclusive);
		csv_end_row(csv);
	}
}

const char *csv_report_histogram_columns(enum histogram_of of)
{
	return of == HISTOGRAM_SIZE ? "class size_min size_max calls bytes"
				    : "class lifetime_min_ns lifetime_max_ns calls bytes";
}

static void put_apart(struct csv_writer *csv, const char *path, const char *name,
		      const struct histogram_sum *sum)
{
	if (!sum->calls)
		return;
	if (path)
		csv_text(csv, path);
	csv_text(csv, name);
	csv_empty(csv);
	csv_empty(csv);
	csv_u64(csv, sum->calls);
	csv_u64(csv, sum->bytes);
	csv_end_row(csv);
}

void csv_report_histogram(struct csv_writer *csv, const struct histogram *histogram,
			  const char *path)
{
	for (size_t i = histogram->first; i < histogram->end; i++) {
		if (path)
			csv_text(csv, path);
		csv_text(csv, histogram->of == HISTOGRAM_SIZE ? "size" : "lifetime");
		csv_u64(csv, scale_lowest(&histogram->scale, i));
		csv_u64(csv, histogram->scale.highest[i]);
		csv_u64(csv, histogram->classes[i].calls);
		csv_u64(csv, histogram->classes[i].bytes);
		csv_end_row(csv);
	}
	put_apart(csv, path, "culled", &histogram->culled);
	put_apart(csv, path, "leaked", &histogram->leaked);
}

static struct err *put_mapping(struct csv_writer *csv, const struct report_subject *subject,
			       const struct site *site, enum map_kind kind, const char *path,
			       struct csv_frames *frames)
{
	struct err *err;

	if (path)
		csv_text(csv, path);
	csv_text(csv, map_kind_name(kind));
	csv_u64(csv, site->peak_bytes);
	csv_u64(csv, site->leaked_bytes);
	csv_u64(csv, site->leaked_blocks);
	csv_u64(csv, site->total_bytes);
	csv_u64(csv, site->calls);
	err = csv_report_stack(csv, subject, site->stack, frames);
	csv_end_row(csv);
	return err;
}

struct err *csv_report_mappings(struct csv_writer *csv, const struct report_subject *subject,
				const struct map_sites *sites, const char *path, enum metric metric,
				uint32_t top)
{
	cleanup(csv_frames_deinit) struct csv_frames frames = {0};
	auto_free uint32_t *order = NULL;
	uint32_t count;
	struct err *err = site_order_create(sites->sites, sites->count, metric, SITE_ORDER_ALL,
					    &order, &count);

	for (uint32_t i = 0; !err && i < count && (!top || i < top); i++)
		err = put_mapping(csv, subject, &sites->sites[order[i]], sites->kinds[order[i]],
				  path, &frames);
	return err;
}
