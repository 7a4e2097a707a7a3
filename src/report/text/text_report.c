#include "report/text/text_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/aggregate/aggregate.h"
#include "hosted/cleanup.h"
#include "hosted/file_name.h"
#include "report/names/nameless.h"
#include "report/text/breakdown_text.h"
#include "report/text/errors_text.h"
#include "report/text/findings_text.h"
#include "report/text/histogram_text.h"
#include "report/text/info_text.h"
#include "report/text/mappings_text.h"
#include "report/text/places_text.h"
#include "report/text/pools_text.h"
#include "report/text/site_text.h"
#include "report/text/suppressed_text.h"
#include "report/text/text_tree.h"
#include "report/views/core_view.h"
#include "report/views/site_order.h"
#include "report/views/summary.h"
#include "report/words/format.h"
#include "report/words/unseen.h"

#define COMMAND_COLUMNS 200
#define COMMAND_LEAST   24

/* What a page holds, and what of it each part gets. */
#define PAGE_LINES    40
#define PAGE_STACKS   3
#define PAGE_FINDINGS 6
#define STACK_LEAST   4
#define ROWS_LEAST    4
#define ROWS_MOST     10

/* How many bytes of text fit into columns, without cutting a character. */
static size_t bytes_of_columns(const char *text, size_t size, size_t columns)
{
	size_t end = 0;

	for (; end < size; end++) {
		bool begins = ((unsigned char)text[end] & 0xc0) != 0x80;

		if (begins && !columns--)
			break;
	}
	return end;
}

void text_report_command(struct buf *buf, const struct recording_facts *facts, size_t columns)
{
	cleanup(buf_deinit) struct buf line = BUF_EMPTY;
	size_t fitting;

	for (int i = 0; facts->arguments && facts->arguments[i]; i++)
		buf_printf(&line, "%s%s", i ? " " : "", facts->arguments[i]);
	if (!line.size)
		buf_text(&line, *facts->program   ? facts->program
				: facts->imported ? file_name(facts->path)
						  : "unknown program");
	if (line.failure && !buf->failure)
		buf->failure = line.failure;
	fitting = bytes_of_columns(line.data, line.size, columns);
	if (fitting < line.size)
		fitting = bytes_of_columns(line.data, line.size, columns - 1);
	style_safe_text(buf, line.data, fitting);
	if (fitting < line.size)
		buf_text(buf, "\xe2\x80\xa6");
}

void text_report_title(struct buf *buf, const struct recording_facts *facts, size_t columns)
{
	char tail[64];
	size_t room = COMMAND_COLUMNS;

	if (facts->processes > 1)
		snprintf(tail, sizeof(tail), "  and %s",
			 format_counted(facts->processes - 1, "more recording", true).text);
	else if (facts->pid)
		snprintf(tail, sizeof(tail), "  (pid %" PRIu32 ")", facts->pid);
	else
		tail[0] = 0; // firmware
	if (columns)
		room = columns > COMMAND_LEAST + strlen(tail) ? columns - strlen(tail)
							      : COMMAND_LEAST;
	text_report_command(buf, facts, room);
	buf_text(buf, tail);
}

static void put_stripped(struct buf *buf, const struct style *style,
			 const struct recording_facts *facts)
{
	buf_printf(buf, "  stripped: %s that were freed ",
		   format_counted(facts->culled_allocations, "block", style->exact).text);
	if (facts->cull_ns != TRACE_CULL_ALL)
		buf_printf(buf, "within %s ", format_time(facts->cull_ns).text);
	buf_printf(buf, "and not live at the peak are %s\n",
		   facts->filtered ? "left out" : "in sums only");
}

