#include "report/text/process_text.h"

#include <inttypes.h>
#include <string.h>

#include "hosted/cleanup.h"
#include "hosted/file_name.h"
#include "report/words/format.h"
#include "report/text/text_report.h"

#define DEPTH_SHOWN     24 /* deeper processes are not indented further */
#define PROGRAM_LEAST   24
#define PROGRAM_COLUMNS 60 /* if lines may have any length */

/* A process's state in a word or two: "complete", "running", "cut short", "gaps". */
static const char *state_of(const struct recording_facts *facts)
{
	if (facts->complete)
		return "complete";
	if (facts->writing)
		return "running";
	if (facts->lost)
		return "events lost";
	if (facts->missing_chunks || facts->damaged_chunks)
		return "gaps";
	return facts->ended ? "file cut off" : "cut short";
}

/* Writes the branch before a program: lines down from its parent, and whether siblings follow. */
static void put_branch(struct buf *buf, const struct process_list *list, uint32_t index)
{
	const struct listed_process *items = list->items.items;
	bool lasts[DEPTH_SHOWN] = {0};
	uint32_t depth = 0;

	for (uint32_t at = index; depth < DEPTH_SHOWN && items[at].parent != RECORDING_NONE;
	     at = items[at].parent)
		lasts[depth++] = items[at].last;
	for (uint32_t i = depth; i-- > 1;)
		buf_text(buf, lasts[i] ? "   " : "\xe2\x94\x82  ");
	if (depth)
		buf_text(buf, lasts[0] ? "\xe2\x94\x94\xe2\x94\x80 " : "\xe2\x94\x9c\xe2\x94\x80 ");
}

/* Writes a process's numbers. Returns the column at which its program begins. */
static size_t put_numbers(struct buf *buf, const struct style *style,
			  const struct listed_process *process, uint64_t first_start,
			  enum process_text_columns columns)
{
	const struct recording_facts *facts = &process->facts;
	const struct recording_summary *sums = &process->summary;

	buf_printf(buf, "%10" PRIu32, facts->pid);
	if (columns == PROCESS_TEXT_SUMS) {
		buf_printf(buf, " %10s %10s %10s  ",
			   format_bytes(sums->peak_bytes, style->exact).text,
			   format_bytes(sums->leaked_bytes, style->exact).text,
			   format_bytes(sums->total_bytes, style->exact).text);
		return 45;
	}
	buf_printf(buf, " %10s %10s %12s  %-11s  ",
		   format_time(facts->start_realtime_ns - first_start).text,
		   format_time(facts->duration_ns).text,
		   format_count(facts->events, style->exact).text, state_of(facts));
	return 60;
}

static void put_program(struct buf *buf, const struct style *style,
			const struct recording_facts *facts, size_t column)
{
	size_t room = PROGRAM_COLUMNS;

	if (style->full)
		room = SIZE_MAX;
	else if (style->width)
		room = style->width > column + PROGRAM_LEAST ? style->width - column
							     : PROGRAM_LEAST;
	text_report_command(buf, facts, room);
}

static uint64_t first_start(const struct process_list *list)
{
	uint64_t first = UINT64_MAX;

	for (size_t i = 0; i < list->items.count; i++)
		if (list->items.items[i].facts.start_realtime_ns < first)
			first = list->items.items[i].facts.start_realtime_ns;
	return first;
}

void process_text_write(struct buf *buf, const struct style *style, const struct process_list *list,
			enum process_text_columns columns)
{
	uint64_t start = first_start(list);

	buf_text(buf, columns == PROCESS_TEXT_SUMS
			      ? "       pid       peak     leaked      total  program\n"
			      : "       pid      began        ran       events  recording    "
				"program, file\n");
	for (uint32_t i = 0; i < list->items.count; i++) {
		const struct listed_process *process = &list->items.items[i];
		const char *file = file_name(process->facts.path);
		cleanup(buf_deinit) struct buf branch = BUF_EMPTY;
		size_t column, branch_columns, taken;

		put_branch(&branch, list, i);
		branch_columns = style_columns(branch.data, branch.size);
		column = put_numbers(buf, style, process, start, columns);
		buf_put(buf, branch.data, branch.size);
		taken = column + branch_columns;
		if (columns == PROCESS_TEXT_FACTS)
			taken += 2 + style_columns(file, strlen(file));
		put_program(buf, style, &process->facts, taken);
		if (columns == PROCESS_TEXT_FACTS) {
			buf_text(buf, "  ");
			style_begin(buf, style, STYLE_DIM);
			style_safe_text(buf, file, strlen(file));
			style_end(buf, style);
		}
		buf_char(buf, '\n');
	}
}
