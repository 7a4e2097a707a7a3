#include "cli/live/top_screen.h"

#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Ask ncurses for wide characters, and for functions instead of macros. */
#define NCURSES_WIDECHAR 1
#define NCURSES_NOMACROS 1
#include <ncurses.h>

#include "hosted/cleanup.h"
#include "hosted/files/own_path.h"

static SCREEN *screen;

/*
 * ncurses that the tool brings along (src/launcher) may find no descriptions of terminals, of which
 * a small image has none: ours come after the system's.
 */
static void add_terminals(void)
{
	auto_free char *folder = NULL, *folders = NULL;
	struct err *err = own_path_beside("../lib/mallow/tool/terminfo", &folder);

	if (!err && access(folder, R_OK) == 0 && asprintf(&folders, ":%s", folder) >= 0)
		setenv("TERMINFO_DIRS", folders, 0);
	err_destroy(err);
}

struct err *top_screen_open(void)
{
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return err_create("'top' needs a terminal; 'mallow report' does not");
	// Names and bars are UTF-8, whatever the user's locale is.
	setlocale(LC_CTYPE, "");
	if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
		setlocale(LC_CTYPE, "C.UTF-8");
	add_terminals();
	screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return err_create("ncurses does not know the terminal '%s' (TERM)",
				  getenv("TERM") ? getenv("TERM") : "");
	set_term(screen);
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	set_escdelay(25);
	curs_set(0);
	return NULL;
}

void top_screen_close(void)
{
	endwin();
	delscreen(screen);
	screen = NULL;
}

void top_screen_size(unsigned *width, unsigned *height)
{
	int rows = getmaxy(stdscr), columns = getmaxx(stdscr);

	*width = columns > 0 ? (unsigned)columns : 80;
	*height = rows > 0 ? (unsigned)rows : 24;
}

static attr_t look_of(int line, const struct top_lines *lines)
{
	if (line == 0 || line == lines->titles)
		return A_BOLD;
	if (line == lines->selected)
		return A_REVERSE;
	return line == lines->keys ? A_DIM : A_NORMAL;
}

void top_screen_draw(const char *text, const struct top_lines *lines)
{
	werase(stdscr);
	for (int line = 0; *text && line < getmaxy(stdscr); line++) {
		size_t size = strcspn(text, "\n");

		wattrset(stdscr, (int)look_of(line, lines));
		mvwaddnstr(stdscr, line, 0, text, (int)size);
		text += size + (text[size] == '\n');
	}
	wattrset(stdscr, A_NORMAL);
	wrefresh(stdscr);
}

static int special(wint_t key)
{
	switch (key) {
	case KEY_UP:
		return TOP_KEY_UP;
	case KEY_DOWN:
		return TOP_KEY_DOWN;
	case KEY_PPAGE:
		return TOP_KEY_PAGE_UP;
	case KEY_NPAGE:
		return TOP_KEY_PAGE_DOWN;
	case KEY_RESIZE:
		return TOP_KEY_RESIZE;
	case KEY_BACKSPACE:
		return TOP_KEY_BACKSPACE;
	case KEY_ENTER:
		return TOP_KEY_ENTER;
	default:
		return TOP_KEY_NONE;
	}
}

int top_screen_key(int milliseconds)
{
	wint_t key;
	int result;

	wtimeout(stdscr, milliseconds);
	result = wget_wch(stdscr, &key);
	if (result == ERR)
		return TOP_KEY_NONE;
	if (result == KEY_CODE_YES)
		return special(key);
	switch (key) {
	case 8:
	case 127:
		return TOP_KEY_BACKSPACE;
	case '\n':
	case '\r':
		return TOP_KEY_ENTER;
	case 27:
		return TOP_KEY_ESCAPE;
	case 4:
		return TOP_KEY_END;
	default:
		return (int)key;
	}
}
