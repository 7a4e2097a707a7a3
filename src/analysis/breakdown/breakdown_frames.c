/* Breakdowns by function, frame, file, line and module, made from the stacks of sites. */
#include "analysis/breakdown/allocating.h"
#include "analysis/breakdown/breakdown_data.h"
#include "analysis/names/frame_label.h"
#include "analysis/names/own_code.h"
#include "hosted/buf.h"
#include "hosted/cleanup.h"
#include "hosted/map.h"

/* A line of a frame, and the row that it belongs to. */
struct line {
	uint32_t row; /* RECORDING_NONE: not made yet */
	bool asks;    /* what it allocates is its own, not its caller's */
};

struct frames {
	struct breakdown_impl *impl;
	struct symbolized *symbolized;
	bool own_code; /* BREAKDOWN_FROM_OWN_CODE */
	struct buf scratch;
	struct map rows;         /* from a name's address to its row */
	uint32_t *first;         /* of each frame: its first line + 1; 0: not known yet */
	uint32_t *counts;        /* … and how many lines it has */
	VEC(struct line) lines;  /* of all frames, each innermost first */
	VEC(uint32_t) last_site; /* of each row: the last site + 1 that was added to inclusive */
};

static void frames_deinit(struct frames *frames)
{
	buf_deinit(&frames->scratch);
	map_deinit(&frames->rows);
	free(frames->first);
	free(frames->counts);
	vec_deinit(&frames->lines);
	vec_deinit(&frames->last_site);
}

void breakdown_put_name(struct buf *buf, enum breakdown_by by, const struct named_frame *frame)
{
	if (!frame)
		buf_text(buf, "[no stack]");
	else if ((by == BREAKDOWN_FUNCTION || by == BREAKDOWN_FRAME) &&
		 (frame->has_symbol || !frame->address))
		frame_label(buf, frame);
	else if (by == BREAKDOWN_FILE && frame->file)
		buf_text(buf, frame->file);
	else if (by == BREAKDOWN_LINE && frame->file)
		buf_printf(buf, "%s:%u", frame->file, frame->line);
	else if (by == BREAKDOWN_MODULE && frame->module)
		buf_text(buf, frame->module);
	else if (frame->module_name)
		buf_printf(buf, "[%s]", frame->module_name);
	else
		buf_text(buf, frame->address ? "[no module]" : frame->function);
}

static struct err *find_row(struct frames *frames, const struct named_frame *frame, uint32_t *ret)
{
	struct breakdown_impl *impl = frames->impl;
	struct breakdown_row row = {.frame = frame};
	uint64_t *number;

	frames->scratch.size = 0;
	breakdown_put_name(&frames->scratch, impl->breakdown.by, frame);
	if (!buf_string(&frames->scratch))
		return buf_finish(&frames->scratch);
	row.name = intern_bytes(&impl->names, frames->scratch.data, frames->scratch.size);
	number = row.name ? map_put(&frames->rows, (uintptr_t)row.name) : NULL;
	if (!number)
		return err_no_memory();
	if (*number == MAP_NONE) {
		if (impl->rows.count >= RECORDING_NONE || !vec_push(&impl->rows, row) ||
		    !vec_push(&frames->last_site, 0))
			return err_no_memory();
		*number = impl->rows.count - 1;
	}
	*ret = (uint32_t)*number;
	return NULL;
}

static struct err *add_lines(struct frames *frames, uint32_t frame)
{
	const struct named_frame *named;
	struct err *err;
	size_t count;

	err = symbolized_frame(frames->symbolized, frame, &named, &count);
	if (err)
		return err;
	frames->first[frame] = (uint32_t)frames->lines.count + 1;
	frames->counts[frame] = (uint32_t)count;
	for (size_t i = 0; i < count; i++) {
		struct line line = {.row = RECORDING_NONE};

		line.asks = frames->own_code ? named_frame_is_own(&named[i])
					     : !named[i].has_symbol ||
						       !allocating_function(named[i].function);
		if (line.asks || !frames->own_code)
			err = find_row(frames, &named[i], &line.row);
		if (err)
			return err;
		if (!vec_push(&frames->lines, line))
			return err_no_memory();
	}
	return NULL;
}

