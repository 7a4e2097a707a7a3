#include "report/text/site_text.h"

#include <string.h>

#include "analysis/aggregate/aggregate.h"
#include "hosted/cleanup.h"
#include "report/words/format.h"
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
				   const struct recording_facts *facts, const struct site *site,
				   enum metric metric)
{
	bool exact = style->exact;

	if (facts->aggregate && !site->peak_blocks && !site->calls)
		return;
	buf_text(buf, "  ");
	style_begin(buf, style, STYLE_DIM);
	if (site->peak_blocks || !facts->aggregate)
		buf_text(buf, format_counted(site->peak_blocks, "block", exact).text);
	if (metric != METRIC_PEAK && metric != METRIC_TOTAL)
		buf_printf(buf, ", live %s", format_bytes(site->peak_bytes, exact).text);
	if (metric != METRIC_LEAKED && site->leaked_bytes && !facts->aggregate)
		buf_printf(buf, ", leaked %s", format_bytes(site->leaked_bytes, exact).text);
	if (facts->aggregate && site->calls)
		buf_printf(buf, ", %s in %s in all", format_bytes(site->total_bytes, exact).text,
			   format_counted(site->calls, "call", exact).text);
	style_end(buf, style);
}

/* Adds a number to others, if the line has room for it. */
static void add_number(struct buf *numbers, size_t room, const char *name, struct formatted value,
		       const char *behind)
{
	size_t before = numbers->size;

	buf_printf(numbers, "%s%s%s%s", before ? ", " : "", name, value.text, behind);
	if (style_columns(numbers->data, numbers->size) > room)
		numbers->size = before;
}

/* Writes the other numbers of a site, each with its name, as far as the line has room. */
static void put_other_numbers(struct buf *buf, const struct style *style,
			      const struct recording_facts *facts, const struct site *site,
			      enum metric metric, size_t room)
{
	cleanup(buf_deinit) struct buf numbers = BUF_EMPTY;
	bool exact = style->exact;

	if (metric != METRIC_PEAK && site->peak_bytes)
		add_number(&numbers, room, "peak ", format_bytes(site->peak_bytes, exact), "");
	if (metric != METRIC_LEAKED && site->leaked_bytes)
		add_number(&numbers, room,
			   facts->aggregate && !recording_facts_have_end(facts) ? "live "
										: "leaked ",
			   format_bytes(site->leaked_bytes, exact), "");
	if (metric != METRIC_TOTAL && aggregate_knows(facts, METRIC_TOTAL))
		add_number(&numbers, room, "total ", format_bytes(site->total_bytes, exact), "");
	if (metric != METRIC_CALLS && aggregate_knows(facts, METRIC_CALLS))
		add_number(&numbers, room, "", format_counted(site->calls, "call", exact), "");
	if (metric != METRIC_TEMPORARY && site->temporary)
		add_number(&numbers, room, "", format_count(site->temporary, exact), " temporary");
	if (!numbers.size)
		return; // none of them is known
	buf_text(buf, "  ");
	style_begin(buf, style, STYLE_DIM);
	buf_put(buf, numbers.data, numbers.size);
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
	struct formatted first = metric_value(text->metric, value, style->exact);
	struct formatted share = format_percent(value, text->whole);
	size_t taken = text->indent + STACK_INDENT + strlen(first.text) + strlen(share.text) +
		       strlen("   of   ") + strlen(metric_name(text));
	bool cut = style->width && !style->full;

	buf_char(buf, '\n');
	buf_repeat(buf, ' ', text->indent);
	buf_printf(buf, "%3u. ", number);
	style_printf(buf, style, STYLE_STRONG, "%s  %s", first.text, share.text);
	buf_printf(buf, " of %s", metric_name(text));
	if (text->of_moment)
		put_other_numbers_then(buf, style, recording_facts(recording), site, text->metric);
	else
		put_other_numbers(buf, style, recording_facts(recording), site, text->metric,
				  !cut                   ? SIZE_MAX
				  : style->width > taken ? style->width - taken
							 : 0);
	buf_char(buf, '\n');
	return text_stack_write(buf, style, recording, symbolized, site->stack,
				text->indent + STACK_INDENT, text->lines, text->named);
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
