#include "report/text/text_stack.h"

#include <assert.h>

#include "hosted/cleanup.h"
#include "hosted/vec.h"
#include "report/format.h"
#include "report/frame_text.h"

#define SHOWN_INNERMOST 24
#define SHOWN_OUTERMOST 8

/* A line to print: a frame, how often it stands there in a row, and what it stands for. */
struct line {
	const struct named_frame *frame;
	unsigned repeated;
	unsigned folded; /* so many frames of plumbing; 0: itself */
};

static unsigned frames_of(const struct line *line)
{
	return line->folded ? line->folded : line->repeated;
}

struct lines {
	VEC(struct line) list;
};

static void lines_deinit(struct lines *lines)
{
	vec_deinit(&lines->list);
}

static struct err *add(struct lines *lines, const struct named_frame *frame, bool merge)
{
	if (merge && lines->list.count) {
		struct line *last = &lines->list.items[lines->list.count - 1];

		if (frame_text_same(last->frame, frame)) {
			last->repeated++;
			return NULL;
		}
	}
	return vec_push(&lines->list, (struct line){frame, 1, 0}) ? NULL : err_no_memory();
}

/* Collects the lines of a stack, innermost first. */
static struct err *collect(const struct recording *recording, struct symbolized *symbolized,
			   uint32_t node, bool merge, struct lines *lines)
{
	uint32_t count;
	const struct stack_node *nodes = recording_stacks(recording, &count);

	for (; node != RECORDING_NONE; node = nodes[node].parent) {
		const struct named_frame *frames;
		size_t frame_count;
		struct err *err =
			symbolized_frame(symbolized, nodes[node].frame, &frames, &frame_count);

		for (size_t i = 0; i < frame_count && !err; i++)
			err = add(lines, &frames[i], merge);
		if (err)
			return err;
	}
	return NULL;
}

/*
 * How many lines are left without the start-up code at the outer end; all if there is nothing else.
 */
static size_t without_startup(const struct lines *lines)
{
	const struct line *all = lines->list.items;
	size_t count = lines->list.count;
	bool rust = false;

	while (count) {
		const struct named_frame *frame = all[count - 1].frame;

		if (!frame_text_is_startup(frame) && !(rust && frame->plumbing) &&
		    !(count > 1 && frame_text_calls_startup(frame, all[count - 2].frame)))
			break;
		rust |= frame_text_is_rust_start(frame);
		count--;
	}
	return count ? count : lines->list.count;
}

/*
 * Folds each run of plumbing into its outermost frame. Returns how many lines are left; without own
 * code all of them.
 */
static size_t fold(struct line *lines, size_t count)
{
	size_t left = 0, own = 0;

	for (size_t i = 0; i < count; i++)
		own += named_frame_is_own(lines[i].frame);
	if (!own)
		return count;
	for (size_t i = 0, end; i < count; i = end) {
		struct line line = lines[i];
		unsigned folded = 0;

		for (end = i; end < count && lines[end].frame->plumbing; end++)
			folded += lines[end].repeated;
		if (end == i)
			end++;
		else if (folded > 1)
			line = (struct line){lines[end - 1].frame, 1, folded};
		lines[left++] = line;
	}
	return left;
}

static void put_line(struct buf *buf, const struct style *style, const struct line *line,
		     unsigned indent)
{
	if (line->folded)
		frame_text_folded(buf, style, line->frame, indent, line->folded);
	else
		frame_text_line(buf, style, line->frame, indent, line->repeated);
}

/* Writes how many frames stand between two lines. */
static void put_hidden(struct buf *buf, const struct style *style, const struct line *lines,
		       size_t count, unsigned indent)
{
	unsigned hidden = 0;

	for (size_t i = 0; i < count; i++)
		hidden += frames_of(&lines[i]);
	buf_repeat(buf, ' ', indent);
	style_printf(buf, style, STYLE_DIM, "\xe2\x80\xa6 %s (--full shows them)\n",
		     format_counted(hidden, "frame", true).text);
}

struct err *text_stack_write(struct buf *buf, const struct style *style,
			     const struct recording *recording, struct symbolized *symbolized,
			     uint32_t node, unsigned indent, unsigned most)
{
	cleanup(lines_deinit) struct lines lines = {VEC_EMPTY};
	struct err *err = collect(recording, symbolized, node, !style->full, &lines);
	size_t count, inner, outer;

	if (err)
		return err;
	count = style->full ? lines.list.count : without_startup(&lines);
	if (!style->full)
		count = fold(lines.list.items, count);
	if (!count) {
		buf_repeat(buf, ' ', indent);
		buf_text(buf, "(no stack)\n");
	}
	assert(lines.list.items || !count);
	outer = most ? most / 4 : SHOWN_OUTERMOST;
	inner = most ? most - 1 - outer : SHOWN_INNERMOST;
	if (style->full || count <= inner + 1 + outer)
		inner = count; // a line for one line would be no shorter
	for (size_t i = 0; i < count; i++) {
		if (i == inner) {
			put_hidden(buf, style, &lines.list.items[i], count - outer - i, indent);
			i = count - outer;
			if (!outer)
				break;
		}
		buf_repeat(buf, ' ', indent);
		put_line(buf, style, &lines.list.items[i], indent);
		buf_char(buf, '\n');
	}
	return NULL;
}
