#include "report/export/flamegraph.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/diff/diff_tree.h"
#include "hosted/cleanup.h"
#include "hosted/vec.h"
#include "report/export/xml_text.h"
#include "report/flamegraph_assets.h"
#include "report/text/text_report.h"
#include "report/words/format.h"

/* How a differential flame graph shows the change of a frame. Zeroed: empty. */
struct flamegraph_change {
	const struct diff_tree *sides;
	/* The largest change of a node's children in its direction, as a size. */
	uint64_t *inherited;
};

#define ORANGE 28, 92
#define BLUE   212, 75
#define GREY   "hsl(0,0%,82%)"

/* A change is one child's if that has so many percent of it: colour stands where a change arises.
 */
#define INHERITED_PERCENT 95

static void flamegraph_change_deinit(struct flamegraph_change *change)
{
	free(change->inherited);
	*change = (struct flamegraph_change){0};
}

/* How much more after has. */
static int64_t flamegraph_change_of(const struct flamegraph_change *change, uint32_t node)
{
	return (int64_t)(change->sides->sums[DIFF_AFTER][node] -
			 change->sides->sums[DIFF_BEFORE][node]);
}

/* The only error: no memory. */
static struct err *flamegraph_change_init(struct flamegraph_change *change,
					  const struct diff_tree *sides)
{
	const struct tree *tree = sides->tree;

	change->sides = sides;
	change->inherited = calloc(tree->count + 1u, sizeof(*change->inherited));
	if (!change->inherited)
		return err_no_memory();
	for (uint32_t i = 1; i < tree->count; i++) {
		uint32_t parent = tree->nodes[i].parent;
		int64_t own = flamegraph_change_of(change, i);
		uint64_t size = (uint64_t)llabs(own);

		if ((own > 0) == (flamegraph_change_of(change, parent) > 0) &&
		    size > change->inherited[parent])
			change->inherited[parent] = size;
	}
	return NULL;
}

static void put_hue(struct buf *buf, int hue, int saturation, int lightness)
{
	buf_printf(buf, "hsl(%d,%d%%,%d%%)", hue, saturation, lightness);
}

/* Writes the colour of a node. */
static void flamegraph_change_colour(struct buf *buf, const struct flamegraph_change *change,
				     uint32_t node)
{
	uint64_t before = change->sides->sums[DIFF_BEFORE][0];
	uint64_t after = change->sides->sums[DIFF_AFTER][0];
	double whole = (double)(before > after ? before : after);
	int64_t own = flamegraph_change_of(change, node);
	double size = (double)llabs(own);
	int lightness = size * 10 >= whole ? 58 : size * 100 >= whole ? 71 : 84;

	if (!own || size * 1000 < whole ||
	    (double)change->inherited[node] * 100 >= size * INHERITED_PERCENT)
		buf_text(buf, GREY);
	else if (own > 0)
		put_hue(buf, ORANGE, lightness);
	else
		put_hue(buf, BLUE, lightness);
}

/* " new", " gone" or "": whether a node is on one side alone. */
static const char *flamegraph_change_class(const struct flamegraph_change *change, uint32_t node)
{
	return !change->sides->sums[DIFF_BEFORE][node]  ? " new"
	       : !change->sides->sums[DIFF_AFTER][node] ? " gone"
							: "";
}

#define ROW_HEIGHT    18
#define HEAD_HEIGHT   64 /* the title, and the controls that the script adds */
#define TITLE_COLUMNS 80 /* what follows the command is visible in a narrow window, too */
#define FOOT_HEIGHT   26
#define FOLD_BELOW    10000 /* frames narrower than 1 / this of the whole are left out */

/* A box to be drawn: a node of the tree, where it begins, and how deep it is. */
struct box {
	uint64_t start;
	uint32_t node;
	uint32_t row;
};

struct flamegraph {
	const struct tree *tree;
	enum metric metric;
	bool exact;
	struct flamegraph_change change; /* of a diff; empty: of one recording */
	const char *note;      /* of a diff: what widths are, before the value of the whole */
	VEC(struct box) boxes; /* parents before their children */
	uint32_t rows;
	uint32_t folded;
};

