#include "cli/report/check_gate.h"

#include <string.h>
#include <unistd.h>

#include "analysis/views/resident.h"
#include "cli/recordings/narrowed.h"
#include "cli/cli.h"
#include "cli/report/exporter.h"
#include "cli/output/output.h"
#include "cli/output/terminal.h"
#include "hosted/cleanup.h"
#include "report/check/check_words.h"
#include "report/words/shell_word.h"

struct gate {
	const struct check_wanted *wanted;
	struct narrowed old;            /* the baseline */
	struct check_baseline baseline; /* recording NULL: none */
	uint64_t verdicts, broken;
	bool of_run; /* struct check_subject */
};

int check_gate_unsure(struct err *err)
{
	return cli_report_err(err) == CLI_OK ? CLI_OK : CLI_UNSURE;
}

static int worse(int a, int b)
{
	return a > b ? a : b;
}

/* Finds what the recording cannot show of its program's memory. opened: what is judged. */
static struct err *find_unseen(const struct narrowed *opened, struct check_subject *subject)
{
	const struct unseen *list;
	uint32_t count;
	struct err *err = sight_list(subject->facts, &list, &count);

	for (uint32_t i = 0; i < count && !subject->unseen; i++) {
		if (!sight_is_whole(&list[i], 1))
			subject->unseen = &list[i];
		else if (!subject->started && list[i].kind == TRACE_UNSEEN_STARTED)
			subject->started = &list[i];
	}
	if (err || !opened->loaded.recording)
		return err;
	return resident_unseen(opened->loaded.recording, opened->loaded.symbolized,
			       &subject->beyond);
}

/* Whether the recording cannot be judged for that reason, and nobody accepts it. */
static bool is_unsure(const struct gate *gate, const struct check_subject *subject,
		      enum check_doubt doubt)
{
	return check_has_doubt(subject, doubt) &&
	       !check_allows(&gate->wanted->about, subject, doubt);
}

/* Opens the baseline, if there is one. Returns the status. */
static int open_baseline(struct gate *gate)
{
	const char *path = gate->wanted->baseline;
	struct narrowed_wanted wanted = gate->wanted->sides;

	if (!path)
		return CLI_OK;
	wanted.needs &= ~(unsigned int)RECORDING_RUN_FACTS;
	if (!narrowed_open(path, &wanted, &gate->old))
		return CLI_UNSURE;
	gate->baseline.recording = gate->old.recording;
	gate->baseline.symbolized = gate->old.symbolized;

	struct check_subject subject = {.facts = gate->old.facts};
	struct err *err = find_unseen(&gate->old, &subject);

	if (err)
		return check_gate_unsure(err);
	for (enum check_doubt doubt = 0; doubt < CHECK_DOUBTS; doubt++) {
		cleanup(buf_deinit) struct buf why = BUF_EMPTY;

		if (!is_unsure(gate, &subject, doubt))
			continue;
		check_doubt_put(&why, &subject, doubt);
		return cli_error(CLI_UNSURE, "baseline '%s': %s (%s)", path,
				 buf_string(&why) ? buf_string(&why) : "",
				 check_doubt_option(doubt));
	}
	return CLI_OK;
}

/* What verdicts come to. */
static int status_of(struct gate *gate, const struct check_subject *subject)
{
	uint32_t broken = verdicts_count(subject->verdicts, VERDICT_BROKEN);

	gate->broken += broken;
	gate->verdicts += subject->verdicts->count;
	if (verdicts_count(subject->verdicts, VERDICT_UNKNOWN) &&
	    !gate->wanted->about.allow_incomplete)
		return CLI_UNSURE;
	for (enum check_doubt doubt = 0; doubt < CHECK_DOUBTS; doubt++)
		if (is_unsure(gate, subject, doubt))
			return CLI_UNSURE;
	return broken ? CLI_FAILED : CLI_OK;
}

/* Writes the recording as a page, which begins with what is said of it. */
static struct err *write_html(const struct gate *gate, const struct check_subject *subject)
{
	cleanup(buf_deinit) struct buf said = BUF_EMPTY;
	struct html_export html = gate->wanted->html;
	const struct export_subject none = {0};
	const struct style plain = {.width = TERMINAL_PAGE};
	struct check_report report;

	check_report_begin(&report, CHECK_TEXT, &said, &plain, &gate->wanted->about);
	check_report_add(&report, subject);
	check_report_end(&report);
	html.check = buf_string(&said);
	return html.check ? exporter_write(exporter_find("html"), gate->wanted->html_output, &none,
					   &html)
			  : buf_finish(&said);
}

/* What holds for the memory that was seen need not hold for all: no limit is known to hold. */
static void doubt_all(struct verdicts *verdicts)
{
	for (uint32_t i = 0; i < verdicts->count; i++) {
		if (verdicts->items[i].state != VERDICT_HOLDS)
			continue;
		verdicts->items[i].state = VERDICT_UNKNOWN;
		verdicts->items[i].unknown = "not all memory was seen";
	}
}

