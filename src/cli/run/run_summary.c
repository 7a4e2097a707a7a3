#include "cli/run/run_summary.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "cli/cli.h"
#include "cli/output/terminal.h"
#include "cli/recordings/loaded.h"
#include "cli/run/run_elsewhere.h"
#include "cli/run/run_registry.h"
#include "hosted/buf.h"
#include "hosted/cleanup.h"
#include "hosted/file_name.h"
#include "report/text/findings_text.h"
#include "report/text/text_report.h"
#include "report/views/summary.h"
#include "report/words/format.h"
#include "report/words/shell_word.h"
#include "report/words/unseen.h"

#define OTHERS_SHOWN   20
#define FINDINGS_SHOWN 3
#define NOTES_SHOWN    20
#define UNSEEN_SHOWN   5
#define TITLE          "mallow: "

/* What the table shows of each recording. */
struct image {
	const char *path;
	bool unreachable; /* the path is for people alone */
	size_t order;     /* its place among the recordings */
	char *program;
	uint32_t pid;
	bool running;
	uint64_t peak_bytes, leaked_bytes, total_bytes;
	char *unseen; /* the first thing that it cannot show, in words; NULL: none */
};

/* The state of the summary while recordings are loaded, one after the other. */
struct summary {
	struct style style;
	const struct run_child_end *end;
	struct image *images;
	size_t count;
	const char *const *started; /* of struct run_images */
	size_t started_count;
	struct buf main; /* the text about the first image, by by_peak() */
	const struct image *first;
	struct symbolizer *symbolizer; /* NULL: nothing is finished any more */
	enum finish_compress compress;
	const char *output; /* struct run_finishing */
	bool private_slots;
	struct run_ahead *ahead;
	char *beside;     /* the directory of the recordings; NULL: not known yet */
	size_t strange;   /* files of other users that are no recordings */
	struct buf notes; /* lines about recordings, each ended by NUL */
};

