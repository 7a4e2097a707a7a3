#include "report/views/summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/aggregate/aggregate.h"
#include "analysis/views/hidden_heaps.h"
#include "analysis/views/resident.h"
#include "hosted/cleanup.h"
#include "report/views/core_view.h"
#include "report/words/format.h"

struct loss_text {
	const char *text;
	bool events;
};

static const struct loss_text losses[TRACE_LOSS_COUNTERS] = {
#define LOSS(number, NAME, name, loses_events, text) [number] = {text, loses_events},
#include "trace/losses.def"
#undef LOSS
};

static void put_label(struct buf *buf, const struct style *style, const char *label,
		      const char *value)
{
	buf_printf(buf, "  %-10s", label);
	style_printf(buf, style, STYLE_STRONG, "%10s", value);
	buf_text(buf, "  ");
}

/* Merged recordings have a peak only if their clocks can be compared. */
static void put_peak(struct buf *buf, const struct recording_facts *facts,
		     const struct recording_summary *sum, bool exact)
{
	struct formatted blocks = format_counted(sum->peak_blocks, "block", exact);

	if (facts->peaks_added)
		buf_printf(buf, "the processes' own added up, %s: no common clock\n", blocks.text);
	else if (facts->processes > 1)
		buf_printf(buf, "live at once in all of them, %s, at %s\n", blocks.text,
			   format_time(sum->peak_time_ns).text);
	else
		buf_printf(buf, "live at once, in %s, at %s of %s\n", blocks.text,
			   format_time(sum->peak_time_ns).text,
			   format_time(facts->duration_ns).text);
}

/*
 * A block without a free leaked only if all frees are in the recording, and the program came to its
 * end.
 */
static void put_leaked(struct buf *buf, const struct style *style,
		       const struct recording_facts *facts, const struct recording_summary *sum)
{
	struct formatted blocks = format_counted(sum->leaked_blocks, "block", style->exact);

	put_label(buf, style, "leaked", format_bytes(sum->leaked_bytes, style->exact).text);
	if (facts->core)
		buf_printf(buf, "live then, in %s: may be no leaks\n", blocks.text);
	else if (facts->writing)
		buf_printf(buf, "live now, in %s not freed so far\n", blocks.text);
	else if (recording_facts_went_on(facts))
		buf_printf(buf, "live at the end, in %s not freed by then\n", blocks.text);
	else if (facts->complete)
		buf_printf(buf, "live at the end, in %s never freed\n", blocks.text);
	else if (!facts->ended && facts->processes <= 1 && !recording_facts_have_gaps(facts))
		buf_printf(buf, "live when it was cut short, in %s: may be no leaks\n",
			   blocks.text);
	else
		buf_printf(buf, "in %s: may be no leaks, as frees may be missing\n", blocks.text);
}

/* The program's own pools. What they hold is part of the numbers above. */
static void put_pools(struct buf *buf, const struct style *style, const struct recording *recording)
{
	const struct recording_summary *sum = recording_pool_sum(recording);
	uint32_t count;

	recording_pools(recording, &count);
	if (!count)
		return;
	put_label(buf, style, "pools", format_bytes(sum->peak_bytes, style->exact).text);
	buf_printf(buf, "held %s by %s of its own, in %s (--pools)\n",
		   recording_facts(recording)->processes > 1 ? "at most" : "at once",
		   format_counted(count, "pool", style->exact).text,
		   format_counted(sum->peak_blocks, "block", style->exact).text);
}

static void write_moment(struct buf *buf, const struct style *style,
			 const struct recording *recording)
{
	const struct recording_summary *sum = recording_summary(recording);
	const struct recording_facts *facts = recording_facts(recording);

	put_label(buf, style, "live", format_bytes(sum->peak_bytes, style->exact).text);
	buf_printf(buf, "in %s\n", format_counted(sum->peak_blocks, "block", style->exact).text);
	if (facts->aggregate)
		return; // which of it was freed later is not known
	put_label(buf, style, "leaked", format_bytes(sum->leaked_bytes, style->exact).text);
	buf_printf(buf, "of that, in %s%s\n",
		   format_counted(sum->leaked_blocks, "block", style->exact).text,
		   facts->writing                   ? " not freed so far"
		   : recording_facts_went_on(facts) ? " not freed to the end"
						    : " never freed");
}

