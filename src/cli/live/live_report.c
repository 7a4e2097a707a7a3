#include "cli/live/live_report.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/names/symbolized.h"
#include "analysis/sight/sight.h"
#include "cli/live/live_watch.h"
#include "cli/options/shared_options.h"
#include "cli/output/terminal.h"
#include "hosted/cleanup.h"
#include "hosted/file_name.h"
#include "report/json/live_json.h"
#include "report/names/distinct_names.h"
#include "report/text/live_text.h"

/* The kernel cuts names of threads to so many bytes. */
#define COMM_MAX 15

/* The name of the first thread as the kernel has it, or the program's file name (free()). */
static char *thread_name(const struct recording_facts *facts)
{
	char path[64], name[64];
	size_t size = 0;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/comm", facts->pid);

	// If it has ended, another process may have its number by now.
	auto_fclose FILE *file = facts->alive ? fopen(path, "re") : NULL;

	if (file)
		size = fread(name, 1, sizeof(name) - 1, file);
	name[size] = 0;
	name[strcspn(name, "\n")] = 0;
	if (*name)
		return strdup(name);
	return strdup(file_name(facts->program));
}

char *live_output_name(const struct recording_facts *facts)
{
	const char *program = file_name(facts->program);
	const char *called = facts->arguments[0] ? file_name(facts->arguments[0]) : "";
	auto_free char *thread = thread_name(facts);
	char *both;

	if (!thread)
		return NULL;
	if (strlen(thread) == COMM_MAX && !strncmp(program, thread, COMM_MAX))
		return strdup(program);
	// Symbolic links have other names than their files: python3, redis-server.
	if (!*program || !strncmp(program, thread, strlen(thread)) || !strcmp(called, thread))
		return steal(&thread);
	return asprintf(&both, "%s (%s)", program, thread) < 0 ? NULL : both;
}

/*
 * Whether the process has closed its standard error since it began, or replaced it. Then the helper
 * that the agent starts does not write there. false also if this is not known.
 */
static bool live_output_is_hidden(const struct recording_facts *facts)
{
	struct stat ours, theirs;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/fd/%d", facts->pid, STDERR_FILENO);
	if (!facts->alive || fstat(STDERR_FILENO, &ours) < 0)
		return false;
	if (stat(path, &theirs) < 0)
		return errno == ENOENT;
	return ours.st_dev != theirs.st_dev || ours.st_ino != theirs.st_ino;
}

/*
 * The absolute path of a file that the settings name, as the process sees it (free()). NULL: no
 * memory.
 */
static char *live_output_path(const struct recording_facts *facts, const char *path)
{
	char *whole;

	if (*path == '/' || !*facts->directory)
		return strdup(path);
	return asprintf(&whole, "%s/%s", facts->directory, path) < 0 ? NULL : whole;
}

/* Whether this is the program that `mallow live` started, and not one that the program started. */
static bool is_program(const struct recording_facts *facts)
{
	const char *starter = getenv(LIVE_OUTPUT_STARTER);

	return starter ? strtoul(starter, NULL, 10) == facts->parent_pid : !*facts->parent_id;
}

/*
 * Opens the file of a process's reports to append to it. outfile: from the settings. *ret: a
 * descriptor for the caller to close.
 */
