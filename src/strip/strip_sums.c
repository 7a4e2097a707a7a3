#include "strip/strip_sums.h"

#include <stdlib.h>

#include "hosted/cleanup.h"

/*
 * Stacks are nodes of a tree. A node gets a stack record if a site has it, or if several nodes that
 * are needed hang from it: so each node's frame is written once.
 *
 *	main ── run ─┬─ read ── malloc's caller      stack 1: main, run
 *	             └─ write                        2: 1 and read, …   3: 1 and write
 */
struct sums {
	struct strip_copy *copy;
	const struct recorded_frame *frames;
	const struct stack_node *nodes;
	const struct site *sites;
	uint32_t *children; /* of each node, how many are needed; at most 2 are counted */
	bool *needed;       /* nodes of sites, and what they stand in */
	uint64_t *ids;      /* of each node's stack record; 0: none */
	uint64_t next_stack, next_frame;
	VEC(uint32_t) path; /* nodes, the innermost first */
	struct buf packed;  /* frames of a stack record */
};

static void sums_deinit(struct sums *sums)
{
	free(sums->children);
	free(sums->needed);
	free(sums->ids);
	vec_deinit(&sums->path);
	buf_deinit(&sums->packed);
}

static bool has_sum(const struct strip_sum *sum)
{
	return sum->calls || sum->temporary;
}

static void need(struct sums *sums, uint32_t node)
{
	while (node != RECORDING_NONE && !sums->needed[node]) {
		uint32_t parent = sums->nodes[node].parent;

		sums->needed[node] = true;
		if (parent != RECORDING_NONE && sums->children[parent] < 2)
			sums->children[parent]++;
		node = parent;
	}
}

static struct err *put_fact(struct sums *sums, enum trace_record kind, const uint64_t *fields,
			    size_t count, const struct buf *text)
{
	struct record_stream *stream = &sums->copy->stream;
	size_t size = text ? text->size : 0;
	struct err *err = NULL;

	if (record_stream_is_full_for(stream, count, size))
		err = strip_stream_next(sums->copy, stream->header.open_ticks,
					stream->header.open_monotonic_ns);
	if (!err)
		record_stream_fact(stream, kind, fields, count, text ? text->data : NULL, size);
	return err;
}

/* Appends a frame to those of the stack record. */
static struct err *put_frame(struct sums *sums, uint32_t index)
{
	const struct recorded_frame *frame = &sums->frames[index];
	struct load_walk *walk = &sums->copy->choice->walk;
	uint64_t *id = &walk->frame_ids.items[index];
	struct err *err = NULL;

	// Events named it by its pc. What lies there depends on the time, so it gets a definition.
	if (!*id && frame->module != RECORDING_NONE) {
		const uint64_t fields[] = {sums->next_frame, frame->pc,
					   walk->module_ids.items[frame->module]};

		*id = sums->next_frame++;
		err = put_fact(sums, TRACE_RECORD_FRAME, fields, 3, NULL);
	}
	buf_varint(&sums->packed, *id);
	if (!*id)
		buf_varint(&sums->packed, frame->pc);
	return err;
}

static struct err *put_stack(struct sums *sums, uint64_t outer, uint64_t id)
{
	const uint64_t fields[] = {0, id, outer};
	struct err *err = put_fact(sums, TRACE_RECORD_STACK, fields, 3, &sums->packed);

	if (sums->packed.failure)
		return err_no_memory();
	sums->packed.size = 0;
	return err;
}

/* Writes the stack of a site, and those that it stands in. *ret: its id. */
static struct err *define(struct sums *sums, uint32_t node, uint64_t *ret)
{
	uint64_t outer = 0;
	struct err *err = NULL;
	uint32_t at = node;

	sums->path.count = 0;
	for (; at != RECORDING_NONE && !sums->ids[at]; at = sums->nodes[at].parent)
		if (!vec_push(&sums->path, at))
			return err_no_memory();
	if (at != RECORDING_NONE)
		outer = sums->ids[at];
	for (size_t i = sums->path.count; !err && i-- > 0;) {
		at = sums->path.items[i];
		err = put_frame(sums, sums->nodes[at].frame);
		if (err || (i && sums->children[at] < 2))
			continue;
		sums->ids[at] = sums->next_stack++;
		err = put_stack(sums, outer, sums->ids[at]);
		outer = sums->ids[at];
	}
	*ret = outer;
	return err;
}

static struct err *put_site(struct sums *sums, const struct site *site, const struct strip_sum *sum)
{
	uint64_t fields[] = {0, sum->calls, sum->bytes, sum->temporary};
	struct err *err;

	if (site->stack == RECORDING_NONE) {
		fields[0] = sums->next_stack++;
		err = put_stack(sums, 0, fields[0]);
	} else {
		err = define(sums, site->stack, &fields[0]);
	}
	return err ? err : put_fact(sums, TRACE_RECORD_CULLED, fields, 4, NULL);
}

struct err *strip_sums_write(struct strip_copy *copy)
{
	const struct strip_choice *choice = copy->choice;
	cleanup(sums_deinit) struct sums sums = {
		.copy = copy,
		.next_stack = copy->stacks + 1,
		.next_frame = 1,
		.packed = BUF_EMPTY,
	};
	uint32_t nodes, site_count;
	struct err *err = NULL;

	sums.frames = recording_frames(choice->recording, &(uint32_t){0});
	sums.nodes = recording_stacks(choice->recording, &nodes);
	sums.sites = recording_sites(choice->recording, &site_count);
	sums.children = calloc((size_t)nodes + 1, sizeof(*sums.children));
	sums.needed = calloc((size_t)nodes + 1, sizeof(*sums.needed));
	sums.ids = calloc((size_t)nodes + 1, sizeof(*sums.ids));
	if (!sums.children || !sums.needed || !sums.ids)
		return err_no_memory();
	for (size_t i = 0; i < choice->walk.frame_ids.count; i++)
		if (choice->walk.frame_ids.items[i] >= sums.next_frame)
			sums.next_frame = choice->walk.frame_ids.items[i] + 1;
	for (uint32_t i = 0; i < site_count && i < choice->sums.count; i++)
		if (has_sum(&choice->sums.items[i]))
			need(&sums, sums.sites[i].stack);
	for (uint32_t i = 0; !err && i < site_count && i < choice->sums.count; i++)
		if (has_sum(&choice->sums.items[i]))
			err = put_site(&sums, &sums.sites[i], &choice->sums.items[i]);
	return err;
}