static void flamegraph_deinit(struct flamegraph *graph)
{
	flamegraph_change_deinit(&graph->change);
	vec_deinit(&graph->boxes);
}

static bool is_narrow(const struct flamegraph *graph, uint32_t node)
{
	return graph->tree->nodes[node].value < graph->tree->nodes[0].value / FOLD_BELOW;
}

/* How many nodes are in the subtree of a narrow node. All are narrow, so none gets a box. */
static uint32_t nodes_below(const struct tree *tree, uint32_t top)
{
	const struct tree_node *nodes = tree->nodes;
	uint32_t node = top, count = 1;

	for (;;) {
		if (nodes[node].first_child != RECORDING_NONE) {
			node = nodes[node].first_child;
		} else {
			while (node != top && nodes[node].next_sibling == RECORDING_NONE)
				node = nodes[node].parent;
			if (node == top)
				return count;
			node = nodes[node].next_sibling;
		}
		count++;
	}
}

static struct err *lay_out(struct flamegraph *graph)
{
	const struct tree_node *nodes = graph->tree->nodes;

	if (!vec_push(&graph->boxes, (struct box){0, 0, 0}))
		return err_no_memory();
	for (size_t i = 0; i < graph->boxes.count; i++) {
		struct box box = graph->boxes.items[i];
		uint64_t start = box.start;

		if (box.row >= graph->rows)
			graph->rows = box.row + 1;
		for (uint32_t child = nodes[box.node].first_child; child != RECORDING_NONE;
		     child = nodes[child].next_sibling) {
			if (is_narrow(graph, child))
				graph->folded += nodes_below(graph->tree, child);
			else if (!vec_push(&graph->boxes, (struct box){start, child, box.row + 1}))
				return err_no_memory();
			start += nodes[child].value;
		}
	}
	return NULL;
}

static uint32_t hash(const char *text)
{
	uint32_t value = 2166136261u; // FNV-1a: the same in each run and on each machine

	for (; *text; text++)
		value = (value ^ (unsigned char)*text) * 16777619u;
	return value ^ value >> 15;
}

/*
 * Writes a frame's colour: warm for the program, a cool hue of its own for each library, grey
 * without a module.
 */
static void put_colour(struct buf *buf, const struct named_frame *frame)
{
	uint32_t shade, hue, saturation;

	if (!frame) {
		buf_text(buf, "hsl(0,0%,80%)");
		return;
	}
	shade = hash(frame->function);
	if (frame->in_program) {
		hue = 12 + shade % 40;
		saturation = 85;
	} else if (frame->module_name) {
		hue = 80 + hash(frame->module_name) % 240;
		saturation = 45;
	} else {
		hue = 0;
		saturation = 0;
	}
	buf_printf(buf, "hsl(%u,%u%%,%u%%)", hue, saturation, 66 + shade / 64 % 14);
}

/*
 * Writes a percentage in steps of a hundredth of a per mille, finer than any screen's pixels. By
 * integers, because the locale may change how a double is printed.
 */
static void put_percent(struct buf *buf, uint64_t part, uint64_t whole)
{
	uint64_t value = whole ? (uint64_t)((double)part / (double)whole * 1e7 + 0.5) : 0;

	buf_printf(buf, "%" PRIu64, value / 100000);
	if (value % 100000)
		buf_printf(buf, ".%05u", (unsigned)(value % 100000));
	buf_char(buf, '%');
}

/* A value in the metric's unit: "12.3 MB", "12,345 calls". */
static struct formatted amount(const struct flamegraph *graph, uint64_t value)
{
	if (metric_info(graph->metric)->bytes)
		return format_bytes(value, graph->exact);
	return format_counted(value, "call", graph->exact);
}

/* A node's label. The root stands for the whole program. */
static const char *label_of(const struct flamegraph *graph, uint32_t node)
{
	return node ? graph->tree->nodes[node].label : "all";
}

