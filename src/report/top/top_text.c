#include "report/top/top_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/names/allocating.h"
#include "analysis/names/own_code.h"
#include "hosted/cleanup.h"
#include "hosted/file_name.h"
#include "report/words/format.h"
#include "report/names/frame_name.h"
#include "report/views/stack_lines.h"

#define HEAD_LINES  4   /* title, sums, chart, titles of the table */
#define STACK_SHARE 2   /* the stack gets half of the table's lines … */
#define STACK_MIN   3   /* … if that is at least so many */
#define LEAST_LINES 8   /* a screen that is smaller shows what fits */
#define NAME_MOST   28  /* the most columns of a function's name … */
#define NAME_LEAST  8   /* … and what a narrow screen leaves of it */
#define LINE_MOST   400 /* the most bytes of numbers in a line */

/* Writes a line, cut to width, and a newline. */
static void put_line(struct buf *buf, const char *text, unsigned width)
{
	size_t columns = 0, size = 0;

	for (; text[size]; size++) {
		bool begins = ((unsigned char)text[size] & 0xc0) != 0x80;

		if (begins && columns++ == width)
			break;
	}
	buf_put(buf, text, size);
	buf_char(buf, '\n');
}

static const char *sort_name(enum top_sort sort)
{
	static const char *const names[] = {
		[TOP_BY_SIZE] = "size",
		[TOP_BY_COUNT] = "count",
		[TOP_BY_CHANGE] = "change since the mark",
		[TOP_BY_CALLS] = "calls",
	};

	return names[sort];
}

static void put_title(struct buf *buf, const struct top_model *model,
		      const struct top_screen *screen)
{
	const struct recording_facts *facts = recording_facts(model->recording);
	cleanup(buf_deinit) struct buf line = BUF_EMPTY;

	buf_text(&line, "mallow top  ");
	style_safe_text(&line, screen->name, strlen(screen->name));
	buf_printf(&line, " (pid %" PRIu32 ")  %s  %s", facts->pid,
		   format_time(facts->duration_ns).text, screen->threads ? "threads" : "by ");
	if (!screen->threads)
		buf_text(&line, sort_name(model->sort));
	if (*model->filter) {
		buf_text(&line, "  only ");
		style_safe_text(&line, model->filter, strlen(model->filter));
	}
	if (facts->sample_mean)
		buf_printf(&line, "  estimates, by a sample of one in %s",
			   format_bytes(facts->sample_mean, false).text);
	buf_text(&line, screen->ended ? "  ENDED" : screen->frozen ? "  FROZEN" : "");
	put_line(buf, buf_string(&line) ? buf_string(&line) : "", screen->width);
}

static void put_sums(struct buf *buf, const struct top_model *model,
		     const struct top_screen *screen)
{
	const struct recording_facts *facts = recording_facts(model->recording);
	const struct recording_summary *sum = recording_summary(model->recording);
	uint64_t passed = facts->duration_ns - model->mark_ns;
	char line[LINE_MOST];
	int length;

	length = snprintf(
		line, sizeof(line), "live %s in %s   %s since the mark, %s ago",
		format_bytes(sum->live_bytes, false).text,
		format_counted(sum->leaked_blocks, "block", false).text,
		format_change((int64_t)(sum->live_bytes - model->mark_bytes), true, false).text,
		format_time(passed).text);
	snprintf(line + length, sizeof(line) - (size_t)length, "   %s in %s",
		 format_bytes(sum->total_bytes, false).text,
		 format_counted(sum->calls, "call", false).text);
	// If it does not fit, write none of the last number: half of it would be another number.
	if (strlen(line) > screen->width)
		line[length] = 0;
	put_line(buf, line, screen->width);
}

/* Draws the live bytes of the latest readings, each a bar of at least an eighth of a line. */
static void put_history(struct buf *buf, const struct top_model *model, unsigned width)
{
	static const char *const blocks[] = {"\xe2\x96\x81", "\xe2\x96\x82", "\xe2\x96\x83",
					     "\xe2\x96\x84", "\xe2\x96\x85", "\xe2\x96\x86",
					     "\xe2\x96\x87", "\xe2\x96\x88"};
	size_t count = model->history.count, first = count > width ? count - width : 0;
	uint64_t most = 1;

	for (size_t i = first; i < count; i++)
		if (model->history.items[i] > most)
			most = model->history.items[i];
	for (size_t i = first; i < count; i++) {
		double height = (double)model->history.items[i] / (double)most * 7.99;

		buf_text(buf, blocks[(int)height]);
	}
	buf_char(buf, '\n');
}

