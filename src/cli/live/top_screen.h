/* The terminal of `mallow top`, by ncurses. There can be only one at a time. */
#ifndef MALLOW_CLI_LIVE_TOP_SCREEN_H
#define MALLOW_CLI_LIVE_TOP_SCREEN_H

#include <stdint.h>

#include "hosted/err.h"
#include "report/top/top_text.h"

/* Keys that are no characters. */
enum top_key {
	TOP_KEY_NONE = -1, /* no key in time */
	TOP_KEY_UP = 0x110000,
	TOP_KEY_DOWN,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_RESIZE,
	TOP_KEY_BACKSPACE,
	TOP_KEY_ENTER,
	TOP_KEY_ESCAPE,
	TOP_KEY_END, /* end of the input */
};

/* Takes the terminal over. An error: standard input or output is no terminal. */
struct err *top_screen_open(void);
/* Restores the terminal. */
void top_screen_close(void);

/* Its present size. */
void top_screen_size(unsigned *width, unsigned *height);

/* Draws lines, each ended by a newline. */
void top_screen_draw(const char *text, const struct top_lines *lines);

/* Waits for a key, at most so many milliseconds. Returns an enum top_key or a code point. */
int top_screen_key(int milliseconds);

#endif
