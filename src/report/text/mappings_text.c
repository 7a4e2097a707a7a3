#include "report/text/mappings_text.h"

#include "hosted/cleanup.h"
#include "report/words/format.h"
#include "report/views/site_order.h"
#include "report/text/text_stack.h"

#define INDENT 5

/* A line for each kind of mappings that there is. */
static void put_kinds(struct buf *buf, const struct style *style, const struct map_sites *sites)
{
	bool exact = style->exact;

	style_printf(buf, style, STYLE_STRONG, "   at most  at the end  mappings\n");
	for (int i = 0; i < MAP_KINDS; i++) {
		const struct map_sum *sum = &sites->of[i];

		if (!sum->mappings)
			continue;
		buf_printf(buf, "%10s  %10s  %8s  %s\n", format_bytes(sum->peak_bytes, exact).text,
			   format_bytes(sum->left_bytes, exact).text,
			   format_count(sum->mappings, exact).text,
			   map_kind_text((enum map_kind)i));
	}
}

static struct err *put_site(struct buf *buf, const struct style *style,
			    const struct report_subject *subject, const struct map_sites *sites,
			    uint32_t index, uint32_t number)
{
	const struct site *site = &sites->sites[index];
	bool exact = style->exact;

	buf_printf(buf, "\n%3u. ", number);
	style_printf(buf, style, STYLE_STRONG, "%s", format_bytes(site->peak_bytes, exact).text);
	buf_printf(buf, " at most, %s at the end", format_bytes(site->leaked_bytes, exact).text);
	if (site->leaked_blocks)
		buf_printf(buf, " in %s",
			   format_counted(site->leaked_blocks, "mapping", exact).text);
	buf_printf(buf, "; %s in %s: %s\n", format_bytes(site->total_bytes, exact).text,
		   format_counted(site->calls, "call", exact).text,
		   map_kind_text(sites->kinds[index]));
	return text_stack_write(buf, style, subject->recording, subject->symbolized, site->stack,
				INDENT, 0, NULL);
}

struct err *mappings_text_write(struct buf *buf, const struct style *style,
				const struct report_subject *subject,
				const struct text_report_options *options)
{
	const struct map_sites *sites = options->mappings;
	const char *metric = metric_info(options->metric)->name;
	auto_free uint32_t *order = NULL;
	uint32_t count, shown;
	struct err *err = site_order_create(sites->sites, sites->count, options->metric,
					    SITE_ORDER_NOT_ZERO, &order, &count);

	if (err)
		return err;
	if (!count && sites->count)
		buf_printf(buf, "No mapping has %s: %s is 0.\n",
			   options->metric == METRIC_PEAK ? "a peak" : metric, metric);
	else if (!count)
		buf_text(buf, "The program mapped nothing itself, as far as is asked for.\n");
	if (!count)
		return NULL;
	put_kinds(buf, style, sites);
	shown = options->top && options->top < count ? options->top : count;
	buf_char(buf, '\n');
	style_printf(buf, style, STYLE_STRONG, "%s %s of mappings by %s\n",
		     shown < count ? "Top" : "All", format_counted(shown, "site", true).text,
		     metric);
	for (uint32_t i = 0; i < shown && !err; i++)
		err = put_site(buf, style, subject, sites, order[i], i + 1);
	if (!err && shown < count)
		buf_printf(buf, "\n     \xe2\x80\xa6 %s more (--top N shows more)\n",
			   format_counted(count - shown, "site", true).text);
	return err;
}
