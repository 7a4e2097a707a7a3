#include "report/views/stack_lines.h"

#include "report/names/frame_text.h"

void stack_lines_deinit(struct stack_lines *lines)
{
	vec_deinit(&lines->list);
}

/* Whether both give the same line. */
static bool is_same(const struct style *style, const struct named_frame *a,
		    const struct named_frame *b)
{
	return frame_text_same(a, b) && (!style->offsets || a->offset == b->offset);
}

static struct err *add_line(struct stack_lines *lines, const struct style *style,
			    const struct stack_line *line)
{
	if (!style->full && lines->list.count) {
		struct stack_line *before = &lines->list.items[lines->list.count - 1];

		if (is_same(style, before->frame, line->frame)) {
			before->repeated++;
			before->last = line->last;
			return NULL;
		}
	}
	return vec_push(&lines->list, *line) ? NULL : err_no_memory();
}

/* Collects the lines of a stack, innermost first. */
static struct err *collect_lines(struct stack_lines *lines, const struct style *style,
				 struct symbolized *symbolized, uint32_t node)
{
	uint32_t count;
	const struct stack_node *nodes = recording_stacks(symbolized_recording(symbolized), &count);

	for (unsigned number = 0; node != RECORDING_NONE; number++, node = nodes[node].parent) {
		const struct named_frame *frames;
		size_t frame_count;
		struct err *err =
			symbolized_frame(symbolized, nodes[node].frame, &frames, &frame_count);

		for (size_t i = 0; i < frame_count && !err; i++)
			err = add_line(lines, style,
				       &(struct stack_line){.frame = &frames[i],
							    .node = node,
							    .number = number,
							    .last = number,
							    .repeated = 1});
		if (err)
			return err;
	}
	return NULL;
}

/*
 * How many lines are left without the start-up code at the outer end; all if there is nothing else.
 */
static size_t without_startup(const struct stack_lines *lines)
{
	const struct stack_line *all = lines->list.items;
	size_t count = lines->list.count;
	bool rust = false;

	while (count) {
		const struct named_frame *frame = all[count - 1].frame;

		if (!frame_text_is_startup(frame) && !(rust && frame->plumbing) &&
		    !(count > 1 && frame_text_calls_startup(frame, all[count - 2].frame)))
			break;
		rust |= named_frame_is_rust_start(frame);
		count--;
	}
	return count ? count : lines->list.count;
}

/*
 * Folds each run of plumbing into its outermost frame. Returns how many lines are left; without own
 * code all of them.
 */
static size_t fold(struct stack_line *lines, size_t count)
{
	size_t left = 0, own = 0;

	for (size_t i = 0; i < count; i++)
		own += named_frame_is_own(lines[i].frame);
	if (!own)
		return count;
	for (size_t i = 0, end; i < count; i = end) {
		struct stack_line line = lines[i];
		unsigned folded = 0;

		for (end = i; end < count && lines[end].frame->plumbing; end++)
			folded += lines[end].repeated;
		if (end == i) {
			end++;
		} else if (folded > 1) {
			line = lines[end - 1];
			line.repeated = 1;
			line.folded = folded;
		}
		lines[left++] = line;
	}
	return left;
}

struct err *stack_lines_make(const struct style *style, struct symbolized *symbolized,
			     uint32_t node, struct stack_lines *ret)
{
	struct err *err = collect_lines(ret, style, symbolized, node);

	if (!err && !style->full)
		ret->list.count = fold(ret->list.items, without_startup(ret));
	return err;
}

void stack_line_put(struct buf *buf, const struct style *style, const struct stack_line *line,
		    size_t column)
{
	if (line->folded)
		frame_text_folded(buf, style, line->frame, column, line->folded);
	else
		frame_text_line(buf, style, line->frame, column, line->repeated);
}