void text_report_reservations(struct buf *buf, const struct style *style,
			      const struct recording_facts *facts)
{
	if (facts->sample_mean)
		buf_printf(buf, "  a sample, one in %s: all numbers are estimates\n",
			   format_bytes(facts->sample_mean, style->exact).text);
	if (facts->stripped && facts->culled_allocations)
		put_stripped(buf, style, facts);
	else if (facts->cull_ns && !facts->stripped)
		buf_printf(buf, "  culled: %s that lived shorter than %s are %s\n",
			   format_counted(facts->culled_allocations, "block", style->exact).text,
			   format_time(facts->cull_ns).text,
			   facts->filtered ? "left out" : "in totals alone, not in peaks");
	if (facts->attached)
		buf_text(buf, "  attached to the running program: what it allocated before is not "
			      "counted\n");
	else if (facts->begun_by_start)
		buf_text(buf, "  begun by a start: what was allocated before is not counted\n");
	if (facts->off_periods)
		buf_printf(buf, "  off %s, for %s: what was allocated then is not counted\n",
			   format_counted(facts->off_periods, "time", true).text,
			   format_time(facts->off_ns).text);
	if (facts->begun_by_fork)
		buf_text(buf, "  begun by fork: blocks of the parent are not counted\n");
	unseen_write(buf, style, facts);
	patched_write(buf, style, facts);
}

/* Says how to read the sums of a recording that is filtered by a moment. */
static void put_moment(struct buf *buf, const struct style *style,
		       const struct report_subject *subject)
{
	const struct recording_facts *facts = recording_facts(subject->recording);
	const struct report_moment *moment = subject->moment;

	style_begin(buf, style, STYLE_STRONG);
	buf_text(buf, "  what was live at ");
	style_safe_text(buf, moment->typed, strlen(moment->typed));
	style_end(buf, style);
	if (moment->ns < 0)
		buf_text(buf, ", before the start\n");
	else if ((uint64_t)moment->ns > facts->duration_ns)
		buf_text(buf, ", after the end\n");
	else
		buf_printf(buf, ", at %s of %s\n", format_time((uint64_t)moment->ns).text,
			   format_time(facts->duration_ns).text);
}

void text_report_live(struct buf *buf, const struct recording_facts *facts)
{
	if (facts->core)
		buf_text(buf,
			 "  a live table in a core dump: what was live then counts as peak and "
			 "as leaked\n");
	else if (facts->live)
		buf_text(buf, "  a live table: what is live now counts as peak and as leaked\n");
	core_facts_put(buf, facts);
}

/* Collects the functions that the headline and the listed findings name. */
static void collect_named(struct stack_named *named, const struct headline *headline,
			  const struct findings *findings, uint32_t most)
{
	uint32_t count;
	const struct finding *list = findings_list(findings, &count);

	stack_named_add(named, headline->function.frame);
	stack_named_add(named, headline->block_function.frame);
	for (uint32_t i = 0; i < count && i < most; i++)
		stack_named_add(named, list[i].frame);
}

/*
 * Writes the headline, the numbers in brief, and what stands out. symbolized is that of the
 * recording. Adds the functions that stand there to named.
 */
static struct err *put_answer(struct buf *buf, const struct style *style,
			      const struct report_subject *subject,
			      const struct text_report_options *options, struct stack_named *named)
{
	const struct recording *recording = subject->recording;
	cleanup(findings_destroy_at) struct findings *findings = NULL;
	struct headline headline;
	size_t before = buf->size;
	struct err *err = findings_create(recording, subject->symbolized, &findings);

	if (!err)
		err = headline_make(recording, findings, &headline);
	if (err)
		return err;
	collect_named(named, &headline, findings, PAGE_FINDINGS);
	findings_text_headline(buf, style, &headline);
	if (buf->size > before)
		buf_char(buf, '\n');
	summary_write_brief(buf, style, recording);
	err = summary_write_hidden(buf, style, recording, subject->symbolized);
	before = buf->size;
	buf_char(buf, '\n');
	findings_text_list(buf, style, recording, findings, style->full ? 0 : PAGE_FINDINGS,
			   &options->words);
	if (buf->size == before + 1)
		buf->size = before; // the caller writes the empty line
	return err;
}

