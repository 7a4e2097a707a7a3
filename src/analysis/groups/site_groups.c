#include "analysis/groups/site_groups.h"

#include <stdlib.h>

#include "analysis/names/allocating.h"
#include "analysis/names/frame_label.h"
#include "analysis/names/own_code.h"
#include "hosted/cleanup.h"
#include "hosted/map.h"
#include "hosted/vec.h"

/* A line of a frame, and the group that it belongs to. */
struct line {
	const struct named_frame *frame;
	uint32_t group; /* RECORDING_NONE: not made yet */
	bool asks;      /* what it allocates is its own, not its caller's */
	bool grouped;   /* it has a group */
};

/* Which lines are those of a frame. */
struct range {
	uint32_t first; /* the first one's number + 1; 0: not known yet */
	uint32_t count;
};

struct grouping {
	struct symbolized *symbolized;
	struct block_groups *groups;
	bool inclusive; /* all frames that can be groups are some, not only those that ask */
	bool own_code;  /* only the reader's own code can be */
	block_groups_member *member;
	void *argument;
	VEC(const char *) names; /* of each group */
	VEC(const struct named_frame *) frames, calls;
	struct map by_name;      /* from a name's address to its group */
	struct range *of_frame;  /* the lines of each frame */
	VEC(struct line) lines;  /* of all frames, each innermost first */
	VEC(uint32_t) last_site; /* of each group: the last site + 1 that it was a member of */
	struct buf scratch;

	/* By place. Thousands of stacks may share both frames: their text is made once. */
	struct map by_text; /* from the address of what a line reads to a place */
	struct map numbers; /* from a frame's address to a small number */
	struct map pairs;   /* from the numbers of own frame and call to a place */
};

static void grouping_deinit(struct grouping *grouping)
{
	vec_deinit(&grouping->names);
	vec_deinit(&grouping->frames);
	vec_deinit(&grouping->calls);
	map_deinit(&grouping->by_name);
	free(grouping->of_frame);
	vec_deinit(&grouping->lines);
	vec_deinit(&grouping->last_site);
	buf_deinit(&grouping->scratch);
	map_deinit(&grouping->by_text);
	map_deinit(&grouping->numbers);
	map_deinit(&grouping->pairs);
}

void site_groups_put_name(struct buf *buf, enum block_groups_by by, const struct named_frame *frame)
{
	bool function =
		by == BLOCK_GROUPS_FUNCTION || by == BLOCK_GROUPS_FRAME || by == BLOCK_GROUPS_PLACE;

	if (!frame)
		buf_text(buf, "[no stack]");
	else if (function && (frame->has_symbol || !frame->address))
		frame_label_of_function(buf, frame);
	else if (by == BLOCK_GROUPS_FILE && frame->file)
		buf_text(buf, frame->file);
	else if (by == BLOCK_GROUPS_LINE && frame->file)
		buf_printf(buf, "%s:%u", frame->file, frame->line);
	else if (by == BLOCK_GROUPS_MODULE && frame->module)
		buf_text(buf, frame->module);
	else if (frame->module_name)
		buf_printf(buf, "[%s]", frame->module_name);
	else
		buf_text(buf, frame->address ? "[no module]" : frame->function);
}

/* *ret: the text in scratch, the same address for the same text. */
static struct err *intern_scratch(struct grouping *grouping, const char **ret)
{
	struct buf *scratch = &grouping->scratch;

	*ret = buf_string(scratch)
		       ? intern_bytes(&grouping->groups->intern, scratch->data, scratch->size)
		       : NULL;
	return *ret ? NULL : err_no_memory();
}

/* *ret: what the group of a frame is called. */
static struct err *find_name(struct grouping *grouping, const struct named_frame *frame,
			     const char **ret)
{
	grouping->scratch.size = 0;
	site_groups_put_name(&grouping->scratch, grouping->groups->by, frame);
	return intern_scratch(grouping, ret);
}

