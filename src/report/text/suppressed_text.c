#include "report/text/suppressed_text.h"

#include <inttypes.h>
#include <string.h>

#include "hosted/cleanup.h"
#include "report/words/format.h"
#include "report/text/text_table.h"

void suppressed_text_summary(struct buf *buf, const struct style *style,
			     const struct suppressed *suppressed)
{
	buf_printf(buf, "  %-10s%10s  of leaks left out, in %s (--suppressions)\n", "suppressed",
		   format_bytes(suppressed->all.bytes, style->exact).text,
		   format_counted(suppressed->all.blocks, "block", style->exact).text);
}

static void put_pattern(struct buf *buf, const struct style *style,
			const struct suppression *suppression)
{
	buf_text(buf, "  leak:");
	style_safe_text(buf, suppression->pattern, strlen(suppression->pattern));
	style_begin(buf, style, STYLE_DIM);
	buf_text(buf, "  (");
	style_safe_text(buf, suppression->origin, strlen(suppression->origin));
	buf_printf(buf, ":%" PRIu32 ")", suppression->line);
	style_end(buf, style);
	buf_char(buf, '\n');
}

struct err *suppressed_text_write(struct buf *buf, const struct style *style,
				  const struct report_subject *subject)
{
	const struct suppressed *suppressed = subject->suppressed;
	cleanup(text_table_deinit) struct text_table table = {0};
	size_t count, used = 0, row = 0;
	const struct suppression *list = suppressions_list(suppressed->suppressions, &count);

	text_table_column(&table, "blocks", false);
	text_table_column(&table, "bytes", false);
	for (size_t i = 0; i < count; i++) {
		if (!suppressed->sums[i].sites)
			continue;
		used++;
		text_table_cell(&table, format_count(suppressed->sums[i].blocks, style->exact));
		text_table_cell(&table, format_bytes(suppressed->sums[i].bytes, style->exact));
	}
	style_printf(buf, style, STYLE_STRONG, "\nSuppressions: %zu used, %zu not\n", used,
		     count - used);
	if (!used)
		return NULL;
	buf_char(buf, '\n');
	text_table_titles(&table, buf, style);
	style_printf(buf, style, STYLE_DIM, "  suppression\n");
	for (size_t i = 0; i < count; i++) {
		if (!suppressed->sums[i].sites)
			continue;
		text_table_row(&table, buf, style, row++);
		put_pattern(buf, style, &list[i]);
	}
	return table.failed ? err_no_memory() : NULL;
}