/* Writes what an import is made of, and on a line of its own what is to be known of its numbers. */
static void put_origin(struct buf *buf, const struct recording_facts *facts)
{
	const struct aggregate *aggregate = facts->aggregate;
	const char *comma = strstr(facts->agent_version, ", ");
	size_t size = comma ? (size_t)(comma - facts->agent_version) : strlen(facts->agent_version);

	style_safe_text(buf, facts->agent_version, size);
	if (aggregate && aggregate->moment_count > 1)
		buf_printf(buf, ", the last of %zu within %s", aggregate->moment_count,
			   format_time(facts->duration_ns).text);
	buf_text(buf, aggregate ? " (sums alone)\n" : "\n");
	if (!comma)
		return;
	buf_text(buf, "  ");
	style_safe_text(buf, comma + 2, strlen(comma + 2));
	buf_char(buf, '\n');
}

/* What is known of the run, and whether all of it is there. */
static void put_run(struct buf *buf, const struct recording_facts *facts)
{
	if (facts->aggregate) {
		buf_text(buf, "\n  ");
		put_origin(buf, facts);
		return;
	}
	if (!facts->duration_ns && recording_facts_have_gaps(facts))
		buf_text(buf, "\n  ran for a time that is missing, ");
	else
		buf_printf(buf, "\n  %s %s, ", facts->core ? "last allocated after" : "ran",
			   format_time(facts->duration_ns).text);
	summary_put_end(buf, facts);
	buf_text(buf, "; ");
	if (facts->imported) {
		buf_text(buf, "recorded by ");
		put_origin(buf, facts);
	} else if (facts->complete)
		buf_text(buf, unseen_is_whole(buf, facts) ? "the recording is complete\n"
							  : "not all of its memory was seen\n");
	else if (facts->writing)
		buf_text(buf, "what was recorded until now\n");
	else if (facts->lost)
		buf_printf(buf, "%s lost\n", format_counted(facts->lost, "event", true).text);
	else if (facts->missing_chunks || facts->damaged_chunks)
		buf_text(buf, "the recording has gaps\n");
	else if (facts->cull_ns && !facts->stripped)
		buf_printf(buf, "blocks younger than %s then are missing\n",
			   format_time(facts->cull_ns).text);
	else if (facts->ended)
		buf_text(buf, "the recording's file was cut off\n");
	else if (facts->core && facts->core->missing)
		buf_text(buf, "the dump is not whole\n");
	else if (facts->foreign && !facts->attached && !facts->watched)
		// Whether a sender was ended before it had sent all, the file does not say.
		buf_text(buf, "all that was sent until then is here\n");
	else
		buf_text(buf, "nothing until then is missing\n");
}

static struct err *put_header(struct buf *buf, const struct style *style,
			      const struct report_subject *subject,
			      const struct text_report_options *options, bool page,
			      struct stack_named *named)
{
	const struct recording *recording = subject->recording;
	const struct recording_facts *facts = recording_facts(recording);

	style_begin(buf, style, STYLE_STRONG);
	text_report_title(buf, facts, style->full ? 0 : style->width);
	style_end(buf, style);
	put_run(buf, facts);
	text_report_live(buf, facts);
	text_report_reservations(buf, style, facts);
	if (subject->moment)
		put_moment(buf, style, subject);
	if (subject->filter)
		filter_report_text(buf, style, subject->filter, subject->moment != NULL);
	summary_write_gaps(buf, style, recording);
	buf_char(buf, '\n');
	if (page)
		return put_answer(buf, style, subject, options, named);
	summary_write(buf, style, recording, subject->moment ? SUMMARY_OF_MOMENT : SUMMARY_OF_RUN);
	if (subject->suppressed)
		suppressed_text_summary(buf, style, subject->suppressed);
	// Not with a filter, which may leave out what the pools are used for.
	return facts->filtered ? NULL
			       : summary_write_hidden(buf, style, recording, subject->symbolized);
}

