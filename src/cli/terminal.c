#include "cli/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool colours_wanted(void)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	return !(no_color && *no_color) && !(term && strcmp(term, "dumb") == 0);
}

struct style terminal_style(int fd)
{
	struct style style = {0};
	struct winsize size;

	if (!isatty(fd))
		return style;
	style.colour = colours_wanted();
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
