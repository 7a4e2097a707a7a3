#include "cli/output/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

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
