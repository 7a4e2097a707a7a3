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

/*
 * Writes the labels of all frames. *innermost: the first of their named lines; NULL: there is none.
 */
static struct err *put_stack(struct buf *buf, const struct report_subject *subject, uint32_t node,
			     const struct named_frame **innermost)
{
	uint32_t count;
	const struct stack_node *nodes = recording_stacks(subject->recording, &count);

	*innermost = NULL;
	for (; node != RECORDING_NONE; node = nodes[node].parent) {
		const struct named_frame *lines;
		size_t line_count;
		struct err *err = symbolized_frame(subject->symbolized, nodes[node].frame, &lines,
						   &line_count);

		if (err)
			return err;
		for (size_t i = 0; i < line_count; i++) {
			if (*innermost)
				buf_char(buf, ';');
			else
				*innermost = &lines[i];
			frame_label(buf, &lines[i]);
		}
	}
	return NULL;
}

struct err *csv_report_stack(struct csv_writer *csv, const struct report_subject *subject,
			     uint32_t node, struct buf *stack)
{
	const struct named_frame *frame;
	struct err *err;

	stack->size = 0;
	err = put_stack(stack, subject, node, &frame);
	if (!err && !buf_string(stack))
		err = buf_finish(stack);
	if (err)
		return err;
	csv_text(csv, frame ? frame->function : NULL);
	csv_text(csv, frame ? frame->file : NULL);
	if (frame && frame->line)
		csv_u64(csv, frame->line);
	else
		csv_empty(csv);
	csv_text(csv, frame ? frame->module : NULL);
	csv_text(csv, buf_string(stack));
	return NULL;
}

static struct err *put_site(struct csv_writer *csv, const struct report_subject *subject,
			    const char *path, const struct site *site, struct buf *stack)
{
	struct err *err;

	if (path)
		csv_text(csv, path);
	csv_u64(csv, site->own_peak_bytes);
	csv_report_sums(csv, site);
	err = csv_report_stack(csv, subject, site->stack, stack);
	csv_end_row(csv);
	return err;
}

struct err *csv_report_write(struct csv_writer *csv, const struct report_subject *subject,
			     const char *path, enum metric metric, uint32_t top)
{
	cleanup(buf_deinit) struct buf stack = BUF_EMPTY;
	auto_free uint32_t *order = NULL;
	uint32_t site_count, count;
	const struct site *sites = recording_sites(subject->recording, &site_count);
	struct err *err;

	err = site_order_create(sites, site_count, metric, SITE_ORDER_ALL, &order, &count);
	for (uint32_t i = 0; !err && i < count && (!top || i < top); i++)
		err = put_site(csv, subject, path, &sites[order[i]], &stack);
	return err;
}