/* *ret: the group that the frame names, made if it is new. */
static struct err *find_group(struct grouping *grouping, const struct named_frame *frame,
			      uint32_t *ret)
{
	const char *name;
	struct err *err = find_name(grouping, frame, &name);
	uint64_t *number = err ? NULL : map_put(&grouping->by_name, (uintptr_t)name);

	if (err || !number)
		return err ? err : err_no_memory();
	if (*number == MAP_NONE) {
		if (grouping->names.count >= RECORDING_NONE || !vec_push(&grouping->names, name) ||
		    !vec_push(&grouping->frames, frame) || !vec_push(&grouping->last_site, 0))
			return err_no_memory();
		*number = grouping->names.count - 1;
	}
	*ret = (uint32_t)*number;
	return NULL;
}

static struct err *add_lines(struct grouping *grouping, uint32_t frame)
{
	const struct named_frame *named;
	size_t count;
	struct err *err = symbolized_frame(grouping->symbolized, frame, &named, &count);

	if (err)
		return err;
	grouping->of_frame[frame] =
		(struct range){(uint32_t)grouping->lines.count + 1, (uint32_t)count};
	for (size_t i = 0; i < count; i++) {
		struct line line = {.frame = &named[i], .group = RECORDING_NONE};

		line.asks = grouping->own_code ? named_frame_is_own(&named[i])
					       : !named[i].has_symbol ||
							 !allocating_function(named[i].function);
		line.grouped = line.asks || (grouping->inclusive && !grouping->own_code);
		if (!vec_push(&grouping->lines, line))
			return err_no_memory();
	}
	return NULL;
}

/* Tells of a site that a group is in the stack of, once even if it is there several times. */
static inline void tell(struct grouping *grouping, uint32_t group, uint32_t site)
{
	if (!grouping->member || grouping->last_site.items[group] == site + 1)
		return;
	grouping->last_site.items[group] = site + 1;
	grouping->member(grouping->argument, group, site);
}

/* *ret: the group of the stack's innermost line that asks; RECORDING_NONE: none does. */
static struct err *take_stack(struct grouping *grouping, const struct stack_node *nodes,
			      uint32_t stack, uint32_t site, uint32_t *ret)
{
	*ret = RECORDING_NONE;
	for (uint32_t node = stack; node != RECORDING_NONE; node = nodes[node].parent) {
		struct range *range = &grouping->of_frame[nodes[node].frame];
		struct err *err = range->first ? NULL : add_lines(grouping, nodes[node].frame);

		for (uint32_t i = 0; !err && i < range->count; i++) {
			struct line *line = &grouping->lines.items[range->first - 1 + i];

			if (!line->grouped)
				continue;
			if (line->group == RECORDING_NONE)
				err = find_group(grouping, line->frame, &line->group);
			if (err)
				return err;
			tell(grouping, line->group, site);
			if (line->asks && *ret == RECORDING_NONE)
				*ret = line->group;
			if (!grouping->inclusive)
				return NULL;
		}
		if (err)
			return err;
	}
	return NULL;
}

/* *ret: the frame that a stack counts for if none of it asks; NULL: it is empty. */
static struct err *find_other(const struct grouping *grouping, const struct stack_node *nodes,
			      uint32_t stack, const struct named_frame **ret)
{
	struct own_code code;
	struct err *err;
	size_t count;

	*ret = NULL;
	if (!grouping->own_code)
		return stack == RECORDING_NONE ? NULL
					       : symbolized_frame(grouping->symbolized,
								  nodes[stack].frame, ret, &count);
	err = own_code_of_stack(grouping->symbolized, stack, &code);
	if (!err)
		*ret = code.frame;
	return err;
}

static struct err *group_site(struct grouping *grouping, const struct stack_node *nodes,
			      uint32_t stack, uint32_t site, uint32_t *ret)
{
	const struct named_frame *other;
	struct err *err = take_stack(grouping, nodes, stack, site, ret);

	if (err || *ret != RECORDING_NONE)
		return err;
	err = find_other(grouping, nodes, stack, &other);
	if (!err)
		err = find_group(grouping, other, ret);
	if (!err)
		tell(grouping, *ret, site);
	return err;
}

/* Writes all that a row shows of a frame; NULL: of none. */
static void put_frame(struct buf *buf, const struct named_frame *frame)
{
	if (frame) {
		buf_text(buf, frame->function);
		buf_char(buf, 0);
		buf_text(buf, frame->module ? frame->module : "");
	}
	buf_char(buf, 0);
}