/* What the blocks are that were not freed: leaks, if all is known. */
static const char *not_freed(const struct recording_facts *facts)
{
	if (facts->core)
		return "live then";
	if (facts->live || facts->writing)
		return "live now";
	if (recording_facts_went_on(facts))
		return "not freed by then";
	if (facts->complete)
		return "never freed";
	if (!facts->ended && facts->processes <= 1 && !recording_facts_have_gaps(facts))
		return "live when it was cut short";
	return "not freed, as far as is known";
}

#define BRIEF_LEAST  76 /* narrower lines have one number each */
#define BRIEF_SECOND 40 /* where the second number of a line begins, if there is room */

/* Writes a number and what it is. column: where in the line it begins. Returns where it ends. */
static size_t put_brief(struct buf *buf, const struct style *style, struct formatted value,
			const char *words, size_t column)
{
	size_t gap = column && column < BRIEF_SECOND ? BRIEF_SECOND - column : 0;

	if (column && style->width && style->width < BRIEF_LEAST) {
		buf_char(buf, '\n');
		gap = column = 0;
	}
	buf_repeat(buf, ' ', gap);
	style_printf(buf, style, STYLE_STRONG, "%10s", value.text);
	buf_printf(buf, "  %s", words);
	return column + gap + 12 + strlen(words);
}

/* The summary of an aggregate: the metrics that it knows, two on a line. */
static void write_brief_known(struct buf *buf, const struct style *style,
			      const struct recording *recording)
{
	const struct recording_summary *sum = recording_summary(recording);
	const struct recording_facts *facts = recording_facts(recording);
	bool same = aggregate_is_dump(facts);
	uint64_t blocks[METRIC_COUNT] = {
		[METRIC_PEAK] = sum->peak_blocks,
		[METRIC_LEAKED] = sum->leaked_blocks,
		[METRIC_TOTAL] = sum->calls,
	};
	const char *const words[METRIC_COUNT] = {
		[METRIC_PEAK] = "peak",
		[METRIC_LEAKED] = recording_facts_have_end(facts) ? "never freed" : "live",
		[METRIC_TOTAL] = "allocated in all",
		[METRIC_TEMPORARY] = "temporary",
	};
	size_t column = 0;

	for (int metric = 0; metric < METRIC_COUNT; metric++) {
		char text[160];

		if (!aggregate_knows(facts, metric) || metric == METRIC_CALLS ||
		    (metric == METRIC_PEAK && same))
			continue;
		snprintf(text, sizeof(text), "%s%s%s", words[metric], blocks[metric] ? ", in " : "",
			 blocks[metric]
				 ? format_counted(blocks[metric],
						  metric == METRIC_TOTAL ? "allocation" : "block",
						  style->exact)
					   .text
				 : "");
		column = put_brief(buf, style,
				   metric_info(metric)->bytes
					   ? format_bytes(metric_of_sum(metric, sum), style->exact)
					   : format_percent(metric_of_sum(metric, sum), sum->calls),
				   text, column);
		if (column > BRIEF_SECOND) {
			buf_char(buf, '\n');
			column = 0;
		}
	}
	if (column)
		buf_char(buf, '\n');
}

void summary_write(struct buf *buf, const struct style *style, const struct recording *recording,
		   enum summary_of of)
{
	const struct recording_summary *sum = recording_summary(recording);
	const struct recording_facts *facts = recording_facts(recording);
	bool exact = style->exact;

	if (of == SUMMARY_OF_MOMENT)
		return write_moment(buf, style, recording);
	if (facts->aggregate)
		return write_brief_known(buf, style, recording);

	put_label(buf, style, "peak", format_bytes(sum->peak_bytes, exact).text);
	put_peak(buf, facts, sum, exact);
	put_leaked(buf, style, facts, sum);
	put_label(buf, style, "total", format_bytes(sum->total_bytes, exact).text);
	buf_printf(buf, "allocated in %s\n", format_counted(sum->calls, "call", exact).text);
	// Temporary is not known for a sample, where allocations in between are missing; nor for a
	// filter with CULL, because culled ones are known by site only.
	if (facts->sample_mean || (facts->filtered && facts->cull_ns))
		return put_pools(buf, style, recording);
	put_label(buf, style, "temporary", format_count(sum->temporary, exact).text);
	if (sum->calls)
		buf_printf(buf, "calls, %s: freed before their thread allocated again\n",
			   format_percent(sum->temporary, sum->calls).text);
	else
		buf_text(buf, "calls\n");
	put_pools(buf, style, recording);
}