static struct style style_of(const struct top_screen *screen)
{
	return (struct style){
		.width = screen->width,
		.full = screen->full,
		.names = screen->names,
		.offsets = true,
	};
}

/* Writes "parse  parse.c:12", in so many columns if the place leaves the name some of them. */
static void put_name(struct buf *buf, const struct style *style, const struct named_frame *frame,
		     size_t width)
{
	cleanup(buf_deinit) struct buf place = BUF_EMPTY;
	const char *file = frame->file ? named_frame_file_name(frame) : NULL;
	size_t columns;

	if (file) {
		buf_text(&place, "  ");
		style_safe_text(&place, file, strlen(file));
		if (frame->line)
			buf_printf(&place, ":%" PRIu32, frame->line);
	}
	columns = style_columns(place.data, place.size);
	width = width > columns + NAME_LEAST ? width - columns : NAME_LEAST;
	frame_name_put(buf, style, frame, width < NAME_MOST ? width : NAME_MOST);
	buf_put(buf, place.data, place.size);
}

/*
 * Writes a site as the code that it is called after, what that called, and its callers as far as
 * there is room: "parse  parse.c:12 > std::vector<int>::push_back < load < main".
 */
static struct err *put_own(struct buf *buf, const struct top_model *model,
			   const struct top_screen *screen, uint32_t stack, size_t width)
{
	cleanup(stack_lines_deinit) struct stack_lines lines = {0};
	cleanup(buf_deinit) struct buf line = BUF_EMPTY;
	struct style style = style_of(screen);
	struct own_code code;
	struct err *err = own_code_of_stack(model->symbolized, stack, &code);
	bool outside = false;

	if (!err)
		err = stack_lines_make(&style, model->symbolized, stack, &lines);
	if (err)
		return err;
	put_name(&line, &style, code.frame, width);
	if (code.call && code.call->has_symbol && !allocating_function(code.call->function)) {
		buf_text(&line, " > ");
		frame_name_put(&line, &style, code.call, NAME_MOST);
	}
	for (size_t i = 0; i < lines.list.count && line.size < width; i++) {
		const struct named_frame *frame = lines.list.items[i].frame;

		if (outside && (screen->full || !frame->plumbing)) {
			buf_text(&line, " < ");
			frame_name_put(&line, &style, frame, NAME_MOST);
		}
		outside |= frame == code.frame;
	}
	put_line(buf, buf_string(&line) ? buf_string(&line) : "", (unsigned)width);
	return NULL;
}

static struct err *put_site(struct buf *buf, const struct top_model *model,
			    const struct top_screen *screen, const struct top_row *row)
{
	uint32_t count;
	const struct site *site = &recording_sites(model->recording, &count)[row->site];
	char numbers[LINE_MOST];

	snprintf(numbers, sizeof(numbers), "%9s %11s %9s %10s %11s  ",
		 format_bytes(site->leaked_bytes, false).text,
		 format_count(site->leaked_blocks, false).text,
		 format_bytes(site->own_peak_bytes, false).text,
		 format_change(row->change, true, false).text,
		 format_count(site->calls, false).text);
	buf_text(buf, numbers);
	if (site->stack != RECORDING_NONE)
		return put_own(buf, model, screen, site->stack,
			       screen->width > strlen(numbers) ? screen->width - strlen(numbers)
							       : 1);
	buf_text(buf, "(no stack)\n");
	return NULL;
}

static void put_thread(struct buf *buf, const struct thread_sums *thread, unsigned width)
{
	uint64_t by_others = 0;
	cleanup(buf_deinit) struct buf line = BUF_EMPTY;

	for (uint32_t i = 0; i < thread->freed_by_others_count; i++)
		by_others += thread->freed_by_others[i].bytes;
	buf_printf(
		&line, "%9s %11s %9s %10s %11s  ", format_bytes(thread->in_use_bytes, false).text,
		format_count(thread->in_use_blocks, false).text,
		format_bytes(thread->allocated_bytes, false).text,
		format_bytes(thread->freed_bytes, false).text, format_bytes(by_others, false).text);
	style_safe_text(&line, thread->name, strlen(thread->name));
	put_line(buf, buf_string(&line) ? buf_string(&line) : "", width);
}