/* *ret: the place of what that code reads, made if it is new. */
static struct err *place_of_text(struct grouping *grouping, const struct own_code *code,
				 uint64_t *ret)
{
	struct buf *buf = &grouping->scratch;
	const char *text, *name;
	uint64_t *place;
	struct err *err;

	buf->size = 0;
	put_frame(buf, code->frame);
	put_frame(buf, code->call);
	if (code->frame)
		buf_printf(buf, "%s:%u", code->frame->file ? code->frame->file : "",
			   code->frame->line);
	err = intern_scratch(grouping, &text);
	if (err)
		return err;
	place = map_put(&grouping->by_text, (uintptr_t)text);
	if (!place)
		return err_no_memory();
	if (*place == MAP_NONE) {
		err = find_name(grouping, code->frame, &name);
		if (err)
			return err;
		if (!vec_push(&grouping->names, name) ||
		    !vec_push(&grouping->frames, code->frame) ||
		    !vec_push(&grouping->calls, code->call))
			return err_no_memory();
		*place = grouping->names.count - 1;
	}
	*ret = *place;
	return NULL;
}

/* *ret: a number of the frame, smaller than that of frames met later. */
static struct err *number_of(struct grouping *grouping, const struct named_frame *frame,
			     uint64_t *ret)
{
	uint64_t *found = map_put(&grouping->numbers, (uintptr_t)frame);

	if (!found)
		return err_no_memory();
	if (*found == MAP_NONE)
		*found = grouping->numbers.count - 1;
	*ret = *found;
	return NULL;
}

/* *ret: the place that a stack is of. */
static struct err *find_place(struct grouping *grouping, uint32_t stack, uint32_t *ret)
{
	uint64_t own = 0, call = 0, *place;
	struct own_code code;
	struct err *err = own_code_of_stack(grouping->symbolized, stack, &code);

	if (!err)
		err = number_of(grouping, code.frame, &own);
	if (!err)
		err = number_of(grouping, code.call, &call);
	if (err)
		return err;
	place = map_put(&grouping->pairs, own << 32 | call);
	if (!place)
		return err_no_memory();
	if (*place == MAP_NONE)
		err = place_of_text(grouping, &code, place);
	*ret = (uint32_t)*place;
	return err;
}

/* Makes room, so that no array is NULL where there is no group. */
static bool prepare(struct grouping *grouping, const struct recording *recording, uint32_t sites)
{
	uint32_t frames;

	recording_frames(recording, &frames);
	grouping->of_frame = calloc((size_t)frames + 1, sizeof(*grouping->of_frame));
	grouping->groups->group_of =
		malloc(((size_t)sites + 1) * sizeof(*grouping->groups->group_of));
	return grouping->of_frame && grouping->groups->group_of &&
	       vec_reserve(&grouping->names, 1) && vec_reserve(&grouping->frames, 1) &&
	       (grouping->groups->by != BLOCK_GROUPS_PLACE || vec_reserve(&grouping->calls, 1));
}

struct err *site_groups_create(const struct recording *recording, struct symbolized *symbolized,
			       bool inclusive, block_groups_member *member, void *argument,
			       struct block_groups *groups)
{
	bool frames = groups->by == BLOCK_GROUPS_FRAME || groups->by == BLOCK_GROUPS_MODULE;
	cleanup(grouping_deinit) struct grouping grouping = {
		.symbolized = symbolized,
		.groups = groups,
		.inclusive = inclusive,
		.own_code = !frames,
		.member = member,
		.argument = argument,
		.scratch = BUF_EMPTY,
	};
	uint32_t count;
	const struct site *sites = recording_sites(recording, &count);
	const struct stack_node *nodes = recording_stacks(recording, NULL);
	struct err *err = NULL;

	if (!prepare(&grouping, recording, count))
		return err_no_memory();
	for (uint32_t i = 0; !err && i < count; i++) {
		uint32_t *group = &groups->group_of[i];

		err = groups->by == BLOCK_GROUPS_PLACE
			      ? find_place(&grouping, sites[i].stack, group)
			      : group_site(&grouping, nodes, sites[i].stack, i, group);
	}
	if (err)
		return err;
	groups->column = recording_blocks(recording)->site;
	groups->count = (uint32_t)grouping.names.count;
	groups->names = steal(&grouping.names.items);
	groups->frames = steal(&grouping.frames.items);
	groups->calls = steal(&grouping.calls.items);
	return NULL;
}
