/*
 * Massif's files (valgrind's massif/ms_main.c writes them): snapshots of what was live, some with a
 * tree of the callers. A node says how many children it has; each child is one blank deeper, and
 * the children of a function are those that called it.
 *
 *	snapshot=6
 *	time=546                                    in the file's time_unit
 *	mem_heap_B=1500
 *	heap_tree=peak                              or empty, detailed
 *	n2: 1500 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.
 *	 n1: 1000 0x1091B0: grab (small.c:5)
 *	  n0: 1000 0x109243: main (small.c:7)
 *	 n0: 500 in 2 places, all below massif's threshold (1.00%)
 *
 * A stack ends where a node has no children. Snapshots without a tree have a sum alone.
 */
#include <inttypes.h>
#include <stdio.h>

#include "import/reader.h"
#include "import/stack.h"

#define DEPTH_MAX 1000 /* valgrind's --depth is at most 200 */

struct massif {
	struct import_text *text;
	struct import_sink *sink;
	uint64_t ns;                   /* nanoseconds of a unit of time */
	uint64_t heap, snapshot, peak; /* bytes; number of the present one, and of the peak */
	struct import_stack path;      /* from the innermost frame to the present node */
	struct import_stack stack;     /* the same, the outermost first */
};

static void massif_deinit(struct massif *massif)
{
	import_stack_deinit(&massif->path);
	import_stack_deinit(&massif->stack);
}

bool read_massif_knows(struct span head)
{
	return span_begins(head, "desc:") && span_find(head, "\ntime_unit:");
}

static struct err *put_sum(struct massif *massif, uint64_t bytes)
{
	bool peak = massif->snapshot == massif->peak;
	struct sink_sum sum = {.known = 1u << TRACE_SUM_LIVE_BYTES | 1u << TRACE_SUM_PEAK_BYTES};
	struct err *err = NULL;

	sum.values[TRACE_SUM_LIVE_BYTES] = bytes;
	sum.values[TRACE_SUM_PEAK_BYTES] = peak ? bytes : 0;
	massif->stack.frames.count = 0;
	for (size_t i = massif->path.frames.count; !err && i-- > 0;)
		err = import_stack_push(&massif->stack, massif->path.frames.items[i].id,
					massif->path.frames.items[i].pc);
	if (err)
		return err;
	return sink_sum(massif->sink, massif->stack.frames.items, massif->stack.frames.count, &sum);
}

/* Takes a node's line. *children: how many follow. */
static struct err *take_node(struct massif *massif, size_t depth, uint64_t *children)
{
	struct import_text *text = massif->text;
	uint64_t bytes;
	struct err *err = NULL;

	massif->path.frames.count = depth ? depth - 1 : 0;
	if (!text_take(text, "n") || !text_decimal(text, children) || !text_take(text, ": ") ||
	    !text_decimal(text, &bytes) || !text_take(text, " "))
		return import_text_expected(text, "a node: 'n', its children, ':' and bytes");
	// Those below the threshold: of their stacks no more is known.
	if (depth && text_take(text, "in "))
		err = import_stack_push(&massif->path, 0, TRACE_PC_TRUNCATED);
	else if (depth)
		err = import_stack_put_text(&massif->path, massif->sink, text_rest(text));
	if (!err && !*children)
		err = put_sum(massif, bytes);
	return err;
}

/* Takes a tree, whose root is the present line. */
static struct err *take_tree(struct massif *massif)
{
	uint64_t left[DEPTH_MAX] = {1};
	struct import_text *text = massif->text;
	size_t depth = 0;
	struct err *err;
	bool more;

	while (true) {
		uint64_t children;

		text_skip_blanks(text);
		left[depth]--;
		err = take_node(massif, depth, &children);
		if (err)
			return err;
		if (children && depth + 1 == DEPTH_MAX)
			return import_text_expected(text, "a tree that is not so deep");
		if (children)
			left[++depth] = children;
		while (depth && !left[depth])
			depth--;
		if (!left[depth])
			return NULL;
		err = import_text_line(text, &more);
		if (!err && !more)
			err = import_text_expected(text, "the rest of a tree");
		if (err)
			return err;
	}
}