static void put_merged_header(struct buf *buf, const struct style *style,
			      const struct report_subject *subject)
{
	const struct process_list *processes = subject->processes;
	const struct recording_facts *facts = recording_facts(subject->recording);
	size_t whole = 0, count = processes->items.count;

	for (size_t i = 0; i < count; i++)
		whole += processes->items.items[i].facts.complete;
	style_begin(buf, style, STYLE_STRONG);
	text_report_title(buf, facts, style->full ? 0 : style->width);
	style_end(buf, style);
	buf_printf(buf, "\n  %s from the first start to the last end",
		   format_time(facts->duration_ns).text);
	if (whole == count)
		buf_text(buf, unseen_is_whole(buf, facts) ? "; all recordings are complete\n"
							  : "; not all memory was seen\n");
	else
		buf_printf(buf, "\n  %zu of %s complete: mallow info tells more\n", whole,
			   format_counted(count, "recording", true).text);
	text_report_live(buf, facts);
	text_report_reservations(buf, style, facts);
	buf_char(buf, '\n');
	process_text_write(buf, style, processes, PROCESS_TEXT_SUMS);
	buf_char(buf, '\n');
	summary_write(buf, style, subject->recording, SUMMARY_OF_RUN);
	if (subject->suppressed)
		suppressed_text_summary(buf, style, subject->suppressed);
}

/* Says that no site has anything of the metric. */
static void put_none(struct buf *buf, const struct report_subject *subject, enum metric metric)
{
	const char *name = subject_metric(subject, metric);

	buf_printf(buf, "No site has %s: %s is 0.\n", strcmp(name, "peak") == 0 ? "a peak" : name,
		   name);
}

/* All frames of each site, with --full. */
static struct err *put_sites(struct buf *buf, const struct style *style,
			     const struct report_subject *subject,
			     const struct text_report_options *options)
{
	const struct recording *recording = subject->recording;
	struct site_text text = {
		.of_moment = subject_is_moment(subject),
		.metric = options->metric,
		.top = options->top,
		.whole = metric_of_sum(options->metric, recording_summary(recording)),
	};
	auto_free uint32_t *order = NULL;
	uint32_t site_count, shown;
	struct err *err;

	text.sites = recording_sites(recording, &site_count);
	err = site_order_create(text.sites, site_count, options->metric, SITE_ORDER_NOT_ZERO,
				&order, &text.count);
	if (err)
		return err;
	text.order = order;
	if (!text.count) {
		put_none(buf, subject, options->metric);
		return NULL;
	}
	shown = site_text_shown(&text);
	style_printf(buf, style, STYLE_STRONG, "%s %s by %s (%s)\n",
		     shown < text.count ? "Top" : "All", format_counted(shown, "site", true).text,
		     subject_metric(subject, options->metric),
		     subject_metric_text(subject, options->metric));
	err = site_text_write(buf, style, recording, subject->symbolized, &text);
	return err ? err : nameless_write(buf, style, recording, subject->symbolized, order, shown);
}

/* Says what would name the frames of the stacks that are shown. */
static struct err *put_nameless(struct buf *buf, const struct style *style,
				const struct report_subject *subject,
				const struct places_text *text)
{
	uint32_t count = text->stacks < text->places->count ? text->stacks : text->places->count;
	auto_free uint32_t *sites = malloc(((size_t)count + 1) * sizeof(*sites));

	if (!sites)
		return err_no_memory();
	for (uint32_t i = 0; i < count; i++)
		sites[i] = text->places->items[i].site;
	return nameless_write(buf, style, subject->recording, subject->symbolized, sites, count);
}

static size_t line_count(const struct buf *buf)
{
	size_t count = 0;

	for (size_t i = 0; i < buf->size; i++)
		count += buf->data[i] == '\n';
	return count;
}

/*
 * Shares what is left of a page, after so many lines, among the table and the stacks of the first
 * places. If much stands out, there are fewer stacks.
 */
static void share_page(struct places_text *text, size_t used)
{
	const size_t stack = 2 + STACK_LEAST; // a blank line, the numbers, the stack
	size_t left = used < PAGE_LINES ? PAGE_LINES - used : 0;
	size_t room = left > 2 + ROWS_LEAST ? (left - 2 - ROWS_LEAST) / stack : 0;

	text->stacks = room < 1 ? 1 : room < PAGE_STACKS ? (uint32_t)room : PAGE_STACKS;
	if (text->stacks > text->places->count)
		text->stacks = text->places->count;
	room = text->stacks * stack;
	text->rows = left > room + 2 + ROWS_LEAST ? (uint32_t)(left - room) / 2 : ROWS_LEAST;
	if (text->rows > ROWS_MOST)
		text->rows = ROWS_MOST;
	left -= left < places_text_lines(text) ? left : places_text_lines(text);
	text->lines = STACK_LEAST;
	if (text->stacks && left > room)
		text->lines = (unsigned)(left / text->stacks) - 2;
}

