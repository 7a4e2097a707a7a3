#include "cli/output/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "hosted/now.h"

static enum { COLOURS_AUTO, COLOURS_ALWAYS, COLOURS_NEVER } colours;

bool terminal_choose_colours(const char *when)
{
	colours = strcmp(when, "always") == 0  ? COLOURS_ALWAYS
		  : strcmp(when, "never") == 0 ? COLOURS_NEVER
					       : COLOURS_AUTO;
	return colours || strcmp(when, "auto") == 0;
}

static bool colours_wanted(bool terminal)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	if (colours)
		return colours == COLOURS_ALWAYS;
	return terminal && !(no_color && *no_color) && !(term && strcmp(term, "dumb") == 0);
}

struct style terminal_style(int fd)
{
	struct style style = {0};
	struct winsize size;

	style.colour = colours_wanted(isatty(fd));
	if (!isatty(fd))
		return style;
	style.width = TERMINAL_PAGE;
	if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col)
		style.width = size.ws_col < TERMINAL_LEAST ? TERMINAL_LEAST : size.ws_col;
	return style;
}

struct style terminal_page(int fd)
{
	struct style style = terminal_style(fd);

	if (!style.width)
		style.width = TERMINAL_PAGE;
	return style;
}

#define QUIET_NS 300000000
#define BAR      30

void progress_init(struct progress *progress, const char *what)
{
	*progress = (struct progress){
		.what = what,
		.terminal = isatty(STDERR_FILENO),
		.percent = -1,
		.begun_ns = now_ns(),
	};
}

void progress_update(void *argument, uint64_t done, uint64_t total)
{
	struct progress *progress = argument;
	int percent = total ? (int)(100.0 * (double)done / (double)total) : 0;
	char bar[3 * BAR + 1], *out = bar;

	if (!progress->terminal || percent == progress->percent ||
	    now_ns() - progress->begun_ns < QUIET_NS)
		return;
	percent = percent > 100 ? 100 : percent;
	for (int i = 0; i < BAR; i++)
		out += sprintf(out, "%s",
			       i * 100 < percent * BAR ? "\xe2\x96\x88" : "\xe2\x96\x91");
	fprintf(stderr, "\r\033[K%s %s %3d %%", progress->what, bar, percent);
	fflush(stderr);
	progress->percent = percent;
	progress->drawn = true;
}

void progress_deinit(struct progress *progress)
{
	if (progress->drawn)
		fputs("\r\033[K", stderr);
	progress->drawn = false;
}