/* Judges an open recording, and writes what comes out. Returns its status. */
static int judge_recording(struct gate *gate, struct check_report *report,
			   const struct narrowed *checked, const struct check_subject *opened)
{
	cleanup(verdicts_deinit) struct verdicts verdicts = {0};
	struct check_subject subject = *opened;
	const struct check_matching matching = {
		.recording = checked->loaded.recording,
		.match = &checked->view.match,
		.suppressed = checked->suppressed.stacks,
	};
	struct err *err = verdicts_make(&gate->wanted->limits,
					gate->baseline.recording ? &gate->baseline : NULL,
					checked->recording, checked->symbolized,
					checked->view.recording ? &matching : NULL, &verdicts);

	if (!err) {
		subject.facts = checked->facts;
		err = find_unseen(checked, &subject);
	}
	if (!err) {
		subject.verdicts = &verdicts;
		subject.of_run = gate->of_run;
		// A program that was not recorded leaves the sums of this one whole.
		if (is_unsure(gate, &subject, CHECK_DOUBT_UNSEEN) &&
		    (gate->wanted->merge || subject.unseen || subject.beyond))
			doubt_all(&verdicts);
	} else {
		subject.facts = NULL;
	}
	check_report_add(report, &subject);
	if (!err && gate->wanted->html_output)
		err = write_html(gate, &subject);
	return err ? check_gate_unsure(err_prefix(err, "%s", subject.path))
		   : status_of(gate, &subject);
}

static int check_one(struct gate *gate, struct check_report *report, const char *path)
{
	cleanup(narrowed_close) struct narrowed checked = {0};
	cleanup(buf_deinit) struct buf operands = BUF_EMPTY;
	struct check_subject subject = {.path = path};

	shell_path_put(&operands, path);
	subject.operands = buf_string(&operands);
	if (!subject.operands)
		return check_gate_unsure(err_no_memory());
	if (narrowed_open(path, &gate->wanted->sides, &checked))
		return judge_recording(gate, report, &checked, &subject);
	check_report_add(report, &subject);
	return CLI_UNSURE;
}

/*
 * Each process of a merge has resident memory of its own: *ret is that of the one with most. What
 * cannot be opened was named by the merge.
 */
static struct err *find_beyond(const struct gate *gate, const struct recording_paths *paths,
			       uint64_t *ret)
{
	struct err *err = NULL;

	for (size_t i = 0; !err && i < paths->items.count; i++) {
		struct loaded loaded = {0};
		uint64_t beyond = 0;

		err_destroy(recording_open(paths->items.items[i], RECORDING_SUMS, NULL, NULL,
					   &loaded.recording));
		if (!loaded.recording)
			continue;
		err = symbolized_create(loaded.recording, &gate->wanted->sides.naming,
					&loaded.symbolized);
		if (!err)
			err = resident_unseen(loaded.recording, loaded.symbolized, &beyond);
		if (*ret < beyond)
			*ret = beyond;
		loaded_close(&loaded);
	}
	return err;
}

static int check_merged(struct gate *gate, struct check_report *report,
			const struct recording_paths *paths)
{
	cleanup(narrowed_close) struct narrowed checked = {0};
	cleanup(buf_deinit) struct buf operands = BUF_EMPTY;
	struct check_subject subject = {.path = paths->items.items[0]};
	int status = CLI_UNSURE;

	for (size_t i = 0; i < paths->items.count; i++) {
		buf_text(&operands, i ? " " : "");
		shell_path_put(&operands, paths->items.items[i]);
	}
	subject.operands = buf_string(&operands);
	if (!subject.operands)
		return check_gate_unsure(err_no_memory());
	if (narrowed_open_merged(paths, &gate->wanted->sides, &checked)) {
		struct err *err = find_beyond(gate, paths, &subject.beyond);

		status = err ? check_gate_unsure(err)
			     : judge_recording(gate, report, &checked, &subject);
	} else {
		check_report_add(report, &subject);
	}
	return checked.merged.failed ? CLI_UNSURE : status;
}

static int check_all(struct gate *gate, struct check_report *report,
		     const struct recording_paths *paths)
{
	int status = paths->failed ? CLI_UNSURE : CLI_OK;

	if (gate->wanted->merge && paths->items.count)
		return worse(status, check_merged(gate, report, paths));
	for (size_t i = 0; i < paths->items.count; i++)
		status = worse(status, check_one(gate, report, paths->items.items[i]));
	return status;
}

/* Tells whom the file of -o does not reach what came out. */
static int say_status(const struct gate *gate, int status)
{
	const char *path = gate->wanted->output;

	if (status == CLI_OK || !path || strcmp(path, "-") == 0)
		return status;
	return cli_error(status, "%ju of %ju limits broken%s: see '%s'", (uintmax_t)gate->broken,
			 (uintmax_t)gate->verdicts,
			 status == CLI_UNSURE ? ", and not all could be judged" : "", path);
}

static int write_report(struct gate *gate, const struct recording_paths *paths)
{
	const char *path = gate->wanted->output;
	bool to_terminal = !path || strcmp(path, "-") == 0;
	struct style style =
		to_terminal ? terminal_page(STDOUT_FILENO) : (struct style){.width = TERMINAL_PAGE};
	struct check_report report;
	struct output output;
	struct err *err = output_open(path, &output);
	int status;

	if (err)
		return check_gate_unsure(err);
	if (gate->wanted->format == CHECK_GITHUB)
		output.buf.shown = false; // it begins lines with "::" itself
	check_report_begin(&report, gate->wanted->format, &output.buf, &style,
			   &gate->wanted->about);
	status = check_all(gate, &report, paths);
	check_report_end(&report);
	err = output_close(&output, NULL);
	return err ? check_gate_unsure(err) : say_status(gate, status);
}

int check_gate_run(const struct check_wanted *wanted, const struct recording_paths *paths)
{
	struct gate gate = {.wanted = wanted, .baseline.tolerance = wanted->tolerance};
	int status;

	gate.of_run = wanted->merge || paths->directories;
	status = open_baseline(&gate);

	if (status == CLI_OK)
		status = write_report(&gate, paths);
	narrowed_close(&gate.old);
	return status;
}