/* A line for each place, and the stacks of the first. used: how many lines stand above. */
static struct err *put_places(struct buf *buf, const struct style *style,
			      const struct report_subject *subject,
			      const struct text_report_options *options, size_t used,
			      const struct stack_named *named)
{
	cleanup(places_deinit) struct places places = {0};
	cleanup(buf_deinit) struct buf nameless = BUF_EMPTY;
	const struct run_facts *facts;
	struct places_text text = {
		.subject = subject,
		.places = &places,
		.metric = options->metric,
		.named = named,
		.rows = options->top ? options->top : UINT32_MAX,
	};
	size_t before;
	struct err *err =
		places_create(subject->recording, subject->symbolized, options->metric, &places);

	if (!err && !places.count)
		put_none(buf, subject, options->metric);
	if (err || !places.count)
		return err;
	text.stacks = options->page ? PAGE_STACKS : text.rows;
	err = recording_run_facts(subject->recording, &facts);
	if (err)
		return err;
	text.facts = facts ? facts->sites : NULL;
	err = put_nameless(&nameless, style, subject, &text);
	if (options->page)
		share_page(&text, used + line_count(&nameless));
	if (!err)
		err = places_text_table(buf, style, &text);
	before = buf->size;
	if (!err)
		err = places_text_stacks(buf, style, &text);
	// Functions that the text names may need more lines than a stack got: fewer stacks.
	while (!err && options->page && text.stacks > 1 &&
	       line_count(buf) + line_count(&nameless) > PAGE_LINES) {
		buf->size = before;
		text.stacks--;
		err = places_text_stacks(buf, style, &text);
	}
	buf_put(buf, nameless.data, nameless.size);
	return err ? err : buf_finish(&nameless);
}

static struct err *put_view(struct buf *buf, const struct style *style,
			    const struct report_subject *subject,
			    const struct text_report_options *options, size_t used,
			    const struct stack_named *named)
{
	const struct recording *recording = subject->recording;
	struct symbolized *symbolized = subject->symbolized;

	if (options->errors)
		return errors_text_write(buf, style, recording, symbolized, options->top);
	if (options->pools)
		return pools_text_write(buf, style, recording, symbolized, options);
	if (options->mappings)
		return mappings_text_write(buf, style, subject, options);
	if (options->breakdown)
		return breakdown_text_write(buf, style, subject, options->breakdown);
	if (options->histogram)
		return histogram_text_write(buf, style, options->histogram);
	if (options->tree)
		return text_tree_write(buf, style, subject, options->metric, options->top);
	return style->full ? put_sites(buf, style, subject, options)
			   : put_places(buf, style, subject, options, used, named);
}

/* Whether the report is the page that answers: sites of a whole run. */
static bool is_page(const struct style *style, const struct report_subject *subject,
		    const struct text_report_options *options)
{
	bool other = options->errors || options->pools || options->mappings || options->breakdown ||
		     options->histogram || options->tree;

	return !other && !subject->processes && !subject->moment && !subject->filter &&
	       !subject->suppressed;
}

struct err *text_report_write(struct buf *buf, const struct style *style,
			      const struct report_subject *subject,
			      const struct text_report_options *options)
{
	cleanup(buf_deinit) struct buf head = BUF_EMPTY;
	struct stack_named named = {0};
	struct err *err = NULL;

	if (subject->processes)
		put_merged_header(&head, style, subject);
	else
		err = put_header(&head, style, subject, options, is_page(style, subject, options),
				 &named);
	buf_char(&head, '\n');
	if (!err && !buf_string(&head))
		err = buf_finish(&head);
	if (err)
		return err;
	buf_put(buf, head.data, head.size);
	err = put_view(buf, style, subject, options, line_count(&head), &named);
	if (!err && subject->suppressed)
		err = suppressed_text_write(buf, style, subject);
	return err;
}
