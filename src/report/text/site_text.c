#include "report/text/site_text.h"

#include "report/format.h"
#include "report/text/text_stack.h"

#define STACK_INDENT 5 /* columns below the site's number */

/* A value in the metric's unit: "1.23 MB", "12 calls". */
static struct formatted metric_value(enum metric metric, uint64_t value, bool exact)
{
	if (metric_info(metric)->bytes)
		return format_bytes(value, exact);
	return format_counted(value, "call", exact);
}

static const char *metric_name(const struct site_text *text)
{
	return text->of_moment && text->metric == METRIC_PEAK ? "live"
							      : metric_info(text->metric)->name;
}

/*
 * The other numbers of what was live at a moment. Nothing of it had been freed, so live and total
 * are the same.
 */
static void put_other_numbers_then(struct buf *buf, const struct style *style,
				   const struct site *site, enum metric metric)
{
	bool exact = style->exact;

	style_begin(buf, style, STYLE_DIM);
	buf_text(buf, format_counted(site->peak_blocks, "block", exact).text);
	if (metric != METRIC_PEAK && metric != METRIC_TOTAL)
		buf_printf(buf, ", live %s", format_bytes(site->peak_bytes, exact).text);
	if (metric != METRIC_LEAKED && site->leaked_bytes)
		buf_printf(buf, ", leaked %s", format_bytes(site->leaked_bytes, exact).text);
	style_end(buf, style);
}

/* Writes the other numbers of a site, each with its name. */
static void put_other_numbers(struct buf *buf, const struct style *style, const struct site *site,
			      enum metric metric)
{
	bool exact = style->exact;
	const char *separator = "";

	style_begin(buf, style, STYLE_DIM);
	if (metric != METRIC_PEAK && site->peak_bytes) {
		buf_printf(buf, "%speak %s", separator, format_bytes(site->peak_bytes, exact).text);
		separator = ", ";
	}
	if (metric != METRIC_LEAKED && site->leaked_bytes) {
		buf_printf(buf, "%sleaked %s", separator,
			   format_bytes(site->leaked_bytes, exact).text);
		separator = ", ";
	}
	if (metric != METRIC_TOTAL) {
		buf_printf(buf, "%stotal %s", separator,
			   format_bytes(site->total_bytes, exact).text);
		separator = ", ";
	}
	if (metric != METRIC_CALLS) {
		buf_printf(buf, "%s%s", separator, format_counted(site->calls, "call", exact).text);
		separator = ", ";
	}
	if (metric != METRIC_TEMPORARY && site->temporary)
		buf_printf(buf, "%s%s temporary", separator,
			   format_count(site->temporary, exact).text);
	style_end(buf, style);
}

uint32_t site_text_shown(const struct site_text *text)
{
	return text->top && text->top < text->count ? text->top : text->count;
}

static void put_rest(struct buf *buf, const struct style *style, const struct site_text *text,
		     uint32_t shown)
{
	const char *name = metric_name(text);
	uint64_t rest = 0;

	for (uint32_t i = shown; i < text->count; i++)
		rest += metric_of_site(text->metric, &text->sites[text->order[i]]);
	buf_char(buf, '\n');
	buf_repeat(buf, ' ', text->indent);
	buf_printf(buf, "     \xe2\x80\xa6 %s more, %s, %s of %s (--top N shows more)\n",
		   format_counted(text->count - shown, "site", true).text,
		   metric_value(text->metric, rest, style->exact).text,
		   format_percent(rest, text->whole).text, name);
}

struct err *site_text_one(struct buf *buf, const struct style *style,
			  const struct recording *recording, struct symbolized *symbolized,
			  const struct site_text *text, const struct site *site, uint32_t number)
{
	uint64_t value = metric_of_site(text->metric, site);

	buf_char(buf, '\n');
	buf_repeat(buf, ' ', text->indent);
	buf_printf(buf, "%3u. ", number);
	style_printf(buf, style, STYLE_STRONG, "%s  %s",
		     metric_value(text->metric, value, style->exact).text,
		     format_percent(value, text->whole).text);
	buf_printf(buf, " of %s  ", metric_name(text));
	if (text->of_moment)
		put_other_numbers_then(buf, style, site, text->metric);
	else
		put_other_numbers(buf, style, site, text->metric);
	buf_char(buf, '\n');
	return text_stack_write(buf, style, recording, symbolized, site->stack,
				text->indent + STACK_INDENT, text->lines);
}

struct err *site_text_write(struct buf *buf, const struct style *style,
			    const struct recording *recording, struct symbolized *symbolized,
			    const struct site_text *text)
{
	uint32_t shown = site_text_shown(text);
	struct err *err = NULL;

	for (uint32_t i = 0; i < shown && !err; i++)
		err = site_text_one(buf, style, recording, symbolized, text,
				    &text->sites[text->order[i]], i + 1);
	if (!err && shown < text->count)
		put_rest(buf, style, text, shown);
	return err;
}