/* Writes what both sides of a diff have. */
static void put_sides(struct buf *buf, const struct flamegraph *graph, uint32_t node)
{
	uint64_t *const *sums = graph->change.sides->sums;

	buf_printf(buf, "%s before, ", amount(graph, sums[DIFF_BEFORE][node]).text);
	buf_printf(buf, "%s after, ", amount(graph, sums[DIFF_AFTER][node]).text);
	buf_text(buf, format_change(flamegraph_change_of(&graph->change, node),
				    metric_info(graph->metric)->bytes, graph->exact)
			      .text);
}

static void put_tooltip(struct buf *buf, const struct flamegraph *graph, uint32_t index)
{
	const struct tree_node *node = &graph->tree->nodes[index];
	uint64_t whole = graph->tree->nodes[0].value;

	xml_text(buf, label_of(graph, index));
	buf_printf(buf, "\n%s %s, ", amount(graph, node->value).text,
		   metric_info(graph->metric)->name);
	xml_text(buf, format_percent(node->value, whole).text);
	if (graph->change.sides) {
		buf_char(buf, '\n');
		put_sides(buf, graph, index);
	} else {
		buf_printf(buf, ", in %s", format_counted(node->calls, "call", false).text);
	}
	if (node->folded)
		buf_printf(buf, "\nand what it called: %s",
			   format_counted(node->folded, "frame", true).text);
	if (node->frame && node->frame->file) {
		buf_char(buf, '\n');
		xml_text(buf, node->frame->file);
		if (node->frame->line)
			buf_printf(buf, ":%u", node->frame->line);
	}
}

/*
 * Writes a box as a nested svg, which clips its text by itself. On zooming only its x and width
 * change; the script computes them from data-s and data-v, its begin and its value.
 */
static void put_box(struct buf *buf, const struct flamegraph *graph, const struct box *box)
{
	const struct tree_node *node = &graph->tree->nodes[box->node];
	uint64_t whole = graph->tree->nodes[0].value;
	const char *class = "";

	if (graph->change.sides)
		class = flamegraph_change_class(&graph->change, box->node);
	buf_printf(buf, "<svg class=\"f%s\" x=\"", class);
	put_percent(buf, box->start, whole);
	buf_printf(buf, "\" y=\"%u\" width=\"", HEAD_HEIGHT + box->row * ROW_HEIGHT);
	put_percent(buf, node->value, whole);
	buf_printf(buf, "\" height=\"%d\" data-s=\"%" PRIu64 "\" data-v=\"%" PRIu64 "\"><title>",
		   ROW_HEIGHT, box->start, node->value);
	put_tooltip(buf, graph, box->node);
	buf_text(buf, "</title><rect width=\"100%\" height=\"100%\" fill=\"");
	if (graph->change.sides)
		flamegraph_change_colour(buf, &graph->change, box->node);
	else
		put_colour(buf, node->frame);
	buf_text(buf, "\"/>");
	if (strcmp(class, " gone") == 0)
		buf_text(buf, "<rect width=\"100%\" height=\"100%\" fill=\"url(#gone)\"/>");
	buf_text(buf, "<text x=\"3\" y=\"13\">");
	xml_text(buf, label_of(graph, box->node));
	buf_text(buf, "</text></svg>\n");
}

static void put_heading(struct buf *buf, const struct flamegraph *graph, const char *title)
{
	const struct metric_info *info = metric_info(graph->metric);

	buf_text(buf, "<text class=\"title\" x=\"10\" y=\"22\">");
	xml_text(buf, title);
	buf_text(buf, "</text>\n<text class=\"note\" x=\"10\" y=\"40\">");
	if (graph->note)
		buf_printf(buf, "%s: %s; %s %s", info->name, info->text, graph->note,
			   amount(graph, graph->tree->nodes[0].value).text);
	else
		buf_printf(buf, "%s: %s, in all %s", info->name, info->text,
			   amount(graph, graph->tree->nodes[0].value).text);
	if (graph->change.sides) {
		buf_text(buf, "; ");
		put_sides(buf, graph, 0);
	}
	if (graph->folded)
		buf_printf(buf, "; %s below 0.01 %% left out",
			   format_counted(graph->folded, "frame", true).text);
	if (!graph->tree->nodes[0].value)
		buf_text(buf, ": nothing to show");
	buf_text(buf, "</text>\n");
}