/* Most memory first: that is the program that matters, not a shell or wrapper that started it. */
static int by_peak(const void *left, const void *right)
{
	const struct image *a = left, *b = right;

	if (a->peak_bytes != b->peak_bytes)
		return a->peak_bytes < b->peak_bytes ? 1 : -1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/* The path relative to the working directory, if that is shorter. */
static const char *short_path(const char *path)
{
	auto_free char *directory = getcwd(NULL, 0);
	size_t length = directory ? strlen(directory) : 0;

	if (length > 1 && strncmp(path, directory, length) == 0 && path[length] == '/')
		return path + length + 1;
	return path;
}

static const char *name_of(const struct image *image)
{
	return image->program ? image->program : "";
}

/* The first thing that a recording cannot show, in words. *ret NULL: all is shown. */
static struct err *say_unseen(const struct recording_facts *facts, char **ret)
{
	cleanup(buf_deinit) struct buf text = BUF_EMPTY;
	const struct unseen *list;
	uint32_t count;
	struct err *err = sight_list(facts, &list, &count);

	*ret = NULL;
	if (err || !count)
		return err;
	unseen_put(&text, facts, &list[0]);
	*ret = buf_take(&text);
	return *ret ? NULL : err_no_memory();
}

static struct image image_of(const char *path, size_t order, const struct recording *recording)
{
	const struct recording_facts *facts = recording_facts(recording);
	const struct recording_summary *sum = recording_summary(recording);

	return (struct image){
		.path = path,
		.order = order,
		.program = strdup(file_name(facts->program)),
		.pid = facts->pid,
		.running = facts->writing,
		.peak_bytes = sum->peak_bytes,
		.leaked_bytes = sum->leaked_bytes,
		.total_bytes = sum->total_bytes,
	};
}

/* Writes what stands out. */
static void put_findings(struct buf *buf, const struct style *style,
			 const struct recording *recording, const struct findings *findings,
			 const char *path)
{
	const struct findings_text_words words = {
		.tool = program_invocation_name,
		.path = short_path(path),
	};
	uint32_t count;

	findings_list(findings, &count);
	if (count)
		buf_char(buf, '\n');
	findings_text_list(buf, style, recording, findings, FINDINGS_SHOWN, &words);
}

/* Writes about the image with the highest peak, in full. */
static void put_main(struct buf *buf, const struct style *style, const struct run_child_end *end,
		     const struct recording *recording, const struct headline *headline)
{
	const struct recording_facts *facts = recording_facts(recording);

	buf_char(buf, '\n');
	style_begin(buf, style, STYLE_STRONG);
	buf_text(buf, TITLE);
	text_report_title(buf, facts,
			  style->width > strlen(TITLE) ? style->width - strlen(TITLE) : 0);
	style_end(buf, style);
	if (facts->writing)
		buf_text(buf, " is still running");
	buf_char(buf, '\n');
	if (WIFSIGNALED(end->wait_status) && (pid_t)facts->pid == end->pid)
		buf_printf(buf, "  ended by signal %d (%s)\n", WTERMSIG(end->wait_status),
			   strsignal(WTERMSIG(end->wait_status)));
	if (headline->clause != HEADLINE_NOTHING ||
	    (headline->fact_count && headline_needs_no_blocks(&headline->facts[0]))) {
		findings_text_headline(buf, style, headline);
		buf_char(buf, '\n');
	}
	text_report_reservations(buf, style, facts);
	summary_write(buf, style, recording, SUMMARY_OF_RUN);
	summary_write_gaps(buf, style, recording);
}

/* Says what the recordings of the other programs cannot show: each text once. */
static struct err *put_unseen(struct buf *buf, const struct style *style,
			      const struct image *images, size_t count)
{
	cleanup(buf_deinit) struct buf text = BUF_EMPTY;
	const char *string;
	size_t texts = 0;

	for (size_t i = 0; i < count; i++) {
		bool said = !images[i].unseen;

		for (size_t j = 0; j < i && !said; j++)
			said = images[j].unseen &&
			       strcmp(images[j].unseen, images[i].unseen) == 0 &&
			       strcmp(name_of(&images[j]), name_of(&images[i])) == 0;
		if (said || ++texts > UNSEEN_SHOWN)
			continue;
		buf_text(buf, texts == 1 ? "\n" : "");
		text.size = 0;
		style_safe_text(&text, name_of(&images[i]), strlen(name_of(&images[i])));
		buf_printf(&text, " (%" PRIu32 "): %s", images[i].pid, images[i].unseen);
		string = buf_string(&text);
		if (!string)
			return err_no_memory();
		style_warning(buf, style, string);
	}
	if (texts > UNSEEN_SHOWN)
		buf_printf(buf, "  ! … %zu more: mallow info says which\n", texts - UNSEEN_SHOWN);
	return NULL;
}

/* A program that only the registry knows of. Not if the text says it already. */
static struct err *put_started(struct buf *buf, const struct style *style, const char *started)
{
	cleanup(buf_deinit) struct buf text = BUF_EMPTY, line = BUF_EMPTY;
	struct err *err = started_program_put(&text, started);
	struct style plain = *style;

	if (err)
		return err;
	// As it stands there: in lines of the same width. The text may go on there.
	plain.colour = false;
	style_warning(&line, &plain, buf_string(&text));
	if (!buf_string(&line))
		return err_no_memory();
	if (buf->size && memmem(buf->data, buf->size, line.data, line.size - 1))
		return NULL;
	style_warning(buf, style, buf_string(&text));
	return NULL;
}

static void put_others(struct buf *buf, const struct image *images, size_t count)
{
	buf_printf(buf,
		   "\n%s of this run:\n"
		   "       PID       peak     leaked      total  program, recording\n",
		   format_counted(count, "more recording", true).text);
	for (size_t i = 0; i < count && i < OTHERS_SHOWN; i++) {
		const char *path = short_path(images[i].path);
		const char *program = name_of(&images[i]);

		buf_printf(buf, "%10" PRIu32 " %10s %10s %10s  ", images[i].pid,
			   format_bytes(images[i].peak_bytes, false).text,
			   format_bytes(images[i].leaked_bytes, false).text,
			   format_bytes(images[i].total_bytes, false).text);
		style_safe_text(buf, program, strlen(program));
		buf_text(buf, "  ");
		shell_path_put(buf, path);
		buf_text(buf, images[i].running ? "  (is still running)\n" : "\n");
	}
	if (count > OTHERS_SHOWN)
		buf_printf(buf, "           \xe2\x80\xa6 %zu more\n", count - OTHERS_SHOWN);
}

/*
 * Whether the path is "r.mallow.1" although r.mallow was asked for: that file existed, and people
 * would type its name.
 */
static bool is_second(const char *path, const char *output)
{
	size_t length = output ? strlen(output) : 0;

	return length && strncmp(path, output, length) == 0 && path[length] == '.' &&
	       path[length + 1] && !path[length + 1 + strspn(path + length + 1, "0123456789")];
}

/*
 * Writes the next command, with the tool's name as it was called, so that it can be copied:
 * "mallow", "build/mallow".
 */
static void put_next(struct buf *buf, const struct image *image, const char *output, bool others)
{
	const char *whole = image->path;
	const char *path = short_path(whole);

	buf_text(buf, "\n  recording   ");
	shell_path_put(buf, path);
	if (is_second(path, output) || is_second(whole, output)) {
		buf_text(buf, "  (");
		shell_path_put(buf, output);
		buf_text(buf, " is an older one)");
	}
	if (image->unreachable) {
		buf_char(buf, '\n');
		return;
	}
	buf_text(buf, "\n  next        ");
	shell_word_put(buf, program_invocation_name);
	buf_text(buf, " report ");
	shell_path_put(buf, path);
	if (others) {
		buf_text(buf, "\n              ");
		shell_word_put(buf, program_invocation_name);
		buf_text(buf, " report --merge ");
		shell_path_put(buf, path);
	}
	buf_text(buf, "\n              ");
	shell_word_put(buf, program_invocation_name);
	buf_text(buf, " export --to flamegraph -o flame.svg ");
	shell_path_put(buf, path);
	buf_char(buf, '\n');
}

static void put_nothing(const char *program, bool started_later)
{
	if (started_later) {
		cli_error(CLI_FAILED,
			  "no recording: nothing told '%s' to begin (--disable-by-default), as "
			  "'kill -USR1 PID' or mallow_start() do",
			  program);
		return;
	}
	cli_error(CLI_FAILED,
		  "'%s' left no recording: it or what it executed is statically linked, setuid, or "
		  "removed LD_PRELOAD from its environment (--log warn says more)",
		  program);
}

/* A hint if the recording, whose slots are shared, lies on a file system that may hang. */
static void put_file_system(struct buf *buf, const char *path)
{
	static const struct {
		unsigned int magic;
		const char *name;
	} systems[] = {{FUSE_SUPER_MAGIC, "FUSE"}, {NFS_SUPER_MAGIC, "NFS"}, {V9FS_MAGIC, "9p"}};
	struct statfs status;

	if (statfs(path, &status))
		return;
	for (size_t i = 0; i < ARRAY_COUNT(systems); i++)
		if ((unsigned int)status.f_type == systems[i].magic)
			buf_printf(
				buf,
				"  hint        the recording lies on %s: while that hangs, so does "
				"the program. With --slots private it goes on, and what is lost "
				"is counted\n",
				systems[i].name);
}

/* Writes the text about the recording with the highest peak until now. */
static struct err *write_main(struct summary *summary, const char *path,
			      const struct loaded *loaded)
{
	cleanup(findings_destroy_at) struct findings *findings = NULL;
	struct headline headline;
	struct err *err = findings_create(loaded->recording, loaded->symbolized, &findings);

	if (!err)
		err = headline_make(loaded->recording, findings, &headline);
	if (err)
		return err;
	summary->main.size = 0;
	put_main(&summary->main, &summary->style, summary->end, loaded->recording, &headline);
	err = summary_write_hidden(&summary->main, &summary->style, loaded->recording,
				   loaded->symbolized);
	if (!summary->private_slots)
		put_file_system(&summary->main, path);
	put_findings(&summary->main, &summary->style, loaded->recording, findings, path);
	return err;
}

static struct image *note_image(struct summary *summary, const char *path, size_t order,
				const struct loaded *loaded)
{
	struct image *image = &summary->images[summary->count++];

	*image = image_of(path, order, loaded->recording);
	cli_report_err(say_unseen(recording_facts(loaded->recording), &image->unseen));
	if (summary->first && by_peak(image, summary->first) > 0)
		return image;
	summary->first = image;
	cli_report_err(write_main(summary, path, loaded));
	return image;
}

static void print_summary(struct summary *summary)
{
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	struct buf *main = &summary->main;

	if (!summary->count)
		return;
	buf_init_fd(&buf, STDERR_FILENO, "standard error");
	buf.shown = true;
	qsort(summary->images, summary->count, sizeof(*summary->images), by_peak);
	cli_report_err(put_unseen(main, &summary->style, summary->images + 1, summary->count - 1));
	for (size_t i = 0; i < summary->started_count && i < UNSEEN_SHOWN; i++)
		cli_report_err(put_started(main, &summary->style, summary->started[i]));
	buf_append(&buf, main);
	put_next(&buf, &summary->images[0], summary->output, summary->count > 1);
	if (summary->count > 1)
		put_others(&buf, summary->images + 1, summary->count - 1);
	cli_report_err(buf_finish(&buf));
}

/*
 * Finishes a recording, unless nothing is to be finished. After a failure no other one is tried: a
 * disk that is full for one is full for all. false: it is as the program left it.
 */
static bool finish_image(struct summary *summary, const char *path, struct loaded *loaded)
{
	struct finish_result result;
	struct err *err;

	if (!summary->symbolizer || recording_facts(loaded->recording)->writing)
		return false;
	err = loaded_finish(path, loaded, summary->compress, &result);
	if (!err)
		return true;
	cli_error(CLI_FAILED, "%s: the recording stays as the program left it", err_message(err));
	err_destroy(err);
	symbolizer_destroy(steal(&summary->symbolizer));
	return false;
}

/* Keeps a line to be printed at the end. */
static void say_later(struct summary *summary, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void say_later(struct summary *summary, const char *format, ...)
{
	auto_free char *line = NULL;
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vasprintf(&line, format, arguments);
	va_end(arguments);
	if (length < 0)
		line = NULL;
	else
		buf_put(&summary->notes, line, (size_t)length + 1);
}

/*
 * Loads a recording, notes it, and finishes it. fd: leads to it in place of the path, so it is not
 * finished; -1: none.
 */
static void take_in(struct summary *summary, const char *path, int fd, size_t i, bool last)
{
	const struct naming naming = {.symbolizer = summary->symbolizer};
	cleanup(loaded_close) struct loaded loaded = {0};
	bool good = fd < 0 ? loaded_open_to_finish(path, run_ahead_take(summary->ahead, i), &naming,
						   &loaded)
			   : loaded_open_descriptor(path, fd, &naming, &loaded);

	if (good)
		note_image(summary, path, i, &loaded)->unreachable = fd >= 0;
	if (last)
		print_summary(summary);
	if (good && fd < 0)
		finish_image(summary, path, &loaded);
}

/*
 * Whether the file was removed before its message was read. Then it is gone, as one that is removed
 * later: what is said must not depend on which of the two came first.
 */
static bool is_removed(const struct run_image *image)
{
	struct stat status;

	return *image->label == '/' && fstat(image->fd, &status) == 0 && status.st_nlink == 0;
}

/* One of our own recordings, in a place that only its process sees. */
static void take_in_sandboxed(struct summary *summary, struct run_image *image, size_t i, bool last)
{
	auto_free char *copy = NULL;
	struct err *err = run_elsewhere_copy(image, summary->beside ? summary->beside : ".", &copy);

	if (copy)
		say_later(summary,
			  "'%s' of process %d lay where only that process could see it: copied to "
			  "'%s'",
			  image->label, (int)image->pid, short_path(copy));
	else if (!err)
		say_later(summary,
			  "'%s' is where only process %d can see it: it is still being written, "
			  "and is at /proc/%d/root",
			  image->label, (int)image->pid, (int)image->pid);
	cli_report_err(err);
	if (copy) {
		take_in(summary, copy, -1, i, last);
		image->path = steal(&copy);
	} else {
		take_in(summary, image->label, image->fd, i, last);
	}
}

/* Appends a text with its NUL; "" for NULL. */
static void put_text(struct buf *buf, const char *text)
{
	buf_put(buf, text ? text : "", text ? strlen(text) + 1 : 1);
}

/*
 * In the process that reads another user's recording. It sends struct image, its texts, and the
 * text about it.
 */
static enum run_foreign_end read_foreign(void *argument, const struct run_image *foreign,
					 int channel)
{
	struct summary *summary = argument;
	const char *path = foreign->path ? foreign->path : foreign->label;
	cleanup(buf_deinit) struct buf buf = BUF_EMPTY;
	cleanup(loaded_close) struct loaded loaded = {0};
	struct naming naming = {0};
	struct image *image;
	bool wanted = summary->symbolizer;

	// A new one: the other has files of ours open.
	summary->symbolizer = NULL;
	if (symbolizer_create(&summary->symbolizer))
		return RUN_FOREIGN_LEFT;
	naming.symbolizer = summary->symbolizer;
	summary->first = NULL;
	if (!(foreign->path ? loaded_open_to_finish(path, NULL, &naming, &loaded)
			    : loaded_open_descriptor(path, foreign->fd, &naming, &loaded)))
		return RUN_FOREIGN_NONE;
	image = note_image(summary, path, 0, &loaded);
	image->unreachable = !foreign->path;
	buf_init(&buf);
	buf_put(&buf, image, sizeof(*image));
	put_text(&buf, image->program);
	put_text(&buf, path);
	put_text(&buf, image->unseen);
	buf_put(&buf, summary->main.data, summary->main.size);
	run_foreign_send(channel, buf.data, buf.size);
	if (recording_facts(loaded.recording)->writing)
		return RUN_FOREIGN_RUNS;
	if (!foreign->path)
		return RUN_FOREIGN_LEFT;
	return !wanted || finish_image(summary, path, &loaded) ? RUN_FOREIGN_FINISHED
							       : RUN_FOREIGN_LEFT;
}

/* Takes a text out of what was sent (free()). NULL: there is none, or it is empty. */
static char *take_text(const char **data, size_t *size)
{
	size_t length = strnlen(*data, *size);
	char *text = length && length < *size ? strdup(*data) : NULL;

	length += length < *size;
	*data += length;
	*size -= length;
	return text;
}

/* Notes what that process has sent. */
static void note_foreign(struct summary *summary, struct run_image *foreign, size_t i,
			 const char *data, size_t size)
{
	struct image *image = &summary->images[summary->count];
	char *path;

	if (size < sizeof(*image))
		return;
	memcpy(image, data, sizeof(*image));
	data += sizeof(*image);
	size -= sizeof(*image);
	image->order = i;
	image->program = take_text(&data, &size);
	path = take_text(&data, &size);
	image->unseen = take_text(&data, &size);
	if (image->unreachable)
		free(path);
	else
		foreign->path = path;
	image->path = foreign->path ? foreign->path : foreign->label;
	summary->count++;
	if (summary->first && by_peak(image, summary->first) > 0)
		return;
	summary->first = image;
	summary->main.size = 0;
	buf_put(&summary->main, data, size);
}

static void take_in_foreign(struct summary *summary, struct run_image *image, size_t i, bool last)
{
	struct run_foreign foreign;
	auto_free char *text = NULL;
	enum run_foreign_end end = RUN_FOREIGN_LOST;
	struct err *err = run_foreign_start(image, read_foreign, summary, &foreign);
	size_t size;

	if (err) {
		cli_report_err(err);
	} else {
		run_foreign_read(&foreign, &text, &size);
		if (text)
			note_foreign(summary, image, i, text, size);
	}
	if (last)
		print_summary(summary);
	if (!err)
		end = run_foreign_end(&foreign);
	summary->strange += end == RUN_FOREIGN_NONE;
	if (end == RUN_FOREIGN_LOST)
		say_later(summary, "recording of uid %u, could not be read: %s",
			  (unsigned int)image->uid, image->label);
	else if (end == RUN_FOREIGN_LEFT)
		say_later(summary, "recording of uid %u, left as the program wrote it: %s%s",
			  (unsigned int)image->uid, image->label,
			  image->path ? "" : " (as that program sees it)");
}

/*
 * Loads all recordings. The summary is printed before the last one is finished, because that may
 * take a moment.
 */
static void load_all(struct summary *summary, struct run_images *images)
{
	for (size_t i = 0; i < images->count; i++) {
		struct run_image *image = &images->items[i];
		bool last = i == images->count - 1;

		if (image->path) {
			take_in(summary, image->path, -1, i, last);
		} else if (image->uid != geteuid()) {
			take_in_foreign(summary, image, i, last);
		} else if (!is_removed(image)) {
			take_in_sandboxed(summary, image, i, last);
		} else {
			cli_error(CLI_FAILED, "cannot open '%s': %s", image->label,
				  strerror(ENOENT));
			if (last)
				print_summary(summary);
		}
	}
}

/* The directory of the first recording that has one here, else that of --output. */
static char *find_beside(const struct run_images *images, const char *output)
{
	const char *path = output;

	for (size_t i = 0; i < images->count; i++) {
		if (images->items[i].path) {
			path = images->items[i].path;
			break;
		}
	}
	path = path && strrchr(path, '/') ? path : "./";
	return strndup(path, path[1] ? (size_t)(strrchr(path, '/') - path) : 1);
}

/* Prints the lines about single recordings. */
static void say_notes(struct summary *summary, const struct run_images *images)
{
	size_t said = 0;

	for (size_t at = 0; at < summary->notes.size; at += strlen(summary->notes.data + at) + 1)
		if (said++ < NOTES_SHOWN)
			cli_error(CLI_OK, "%s", summary->notes.data + at);
	if (said > NOTES_SHOWN)
		cli_error(CLI_OK, "the same holds for %zu more recordings", said - NOTES_SHOWN);
	if (summary->strange)
		cli_error(CLI_OK, "other users' files that are no recordings were sent: %zu",
			  summary->strange);
	if (images->missing)
		cli_error(CLI_OK,
			  "recordings of other users or in sandboxes that are not listed, because "
			  "they are too many: %zu",
			  images->missing);
}

static void summary_deinit(struct summary *summary)
{
	for (size_t i = 0; i < summary->count; i++) {
		free(summary->images[i].program);
		free(summary->images[i].unseen);
	}
	free(summary->images);
	buf_deinit(&summary->main);
	buf_deinit(&summary->notes);
	free(summary->beside);
	if (summary->symbolizer)
		symbolizer_destroy(summary->symbolizer);
}

void run_summary_print(const char *program, const struct run_child_end *end,
		       struct run_images *images, const struct run_finishing *finishing)
{
	cleanup(summary_deinit) struct summary summary = {
		.style = terminal_page(STDERR_FILENO),
		.end = end,
		.images = calloc(images->count + 1, sizeof(*summary.images)),
		.started = images->started,
		.started_count = images->started_count,
		.compress = finishing->compress,
		.output = finishing->output,
		.private_slots = finishing->private_slots,
		.ahead = finishing->ahead,
		.beside = find_beside(images, finishing->output),
	};

	buf_init(&summary.main);
	buf_init(&summary.notes);
	if (!summary.images || !images->count) {
		// A program that could not create its recording has said why.
		if (!images->refused)
			put_nothing(program, finishing->started_later);
		return;
	}
	summary.symbolizer = finishing->symbolizer;
	if (finishing->wanted && !summary.symbolizer)
		cli_report_err(symbolizer_create(&summary.symbolizer));
	if (summary.symbolizer)
		cli_report_err(run_watch_places(finishing->watch, summary.symbolizer));
	load_all(&summary, images);
	if (!summary.count && summary.strange == images->count)
		put_nothing(program, finishing->started_later);
	say_notes(&summary, images);
}
