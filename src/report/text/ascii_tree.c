#include "report/text/ascii_tree.h"

#include <inttypes.h>
#include <string.h>

#include "hosted/cleanup.h"
#include "hosted/file_name.h"
#include "hosted/vec.h"
#include "report/style.h"
#include "report/template_args.h"

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
	while (i + 1 < sizeof(units) / sizeof(units[0]) && bytes / 1000 >= unit) {
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

struct writer {
	struct buf *buf;
	struct symbolized *symbolized;
	const struct source_tree *tree;
	bool strip;
	size_t widths[CELLS];
	VEC(char) bars; /* a bar for each ancestor below the root */
};

static void put_row(struct writer *writer, const struct row *row)
{
	for (int i = 0; i < CELLS; i++) {
		buf_text(writer->buf, row->cells[i]);
		buf_repeat(writer->buf, ' ', writer->widths[i] - strlen(row->cells[i]) + 1);
	}
}

static struct err *put_source(struct writer *writer, const struct source_node *node)
{
	const struct named_frame *lines, *frame;
	struct err *err;
	size_t count;

	err = symbolized_frame(writer->symbolized, node->frame, &lines, &count);
	if (err)
		return err;
	frame = &lines[node->line];
	if (frame->has_symbol && writer->strip) {
		cleanup(buf_deinit) struct buf stripped = BUF_EMPTY;

		template_args_strip(&stripped, frame->function);
		style_safe_text(writer->buf, stripped.data, stripped.size);
	} else if (frame->has_symbol) {
		style_safe_text(writer->buf, frame->function, strlen(frame->function));
	} else {
		buf_printf(writer->buf, "%016" PRIX64, frame->address);
	}
	if (frame->has_symbol && frame->file && frame->line) {
		const char *name = file_name(frame->file);

		buf_text(writer->buf, " [");
		style_safe_text(writer->buf, name, strlen(name));
		buf_printf(writer->buf, ":%" PRIu32 "]", frame->line);
	} else if (!frame->has_symbol && frame->module_name) {
		buf_text(writer->buf, " [");
		style_safe_text(writer->buf, frame->module_name, strlen(frame->module_name));
		buf_text(writer->buf, "]");
	}
	return NULL;
}

static struct err *put_node(struct writer *writer, uint32_t index)
{
	const struct source_node *node = &writer->tree->nodes[index];
	struct err *err = NULL;
	struct row row;

	format_row(&row, node);
	put_row(writer, &row);
	if (index) {
		buf_put(writer->buf, writer->bars.items, writer->bars.count);
		buf_text(writer->buf, node->next_sibling == RECORDING_NONE ? "└" : "├");
		err = put_source(writer, node);
	} else {
		buf_text(writer->buf, "▒");
	}
	buf_char(writer->buf, '\n');
	return err;
}

/* Writes all nodes, each before its children. */
static struct err *walk(struct writer *writer)
{
	const struct source_node *nodes = writer->tree->nodes;
	uint32_t at = 0;
	struct err *err;

	for (;;) {
		err = put_node(writer, at);
		if (err)
			return err;
		if (nodes[at].first_child != RECORDING_NONE) {
			char bar = nodes[at].next_sibling == RECORDING_NONE ? ' ' : '|';

			if (at && !vec_push(&writer->bars, bar))
				return err_no_memory();
			at = nodes[at].first_child;
			continue;
		}
		while (at && nodes[at].next_sibling == RECORDING_NONE) {
			at = nodes[at].parent;
			if (at)
				writer->bars.count--;
		}
		if (!at)
			return NULL;
		at = nodes[at].next_sibling;
	}
}

struct err *ascii_tree_write(struct buf *buf, struct symbolized *symbolized,
			     const struct source_tree *tree, bool strip)
{
	static const struct row head = {{"SIZE", "COUNT", "FIRST", "LAST"}};
	struct writer writer = {.buf = buf, .symbolized = symbolized, .tree = tree, .strip = strip};
	struct err *err;

	for (int i = 0; i < CELLS; i++)
		writer.widths[i] = strlen(head.cells[i]);
	for (uint32_t i = 0; i < tree->count; i++) {
		struct row row;

		format_row(&row, &tree->nodes[i]);
		for (int cell = 0; cell < CELLS; cell++)
			if (strlen(row.cells[cell]) > writer.widths[cell])
				writer.widths[cell] = strlen(row.cells[cell]);
	}
	put_row(&writer, &head);
	buf_text(buf, "SOURCE\n");
	err = walk(&writer);
	buf_char(buf, '\n');
	vec_deinit(&writer.bars);
	return err;
}