void summary_write_brief(struct buf *buf, const struct style *style,
			 const struct recording *recording)
{
	const struct recording_summary *sum = recording_summary(recording);
	const struct recording_facts *facts = recording_facts(recording);
	bool exact = style->exact;
	char words[160];
	size_t column;

	if (facts->aggregate)
		return write_brief_known(buf, style, recording);
	snprintf(words, sizeof(words), "peak, in %s",
		 format_counted(sum->peak_blocks, "block", exact).text);
	column = put_brief(buf, style, format_bytes(sum->peak_bytes, exact), words, 0);
	snprintf(words, sizeof(words), "allocations, %s in all",
		 format_bytes(sum->total_bytes, exact).text);
	put_brief(buf, style, format_count(sum->calls, exact), words, column);
	snprintf(words, sizeof(words), "%s, in %s", not_freed(facts),
		 format_counted(sum->leaked_blocks, "block", exact).text);
	buf_char(buf, '\n');
	column = put_brief(buf, style, format_bytes(sum->leaked_bytes, exact), words, 0);
	// Not known for a sample: see summary_write().
	if (!facts->sample_mean)
		put_brief(buf, style, format_percent(sum->temporary, sum->calls), "temporary",
			  column);
	buf_char(buf, '\n');
	put_pools(buf, style, recording);
}

static void put_gap(struct buf *buf, const struct style *style, uint64_t count, const char *what,
		    const char *text)
{
	style_begin(buf, style, STYLE_WARN);
	buf_printf(buf, "  ! %s %s%s%s\n", format_count(count, true).text, what,
		   *what && *text ? ": " : "", text);
	style_end(buf, style);
}

void summary_write_gaps(struct buf *buf, const struct style *style,
			const struct recording *recording)
{
	const struct recording_facts *facts = recording_facts(recording);

	for (int i = 0; i < TRACE_LOSS_COUNTERS; i++) {
		if (!facts->losses[i])
			continue;
		if (!losses[i].text)
			put_gap(buf, style, facts->losses[i], "lost", "for a newer agent's reason");
		else
			put_gap(buf, style, facts->losses[i], losses[i].events ? "lost" : "",
				losses[i].text);
	}
	if (facts->missing_chunks)
		put_gap(buf, style, facts->missing_chunks,
			facts->missing_chunks == 1 ? "chunk missing" : "chunks missing", "");
	if (!facts->damaged_chunks)
		return;
	style_begin(buf, style, STYLE_WARN);
	buf_printf(buf, "  ! %s damaged, the first at offset %" PRIu64 ": expected %s\n",
		   format_counted(facts->damaged_chunks, "chunk", true).text, facts->first_damage,
		   facts->first_damage_text ? facts->first_damage_text : "a chunk");
	style_end(buf, style);
}

/* How the program ended. NULL: with a status, or by a signal. */
static const char *end_without_status(const struct recording_facts *facts)
{
	if (facts->writing)
		return "still running";
	if (facts->core && !facts->ended)
		return core_facts_end(facts);
	// Firmware has no processes.
	if (facts->live && !facts->pid)
		return "as its memory was dumped";
	// If the recording stopped before, it does not know how the program ended. `mallow run`
	// may have waited for it.
	if (!facts->ended && facts->end_reason != TRACE_END_STOPPED &&
	    !(facts->watched && facts->end_reason != TRACE_END_UNKNOWN))
		return "cut short: killed or crashed";
	switch (facts->end_reason) {
	case TRACE_END_EXIT:
	case TRACE_END_FAST_EXIT:
		return NULL;
	case TRACE_END_EXEC:
		return "executed another program";
	case TRACE_END_NEXT:
		return "until the next start, with a recording of its own";
	case TRACE_END_STOPPED:
		return facts->attached ? "recording stopped early by mallow"
				       : "recording stopped early by the agent";
	case TRACE_END_DETACHED:
		if (facts->imported)
			return "still running then";
		return "still running when mallow detached";
	case TRACE_END_CUT:
		return "a part: the program went on";
	case TRACE_END_SIGNAL:
		return NULL;
	case TRACE_END_UNKNOWN:
		break;
	}
	return "ended";
}