static void put_document(struct buf *buf, const struct flamegraph *graph, const char *title)
{
	unsigned height = HEAD_HEIGHT + graph->rows * ROW_HEIGHT + FOOT_HEIGHT;

	buf_printf(buf,
		   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100%%\" height=\"%u\" "
		   "data-rows=\"%u\" data-row=\"%d\" data-head=\"%d\" data-metric=\"%s\" "
		   "data-unit=\"%s\">\n<title>",
		   height, graph->rows, ROW_HEIGHT, HEAD_HEIGHT, metric_info(graph->metric)->name,
		   metric_info(graph->metric)->bytes ? "B" : "calls");
	xml_text(buf, title);
	buf_text(buf, "</title>\n<style>\n");
	buf_text(buf, flamegraph_css);
	buf_text(buf, "</style>\n");
	if (graph->change.sides)
		buf_text(buf, "<defs><pattern id=\"gone\" width=\"6\" height=\"6\" "
			      "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
			      "<rect width=\"2\" height=\"6\" fill=\"#141414\" "
			      "fill-opacity=\"0.22\"/></pattern></defs>\n");
	buf_text(buf, "<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n");
	put_heading(buf, graph, title);
	buf_text(buf, "<g id=\"frames\">\n");
	for (size_t i = 0; i < graph->boxes.count; i++)
		put_box(buf, graph, &graph->boxes.items[i]);
	buf_text(buf, "</g>\n<script><![CDATA[\n");
	buf_text(buf, flamegraph_js);
	buf_text(buf, "]]></script>\n</svg>\n");
}

static struct err *write_graph(struct buf *buf, struct flamegraph *graph, struct buf *title)
{
	struct err *err = lay_out(graph);
	const char *text;

	if (err)
		return err;
	buf_printf(title, ": %s", metric_info(graph->metric)->name);
	text = buf_string(title);
	if (!text)
		return err_no_memory();
	put_document(buf, graph, text);
	return NULL;
}

struct err *flamegraph_write(struct buf *buf, const struct recording *recording,
			     const struct tree *tree, enum metric metric, bool exact)
{
	cleanup(flamegraph_deinit) struct flamegraph graph = {
		.tree = tree,
		.metric = metric,
		.exact = exact,
		.boxes = VEC_EMPTY,
	};
	cleanup(buf_deinit) struct buf title = BUF_EMPTY;

	text_report_title(&title, recording_facts(recording), TITLE_COLUMNS);
	return write_graph(buf, &graph, &title);
}

struct err *flamegraph_write_diff(struct buf *buf, const struct diff *diff,
				  const struct diff_tree *tree, enum diff_show show,
				  enum metric metric, bool exact,
				  const char *const moments[DIFF_SIDES])
{
	static const char *const notes[] = {
		[DIFF_SHOW_LARGER] = "widths: the larger of before and after, in all",
		[DIFF_SHOW_GREW] = "widths: what sites grew by, in all",
		[DIFF_SHOW_FELL] = "widths: what sites fell by, in all",
	};
	cleanup(flamegraph_deinit) struct flamegraph graph = {
		.tree = tree->tree,
		.metric = metric,
		.exact = exact,
		.note = notes[show],
		.boxes = VEC_EMPTY,
	};
	cleanup(buf_deinit) struct buf title = BUF_EMPTY;
	struct err *err = flamegraph_change_init(&graph.change, tree);

	if (err)
		return err;
	for (int side = 0; side < DIFF_SIDES; side++) {
		if (side == DIFF_AFTER)
			buf_text(&title, " \xe2\x86\x92 ");
		text_report_title(&title, recording_facts(diff->sides[side]), TITLE_COLUMNS);
		if (moments[side])
			buf_printf(&title, " at %s", moments[side]);
	}
	return write_graph(buf, &graph, &title);
}
