#include "report/text/text_tree.h"

#include "analysis/trees/tree.h"
#include "hosted/cleanup.h"
#include "hosted/vec.h"
#include "report/words/format.h"
#include "report/names/frame_text.h"

#define NUMBERS_COLUMNS 20 /* "100.0 %    1.23 MB  " */
#define PREFIX_COLUMNS  3

/* A node whose children are being written. */
struct level {
	uint32_t next;    /* the child to write next */
	uint32_t shown;   /* how many children are still to be written */
	uint32_t folded;  /* how many children are left out */
	uint64_t rest;    /* their value */
	size_t prefix;    /* bytes of the prefix before its children */
	unsigned columns; /* of that prefix */
	bool chain;       /* one child and hardly anything else: not indented */
};

struct tree_writer {
	struct buf *buf;
	const struct style *style;
	const struct tree *tree;
	enum metric metric;
	uint32_t top;
	struct buf prefix;
	bool left_out; /* something was left out, and no line counts it */
	VEC(struct level) levels;
};

static void tree_writer_deinit(struct tree_writer *writer)
{
	buf_deinit(&writer->prefix);
	vec_deinit(&writer->levels);
}

static struct level level_of(struct tree_writer *writer, uint32_t node)
{
	const struct tree_node *nodes = writer->tree->nodes;
	struct level level = {.next = nodes[node].first_child};
	double least = writer->style->full ? 0 : (double)nodes[0].value / 100;

	for (uint32_t i = level.next; i != RECORDING_NONE; i = nodes[i].next_sibling) {
		bool room = writer->style->full || !writer->top || level.shown < writer->top;

		if (room && (double)nodes[i].value >= least) {
			level.shown++;
		} else {
			level.folded++;
			level.rest += nodes[i].value;
		}
	}
	/*
	 * A line for crumbs beside a long chain would indent each frame of the chain, until names
	 * have no room.
	 */
	if (level.shown == 1 && (double)level.rest < least) {
		writer->left_out |= level.folded != 0;
		level.folded = 0;
	}
	level.chain = level.shown == 1 && !level.folded;
	return level;
}

static void put_numbers(struct tree_writer *writer, uint64_t value)
{
	struct buf *buf = writer->buf;
	bool bytes = metric_info(writer->metric)->bytes;

	buf_printf(buf, "%7s ", format_percent(value, writer->tree->nodes[0].value).text);
	style_printf(buf, writer->style, STYLE_STRONG, "%10s",
		     bytes ? format_bytes(value, writer->style->exact).text
			   : format_count(value, writer->style->exact).text);
	buf_text(buf, "  ");
}

static void put_branch(struct tree_writer *writer, const struct level *level, bool last)
{
	style_begin(writer->buf, writer->style, STYLE_DIM);
	buf_put(writer->buf, writer->prefix.data, level->prefix);
	if (!level->chain)
		buf_text(writer->buf,
			 last ? "\xe2\x94\x94\xe2\x94\x80 " : "\xe2\x94\x9c\xe2\x94\x80 ");
	style_end(writer->buf, writer->style);
}

/* Whether a node is start-up code. */
static bool is_startup(const struct tree_node *nodes, uint32_t node)
{
	uint32_t child = nodes[node].first_child;

	return frame_text_is_startup(nodes[node].frame) ||
	       (child != RECORDING_NONE &&
		frame_text_calls_startup(nodes[node].frame, nodes[child].frame));
}

/* Steps down through start-up code that calls one function and allocates nothing. */
static uint32_t past_startup(const struct tree_writer *writer, uint32_t node)
{
	const struct tree_node *nodes = writer->tree->nodes;

	while (!writer->style->full && is_startup(nodes, node) && !nodes[node].self &&
	       nodes[node].first_child != RECORDING_NONE &&
	       nodes[nodes[node].first_child].next_sibling == RECORDING_NONE)
		node = nodes[node].first_child;
	return node;
}