/* Takes what is behind "heap_tree=". */
static struct err *take_heap_tree(struct massif *massif)
{
	struct import_text *text = massif->text;
	bool more;
	struct err *err;

	massif->path.frames.count = 0;
	if (!text_take(text, "peak") && !text_take(text, "detailed"))
		return put_sum(massif, massif->heap);
	err = import_text_line(text, &more);
	if (!err && !more)
		return import_text_expected(text, "a tree");
	return err ? err : take_tree(massif);
}

static struct err *take_unit(struct massif *massif, struct import_story *story)
{
	static const struct {
		const char *name, *text;
		uint64_t ns;
	} units[] = {
		{"i", "massif, times are instructions (1 ns stands for one)", 1},
		{"ms", "massif", 1000000},
		{"B", "massif, times are bytes allocated (1 ns stands for one)", 1},
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (text_take(massif->text, units[i].name) && !text_left(massif->text)) {
			massif->ns = units[i].ns;
			snprintf(story->origin, sizeof(story->origin), "%s", units[i].text);
			return NULL;
		}
	return import_text_expected(massif->text, "i, ms or B");
}

static struct err *take_line(struct massif *massif, struct import_story *story)
{
	struct import_text *text = massif->text;
	uint64_t time;

	if (text_take(text, "snapshot="))
		massif->snapshot++;
	if (text_take(text, "cmd: "))
		return sink_command(massif->sink, text_rest(text));
	if (text_take(text, "time_unit: "))
		return take_unit(massif, story);
	if (text_take(text, "time=")) {
		if (!text_decimal(text, &time))
			return import_text_expected(text, "a time");
		// Snapshots of one unit are moments of their own.
		sink_time_next(massif->sink, time * massif->ns);
		return NULL;
	}
	if (text_take(text, "mem_heap_B=")) {
		if (!text_decimal(text, &massif->heap))
			return import_text_expected(text, "bytes");
		return NULL;
	}
	return text_take(text, "heap_tree=") ? take_heap_tree(massif) : NULL;
}

/*
 * Finds the snapshot of the peak: that with most bytes. massif marks one only when a block is
 * freed, and may miss by 1 %: one with a tree that has so much is taken.
 */
static struct err *find_peak(struct massif *massif)
{
	struct import_text *text = massif->text;
	uint64_t snapshot = 0, bytes = 0, most = 0, most_tree = 0, with_tree = 0;
	bool more = true;
	struct err *err = NULL;

	while (!err && more) {
		err = import_text_line(text, &more);
		if (err || !more)
			break;
		if (text_take(text, "snapshot="))
			snapshot++;
		else if (text_take(text, "mem_heap_B="))
			text_decimal(text, &bytes);
		else if (!text_take(text, "heap_tree="))
			continue;
		if (bytes > most) {
			most = bytes;
			massif->peak = snapshot;
		}
		if (bytes > most_tree && (text_take(text, "peak") || text_take(text, "detailed"))) {
			most_tree = bytes;
			with_tree = snapshot;
		}
	}
	if (most_tree >= most - most / 100 && with_tree)
		massif->peak = with_tree;
	return err ? err : import_text_rewind(text);
}

struct err *read_massif(struct import_input *input, struct import_sink *sink,
			struct import_story *story)
{
	cleanup(massif_deinit) struct massif massif = {
		.text = &input->text,
		.sink = sink,
		.ns = 1,
	};
	bool more;
	struct err *err = find_peak(&massif);

	if (!err)
		err = import_text_line(&input->text, &more);
	while (!err && more) {
		err = take_line(&massif, story);
		if (!err)
			err = import_text_line(&input->text, &more);
	}
	return err;
}
