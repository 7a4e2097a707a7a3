#include "report/text/ascii_tree.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "hosted/cleanup.h"
#include "hosted/file_name.h"
#include "hosted/vec.h"
#include "report/words/style.h"
#include "report/names/template_args.h"

#define SECOND UINT64_C(1000000000)

#define CELL_MAX 64

enum { SIZE, COUNT, FIRST, LAST, CELLS };

struct row {
	char cells[CELLS][CELL_MAX];
};

static void format_size(char text[CELL_MAX], uint64_t bytes)
{
	static const char *const units[] = {"KB", "MB", "GB", "TB", "PB", "EB"};
	uint64_t unit = 1000;
	size_t i = 0;

	if (bytes < 1000) {
		snprintf(text, CELL_MAX, "%7" PRIu64, bytes);
		return;
	}
	while (i + 1 < ARRAY_COUNT(units) && bytes / 1000 >= unit) {
		unit *= 1000;
		i++;
	}
	snprintf(text, CELL_MAX, "%3" PRIu64 ".%03" PRIu64 " %s", bytes / unit,
		 bytes % unit / (unit / 1000), units[i]);
}

/* A time since the start, in whole seconds. */
static void format_since(char text[CELL_MAX], uint64_t ns)
{
	uint64_t s = ns / SECOND, days = s / 86400;
	unsigned int hours = s / 3600 % 24, minutes = s / 60 % 60, seconds = s % 60;

	if (days)
		snprintf(text, CELL_MAX, "%" PRIu64 " days %02uh%02um%02us", days, hours, minutes,
			 seconds);
	else if (hours)
		snprintf(text, CELL_MAX, "%02uh%02um%02us", hours, minutes, seconds);
	else if (minutes)
		snprintf(text, CELL_MAX, "%02um%02us", minutes, seconds);
	else
		snprintf(text, CELL_MAX, "%02us", seconds);
}

static void format_row(struct row *row, const struct source_node *node)
{
	format_size(row->cells[SIZE], node->size);
	snprintf(row->cells[COUNT], CELL_MAX, "%" PRIu64, node->calls);
	format_since(row->cells[FIRST], node->first_ns);
	format_since(row->cells[LAST], node->last_ns);
}

struct ascii_tree {
	struct symbolized *symbolized;
	const struct source_tree *tree;
	bool strip;
	size_t widths[CELLS]; /* 0: nothing is written yet */
	uint32_t at;          /* the node to be written next */
	VEC(char) bars;       /* a bar for each ancestor of it below the root */
};

static void put_row(struct buf *buf, const struct ascii_tree *ascii, const struct row *row)
{
	for (int i = 0; i < CELLS; i++) {
		buf_text(buf, row->cells[i]);
		buf_repeat(buf, ' ', ascii->widths[i] - strlen(row->cells[i]) + 1);
	}
}

static struct err *put_source(struct buf *buf, struct ascii_tree *ascii,
			      const struct source_node *node)
{
	const struct named_frame *lines, *frame;
	struct err *err;
	size_t count;

	err = symbolized_frame(ascii->symbolized, node->frame, &lines, &count);
	if (err)
		return err;
	frame = &lines[node->line];
	if (frame->has_symbol && ascii->strip) {
		cleanup(buf_deinit) struct buf stripped = BUF_EMPTY;

		template_args_strip(&stripped, frame->function);
		style_safe_text(buf, stripped.data, stripped.size);
	} else if (frame->has_symbol) {
		style_safe_text(buf, frame->function, strlen(frame->function));
	} else {
		buf_printf(buf, "%016" PRIX64, frame->address);
	}
	if (frame->has_symbol && frame->file && frame->line) {
		const char *name = named_frame_file_name(frame);

		buf_text(buf, " [");
		style_safe_text(buf, name, strlen(name));
		buf_printf(buf, ":%" PRIu32 "]", frame->line);
	} else if (!frame->has_symbol && frame->module_name) {
		buf_text(buf, " [");
		style_safe_text(buf, frame->module_name, strlen(frame->module_name));
		buf_text(buf, "]");
	}
	return NULL;
}

static struct err *put_node(struct buf *buf, struct ascii_tree *ascii)
{
	const struct source_node *node = &ascii->tree->nodes[ascii->at];
	struct err *err = NULL;
	struct row row;

	format_row(&row, node);
	put_row(buf, ascii, &row);
	if (ascii->at) {
		buf_put(buf, ascii->bars.items, ascii->bars.count);
		buf_text(buf, node->next_sibling == RECORDING_NONE ? "└" : "├");
		err = put_source(buf, ascii, node);
	} else {
		buf_text(buf, "▒");
	}
	buf_char(buf, '\n');
	return err;
}

/* Steps to the node after the one that was written, which is not before its parent. */
static struct err *step_on(struct ascii_tree *ascii, bool *done)
{
	const struct source_node *nodes = ascii->tree->nodes;
	uint32_t at = ascii->at;

	if (nodes[at].first_child != RECORDING_NONE) {
		char bar = nodes[at].next_sibling == RECORDING_NONE ? ' ' : '|';

		if (at && !vec_push(&ascii->bars, bar))
			return err_no_memory();
		ascii->at = nodes[at].first_child;
		return NULL;
	}
	while (at && nodes[at].next_sibling == RECORDING_NONE) {
		at = nodes[at].parent;
		if (at)
			ascii->bars.count--;
	}
	*done = !at;
	ascii->at = at ? nodes[at].next_sibling : 0;
	return NULL;
}

/* The root has the most of all but the latest first allocation: more is never shown in less room.
 */
static void measure(struct ascii_tree *ascii, const struct row *head)
{
	struct source_node most = ascii->tree->nodes[0];
	struct row row;

	for (uint32_t i = 1; i < ascii->tree->count; i++)
		if (ascii->tree->nodes[i].first_ns > most.first_ns)
			most.first_ns = ascii->tree->nodes[i].first_ns;
	format_row(&row, &most);
	for (int i = 0; i < CELLS; i++) {
		size_t width = strlen(row.cells[i]);

		ascii->widths[i] = strlen(head->cells[i]);
		if (width > ascii->widths[i])
			ascii->widths[i] = width;
	}
}

struct err *ascii_tree_create(struct symbolized *symbolized, const struct source_tree *tree,
			      bool strip, struct ascii_tree **ret)
{
	struct ascii_tree *ascii = calloc(1, sizeof(*ascii));

	if (!ascii)
		return err_no_memory();
	ascii->symbolized = symbolized;
	ascii->tree = tree;
	ascii->strip = strip;
	*ret = ascii;
	return NULL;
}

void ascii_tree_destroy(struct ascii_tree *ascii)
{
	if (!ascii)
		return;
	vec_deinit(&ascii->bars);
	free(ascii);
}

struct err *ascii_tree_more(struct ascii_tree *ascii, struct buf *buf, size_t size, bool *done)
{
	static const struct row head = {{"SIZE", "COUNT", "FIRST", "LAST"}};
	struct err *err = NULL;

	if (!ascii->widths[0]) {
		measure(ascii, &head);
		put_row(buf, ascii, &head);
		buf_text(buf, "SOURCE\n");
	}
	while (!err && !*done && buf->size < size) {
		err = put_node(buf, ascii);
		if (!err)
			err = step_on(ascii, done);
	}
	if (*done)
		buf_char(buf, '\n');
	return err;
}
