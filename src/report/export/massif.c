#include "report/export/massif.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/trees/flame.h"
#include "hosted/cleanup.h"
#include "report/export/export_text.h"
#include "report/export/live_points.h"
#include "report/export/stack_sums.h"

#define SNAPSHOTS 100
#define CUT       100 /* massif's own threshold: one percent of the snapshot */
#define NODES     100000

/* The nodes of a tree of callers as lists of children, the widest first. */
struct links {
	uint32_t *first, *next;
	uint32_t *count; /* how many children, with one for all that were left out */
};

static void links_deinit(struct links *links)
{
	free(links->first);
	free(links->next);
	free(links->count);
}

static struct err *link_nodes(const struct flame *flame, struct links *links)
{
	size_t size = flame->count * sizeof(uint32_t);

	links->first = malloc(size);
	links->next = malloc(size);
	links->count = calloc(flame->count, sizeof(uint32_t));
	if (!links->first || !links->next || !links->count)
		return err_no_memory();
	memset(links->first, 0xff, size);
	memset(links->next, 0xff, size);
	// Backwards, so that the widest comes first in its list.
	for (uint32_t i = flame->count; i-- > 0;) {
		uint32_t parent = flame->nodes[i].parent;

		links->count[i] += flame->nodes[i].more != 0;
		if (!i)
			break;
		links->next[i] = links->first[parent];
		links->first[parent] = i;
		links->count[parent]++;
	}
	return NULL;
}

static void put_place(struct buf *buf, const struct named_frame *frame)
{
	buf_printf(buf, " 0x%" PRIX64 ": ", frame->address);
	if (frame->has_symbol)
		export_text(buf, frame->function);
	else
		buf_text(buf, "???");
	buf_text(buf, " (");
	if (frame->file) {
		export_text(buf, named_frame_file_name(frame));
		buf_printf(buf, ":%" PRIu32, frame->line);
	} else {
		buf_text(buf, "in ");
		export_text(buf, frame->module);
	}
	buf_char(buf, ')');
}

static void put_node(struct buf *buf, const struct flame *flame, const struct links *links,
		     uint32_t at, unsigned depth)
{
	const struct flame_node *node = &flame->nodes[at];
	const struct named_frame *frame = flame->names[node->name].frame;

	buf_repeat(buf, ' ', depth);
	buf_printf(buf, "n%" PRIu32 ": %" PRIu64, links->count[at], node->value);
	if (!at)
		buf_text(buf, " (heap allocation functions) malloc/new/new[], --alloc-fns, etc.");
	else if (frame)
		put_place(buf, frame);
	buf_char(buf, '\n');
}

static void put_rest(struct buf *buf, const struct flame_node *node, unsigned depth)
{
	if (!node->more)
		return;
	buf_repeat(buf, ' ', depth);
	buf_printf(buf,
		   "n0: %" PRIu64 " in %" PRIu64 " place%s below massif's threshold (1.00%%)\n",
		   node->rest, node->more, node->more == 1 ? "," : "s, all");
}

static void put_nodes(struct buf *buf, const struct flame *flame, const struct links *links)
{
	uint32_t at = 0;
	unsigned depth = 0;

	for (;;) {
		put_node(buf, flame, links, at, depth);
		if (links->first[at] != RECORDING_NONE) {
			at = links->first[at];
			depth++;
			continue;
		}
		// Up to the next node that is left, past what was left out of each.
		for (;
		     put_rest(buf, &flame->nodes[at], depth + 1), links->next[at] == RECORDING_NONE;
		     depth--) {
			if (!at)
				return;
			at = flame->nodes[at].parent;
		}
		at = links->next[at];
	}
}

static struct err *put_tree(struct buf *buf, const struct export_subject *subject,
			    enum flame_metric metric)
{
	const struct flame_side side = {.recording = subject->recording};
	const struct flame_options options = {
		.metric = metric,
		.callers = true,
		.shape = {.merge = TREE_BY_LINE, .plumbing = subject->fold == TREE_FOLDED},
		.cut = CUT,
		.most = NODES,
	};
	cleanup(flame_destroy_at) struct flame *flame = NULL;
	cleanup(links_deinit) struct links links = {0};
	struct err *err = flame_create(&side, subject->symbolized, &options, &flame);

	if (!err)
		err = link_nodes(flame, &links);
	if (!err)
		put_nodes(buf, flame, &links);
	return err;
}

static struct err *put_snapshots(struct buf *buf, const struct export_subject *subject,
				 const struct live_points *points)
{
	struct err *err = NULL;

	for (size_t i = 0; !err && i < points->count; i++) {
		const struct live_point *point = &points->points[i];
		bool peak = i == points->peak;
		bool tree = peak || i + 1 == points->count;

		buf_printf(buf,
			   "#-----------\nsnapshot=%zu\n#-----------\ntime=%" PRIu64
			   "\nmem_heap_B=%" PRIu64 "\nmem_heap_extra_B=%" PRIu64
			   "\nmem_stacks_B=0\nheap_tree=%s\n",
			   i, point->time_ns / 1000000, point->bytes, point->slack,
			   peak   ? "peak"
			   : tree ? "detailed"
				  : "empty");
		if (tree)
			err = put_tree(buf, subject, peak ? FLAME_PEAK : FLAME_LEAKED);
	}
	return err;
}

struct err *massif_write(struct buf *buf, const struct export_subject *subject)
{
	const struct recording_facts *facts = recording_facts(subject->recording);
	cleanup(live_points_deinit) struct live_points points = {0};
	struct err *err;

	if (facts->peaks_added)
		return err_create("recordings of several machines have no peak in common, which "
				  "massif's files are about");
	err = live_points_create(subject, SNAPSHOTS - 2, &points);
	if (err)
		return err;
	buf_text(buf, "desc: mallow " MALLOW_VERSION "\ncmd: ");
	export_title(buf, facts);
	buf_text(buf, "\ntime_unit: ms\n");
	return put_snapshots(buf, subject, &points);
}
