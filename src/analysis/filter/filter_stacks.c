#include "analysis/filter/filter_stacks.h"

#include <string.h>

#include "analysis/names/frame_label.h"
#include "analysis/names/own_code.h"
#include "hosted/cleanup.h"
#include "hosted/intern.h"
#include "hosted/map.h"

/*
 * The processor time for searches. A search takes a microsecond, so this is enough for half a
 * million names.
 */
#define SEARCHES_NS 500000000

enum { FUNCTION, SOURCE, MODULE, NO_FUNCTION, NO_SOURCE, NO_MODULE, CALLED_AFTER, NAMES };

static const enum filter_id name_ids[NAMES] = {
	[FUNCTION] = FILTER_FUNCTION_REGEX,
	[SOURCE] = FILTER_SOURCE_REGEX,
	[MODULE] = FILTER_MODULE_REGEX,
	[NO_FUNCTION] = FILTER_NEGATIVE_FUNCTION_REGEX,
	[NO_SOURCE] = FILTER_NEGATIVE_SOURCE_REGEX,
	[NO_MODULE] = FILTER_NEGATIVE_MODULE_REGEX,
	[CALLED_AFTER] = FILTER_ALLOCATED_BY,
};

/* What is known about a frame, and about a whole stack. */
enum {
	WANTED = 1, /* a site has it; the rest is valid only then */
	NAMED = 2,  /* some frame matches all positive conditions */
	BARRED = 4, /* some frame matches a negative one */
};

struct verdict {
	uint32_t lines; /* frames, with inlined functions */
	uint8_t flags;
};

struct stacks {
	const struct filter *filter;
	struct symbolized *symbolized;
	bool positive;           /* there is a positive condition */
	uint64_t searches_ns;    /* the time left for searches */
	struct intern texts;     /* each name once … */
	struct map known[NAMES]; /* … and from its address: whether it matches */
	struct verdict *frames;  /* for each frame; 0 lines: not known yet */
	struct verdict *nodes;   /* for each stack */
};

static void stacks_deinit(struct stacks *stacks)
{
	intern_deinit(&stacks->texts);
	for (size_t i = 0; i < NAMES; i++)
		map_deinit(&stacks->known[i]);
	free(stacks->frames);
	free(stacks->nodes);
}

/* Whether it has conditions about any frames, not only about what a stack is called after. */
static bool filter_has_frames(const struct filter *filter)
{
	for (size_t i = 0; i < CALLED_AFTER; i++)
		if (filter_has(filter, name_ids[i]))
			return true;
	return filter_has(filter, FILTER_BACKTRACE_DEPTH_MIN) ||
	       filter_has(filter, FILTER_BACKTRACE_DEPTH_MAX);
}

bool filter_has_stacks(const struct filter *filter)
{
	return filter_has_frames(filter) || filter_has(filter, FILTER_ALLOCATED_BY);
}

/* *ret: whether the text matches the condition. text NULL: not known, and matches nothing. */
static struct err *search(struct stacks *stacks, size_t name, const char *text, bool *ret)
{
	const struct filter_condition *condition = &stacks->filter->conditions[name_ids[name]];
	struct err *err = NULL;
	uint64_t *known;

	*ret = false;
	if (!text)
		return NULL;
	text = intern_text(&stacks->texts, text);
	known = text ? map_put(&stacks->known[name], (uintptr_t)text) : NULL;
	if (!known)
		return err_no_memory();
	if (*known == MAP_NONE) {
		*known = false;
		err = err_prefix(regex_search(condition->regex, text, &stacks->searches_ns, ret),
				 "%s", condition->name);
		*known = *ret;
	}
	*ret = *known;
	return err;
}

/* *ret: the line matches those of the conditions first … last that are set: all of them, or any. */
static struct err *search_line(struct stacks *stacks, const struct named_frame *line, size_t first,
			       size_t last, bool all, bool *ret)
{
	const char *const texts[NAMES] = {
		[FUNCTION] = line->has_symbol ? line->function : NULL,
		[SOURCE] = line->file,
		[MODULE] = line->module,
		[NO_FUNCTION] = line->has_symbol ? line->function : NULL,
		[NO_SOURCE] = line->file,
		[NO_MODULE] = line->module,
	};

	*ret = all;
	for (size_t i = first; i <= last && *ret == all; i++) {
		struct err *err = NULL;

		if (filter_has(stacks->filter, name_ids[i]))
			err = search(stacks, i, texts[i], ret);
		if (err)
			return err;
	}
	return NULL;
}

static struct err *judge_frame(struct stacks *stacks, uint32_t frame, struct verdict *ret)
{
	const struct named_frame *lines;
	struct err *err;
	size_t count;
	bool found;

	err = symbolized_frame(stacks->symbolized, frame, &lines, &count);
	if (err)
		return err;
	ret->lines = (uint32_t)count;
	for (size_t i = 0; i < count; i++) {
		err = search_line(stacks, &lines[i], NO_FUNCTION, NO_MODULE, false, &found);
		if (err)
			return err;
		ret->flags |= found ? BARRED : 0;
		if (!stacks->positive)
			continue;
		err = search_line(stacks, &lines[i], FUNCTION, MODULE, true, &found);
		if (err)
			return err;
		ret->flags |= found ? NAMED : 0;
	}
	return NULL;
}