static size_t row_count(const struct top_model *model, const struct top_screen *screen)
{
	const struct live_facts *live = recording_live(model->recording);

	if (screen->threads)
		return live ? live->thread_count : 0;
	return model->rows.count;
}

/* Corrects the screen, so that the selected row exists and is visible. */
static void put_right(struct top_screen *screen, size_t rows, size_t lines)
{
	if (screen->select >= rows)
		screen->select = rows ? rows - 1 : 0;
	if (screen->first > screen->select)
		screen->first = screen->select;
	if (screen->select >= screen->first + lines)
		screen->first = screen->select + 1 - lines;
}

static struct err *put_table(struct buf *buf, const struct top_model *model,
			     const struct top_screen *screen, size_t lines)
{
	const struct live_facts *live = recording_live(model->recording);
	size_t rows = row_count(model, screen);
	struct err *err = NULL;

	for (size_t i = screen->first; !err && i < screen->first + lines; i++) {
		if (i >= rows)
			buf_text(buf,
				 i == 0 && screen->threads && !live
					 ? "a recording with events: mallow report --by thread\n"
					 : "\n");
		else if (screen->threads)
			put_thread(buf, &live->threads[i], screen->width);
		else
			err = put_site(buf, model, screen, &model->rows.items[i]);
	}
	return err;
}

/* Writes so many lines of the selected site's stack. The first is a rule. */
static struct err *put_stack(struct buf *buf, const struct top_model *model,
			     const struct top_screen *screen, size_t count)
{
	cleanup(stack_lines_deinit) struct stack_lines lines = {0};
	cleanup(buf_deinit) struct buf line = BUF_EMPTY;
	const struct style style = style_of(screen);
	uint32_t stack = RECORDING_NONE;
	const struct site *sites = recording_sites(model->recording, NULL);
	struct err *err;
	size_t put = 1;

	if (screen->select < model->rows.count)
		stack = sites[model->rows.items[screen->select].site].stack;
	buf_repeat(buf, '-', screen->width);
	buf_char(buf, '\n');
	err = stack_lines_make(&style, model->symbolized, stack, &lines);
	if (err)
		return err;
	for (; put <= lines.list.count && put < count; put++) {
		line.size = 0;
		stack_line_put(&line, &style, &lines.list.items[put - 1], 0);
		put_line(buf, buf_string(&line) ? buf_string(&line) : "", screen->width);
	}
	buf_repeat(buf, '\n', count - put);
	return NULL;
}

struct err *top_text_write(struct buf *buf, const struct top_model *model,
			   struct top_screen *screen, struct top_lines *ret)
{
	static const char sites[] = "     live      blocks      peak     change       calls  "
				    "function  place > its call < its callers";
	static const char threads[] = "   in use      blocks allocated      freed   by others  "
				      "thread";
	static const char keys[] = "s size  c count  d change  a calls  m mark  / find  "
				   "t threads  f freeze  q quit  Enter stack";
	size_t height = screen->height > LEAST_LINES ? screen->height : LEAST_LINES;
	size_t lines = height - HEAD_LINES - 1, stack = 0;
	struct err *err;

	if (screen->stack && !screen->threads && lines / STACK_SHARE >= STACK_MIN)
		stack = lines / STACK_SHARE;
	lines -= stack;
	put_right(screen, row_count(model, screen), lines);
	put_title(buf, model, screen);
	put_sums(buf, model, screen);
	put_history(buf, model, screen->width);
	put_line(buf, screen->threads ? threads : sites, screen->width);
	err = put_table(buf, model, screen, lines);
	if (!err && stack)
		err = put_stack(buf, model, screen, stack);
	if (err)
		return err;
	put_line(buf, screen->prompt ? screen->prompt : keys, screen->width);
	*ret = (struct top_lines){
		.titles = HEAD_LINES - 1,
		.selected = row_count(model, screen)
				    ? HEAD_LINES + (int)(screen->select - screen->first)
				    : -1,
		.keys = (int)height - 1,
	};
	return NULL;
}
