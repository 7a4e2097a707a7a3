#include "cli/run_hint.h"

#include <stdlib.h>
#include <string.h>

#include "base/preload.h"
#include "report/hidden.h"
#include "symbols/own_allocator.h"

void run_hint_allocator(struct buf *buf, const char *program)
{
	struct own_allocator found;

	if (!own_allocator_find(program, &found))
		return;
	if (!found.name) {
		buf_text(buf, "the program defines malloc itself: what that serves is not seen");
		return;
	}
	buf_printf(buf, "the program has an allocator of its own, %s (", found.name);
	if (*found.symbol)
		buf_printf(buf, "%s()", found.symbol);
	else
		buf_text(buf, "by its messages, for it has no symbols");
	buf_text(buf, "): what that serves is not seen, and all numbers are without it. Built with "
		      "the system's malloc (in Rust: without #[global_allocator]) it is");
}

void run_hint_preloads(struct buf *buf)
{
	const char *list = getenv("LD_PRELOAD");
	size_t length;

	for (; list && *list; list += length + (list[length] != '\0')) {
		length = preload_entry_length(list);
		if (!preload_is_sanitizer(list, length))
			continue;
		buf_printf(buf,
			   "'%.*s' is preloaded, and its malloc comes before mallow's: what that "
			   "serves is not seen. Without it in LD_PRELOAD it is",
			   (int)length, list);
		return;
	}
}

/* Writes a line of the summary, if there is anything to say. */
static void put_line(struct buf *buf, struct buf *text)
{
	if (text->size)
		buf_printf(buf, "  hint        %.*s\n", (int)text->size, text->data);
	buf_deinit(text);
}

struct err *run_hint_put(struct buf *buf, const struct style *style, const struct loaded *loaded)
{
	struct err *err = hidden_write(buf, style, loaded->recording, loaded->symbolized);
	struct buf text;

	buf_init(&text);
	run_hint_allocator(&text, recording_facts(loaded->recording)->program);
	put_line(buf, &text);
	buf_init(&text);
	run_hint_preloads(&text);
	put_line(buf, &text);
	return err;
}
