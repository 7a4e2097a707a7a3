#include "analysis/trees/tree_labels.h"

#include "analysis/names/frame_label.h"

void tree_labels_init(struct tree_labels *labels, struct symbolized *symbolized,
		      enum tree_merge merge, struct intern *strings)
{
	*labels = (struct tree_labels){
		.symbolized = symbolized,
		.merge = merge,
		.strings = strings,
	};
	buf_init(&labels->buf);
}

void tree_labels_deinit(struct tree_labels *labels)
{
	buf_deinit(&labels->buf);
	map_deinit(&labels->numbers);
	map_deinit(&labels->first);
	vec_deinit(&labels->lines);
	vec_deinit(&labels->counts);
}

static void put_label(struct tree_labels *labels, const struct named_frame *frame)
{
	const char *place = labels->merge == TREE_BY_FILE     ? frame->file
			    : labels->merge == TREE_BY_MODULE ? frame->module_name
							      : NULL;

	if (place) {
		frame_label_text(&labels->buf, place);
		return;
	}
	frame_label(&labels->buf, frame);
	if (labels->merge == TREE_BY_LINE && frame->file && frame->line) {
		buf_char(&labels->buf, ' ');
		frame_label_text(&labels->buf, frame->file);
		buf_printf(&labels->buf, ":%u", frame->line);
	}
}

static struct err *add_line(struct tree_labels *labels, const struct named_frame *frame)
{
	struct label_line line = {.frame = frame};
	uint64_t *number;

	labels->buf.size = 0;
	put_label(labels, frame);
	if (!buf_string(&labels->buf))
		return buf_finish(&labels->buf);
	line.label = intern_bytes(labels->strings, labels->buf.data, labels->buf.size);
	if (!line.label)
		return err_no_memory();
	number = map_put(&labels->numbers, (uint64_t)(uintptr_t)line.label);
	if (!number)
		return err_no_memory();
	if (*number == MAP_NONE)
		*number = labels->numbers.count - 1;
	line.number = (uint32_t)*number;
	return vec_push(&labels->lines, line) && vec_push(&labels->counts, 0) ? NULL
									      : err_no_memory();
}

static struct err *add_frame(struct tree_labels *labels, uint32_t frame, uint64_t *first)
{
	const struct named_frame *named;
	size_t count, start = labels->lines.count;
	struct err *err;

	err = symbolized_frame(labels->symbolized, frame, &named, &count);
	for (size_t i = 0; !err && i < count; i++)
		err = add_line(labels, &named[i]);
	if (err)
		return err;
	labels->counts.items[start] = (uint32_t)count;
	*first = start;
	return NULL;
}

struct err *tree_labels_of(struct tree_labels *labels, uint32_t frame,
			   const struct label_line **ret, size_t *count)
{
	uint64_t *first = map_put(&labels->first, frame);
	struct err *err;

	if (!first)
		return err_no_memory();
	if (*first == MAP_NONE) {
		err = add_frame(labels, frame, first);
		if (err)
			return err;
	}
	*ret = &labels->lines.items[*first];
	*count = labels->counts.items[*first];
	return NULL;
}