static void add_inclusive(struct frames *frames, uint32_t row, const struct site *site,
			  uint32_t number)
{
	if (frames->last_site.items[row] == number + 1)
		return; // recursion
	frames->last_site.items[row] = number + 1;
	breakdown_add(&frames->impl->rows.items[row].inclusive, site);
	if (frames->impl->member)
		frames->impl->member(frames->impl->argument, row, number);
}

static void add_own(struct frames *frames, uint32_t row, const struct site *site)
{
	struct breakdown_row *own = &frames->impl->rows.items[row];

	own->own_peak_known = !own->sites++;
	own->own.own_peak_bytes = own->own_peak_known ? site->own_peak_bytes : 0;
	breakdown_add(&own->own, site);
}

/* *ret: the frame that a stack counts for if none of it asks; NULL: it is empty. */
static struct err *find_other(struct frames *frames, const struct stack_node *nodes, uint32_t stack,
			      const struct named_frame **ret)
{
	struct own_code code;
	struct err *err = NULL;
	size_t count;

	*ret = NULL;
	if (frames->own_code) {
		err = own_code_of_stack(frames->symbolized, stack, &code);
		if (!err)
			*ret = code.frame;
	} else if (stack != RECORDING_NONE) {
		err = symbolized_frame(frames->symbolized, nodes[stack].frame, ret, &count);
	}
	return err;
}

/* *asks: the row of the stack's innermost frame that asks; RECORDING_NONE: none does. */
static struct err *add_stack(struct frames *frames, const struct stack_node *nodes,
			     const struct site *site, uint32_t number, uint32_t *asks)
{
	*asks = RECORDING_NONE;
	for (uint32_t node = site->stack; node != RECORDING_NONE; node = nodes[node].parent) {
		uint32_t frame = nodes[node].frame;
		struct err *err = frames->first[frame] ? NULL : add_lines(frames, frame);

		if (err)
			return err;
		for (uint32_t i = 0; i < frames->counts[frame]; i++) {
			struct line line = frames->lines.items[frames->first[frame] - 1 + i];

			if (*asks == RECORDING_NONE && line.asks)
				*asks = line.row;
			if (line.row != RECORDING_NONE)
				add_inclusive(frames, line.row, site, number);
		}
	}
	return NULL;
}

static struct err *add_site(struct frames *frames, const struct stack_node *nodes,
			    const struct site *site, uint32_t number)
{
	const struct named_frame *other;
	uint32_t row;
	struct err *err = add_stack(frames, nodes, site, number, &row);

	if (!err && row == RECORDING_NONE) {
		err = find_other(frames, nodes, site->stack, &other);
		if (!err)
			err = find_row(frames, other, &row);
	}
	if (err)
		return err;
	add_inclusive(frames, row, site, number);
	add_own(frames, row, site);
	return NULL;
}

struct err *breakdown_from_stacks(struct breakdown_impl *impl, const struct recording *recording,
				  struct symbolized *symbolized)
{
	enum breakdown_source source = breakdown_info(impl->breakdown.by)->source;
	cleanup(frames_deinit) struct frames frames = {
		.impl = impl,
		.symbolized = symbolized,
		.own_code = source == BREAKDOWN_FROM_OWN_CODE,
	};
	uint32_t frame_count, node_count, site_count;
	const struct stack_node *nodes = recording_stacks(recording, &node_count);
	const struct site *sites = recording_sites(recording, &site_count);
	struct err *err = NULL;

	buf_init(&frames.scratch);
	recording_frames(recording, &frame_count);
	frames.first = calloc((size_t)frame_count + 1, sizeof(*frames.first));
	frames.counts = calloc((size_t)frame_count + 1, sizeof(*frames.counts));
	if (!frames.first || !frames.counts)
		return err_no_memory();
	for (uint32_t i = 0; !err && i < site_count; i++)
		err = add_site(&frames, nodes, &sites[i], i);
	// A sum over several processes is no peak that ever was.
	for (size_t i = 0; recording_facts(recording)->processes && i < impl->rows.count; i++)
		impl->rows.items[i].own_peak_known = false;
	return err;
}