static struct err *live_output_open(const struct recording_facts *facts, const char *outfile,
				    int *ret)
{
	auto_free char *path = live_output_path(facts, outfile);
	auto_free char *harmless = thread_name(facts);
	auto_free char *longer = NULL;
	int fd;

	if (!path || !harmless)
		return err_no_memory();
	for (char *c = harmless; *c; c++)
		if (*c == '/' || (unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '_';
	if (!is_program(facts)) {
		if (asprintf(&longer, "%s.%" PRIu32 ".%s", path, facts->pid, harmless) < 0) {
			longer = NULL;
			return err_no_memory();
		}
	}
	fd = open(longer ? longer : path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY,
		  0666);
	if (fd < 0)
		return err_create_errno(errno, "cannot write '%s'", longer ? longer : path);
	*ret = fd;
	return NULL;
}

struct err *live_output_check(const char *outfile)
{
	auto_free char *copy = strdup(outfile);
	const char *place = outfile;

	if (!copy)
		return err_no_memory();
	if (access(outfile, F_OK) < 0)
		place = dirname(copy);
	return access(place, W_OK) < 0 ? err_create_errno(errno, "cannot write '%s'", outfile)
				       : NULL;
}

/* What a report is made of. */
struct report {
	const struct live_options *options;
	const struct recording *recording;
	struct symbolized *symbolized; /* owned */
	struct plumbing *plumbing;     /* owned */
	struct live_view_options view;
	bool unseen; /* not all is in the table: that is said even if nothing is shown */
	struct style style;
	struct buf buf; /* the whole report: it is written at once */
};

static void report_deinit(struct report *report)
{
	buf_deinit(&report->buf);
	if (report->symbolized)
		symbolized_destroy(report->symbolized);
	plumbing_destroy(report->plumbing);
}

static struct err *put_report(struct report *report, enum live_key key)
{
	cleanup(live_view_deinit) struct live_view view = {0};
	struct json_writer json;
	struct err *err;

	report->view.key = key;
	err = live_view_create(report->recording, report->symbolized, &report->view, &view);
	if (err || (!view.live && !report->unseen))
		return err;
	switch (report->options->format) {
	case LIVE_FLAME_GRAPH:
		return live_view_collapsed(&report->buf, &view);
	case LIVE_JSON:
		json_init(&json, &report->buf, false);
		err = live_json_write(&json, &view);
		buf_char(&report->buf, '\n');
		return err;
	case LIVE_TEXT:
		break;
	}
	return live_text_write(&report->buf, &report->style, &view);
}

/* Writes a report for each key. Collapsed stacks have no order, so for them one is enough. */
static struct err *put_reports(struct report *report)
{
	const struct live_options *options = report->options;
	size_t count = options->format == LIVE_FLAME_GRAPH ? 1 : options->key_count;
	struct err *err = NULL;

	for (size_t i = 0; !err && i < count; i++)
		err = put_report(report, options->keys[i]);
	return err ? err : buf_finish(&report->buf);
}

/* Writes once, because reports of several processes may go to one place. */
static struct err *write_at_once(const struct report *report, const char *name)
{
	const char *outfile = report->options->outfile;
	cleanup(buf_deinit) struct buf out = {0};
	auto_close int fd = -1;
	struct err *err = NULL;
	bool here = true;

	if (!report->buf.size)
		return NULL;
	if (!outfile && live_output_is_hidden(recording_facts(report->recording)))
		err = live_watch_hand_over(report->buf.data, report->buf.size, &here);
	if (err || !here)
		return err;
	if (outfile)
		err = live_output_open(recording_facts(report->recording), outfile, &fd);
	if (err)
		return err;
	buf_init_fd(&out, outfile ? fd : STDERR_FILENO, outfile ? outfile : "standard error");
	buf_put(&out, report->buf.data, report->buf.size);
	return buf_finish(&out);
}

static struct err *read_ignore(const struct report *report, struct live_ignore *ret)
{
	auto_free char *path =
		live_output_path(recording_facts(report->recording), report->options->ignore);

	return path ? live_options_ignore(path, ret) : err_no_memory();
}

/* Makes and writes the report. */
static struct err *make_report(struct report *report)
{
	const struct recording_facts *facts = recording_facts(report->recording);
	cleanup(live_ignore_deinit) struct live_ignore ignore = {0};
	auto_free char *name = live_output_name(facts);
	struct process_memory memory;
	struct err *err = name ? NULL : err_no_memory();

	if (!err && report->options->ignore)
		err = read_ignore(report, &ignore);
	if (err)
		return err;
	report->view = (struct live_view_options){
		.top = report->options->top,
		.depth = report->options->depth,
		.full = report->options->full,
		.ignore = &ignore,
		.memory = facts->alive && process_memory_read(facts->pid, &memory) ? &memory : NULL,
		.name = name,
	};
	err = put_reports(report);
	return err ? err : write_at_once(report, name);
}

/* Finds out how frames are named. */
static struct err *name_frames(struct report *report)
{
	auto_free char *path = NULL;
	struct naming naming = {0};
	struct err *err;

	if (report->options->plumbing) {
		path = live_output_path(recording_facts(report->recording),
					report->options->plumbing);
		if (!path)
			return err_no_memory();
	}
	err = plumbing_option_read(path, &report->plumbing);
	naming.plumbing = report->plumbing;
	return err ? err : symbolized_create(report->recording, &naming, &report->symbolized);
}

/* The report of a recording that is a live table. */
static struct err *report_of(const struct live_options *options, const struct recording *recording)
{
	cleanup(distinct_names_deinit) struct distinct_names names = {0};
	cleanup(report_deinit) struct report report = {
		.options = options,
		.recording = recording,
		.buf = {.fd = -1, .shown = true},
	};
	const struct unseen *unseen;
	uint32_t unseen_count;
	struct err *err = sight_list(recording_facts(recording), &unseen, &unseen_count);

	// Nothing is live, and that is all: or so it seems, and then the report says why.
	if (err || (!recording_summary(recording)->leaked_blocks && !unseen_count))
		return err;
	report.unseen = unseen_count;
	err = name_frames(&report);
	if (err)
		return err;
	if (!options->outfile)
		report.style = terminal_style(STDERR_FILENO);
	report.style.full = options->full;
	report.style.names = &names;
	return make_report(&report);
}

static struct err *open_table(int fd, struct recording **ret)
{
	cleanup(recording_close_at) struct recording *recording = NULL;
	struct err *err;

	err = recording_open_descriptor("the live table", fd, RECORDING_SUMS, &recording);
	if (err)
		return err;
	if (!recording_live(recording))
		return err_create("descriptor %d is a recording with events, no live table", fd);
	*ret = steal(&recording);
	return NULL;
}

struct err *live_report_write(const struct live_options *options, int fd)
{
	cleanup(recording_close_at) struct recording *recording = NULL;
	struct err *err = open_table(fd, &recording);

	return err ? err : report_of(options, recording);
}

struct err *live_report_write_last(const struct live_options *options, int fd)
{
	cleanup(recording_close_at) struct recording *recording = NULL;
	struct err *err = open_table(fd, &recording);

	if (err || recording_facts(recording)->writing)
		return err;
	return report_of(options, recording);
}