/*
 * Decides about all nodes that sites have. Parents come first, so this goes from the outermost
 * inwards.
 */
static struct err *judge_nodes(struct stacks *stacks, const struct stack_node *nodes,
			       uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct verdict *verdict = &stacks->nodes[i];
		struct verdict *frame = &stacks->frames[nodes[i].frame];

		if (!(verdict->flags & WANTED))
			continue;
		if (!frame->lines) {
			struct err *err = judge_frame(stacks, nodes[i].frame, frame);

			if (err)
				return err;
		}
		verdict->lines = frame->lines;
		verdict->flags |= frame->flags;
		if (nodes[i].parent != RECORDING_NONE) {
			verdict->lines += stacks->nodes[nodes[i].parent].lines;
			verdict->flags |= stacks->nodes[nodes[i].parent].flags;
		}
	}
	return NULL;
}

static bool passes(const struct stacks *stacks, const struct verdict *verdict)
{
	const struct filter *filter = stacks->filter;

	if ((verdict->flags & BARRED) || (stacks->positive && !(verdict->flags & NAMED)))
		return false;
	if (filter_has(filter, FILTER_BACKTRACE_DEPTH_MIN) &&
	    verdict->lines < filter->conditions[FILTER_BACKTRACE_DEPTH_MIN].number)
		return false;
	return !filter_has(filter, FILTER_BACKTRACE_DEPTH_MAX) ||
	       verdict->lines <= filter->conditions[FILTER_BACKTRACE_DEPTH_MAX].number;
}

/*
 * *ret: whether what a stack is called after matches. A pattern that ends in a bracket means the
 * module, too: rows of functions are named so.
 */
static struct err *search_called(struct stacks *stacks, const struct named_frame *frame, bool *ret)
{
	const char *pattern = stacks->filter->conditions[FILTER_ALLOCATED_BY].text;
	size_t length = strlen(pattern);
	cleanup(buf_deinit) struct buf label = BUF_EMPTY;
	struct err *err = search(stacks, CALLED_AFTER, frame->function, ret);

	if (err || *ret || length < 3 || strcmp(pattern + length - 3, "\\]$") != 0)
		return err;
	frame_label_of_function(&label, frame);
	return buf_string(&label) ? search(stacks, CALLED_AFTER, label.data, ret)
				  : buf_finish(&label);
}

/* Clears the bytes of stacks that are called after another function, or after none. */
static struct err *keep_called(struct stacks *stacks, const uint32_t *all, uint32_t count,
			       uint8_t *kept)
{
	struct err *err = NULL;

	for (uint32_t i = 0; !err && i < count; i++) {
		struct own_code code;
		bool found = false;

		if (!kept[i])
			continue;
		err = own_code_of_stack(stacks->symbolized, all[i], &code);
		if (!err && code.frame)
			err = search_called(stacks, code.frame, &found);
		kept[i] = found;
	}
	return err;
}

/* Clears the bytes of stacks by their frames. */
static struct err *keep_by_frames(struct stacks *stacks, const struct recording *recording,
				  const uint32_t *all, uint32_t count, uint8_t *kept)
{
	static const struct verdict empty = {0};
	uint32_t node_count, frame_count;
	const struct stack_node *nodes = recording_stacks(recording, &node_count);
	struct err *err;

	recording_frames(recording, &frame_count);
	stacks->frames = calloc((size_t)frame_count + 1, sizeof(*stacks->frames));
	stacks->nodes = calloc((size_t)node_count + 1, sizeof(*stacks->nodes));
	if (!stacks->frames || !stacks->nodes)
		return err_no_memory();
	for (uint32_t i = 0; i < count; i++) {
		uint32_t node = kept[i] ? all[i] : RECORDING_NONE;

		for (; node != RECORDING_NONE && !stacks->nodes[node].flags;
		     node = nodes[node].parent)
			stacks->nodes[node].flags = WANTED;
	}
	err = judge_nodes(stacks, nodes, node_count);
	for (uint32_t i = 0; !err && i < count; i++)
		kept[i] &=
			passes(stacks, all[i] == RECORDING_NONE ? &empty : &stacks->nodes[all[i]]);
	return err;
}

struct err *filter_stacks(const struct filter *filter, const struct recording *recording,
			  struct symbolized *symbolized, const uint32_t *stacks, uint32_t count,
			  uint8_t *kept)
{
	cleanup(stacks_deinit) struct stacks judged = {
		.filter = filter,
		.symbolized = symbolized,
		.searches_ns = SEARCHES_NS,
		.positive = filter_has(filter, FILTER_FUNCTION_REGEX) ||
			    filter_has(filter, FILTER_SOURCE_REGEX) ||
			    filter_has(filter, FILTER_MODULE_REGEX),
	};
	struct err *err = NULL;

	if (filter_has(filter, FILTER_ALLOCATED_BY))
		err = keep_called(&judged, stacks, count, kept);
	return err || !filter_has_frames(filter)
		       ? err
		       : keep_by_frames(&judged, recording, stacks, count, kept);
}
