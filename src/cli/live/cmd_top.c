/* mallow top: what a program has live, in a terminal, as it changes. */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analysis/growing/growing.h"
#include "base/compiler.h"
#include "cli/cli.h"
#include "cli/live/live_report.h"
#include "cli/live/top_screen.h"
#include "cli/live/top_source.h"
#include "cli/options/moment_operand.h"
#include "cli/options/options.h"
#include "cli/options/setting_options.h"
#include "cli/options/shared_options.h"
#include "hosted/cleanup.h"
#include "report/top/top_text.h"

enum { INTERVAL, FULL, PLUMBING };

static const struct option_spec options_of_top[] = {
	[INTERVAL] = {.name = "interval",
		      .value = "SECONDS",
		      .text = "between two readings, or a time such as 500ms",
		      .standard = "1"},
	[FULL] = {.name = "full",
		  .text = "fold no frames, and cut names at the screen's edge only"},
	[PLUMBING] = PLUMBING_OPTION,
};

#define PAGE    10
#define SHARE   3 /* reading takes at most one part of the time in so many */
#define MILLION INT64_C(1000000)
#define FOREVER INT64_C(3600000) /* milliseconds: wait until a key is pressed */

/* The state of the command. */
struct top {
	struct top_model model;
	struct top_screen screen;
	struct plumbing *plumbing;   /* of the model */
	struct distinct_names names; /* of the screen */
	const char *given;           /* as typed */
	struct top_source source;
	struct growing *growing; /* reads it */
	char *name;
	int64_t interval; /* milliseconds from one reading to the next … */
	int64_t next;     /* … and when that is due */
	bool typing;      /* the user types a filter; its text so far: */
	char typed[TOP_FILTER_MAX];
	char prompt[TOP_FILTER_MAX + 32];
};

static void top_deinit(struct top *top)
{
	top_model_deinit(&top->model);
	plumbing_destroy(top->plumbing);
	distinct_names_deinit(&top->names);
	growing_close(top->growing);
	free(top->name);
	top_source_end(&top->source);
}

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (int64_t)time.tv_sec * 1000 + time.tv_nsec / MILLION;
}

/*
 * Reads the recording again. If that takes a while, because it cannot be read on from the last
 * time, it is read less often.
 */
static struct err *read_again(struct top *top)
{
	struct recording *recording = NULL;
	int64_t begun = now(), took;
	struct err *err = NULL;

	top_model_drop(&top->model);
	if (!top->growing)
		err = growing_open_descriptor("the recording", top->source.fd, RECORDING_SUMS,
					      &top->growing);
	if (!err)
		err = growing_look(top->growing, &recording);
	if (!err)
		err = top_model_take(&top->model, recording);
	if (err)
		return err;
	if (!top->name)
		top->name = live_output_name(recording_facts(recording));
	if (!top->name)
		return err_no_memory();
	top->screen.name = top->name;
	top->screen.ended = !recording_facts(recording)->writing;
	took = now() - begun;
	top->next = begun + (took * SHARE > top->interval ? took * SHARE : top->interval);
	return NULL;
}

/*
 * Looks for another recording of the process: it may have executed a program, or begun to record
 * again.
 */
static struct err *find_again(struct top *top)
{
	struct top_model fresh = {.sort = top->model.sort, .plumbing = top->plumbing};
	struct top_source source;
	struct err *err = top_source_open(top->given, &source);

	top->next = now() + top->interval;
	if (err) {
		err_destroy(err);
		return NULL;
	}
	memcpy(fresh.filter, top->model.filter, sizeof(fresh.filter));
	free(steal(&top->name));
	top_model_deinit(&top->model);
	growing_close(steal(&top->growing));
	top->model = fresh;
	top_source_end(&top->source);
	top->source = source;
	return read_again(top);
}

static struct err *draw_screen(struct top *top)
{
	cleanup(buf_deinit) struct buf text = {.fd = -1, .shown = true};
	struct top_lines lines;
	struct err *err;

	top_screen_size(&top->screen.width, &top->screen.height);
	snprintf(top->prompt, sizeof(top->prompt), "only with: %s_", top->typed);
	top->screen.prompt = top->typing ? top->prompt : NULL;
	err = top_text_write(&text, &top->model, &top->screen, &lines);
	if (!err && !buf_string(&text))
		err = err_no_memory();
	if (!err)
		top_screen_draw(buf_string(&text), &lines);
	return err;
}

/* Handles a key while a filter is typed. */
static struct err *type(struct top *top, int key)
{
	size_t length = strlen(top->typed);

	if (key == TOP_KEY_ESCAPE)
		*top->typed = 0;
	if (key == TOP_KEY_ESCAPE || key == TOP_KEY_ENTER)
		top->typing = false;
	else if (key == TOP_KEY_BACKSPACE && length)
		top->typed[length - 1] = 0;
	else if (key >= ' ' && key < 127 && length + 1 < sizeof(top->typed))
		memcpy(top->typed + length, (char[]){(char)key, 0}, 2);
	else
		return NULL;
	return top_model_filter(&top->model, top->typed);
}

