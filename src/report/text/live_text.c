#include "report/text/live_text.h"

#include <inttypes.h>
#include <string.h>

#include "analysis/names/script_files.h"
#include "hosted/cleanup.h"
#include "report/text/text_report.h"
#include "report/views/live_view.h"
#include "report/words/format.h"

#define RULE "=================================================================\n"

/* Innermost first, as many as are to be printed. */
static struct err *put_frames(struct buf *buf, const struct style *style,
			      const struct live_view *view, uint32_t stack)
{
	cleanup(stack_lines_deinit) struct stack_lines lines = {0};
	struct err *err =
		live_frame_lines(style, view->symbolized, stack, view->options.depth, &lines);

	if (err)
		return err;
	if (stack == RECORDING_NONE)
		buf_text(buf, LIVE_FRAME_NO_STACK);
	for (size_t i = 0; i < lines.list.count; i++)
		live_frame_put(buf, style, view->recording, &lines.list.items[i],
			       i ? &lines.list.items[i - 1] : NULL);
	return NULL;
}

static struct err *put_backtrace(struct buf *buf, const struct style *style,
				 const struct live_view *view, uint32_t place)
{
	const struct live_facts *live = recording_live(view->recording);
	uint32_t count, index = view->order[place];
	const struct site *site = &recording_sites(view->recording, &count)[index];
	uint64_t since = live->sites[index].since_ns;

	style_begin(buf, style, STYLE_STRONG);
	buf_printf(buf,
		   "=== backtrace #%" PRIu32 " === [count/peak: %" PRIu64 "/%" PRIu64
		   "] [size/peak: %s/%s] [age: %s]",
		   place + 1, site->leaked_blocks, live->sites[index].own_peak_blocks,
		   format_bytes_fine(site->leaked_bytes).text,
		   format_bytes_fine(site->own_peak_bytes).text,
		   format_age(live->now_ns > since ? live->now_ns - since : 0).text);
	style_end(buf, style);
	buf_char(buf, '\n');
	if (live->intervals)
		buf_printf(buf, "  95 %%: count %" PRIu64 " to %" PRIu64 ", size %s to %s\n",
			   live->intervals[index].blocks.low, live->intervals[index].blocks.high,
			   format_bytes_fine(live->intervals[index].bytes.low).text,
			   format_bytes_fine(live->intervals[index].bytes.high).text);
	return put_frames(buf, style, view, site->stack);
}

static void put_memory(struct buf *buf, const struct process_memory *memory)
{
	if (memory->heap_known)
		buf_printf(buf,
			   "[mallow] heap, address space          : %s\n"
			   "[mallow] heap, resident               : %s\n",
			   format_bytes_fine(memory->heap_size).text,
			   format_bytes_fine(memory->heap_resident).text);
	buf_printf(buf, "[mallow] process, virtual/RSS/shared  : %s / %s / %s\n",
		   format_bytes_fine(memory->virtual_size).text,
		   format_bytes_fine(memory->resident).text,
		   format_bytes_fine(memory->shared).text);
}

static void put_summary(struct buf *buf, const struct live_view *view)
{
	const struct live_facts *live = recording_live(view->recording);
	const struct recording_summary *sum = recording_summary(view->recording);

	buf_printf(buf,
		   "[mallow] backtraces with live blocks  : %" PRIu64 "\n"
		   "[mallow] live bytes of all of them    : %s\n",
		   view->live + view->ignored_sites, format_bytes_fine(sum->live_bytes).text);
	if (live->intervals)
		buf_printf(buf, "[mallow] with 95 %% confidence         : %s to %s\n",
			   format_bytes_fine(live->all.bytes.low).text,
			   format_bytes_fine(live->all.bytes.high).text);
	if (view->ignored_sites)
		buf_printf(buf, "[mallow] ignored of these             : %" PRIu64 ", %s\n",
			   view->ignored_sites, format_bytes_fine(view->ignored_bytes).text);
	if (view->options.memory)
		put_memory(buf, view->options.memory);
	buf_printf(buf, "[mallow] taken by mallow's own table  : %s\n",
		   format_bytes_fine(live->table_bytes).text);
	if (live->not_counted)
		buf_printf(buf, "[mallow] not counted                 : %s\n",
			   format_counted(live->not_counted, "event", true).text);
}

struct err *live_text_write(struct buf *buf, const struct style *style,
			    const struct live_view *view)
{
	const struct recording_facts *facts = recording_facts(view->recording);
	struct style of_frames = *style;
	const char *language;
	struct err *err = NULL;

	of_frames.offsets = true;
	buf_text(buf, RULE);
	style_begin(buf, style, STYLE_STRONG);
	buf_text(buf, "[mallow] live allocations of ");
	style_safe_text(buf, view->options.name, strlen(view->options.name));
	buf_printf(buf, " (pid %" PRIu32 "), by %s", facts->pid, live_key_name(view->options.key));
	style_end(buf, style);
	buf_char(buf, '\n');
	text_report_reservations(buf, style, facts);
	if (!facts->ended && !facts->writing)
		buf_text(buf, "  it was killed: this was live then\n");
	language = facts->ended ? script_files_language(view->recording) : NULL;
	if (language && strcmp(language, "Ruby") != 0)
		buf_printf(buf,
			   "  %s frees nearly all before it ends: --interval 1, or a signal, shows "
			   "what lives until then\n",
			   language);
	for (uint32_t i = 0; i < view->shown && !err; i++) {
		err = put_backtrace(buf, &of_frames, view, i);
		buf_char(buf, '\n');
	}
	if (err)
		return err;
	put_summary(buf, view);
	buf_text(buf, RULE);
	return NULL;
}
