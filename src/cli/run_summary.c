#include "cli/run_summary.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/loaded.h"
#include "cli/terminal.h"
#include "hosted/buf.h"
#include "hosted/cleanup.h"
#include "report/format.h"
#include "report/summary.h"
#include "report/text_report.h"

#define OTHERS_SHOWN 20
#define TITLE        "mallow: "

/* What the table needs of each recording; only the first one's whole content is kept open. */
struct image {
	const char *path;
	char *program;
	uint32_t pid;
	uint64_t events, peak_bytes, leaked_bytes, total_bytes;
};

/* The most events first: the program that does the work, not the shell that started it. */
static int by_events(const void *left, const void *right)
{
	const struct image *a = left, *b = right;

	if (a->events != b->events)
		return a->events < b->events ? 1 : -1;
	return a->peak_bytes < b->peak_bytes ? 1 : a->peak_bytes > b->peak_bytes ? -1 : 0;
}

/* Relative to the working directory where that is shorter to type. */
static const char *short_path(const char *path)
{
	auto_free char *directory = getcwd(NULL, 0);
	size_t length = directory ? strlen(directory) : 0;

	if (length > 1 && strncmp(path, directory, length) == 0 && path[length] == '/')
		return path + length + 1;
	return path;
}

/* As one word of a shell. */
static void put_word(struct buf *buf, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-./,:+@%=";

	if (*word && *word != '-' && word[strspn(word, plain)] == 0) {
		buf_text(buf, word);
		return;
	}
	buf_text(buf, *word == '-' ? "./'" : "'");
	for (; *word; word++) {
		if (*word == '\'')
			buf_text(buf, "'\\''");
		else
			buf_char(buf, *word);
	}
	buf_char(buf, '\'');
}

static bool load_image(const char *path, struct image *ret)
{
	cleanup(loaded_close) struct loaded loaded = {0};
	const struct recording_summary *sum;
	const struct recording_facts *facts;
	const char *slash;

	if (!loaded_open(path, false, &loaded))
		return false;
	facts = recording_facts(loaded.recording);
	sum = recording_summary(loaded.recording);
	slash = strrchr(facts->program, '/');
	*ret = (struct image){
		.path = path,
		.program = strdup(slash ? slash + 1 : facts->program),
		.pid = facts->pid,
		.events = facts->events,
		.peak_bytes = sum->peak_bytes,
		.leaked_bytes = sum->leaked_bytes,
		.total_bytes = sum->total_bytes,
	};
	return true;
}

/* The image with the most events, in full. */
static bool put_main(struct buf *buf, const struct style *style, const struct run_child_end *end,
		     const char *path)
{
	cleanup(loaded_close) struct loaded loaded = {0};
	const struct recording_facts *facts;

	if (!loaded_open(path, false, &loaded))
		return false;
	buf_char(buf, '\n');
	facts = recording_facts(loaded.recording);
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
	summary_write(buf, style, loaded.recording);
	summary_write_gaps(buf, style, loaded.recording);
	return true;
}

static void put_others(struct buf *buf, const struct image *images, size_t count)
{
	buf_printf(buf,
		   "\n%s of this run:\n"
		   "       PID       peak     leaked      total  program, recording\n",
		   format_counted(count, "more recording", true).text);
	for (size_t i = 0; i < count && i < OTHERS_SHOWN; i++) {
		const char *path = short_path(images[i].path);
		const char *program = images[i].program ? images[i].program : "";

		buf_printf(buf, "%10" PRIu32 " %10s %10s %10s  ", images[i].pid,
			   format_bytes(images[i].peak_bytes, false).text,
			   format_bytes(images[i].leaked_bytes, false).text,
			   format_bytes(images[i].total_bytes, false).text);
		style_safe_text(buf, program, strlen(program));
		buf_text(buf, "  ");
		put_word(buf, path);
		buf_char(buf, '\n');
	}
	if (count > OTHERS_SHOWN)
		buf_printf(buf, "           \xe2\x80\xa6 %zu more\n", count - OTHERS_SHOWN);
}

/* As the tool itself was called, so that the line can be copied: "mallow", "build/mallow". */
static void put_next(struct buf *buf, const char *path)
{
	buf_text(buf, "\n  recording   ");
	put_word(buf, path);
	buf_text(buf, "\n  next        ");
	put_word(buf, program_invocation_name);
	buf_text(buf, " report ");
	put_word(buf, path);
	buf_text(buf, "\n              ");
	put_word(buf, program_invocation_name);
	buf_text(buf, " export --to flamegraph -o flame.svg ");
	put_word(buf, path);
	buf_char(buf, '\n');
}

static void put_nothing(const char *program)
{
	cli_error(
		CLI_FAILED,
		"'%s' left no recording: it or what it executed is statically linked, setuid, or "
		"removed LD_PRELOAD from its environment; or no file could be written (--log warn "
		"says more)",
		program);
}

void run_summary_print(const char *program, const struct run_child_end *end, char **paths,
		       size_t count)
{
	struct style style = terminal_style(STDERR_FILENO);
	auto_free struct image *images = calloc(count + 1, sizeof(*images));
	cleanup(buf_deinit) struct buf buf;
	size_t good = 0;

	buf_init_fd(&buf, STDERR_FILENO, "standard error");
	if (!images || !count) {
		put_nothing(program);
		return;
	}
	if (count == 1) // the common case need not be loaded for being compared
		images[good++].path = paths[0];
	for (size_t i = 0; count > 1 && i < count; i++)
		good += load_image(paths[i], &images[good]);
	qsort(images, good, sizeof(*images), by_events);
	if (good && put_main(&buf, &style, end, images[0].path)) {
		put_next(&buf, short_path(images[0].path));
		if (good > 1)
			put_others(&buf, images + 1, good - 1);
	}
	for (size_t i = 0; i < good; i++)
		free(images[i].program);
	cli_report_err(buf_finish(&buf));
}