static void move(struct top_screen *screen, int64_t by)
{
	if (by < 0 && screen->select < (uint64_t)-by)
		screen->select = 0;
	else
		screen->select += (size_t)by; // corrected when it is drawn
}

static struct err *press(struct top *top, int key, bool *end)
{
	struct top_screen *screen = &top->screen;

	if (top->typing)
		return type(top, key);
	switch (key) {
	case 'q':
	case TOP_KEY_END:
		*end = true;
		return NULL;
	case 's':
		return top_model_sort(&top->model, TOP_BY_SIZE);
	case 'c':
		return top_model_sort(&top->model, TOP_BY_COUNT);
	case 'd':
		return top_model_sort(&top->model, TOP_BY_CHANGE);
	case 'a':
		return top_model_sort(&top->model, TOP_BY_CALLS);
	case 'm':
		return top_model_mark(&top->model);
	case '/':
		top->typing = true;
		return NULL;
	case 'f':
	case ' ':
		screen->frozen = !screen->frozen;
		return NULL;
	case 't':
		screen->threads = !screen->threads;
		return NULL;
	case TOP_KEY_ENTER:
		screen->stack = !screen->stack;
		return NULL;
	case TOP_KEY_UP:
	case 'k':
		move(screen, -1);
		return NULL;
	case TOP_KEY_DOWN:
	case 'j':
		move(screen, 1);
		return NULL;
	case TOP_KEY_PAGE_UP:
		move(screen, -PAGE);
		return NULL;
	case TOP_KEY_PAGE_DOWN:
		move(screen, PAGE);
		return NULL;
	default:
		return NULL;
	}
}

/* How many milliseconds to wait for a key. */
static int patience(const struct top *top)
{
	int64_t left = top->screen.frozen ? FOREVER : top->next - now();

	return left > 0 ? (int)left : 0;
}

static struct err *go_on(struct top *top)
{
	struct err *err = NULL;
	bool end = false;

	while (!err && !end) {
		int key;

		err = draw_screen(top);
		if (err)
			return err;
		key = top_screen_key(patience(top));
		if (key != TOP_KEY_NONE)
			err = press(top, key, &end);
		if (!err && !top->screen.frozen && now() >= top->next)
			err = top->screen.ended ? find_again(top) : read_again(top);
	}
	return err;
}

static bool read_interval(const struct options *options, int64_t *ret)
{
	const char *word = options->values[INTERVAL];
	uint64_t ns = UINT64_C(1000000000);

	if (word && (!setting_parse(SETTING_INTERVAL, word, &ns) || !ns)) {
		cli_error(CLI_USAGE, "'%s' is no value of --interval: allowed is %s", word,
			  setting_allowed(SETTING_INTERVAL));
		return false;
	}
	*ret = (int64_t)(ns / 1000000);
	return true;
}

static int run_top(const struct command *command, const struct options *options)
{
	cleanup(top_deinit) struct top top = {.source.fd = -1};
	struct err *err;

	if (!options_operands(command, options, 1, 1, "a process id or a recording") ||
	    !moment_operands_refuse(command, options) || !read_interval(options, &top.interval))
		return CLI_USAGE;
	top.given = options->operands[0];
	top.screen.full = options->values[FULL] != NULL;
	top.screen.names = &top.names;
	err = plumbing_option_read(options->values[PLUMBING], &top.plumbing);
	top.model.plumbing = top.plumbing;
	if (!err)
		err = top_source_open(top.given, &top.source);
	if (!err)
		err = read_again(&top);
	if (!err)
		err = top_screen_open();
	if (err)
		return cli_report_err(err);
	err = go_on(&top);
	top_screen_close();
	return cli_report_err(err);
}

const struct command_body command_top = {
	.options = options_of_top,
	.option_count = ARRAY_COUNT(options_of_top),
	.names = true,
	.run = run_top,
	.details =
		"PID is a program that runs under mallow live or mallow run, or one of these "
		"themselves. The program is not touched: its table, or its recording, is read "
		"again and again, a large recording less often. To any other program mallow "
		"attaches, as 'mallow attach' does, and shows what it allocates from then on.\n\n"
		"A line is called after your own code; behind > stands what that called of a "
		"library, behind < its callers.\n\n"
		"Keys: s, c, d, a order by live bytes, live blocks, change since the mark, and "
		"calls. m sets the mark. / shows only what has a text in its stack's functions, "
		"files or libraries; Enter ends that, Esc drops it. t shows threads, Enter the "
		"stack "
		"of the selected line, f stands still, q ends. The line of blocks is what was "
		"live at "
		"each reading, the latest to the right.",
};
