#include "analysis/groups/block_groups.h"

#include <stdlib.h>

#include "analysis/breakdown/allocating.h"
#include "analysis/breakdown/breakdown.h"
#include "analysis/breakdown/place_finder.h"
#include "analysis/groups/block_values.h"
#include "analysis/names/own_code.h"
#include "hosted/cleanup.h"
#include "hosted/map.h"

void block_groups_deinit(struct block_groups *groups)
{
	free(groups->group_of);
	free(groups->names);
	free(groups->frames);
	free(groups->calls);
	free(groups->bounds);
	free(groups->marks);
	free(groups->made_column);
	intern_deinit(&groups->intern);
	*groups = (struct block_groups){0};
}

struct naming_groups {
	struct symbolized *symbolized;
	struct block_groups *groups;
	enum breakdown_by by;
	struct map by_name; /* from a name's address to its group */
	struct place_finder places;
	struct buf scratch;
};

static void naming_groups_deinit(struct naming_groups *naming)
{
	map_deinit(&naming->by_name);
	place_finder_deinit(&naming->places);
	buf_deinit(&naming->scratch);
}

/* *ret: what a frame is called. */
static struct err *find_name(struct naming_groups *naming, const struct named_frame *frame,
			     const char **ret)
{
	struct buf *scratch = &naming->scratch;

	scratch->size = 0;
	breakdown_put_name(scratch, naming->by, frame);
	*ret = buf_string(scratch)
		       ? intern_bytes(&naming->groups->intern, scratch->data, scratch->size)
		       : NULL;
	return *ret ? NULL : err_no_memory();
}

/* *ret: the group that the frame names, made if it is new. */
static struct err *find_group(struct naming_groups *naming, const struct named_frame *frame,
			      uint32_t *ret)
{
	struct block_groups *groups = naming->groups;
	const char *name;
	struct err *err = find_name(naming, frame, &name);
	uint64_t *number;

	if (err)
		return err;
	number = map_put(&naming->by_name, (uintptr_t)name);
	if (!number)
		return err_no_memory();
	if (*number == MAP_NONE) {
		groups->names[groups->count] = name;
		groups->frames[groups->count] = frame;
		*number = groups->count++;
	}
	*ret = (uint32_t)*number;
	return NULL;
}

/* *ret: the group of the place that a stack is of, made if it is new. */
static struct err *find_place(struct naming_groups *naming, uint32_t stack, uint32_t *ret)
{
	struct block_groups *groups = naming->groups;
	struct own_code code;
	struct err *err = own_code_of_stack(naming->symbolized, stack, &code);

	if (!err)
		err = place_finder_find(&naming->places, &code, ret);
	if (err || *ret < groups->count)
		return err;
	groups->frames[*ret] = code.frame;
	groups->calls[*ret] = code.call;
	groups->count++;
	return find_name(naming, code.frame, &groups->names[*ret]);
}

/*
 * *ret: the frame that a stack counts for by module: the innermost that is no part of the
 * allocator, else the innermost. NULL: the stack is empty.
 */
static struct err *find_caller(struct symbolized *symbolized, uint32_t stack,
			       const struct named_frame **ret)
{
	const struct named_frame *innermost = NULL, *caller = NULL;
	uint32_t unused;
	const struct stack_node *nodes =
		recording_stacks(symbolized_recording(symbolized), &unused);

	for (uint32_t node = stack; node != RECORDING_NONE && !caller; node = nodes[node].parent) {
		const struct named_frame *lines;
		size_t count;
		struct err *err = symbolized_frame(symbolized, nodes[node].frame, &lines, &count);

		if (err)
			return err;
		if (!innermost)
			innermost = lines;
		for (size_t i = 0; i < count && !caller; i++)
			if (!lines[i].has_symbol || !allocating_function(lines[i].function))
				caller = &lines[i];
	}
	*ret = caller ? caller : innermost;
	return NULL;
}

