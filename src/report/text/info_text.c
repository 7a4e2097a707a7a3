#include "report/text/info_text.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "hosted/cleanup.h"
#include "hosted/file_name.h"
#include "report/text/text_report.h"
#include "report/views/summary.h"
#include "report/words/format.h"
#include "report/words/machine_name.h"
#include "report/words/unseen.h"

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

static void put_line(struct buf *buf, const char *label, const char *text)
{
	buf_printf(buf, "  %-11s", label);
	style_safe_text(buf, text, strlen(text));
	buf_char(buf, '\n');
}

static void put_optional(struct buf *buf, const char *label, const char *text)
{
	if (text && *text)
		put_line(buf, label, text);
}

/* Writes one variable on each line, as env does. */
static void put_environment(struct buf *buf, const char *const *environment)
{
	if (!environment)
		return;
	buf_text(buf, "  environment\n");
	for (; *environment; environment++) {
		buf_text(buf, "    ");
		style_safe_text(buf, *environment, strlen(*environment));
		buf_char(buf, '\n');
	}
}

static void put_start(struct buf *buf, const struct recording_facts *facts)
{
	time_t seconds = (time_t)(facts->start_realtime_ns / 1000000000);
	struct tm broken;
	char text[64] = "unknown";

	if (!seconds)
		return; // of an import
	if (localtime_r(&seconds, &broken))
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S %z", &broken);
	put_line(buf, "started", text);
}

/* Says which part of the program's life is in the recording, if not all of it. */
static void put_switches(struct buf *buf, const struct recording *recording)
{
	const struct recording_facts *facts = recording_facts(recording);
	uint32_t samples;
	const struct memory_sample *memory = recording_memory(recording, &samples);

	if (facts->attached)
		put_line(buf, "begun", "by mallow attach: blocks from before are not in it");
	else if (facts->begun_by_start)
		put_line(buf, "begun", "when it was started, while the program ran");
	if (facts->attached && samples)
		buf_printf(buf, "  %-11sthe program had %s resident then, besides files\n", "",
			   format_bytes(memory[0].anonymous, false).text);
	if (facts->off_periods)
		buf_printf(buf, "  %-11s%s, for %s of %s\n", "off",
			   format_counted(facts->off_periods, "time", true).text,
			   format_time(facts->off_ns).text, format_time(facts->duration_ns).text);
}

/* How memory was sampled. The agent takes samples only while the program allocates. */
static void put_samples(struct buf *buf, const struct recording *recording)
{
	const struct recording_facts *facts = recording_facts(recording);
	uint32_t samples;

	recording_memory(recording, &samples);
	if (!samples || facts->attached)
		return;
	buf_printf(buf, "  %-11s", "memory");
	if (facts->peak_resident)
		buf_printf(buf, "%s %s resident at once; ",
			   facts->peak_resident_source == TRACE_PEAK_WAITED ? "at most"
									    : "at least",
			   format_bytes(facts->peak_resident, false).text);
	buf_printf(buf, "%s%s\n", format_counted(samples, "sample", true).text,
		   facts->watched ? "" : ", by the agent alone: none while nothing was allocated");
}

static void put_process(struct buf *buf, const struct recording *recording)
{
	const struct recording_facts *facts = recording_facts(recording);

	put_optional(buf, "program", facts->program);
	put_optional(buf, "directory", facts->directory);
	put_start(buf, facts);
	buf_printf(buf, "  %-11s%s, ", facts->core ? "last event" : "ran",
		   format_time(facts->duration_ns).text);
	summary_put_end(buf, facts);
	buf_char(buf, '\n');
	if (facts->pid)
		buf_printf(buf, "  %-11s%" PRIu32 ", child of %" PRIu32 "%s\n", "pid", facts->pid,
			   facts->parent_pid, facts->begun_by_fork ? ", begun by fork" : "");
	put_switches(buf, recording);
	if (facts->foreign)
		put_line(buf, "claimed", "by another machine or user: all of this");
	put_line(buf, "recording", facts->id);
	put_optional(buf, "parent", facts->parent_id);
	put_optional(buf, "host", facts->host);
	put_optional(buf, "machine", machine_name(facts));
	put_optional(buf, "kernel", facts->kernel);
	put_optional(buf, facts->imported ? "imported" : "agent", facts->agent_version);
	put_samples(buf, recording);
}

static void put_stripped(struct buf *buf, const struct recording_facts *facts, bool exact)
{
	buf_printf(buf, "  %-11s%s, %s: blocks that were freed ", "stripped",
		   format_counted(facts->culled_allocations, "allocation", exact).text,
		   format_bytes(facts->culled_bytes, exact).text);
	if (facts->cull_ns != TRACE_CULL_ALL)
		buf_printf(buf, "within %s ", format_time(facts->cull_ns).text);
	buf_text(buf, "and not live at the peak\n");
}