void summary_put_end(struct buf *buf, const struct recording_facts *facts)
{
	const char *text = end_without_status(facts);

	if (text)
		buf_text(buf, text);
	else if (facts->end_reason == TRACE_END_SIGNAL)
		buf_printf(buf, "ended by signal %u (%s)", facts->end_status,
			   strsignal((int)facts->end_status));
	else if (facts->end_status == TRACE_STATUS_UNKNOWN)
		buf_text(buf, "exited");
	else
		buf_printf(buf, "%s with status %u",
			   facts->end_reason == TRACE_END_EXIT ? "exited" : "left by _exit",
			   facts->end_status);
}

static const struct {
	const char *blocks, *unit, *shown;
} texts[HIDDEN_HEAP_COUNT] = {
	[HIDDEN_HEAP_PYTHON] = {"small blocks", "arena", "each"},
	[HIDDEN_HEAP_PHP] = {"its blocks", "chunk", "each"},
	[HIDDEN_HEAP_RUBY] = {"objects", "page", "them"},
};

static void put_heap(struct buf *buf, const struct style *style, enum hidden_heap heap,
		     uint32_t count, uint64_t peak_bytes)
{
	struct formatted units = format_counted(count, texts[heap].unit, true);

	buf_text(buf, "  unseen    ");
	style_printf(buf, style, STYLE_STRONG, "%10s", format_bytes(peak_bytes, style->exact).text);
	buf_printf(buf, "  at most, mapped by %s for blocks that the above does not count\n",
		   hidden_heap_owner(heap));
	buf_printf(buf, "  hint        %s keeps %s in %s of its own: %s shows %s\n",
		   hidden_heap_owner(heap), texts[heap].blocks, units.text,
		   hidden_heap_option(hidden_heap_owner(heap)), texts[heap].shown);
}

/* What the program mapped itself, which no block is. */
static struct err *put_mapped(struct buf *buf, const struct style *style,
			      const struct recording *recording, struct symbolized *symbolized)
{
	cleanup(map_sites_deinit) struct map_sites sites = {0};
	struct resident resident;
	const struct map_sum *sum = &resident.own;
	struct err *err = map_sites_create_all(recording, symbolized, &sites);

	if (err)
		return err;
	resident_compare(recording, &sites, &resident);
	if (sum->peak_bytes < RESIDENT_MAPPED_LEAST)
		return NULL;
	buf_text(buf, "  mapped    ");
	style_printf(buf, style, STYLE_STRONG, "%10s",
		     format_bytes(sum->left_bytes, style->exact).text);
	buf_printf(buf, "  by the program itself at the end, %s at the peak (--mappings)\n",
		   format_bytes(sum->peak_bytes, style->exact).text);
	return NULL;
}

struct err *summary_write_hidden(struct buf *buf, const struct style *style,
				 const struct recording *recording, struct symbolized *symbolized)
{
	struct hidden_heaps heaps;
	struct err *err = put_mapped(buf, style, recording, symbolized);
	bool pools[HIDDEN_POOL_COUNT] = {0};

	if (!err)
		err = hidden_heaps_find(recording, &heaps);
	for (int i = 0; !err && i < HIDDEN_HEAP_COUNT; i++)
		if (heaps.of[i].count)
			put_heap(buf, style, (enum hidden_heap)i, heaps.of[i].count,
				 heaps.of[i].peak_bytes);
	if (!err && symbolized)
		err = hidden_pools_find(recording, symbolized, pools);
	for (int i = 0; !err && i < HIDDEN_POOL_COUNT; i++)
		if (pools[i])
			buf_printf(buf, "  hint        %s hides blocks: %s\n",
				   hidden_pool_owner((enum hidden_pool)i),
				   hidden_pool_is_forced((enum hidden_pool)i)
					   ? "--force-malloc shows each"
					   : "their memory counts for who needed more of it");
	return err;
}