/* *ret: the frame that a stack counts for; NULL: it is empty. */
static struct err *find_frame(const struct naming_groups *naming, uint32_t stack,
			      const struct named_frame **ret)
{
	struct own_code code;
	struct err *err;

	if (naming->by == BREAKDOWN_MODULE)
		return find_caller(naming->symbolized, stack, ret);
	err = own_code_of_stack(naming->symbolized, stack, &code);
	if (!err)
		*ret = code.frame;
	return err;
}

/* Groups sites by what a frame of theirs is called, or by place. There are no more groups than
 * sites. */
static struct err *group_sites(const struct recording *recording, struct symbolized *symbolized,
			       enum breakdown_by by, struct block_groups *groups)
{
	cleanup(naming_groups_deinit) struct naming_groups naming = {
		.symbolized = symbolized,
		.groups = groups,
		.by = by,
		.places.scratch = BUF_EMPTY,
	};
	bool place = groups->by == BLOCK_GROUPS_PLACE;
	struct err *err = NULL;
	uint32_t count;
	const struct site *sites = recording_sites(recording, &count);

	groups->group_of = malloc(((size_t)count + 1) * sizeof(*groups->group_of));
	groups->names = malloc(((size_t)count + 1) * sizeof(*groups->names));
	groups->frames = malloc(((size_t)count + 1) * sizeof(*groups->frames));
	groups->calls = place ? malloc(((size_t)count + 1) * sizeof(*groups->calls)) : NULL;
	if (!groups->group_of || !groups->names || !groups->frames || (place && !groups->calls))
		return err_no_memory();
	groups->column = recording_blocks(recording)->site;
	for (uint32_t i = 0; !err && i < count; i++) {
		const struct named_frame *frame;

		if (place) {
			err = find_place(&naming, sites[i].stack, &groups->group_of[i]);
			continue;
		}
		err = find_frame(&naming, sites[i].stack, &frame);
		if (!err)
			err = find_group(&naming, frame, &groups->group_of[i]);
	}
	return err;
}

const char *block_groups_word(enum block_groups_by by)
{
	static const char *const words[] = {
#define BLOCK_GROUPS(NAME, name) name,
#include "analysis/groups/block_groups.def"
#undef BLOCK_GROUPS
	};

	return words[by];
}

static struct err *make(const struct recording *recording, struct symbolized *symbolized,
			struct block_groups *groups)
{
	const struct block_columns *blocks = recording_blocks(recording);

	switch (groups->by) {
	case BLOCK_GROUPS_FATE:
		groups->count = FATE_COUNT;
		return NULL;
	case BLOCK_GROUPS_THREAD:
		groups->column = blocks->thread;
		recording_threads(recording, &groups->count);
		return NULL;
	case BLOCK_GROUPS_SITE:
		groups->column = blocks->site;
		recording_sites(recording, &groups->count);
		return NULL;
	case BLOCK_GROUPS_PLACE:
	case BLOCK_GROUPS_FUNCTION:
		return group_sites(recording, symbolized, BREAKDOWN_FUNCTION, groups);
	case BLOCK_GROUPS_FILE:
		return group_sites(recording, symbolized, BREAKDOWN_FILE, groups);
	case BLOCK_GROUPS_LINE:
		return group_sites(recording, symbolized, BREAKDOWN_LINE, groups);
	case BLOCK_GROUPS_MODULE:
		return group_sites(recording, symbolized, BREAKDOWN_MODULE, groups);
	default:
		return block_values_create(recording, groups);
	}
}

struct err *block_groups_create(const struct recording *recording, struct symbolized *symbolized,
				enum block_groups_by by, uint64_t late_ns, struct block_groups *ret)
{
	cleanup(block_groups_deinit) struct block_groups groups = {
		.by = by, .late_ns = late_ns, .recording = recording};
	struct err *err = make(recording, symbolized, &groups);

	if (err)
		return err;
	*ret = groups;
	groups = (struct block_groups){0};
	return NULL;
}
