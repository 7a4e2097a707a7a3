#include "report/text/core_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "hosted/cleanup.h"
#include "report/names/nameless.h"
#include "report/text/text_report.h"
#include "report/views/core_view.h"
#include "report/views/live_view.h"
#include "report/views/summary.h"
#include "report/words/format.h"

/* " 0x843f234 ", or as many blanks. Returns how many columns it takes. */
static size_t put_address(struct buf *buf, uint64_t pc, unsigned width, bool shown)
{
	char text[40];
	int length;

	if (shown && pc > TRACE_PC_LAST_SPECIAL && !(pc & TRACE_PC_SCRIPT))
		length = snprintf(text, sizeof(text), " 0x%0*" PRIx64 " ", (int)width, pc);
	else
		length = snprintf(text, sizeof(text), " %*s ", (int)width + 2, "");
	buf_text(buf, text);
	return (size_t)length;
}

static uint64_t pc_of(const struct recording *recording, uint32_t node)
{
	uint32_t frame = recording_stacks(recording, NULL)[node].frame;

	return recording_frames(recording, NULL)[frame].pc;
}

/* How many digits the longest address of the lines has. */
static unsigned address_width(const struct core_view *view, const struct stack_lines *lines)
{
	unsigned width = 1;

	for (size_t i = 0; i < lines->list.count; i++) {
		uint64_t pc = pc_of(view->recording, lines->list.items[i].node);
		char text[24];
		int length = snprintf(text, sizeof(text), "%" PRIx64, pc);

		if (pc > TRACE_PC_LAST_SPECIAL && !(pc & TRACE_PC_SCRIPT) &&
		    (unsigned)length > width)
			width = (unsigned)length;
	}
	return width;
}

static struct err *put_stack(struct buf *buf, const struct style *style,
			     const struct core_view *view, uint32_t stack)
{
	cleanup(stack_lines_deinit) struct stack_lines lines = {0};
	struct err *err;
	unsigned width;

	if (stack == RECORDING_NONE) {
		buf_text(buf, " " LIVE_FRAME_NO_STACK);
		return NULL;
	}
	err = stack_lines_make(style, view->symbolized, stack, &lines);
	if (err)
		return err;
	width = address_width(view, &lines);
	for (size_t i = 0; i < lines.list.count; i++) {
		const struct stack_line *line = &lines.list.items[i];
		bool first = !i || line[-1].number != line->number;
		size_t column = put_address(buf, pc_of(view->recording, line->node), width, first);

		stack_line_put(buf, style, line, column);
		buf_char(buf, '\n');
	}
	return NULL;
}

/* How many blocks of the site are not in the dump. In a sample most have never been listed. */
static uint64_t missing_sizes(const struct core_view *view, uint32_t site, uint32_t count)
{
	const struct recording_facts *facts = recording_facts(view->recording);
	uint64_t blocks = recording_sites(view->recording, NULL)[site].leaked_blocks;

	return facts->core && facts->core->missing && !facts->sample_mean && blocks > count
		       ? blocks - count
		       : 0;
}

/* "[1000, 2000, 3000]", "[1000, 1000, … 9998 more]", "[1000, … 2 missing]" */
static void put_sizes(struct buf *buf, const struct core_view *view, uint32_t site)
{
	uint32_t from = view->first[site], count = view->first[site + 1] - from, shown = count;
	uint64_t missing = missing_sizes(view, site, count);

	if (shown > CORE_VIEW_SIZES && !view->options.all_sizes)
		shown = CORE_VIEW_SIZES;
	buf_char(buf, '[');
	for (uint32_t i = 0; i < shown; i++) {
		if (i)
			buf_text(buf, ", ");
		buf_u64(buf, view->sizes[from + i]);
	}
	if (shown < count)
		buf_printf(buf, ", … %" PRIu32 " more", count - shown);
	if (missing)
		buf_printf(buf, "%s… %" PRIu64 " missing", shown ? ", " : "", missing);
	buf_char(buf, ']');
}

static struct err *put_site(struct buf *buf, const struct style *style,
			    const struct core_view *view, uint32_t index)
{
	const struct recording_summary *sum = recording_summary(view->recording);
	uint32_t count;
	const struct site *site = &recording_sites(view->recording, &count)[index];
	// Cut off, as heapprof does.
	unsigned percent =
		sum->live_bytes
			? (unsigned)((double)site->leaked_bytes * 100 / (double)sum->live_bytes)
			: 0;

	style_begin(buf, style, STYLE_STRONG);
	buf_printf(buf, "%u%% %" PRIu64, percent, site->leaked_bytes);
	style_end(buf, style);
	buf_char(buf, ' ');
	put_sizes(buf, view, index);
	buf_char(buf, '\n');
	return put_stack(buf, style, view, site->stack);
}

static void put_head(struct buf *buf, const struct style *style, const struct core_view *view)
{
	const struct recording_facts *facts = recording_facts(view->recording);
	const struct recording_summary *sum = recording_summary(view->recording);

	style_begin(buf, style, STYLE_STRONG);
	text_report_title(buf, facts, style->width);
	buf_text(buf, ", ");
	summary_put_end(buf, facts);
	buf_printf(buf, "\n%s live in %s, at %s\n",
		   format_bytes(sum->live_bytes, style->exact).text,
		   format_counted(sum->leaked_blocks, "block", true).text,
		   format_counted(view->live, "site", true).text);
	style_end(buf, style);
	core_facts_put(buf, facts);
	text_report_reservations(buf, style, facts);
	buf_char(buf, '\n');
}

struct err *core_text_write(struct buf *buf, const struct style *style,
			    const struct core_view *view)
{
	struct err *err = NULL;
	uint32_t left = view->live - view->shown;

	put_head(buf, style, view);
	for (uint32_t i = 0; !err && i < view->shown; i++) {
		err = put_site(buf, style, view, view->order[i]);
		buf_char(buf, '\n');
	}
	if (!err)
		err = nameless_write(buf, style, view->recording, view->symbolized, view->order,
				     view->shown);
	if (!err && left)
		buf_printf(buf, "… %s more (--top 0)\n", format_counted(left, "site", true).text);
	return err;
}