static void put_events(struct buf *buf, const struct recording *recording, bool exact)
{
	const struct recording_facts *facts = recording_facts(recording);
	uint32_t threads;

	recording_threads(recording, &threads);
	buf_printf(buf, "  %-11s%s by %s", "events", format_count(facts->events, exact).text,
		   format_counted(threads, "thread", exact).text);
	buf_printf(buf, ": %s, %s", format_counted(facts->allocations, "allocation", exact).text,
		   format_counted(facts->frees, "free", exact).text);
	if (facts->sample_mean)
		buf_printf(buf, " of a sample, one in %s",
			   format_bytes(facts->sample_mean, exact).text);
	// A realloc is one event, an allocation and a free.
	if (facts->reallocs)
		buf_printf(buf, ", %s of each by realloc",
			   format_count(facts->reallocs, exact).text);
	buf_char(buf, '\n');
	if (facts->stripped && facts->culled_allocations)
		put_stripped(buf, facts, exact);
	else if (facts->cull_ns && !facts->stripped)
		buf_printf(buf, "  %-11s%s, %s: blocks that lived shorter than %s\n", "culled",
			   format_counted(facts->culled_allocations, "allocation", exact).text,
			   format_bytes(facts->culled_bytes, exact).text,
			   format_time(facts->cull_ns).text);
	if (facts->failed_allocations)
		buf_printf(buf, "  %-11s%s\n", "",
			   format_counted(facts->failed_allocations, "failed call", exact).text);
	if (facts->unknown_frees)
		buf_printf(buf, "  %-11s%s of blocks whose allocation was not seen\n", "",
			   format_counted(facts->unknown_frees, "free", exact).text);
	if (facts->implicit_frees)
		buf_printf(buf, "  %-11s%s: the address was handed out again\n", "",
			   format_counted(facts->implicit_frees, "implicit free", exact).text);
	if (facts->guesses)
		buf_printf(buf,
			   "  %-11sof %s the caller is a guess, read from code without unwind "
			   "tables\n",
			   "stacks", format_counted(facts->guesses, "place", exact).text);
}

static void put_pools(struct buf *buf, const struct recording *recording, bool exact)
{
	uint32_t count;
	const struct recorded_pool *pools = recording_pools(recording, &count);
	uint64_t frees = 0, resets = 0;

	if (!count)
		return;
	for (uint32_t i = 0; i < count; i++) {
		frees += pools[i].frees;
		resets += pools[i].resets;
	}
	buf_printf(buf, "  %-11s%s of the program's own: %s, ", "pools",
		   format_count(count, exact).text,
		   format_counted(recording_pool_sum(recording)->calls, "block", exact).text);
	buf_printf(buf, "%s, %s\n", format_counted(frees, "free", exact).text,
		   format_counted(resets, "reset", exact).text);
}

/* With fewer events, the header and the names would be most of the bytes per event. */
#define COST_EVENTS 10000

static void put_file(struct buf *buf, const struct recording_facts *facts, bool exact)
{
	buf_printf(buf, "  %-11s%s in %s", "file", format_bytes(facts->file_size, exact).text,
		   format_counted(facts->chunks, "chunk", exact).text);
	if (facts->events >= COST_EVENTS)
		buf_printf(buf, ", %.1f bytes an event",
			   (double)facts->file_size / (double)facts->events);
	buf_printf(buf, ", format %u.%u%s%s%s\n", facts->version_major, facts->version_minor,
		   facts->finished ? ", finished" : "", facts->compressed ? ", compressed" : "",
		   facts->core ? ", in a core dump" : "");
}

static void put_complete(struct buf *buf, const struct style *style,
			 const struct recording *recording)
{
	const struct recording_facts *facts = recording_facts(recording);

	if (facts->complete)
		put_line(buf, "complete",
			 unseen_is_whole(buf, facts) ? "yes" : "yes, but not all memory was seen");
	else if (facts->core && facts->core->missing)
		buf_printf(buf, "  %-11sno: %s of the table are missing in the dump\n", "complete",
			   format_bytes(facts->core->missing, false).text);
	else if (facts->core && !facts->lost && !facts->damaged_chunks)
		put_line(buf, "complete", "as it was dumped");
	else if (facts->writing)
		put_line(buf, "complete", "not yet: it is still being written");
	else if (recording_facts_have_gaps(facts))
		put_line(buf, "complete", "no:");
	else if (facts->ended)
		put_line(buf, "complete", "no: the file was cut off");
	else
		put_line(buf, "complete",
			 facts->private_slots ? "no: the last records of each thread may be missing"
					      : "up to where it was cut short");
	if (facts->cull_ns && !facts->stripped && !facts->ended)
		buf_printf(buf, "  %-11swithout what was held back then: blocks younger than %s\n",
			   "", format_time(facts->cull_ns).text);
	summary_write_gaps(buf, style, recording);
	unseen_write(buf, style, facts);
	patched_write(buf, style, facts);
}

static void put_modules(struct buf *buf, const struct recording *recording)
{
	uint32_t count;
	const struct recorded_module *modules = recording_modules(recording, &count);

	buf_text(buf, "  modules\n");
	for (uint32_t i = 0; i < count; i++) {
		buf_printf(buf, "    %012" PRIx64 "-%012" PRIx64 " ", modules[i].start,
			   modules[i].end);
		buf_hex_bytes(buf, modules[i].build_id, modules[i].build_id_size);
		buf_text(buf, modules[i].build_id_size ? " " : "no-build-id ");
		style_safe_text(buf, modules[i].path, strlen(modules[i].path));
		if (modules[i].gone_ns != TIME_NEVER)
			buf_printf(buf, " (unloaded at %s)", format_time(modules[i].gone_ns).text);
		buf_char(buf, '\n');
	}
}

void info_text_write(struct buf *buf, const struct style *style, const struct recording *recording,
		     bool modules)
{
	const struct recording_facts *facts = recording_facts(recording);

	style_begin(buf, style, STYLE_STRONG);
	style_safe_text(buf, facts->path, strlen(facts->path));
	style_end(buf, style);
	buf_text(buf, ": ");
	text_report_title(buf, facts, 0);
	buf_char(buf, '\n');
	put_process(buf, recording);
	put_events(buf, recording, style->exact);
	put_pools(buf, recording, style->exact);
	put_file(buf, facts, style->exact);
	put_complete(buf, style, recording);
	put_environment(buf, facts->environment);
	if (modules)
		put_modules(buf, recording);
}