/* Steps down through calls of a function by itself that do nothing else. *repeated counts them. */
static uint32_t past_recursion(const struct tree_writer *writer, uint32_t node, unsigned *repeated)
{
	const struct tree_node *nodes = writer->tree->nodes;
	uint32_t child = nodes[node].first_child;

	*repeated = 1;
	while (!writer->style->full && child != RECORDING_NONE && !nodes[node].self &&
	       nodes[child].next_sibling == RECORDING_NONE &&
	       frame_text_same(nodes[node].frame, nodes[child].frame)) {
		++*repeated;
		node = child;
		child = nodes[node].first_child;
	}
	return node;
}

/* Opens a node: its children come next, with a prefix that continues the parent's. */
static struct err *descend(struct tree_writer *writer, const struct level *above, uint32_t node,
			   bool last)
{
	struct level level = level_of(writer, node);

	level.prefix = above->prefix;
	level.columns = above->columns;
	if (!above->chain) {
		writer->prefix.size = above->prefix;
		buf_text(&writer->prefix, last ? "   " : "\xe2\x94\x82  ");
		level.prefix = writer->prefix.size;
		level.columns += PREFIX_COLUMNS;
	}
	return vec_push(&writer->levels, level) ? NULL : err_no_memory();
}

static struct err *put_child(struct tree_writer *writer, struct level *level)
{
	const struct tree_node *nodes = writer->tree->nodes;
	unsigned repeated, column;
	uint32_t node = past_recursion(writer, past_startup(writer, level->next), &repeated);
	struct named_frame frame;
	struct level above;
	bool last;

	level->next = nodes[level->next].next_sibling;
	level->shown--;
	last = !level->shown && !level->folded;
	put_numbers(writer, nodes[node].value);
	put_branch(writer, level, last);
	frame = *nodes[node].frame;
	if (nodes[node].several_lines)
		frame.line = 0; // the frames share the function's file, not the line
	column = NUMBERS_COLUMNS + level->columns + (level->chain ? 0 : PREFIX_COLUMNS);
	if (nodes[node].folded)
		frame_text_folded(writer->buf, writer->style, &frame, column, nodes[node].folded);
	else
		frame_text_line(writer->buf, writer->style, &frame, column, repeated);
	buf_char(writer->buf, '\n');
	above = *level; // the vector may move
	return descend(writer, &above, node, last);
}

static struct err *put_nodes(struct tree_writer *writer)
{
	struct level root = level_of(writer, 0);
	struct err *err = NULL;

	if (!vec_push(&writer->levels, root))
		return err_no_memory();
	while (writer->levels.count && !err) {
		struct level *level = &writer->levels.items[writer->levels.count - 1];

		if (level->shown) {
			err = put_child(writer, level);
			continue;
		}
		if (level->folded) {
			put_numbers(writer, level->rest);
			put_branch(writer, level, true);
			style_printf(writer->buf, writer->style, STYLE_DIM,
				     "\xe2\x80\xa6 %s more\n",
				     format_count(level->folded, true).text);
		}
		writer->levels.count--;
	}
	return err;
}

struct err *text_tree_write(struct buf *buf, const struct style *style,
			    const struct report_subject *subject, enum metric metric, uint32_t top)
{
	cleanup(tree_writer_deinit) struct tree_writer writer = {
		.buf = buf,
		.style = style,
		.metric = metric,
		.top = top,
		.levels = VEC_EMPTY,
	};
	cleanup(tree_destroy_at) struct tree *tree = NULL;
	struct err *err = tree_create(subject->recording, subject->symbolized, metric,
				      style->full ? TREE_WHOLE : TREE_FOLDED, &tree);

	buf_init(&writer.prefix);
	if (err)
		return err;
	writer.tree = tree;
	style_printf(buf, style, STYLE_STRONG, "Call tree by %s (%s)\n\n",
		     subject_metric(subject, metric), subject_metric_text(subject, metric));
	err = put_nodes(&writer);
	if (writer.left_out)
		style_printf(buf, style, STYLE_DIM,
			     "\nSide branches below 1 %% are left out: --full shows them\n");
	return err ? err : buf_finish(&writer.prefix);
}
