#include "report/text/pools_text.h"

#include <inttypes.h>
#include <string.h>

#include "hosted/cleanup.h"
#include "report/words/format.h"
#include "report/views/site_order.h"
#include "report/text/site_text.h"

#define INDENT 5

void pools_text_name(struct buf *buf, const struct recorded_pool *pool)
{
	buf_text(buf, "pool ");
	if (*pool->name)
		style_safe_text(buf, pool->name, strlen(pool->name));
	else
		buf_printf(buf, "at 0x%" PRIx64, pool->address);
}

/* Writes "3 resets"; nothing if there are none. */
static void put_count(struct buf *line, uint64_t count, const char *noun, const char *behind,
		      bool exact)
{
	if (count)
		buf_printf(line, "%s%s%s", line->size ? ", " : "",
			   format_counted(count, noun, exact).text, behind);
}

/* Writes how a pool's blocks ended, and what is odd about them. */
static void put_ends(struct buf *buf, const struct style *style, const struct recorded_pool *pool)
{
	cleanup(buf_deinit) struct buf line = BUF_EMPTY;
	bool exact = style->exact;

	put_count(&line, pool->frees, "free", "", exact);
	put_count(&line, pool->resets, "reset", "", exact);
	put_count(&line, pool->implicit_frees, "block", " handed out again unfreed", exact);
	put_count(&line, pool->wrong_frees, "free", " of what it did not hold", exact);
	if (!line.size)
		buf_text(&line, "nothing was freed");
	if (pool->places > 1)
		buf_printf(&line, ", at %s addresses", format_count(pool->places, exact).text);
	buf_repeat(buf, ' ', INDENT);
	style_printf(buf, style, STYLE_DIM, "%.*s\n", (int)line.size, line.data);
}

static void put_sums(struct buf *buf, const struct style *style, const struct recorded_pool *pool)
{
	const struct recording_summary *sum = &pool->sum;
	bool exact = style->exact;

	buf_repeat(buf, ' ', INDENT);
	buf_printf(buf, "peak %s in %s, ", format_bytes(sum->peak_bytes, exact).text,
		   format_counted(sum->peak_blocks, "block", exact).text);
	if (sum->leaked_blocks)
		buf_printf(buf, "leaked %s in %s, ", format_bytes(sum->leaked_bytes, exact).text,
			   format_counted(sum->leaked_blocks, "block", exact).text);
	buf_printf(buf, "total %s in %s", format_bytes(sum->total_bytes, exact).text,
		   format_counted(sum->calls, "call", exact).text);
	if (sum->temporary)
		buf_printf(buf, ", %s temporary", format_count(sum->temporary, exact).text);
	buf_char(buf, '\n');
}

static struct err *put_pool(struct buf *buf, const struct style *style,
			    const struct recording *recording, struct symbolized *symbolized,
			    const struct text_report_options *options,
			    const struct recorded_pool *pool)
{
	struct site_text text = {
		.sites = pool->sites,
		.metric = options->metric,
		.top = options->pool_sites,
		.whole = metric_of_sum(options->metric, &pool->sum),
		.indent = INDENT,
	};
	auto_free uint32_t *order = NULL;
	struct err *err;

	style_begin(buf, style, STYLE_STRONG);
	pools_text_name(buf, pool);
	style_end(buf, style);
	buf_char(buf, '\n');
	put_sums(buf, style, pool);
	put_ends(buf, style, pool);
	err = site_order_create(pool->sites, pool->site_count, options->metric, SITE_ORDER_NOT_ZERO,
				&order, &text.count);
	text.order = order;
	return err ? err : site_text_write(buf, style, recording, symbolized, &text);
}

static void put_none(struct buf *buf, uint32_t pool_count, enum metric metric)
{
	const char *name = metric_info(metric)->name;

	if (pool_count)
		buf_printf(buf, "No pool has %s: %s is 0.\n",
			   metric == METRIC_PEAK ? "a peak" : name, name);
	else
		buf_text(buf, "No pools of the program's own: it names none of their blocks by "
			      "mallow_pool_alloc().\n");
}

struct err *pools_text_write(struct buf *buf, const struct style *style,
			     const struct recording *recording, struct symbolized *symbolized,
			     const struct text_report_options *options)
{
	uint32_t pool_count, count, shown;
	const struct recorded_pool *pools = recording_pools(recording, &pool_count);
	auto_free uint32_t *order = NULL;
	struct err *err =
		site_order_pools(recording, options->metric, SITE_ORDER_NOT_ZERO, &order, &count);

	if (err)
		return err;
	shown = options->top && options->top < count ? options->top : count;
	if (!count) {
		put_none(buf, pool_count, options->metric);
		return NULL;
	}
	style_printf(buf, style, STYLE_STRONG, "%s %s by %s\n", shown < count ? "Top" : "All",
		     format_counted(shown, "pool", true).text, metric_info(options->metric)->name);
	for (uint32_t i = 0; i < shown && !err; i++) {
		buf_printf(buf, "\n%3u. ", i + 1);
		err = put_pool(buf, style, recording, symbolized, options, &pools[order[i]]);
	}
	if (!err && shown < count)
		buf_printf(buf, "\n     \xe2\x80\xa6 %s more (--top N shows more)\n",
			   format_counted(count - shown, "pool", true).text);
	return err;
}
