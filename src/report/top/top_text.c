#include "report/top/top_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/breakdown/allocating.h"
#include "hosted/cleanup.h"
#include "report/format.h"
#include "report/frame_name.h"
#include "report/frame_text.h"

#define HEAD_LINES  4   /* title, sums, chart, titles of the table */
#define STACK_SHARE 2   /* the stack gets half of the table's lines … */
#define STACK_MIN   3   /* … if that is at least so many */
#define LEAST_LINES 8   /* a screen that is smaller shows what fits */
#define NAME_MOST   28  /* the most columns of a function in a chain of callers */
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

/* "+1.23 MB", "-12 B", "0 B". */
static struct formatted signed_bytes(int64_t change)
{
	struct formatted result = {0};
	uint64_t bytes = change < 0 ? 0 - (uint64_t)change : (uint64_t)change;

	snprintf(result.text, sizeof(result.text), "%s%.40s",
		 change < 0   ? "-"
		 : change > 0 ? "+"
			      : "",
		 format_bytes(bytes, false).text);
	return result;
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

	length = snprintf(line, sizeof(line), "live %s in %s   %s since the mark, %s ago",
			  format_bytes(sum->live_bytes, false).text,
			  format_counted(sum->leaked_blocks, "block", false).text,
			  signed_bytes((int64_t)(sum->live_bytes - model->mark_bytes)).text,
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

/* *ret: the innermost node with a name that is no mere wrapper of malloc. It tells most. */
static struct err *telling_node(const struct top_model *model, uint32_t node, uint32_t *ret)
{
	uint32_t unused, innermost = node;
	const struct stack_node *nodes = recording_stacks(model->recording, &unused);

	for (; node != RECORDING_NONE; node = nodes[node].parent) {
		const struct named_frame *lines;
		size_t count;
		struct err *err =
			symbolized_frame(model->symbolized, nodes[node].frame, &lines, &count);

		if (err)
			return err;
		if (frame_text_is_startup(&lines[0]))
			break;
		if (lines[0].has_symbol && !allocating_function(lines[0].function)) {
			*ret = node;
			return NULL;
		}
	}
	*ret = innermost;
	return NULL;
}

/* Writes functions from the node outwards, as many as fit: "parse < load < main". */
static struct err *put_chain(struct buf *buf, const struct top_model *model, uint32_t node,
			     size_t width)
{
	uint32_t unused;
	const struct stack_node *nodes = recording_stacks(model->recording, &unused);
	cleanup(buf_deinit) struct buf line = BUF_EMPTY;

	for (bool first = true; node != RECORDING_NONE && line.size < width; first = false) {
		const struct named_frame *lines;
		size_t count;
		struct err *err =
			symbolized_frame(model->symbolized, nodes[node].frame, &lines, &count);

		if (err)
			return err;
		if (!first && frame_text_is_startup(&lines[0]))
			break;
		buf_text(&line, first ? "" : " < ");
		frame_name_put(&line, &(struct style){0}, &lines[0], NAME_MOST);
		node = nodes[node].parent;
	}
	put_line(buf, buf_string(&line) ? buf_string(&line) : "", (unsigned)width);
	return NULL;
}

static struct err *put_site(struct buf *buf, const struct top_model *model,
			    const struct top_row *row, unsigned width)
{
	uint32_t count, node = 0;
	const struct site *site = &recording_sites(model->recording, &count)[row->site];
	struct err *err = telling_node(model, site->stack, &node);
	char numbers[LINE_MOST];

	if (err)
		return err;
	snprintf(numbers, sizeof(numbers), "%9s %11s %9s %10s %11s  ",
		 format_bytes(site->leaked_bytes, false).text,
		 format_count(site->leaked_blocks, false).text,
		 format_bytes(site->own_peak_bytes, false).text, signed_bytes(row->change).text,
		 format_count(site->calls, false).text);
	buf_text(buf, numbers);
	if (node != RECORDING_NONE)
		return put_chain(buf, model, node,
				 width > strlen(numbers) ? width - strlen(numbers) : 1);
	buf_text(buf, "(no stack)\n");
	return NULL;
}

static void put_thread(struct buf *buf, const struct thread_sums *thread, unsigned width)
{
	uint64_t by_others = 0;
	char line[LINE_MOST];

	for (uint32_t i = 0; i < thread->freed_by_others_count; i++)
		by_others += thread->freed_by_others[i].bytes;
	snprintf(line, sizeof(line), "%9s %11s %9s %10s %11s  %.40s",
		 format_bytes(thread->in_use_bytes, false).text,
		 format_count(thread->in_use_blocks, false).text,
		 format_bytes(thread->allocated_bytes, false).text,
		 format_bytes(thread->freed_bytes, false).text, format_bytes(by_others, false).text,
		 thread->name);
	put_line(buf, line, width);
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
			err = put_site(buf, model, &model->rows.items[i], screen->width);
	}
	return err;
}

/* Writes so many lines of the selected site's stack. The first is a rule. */
static struct err *put_stack(struct buf *buf, const struct top_model *model,
			     const struct top_screen *screen, size_t lines)
{
	const struct style style = {.width = screen->width, .offsets = true};
	uint32_t count, node = RECORDING_NONE;
	const struct stack_node *nodes = recording_stacks(model->recording, &count);
	const struct site *sites = recording_sites(model->recording, &count);
	size_t put = 1;

	if (screen->select < model->rows.count)
		node = sites[model->rows.items[screen->select].site].stack;
	buf_repeat(buf, '-', screen->width);
	buf_char(buf, '\n');
	for (; node != RECORDING_NONE && put < lines; node = nodes[node].parent) {
		const struct named_frame *named;
		size_t named_count;
		struct err *err = symbolized_frame(model->symbolized, nodes[node].frame, &named,
						   &named_count);

		if (err)
			return err;
		for (size_t i = 0; i < named_count && put < lines; i++, put++) {
			frame_text_line(buf, &style, &named[i], 0, 1);
			buf_char(buf, '\n');
		}
	}
	buf_repeat(buf, '\n', lines - put);
	return NULL;
}

/* Writes what keys do. The first ones fit into 80 columns. */
static void put_keys(struct buf *buf, const struct top_screen *screen)
{
	static const char keys[] =
		"s size  c count  d change  a calls  m mark  / find  t threads  f freeze  q quit  "
		"Enter stack";

	put_line(buf, screen->prompt ? screen->prompt : keys, screen->width);
}

struct err *top_text_write(struct buf *buf, const struct top_model *model,
			   struct top_screen *screen, struct top_lines *ret)
{
	static const char sites[] = "     live      blocks      peak     change       calls  "
				    "function < its callers";
	static const char threads[] = "   in use      blocks allocated      freed   by others  "
				      "thread";
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
	put_keys(buf, screen);
	*ret = (struct top_lines){
		.titles = HEAD_LINES - 1,
		.selected = row_count(model, screen)
				    ? HEAD_LINES + (int)(screen->select - screen->first)
				    : -1,
		.keys = (int)height - 1,
	};
	return NULL;
}
