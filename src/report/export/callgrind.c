#include "report/export/callgrind.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "hosted/cleanup.h"
#include "hosted/intern.h"
#include "hosted/map.h"
#include "report/export/export_text.h"
#include "report/export/stack_sums.h"

static const struct event {
	const char *name, *text;
	size_t offset; /* in struct site */
} events[] = {
	{"TotalBytes", "bytes allocated in all", offsetof(struct site, total_bytes)},
	{"Allocations", "allocations", offsetof(struct site, calls)},
	{"PeakBytes", "bytes live at the peak", offsetof(struct site, peak_bytes)},
	{"PeakBlocks", "blocks live at the peak", offsetof(struct site, peak_blocks)},
	{"LeakedBytes", "bytes never freed", offsetof(struct site, leaked_bytes)},
	{"LeakedBlocks", "blocks never freed", offsetof(struct site, leaked_blocks)},
};

/* A function, or its second, third … place on a stack. */
struct function {
	const struct named_frame *frame; /* NULL: the empty stack's */
	uint32_t place;                  /* from 1 */
	bool named;                      /* the file has its name */
};

/* What a line has: by itself, or by what it called. */
struct cost {
	uint32_t function, line;
	uint32_t called; /* function; RECORDING_NONE: by itself */
	uint32_t node;   /* whose sums they are */
};

struct callgrind {
	struct buf *out;
	struct stack_sums stacks;
	struct site *all; /* for each node the sums of it and of all below it */
	struct intern texts;
	struct map
		numbers; /* of a text its number: of files, of programs, and of functions' names */
	struct map functions; /* of a function's name and its place its index */
	VEC(struct function) list;
	uint32_t *by_node; /* the function of each node */
	VEC(struct cost) costs;
	struct buf scratch;
	const struct named_frame *place; /* the module and file of the function being written */
};

static void callgrind_deinit(struct callgrind *grind)
{
	stack_sums_deinit(&grind->stacks);
	free(grind->all);
	intern_deinit(&grind->texts);
	map_deinit(&grind->numbers);
	map_deinit(&grind->functions);
	vec_deinit(&grind->list);
	free(grind->by_node);
	vec_deinit(&grind->costs);
	buf_deinit(&grind->scratch);
}

/* --- functions --- */

/* *ret: the number of a text, from 1. *is_new: it had none yet. */
static struct err *number_of(struct callgrind *grind, const char *text, uint64_t *ret, bool *is_new)
{
	const char *kept = intern_text(&grind->texts, text);
	uint64_t *number = kept ? map_put(&grind->numbers, (uintptr_t)kept) : NULL;

	if (!number)
		return err_no_memory();
	*is_new = *number == MAP_NONE;
	if (*is_new)
		*number = grind->numbers.count;
	*ret = *number;
	return NULL;
}

/* *ret: a number of the function that a frame is in: that name in that file and program. */
static struct err *name_of(struct callgrind *grind, const struct named_frame *frame, uint64_t *ret)
{
	struct buf *scratch = &grind->scratch;
	bool is_new;

	scratch->size = 0;
	buf_printf(scratch, "n%s\n%s\n%s", frame->function, frame->file ? frame->file : "",
		   frame->module ? frame->module : "");
	return buf_string(scratch) ? number_of(grind, scratch->data, ret, &is_new)
				   : buf_finish(scratch);
}

static struct err *add_function(struct callgrind *grind, uint64_t name, uint32_t place,
				const struct named_frame *frame, uint32_t *ret)
{
	uint64_t *index = map_put(&grind->functions, name << 32 | place);

	if (!index)
		return err_no_memory();
	if (*index == MAP_NONE) {
		*index = grind->list.count;
		if (!vec_push(&grind->list, (struct function){frame, place, false}))
			return err_no_memory();
	}
	*ret = (uint32_t)*index;
	return NULL;
}

/*
 * Finds the function of each node: which one, and where on its stack. The walk goes down and up the
 * tree, and counts which functions it is in.
 */
static struct err *find_functions(struct callgrind *grind)
{
	const struct tree_node *nodes = grind->stacks.tree->nodes;
	const struct stack_frame *frames = grind->stacks.frames.items;
	size_t count = grind->stacks.frames.count;
	auto_free uint64_t *names = calloc(count + 1, sizeof(*names));
	auto_free uint32_t *within = calloc(count + 1, sizeof(*within)); // by name, from 1
	uint32_t next;
	struct err *err;

	grind->by_node = calloc(grind->stacks.tree->count, sizeof(*grind->by_node));
	if (!names || !within || !grind->by_node)
		return err_no_memory();
	err = add_function(grind, 0, 1, NULL, &grind->by_node[0]);
	for (size_t i = 0; !err && i < count; i++)
		err = name_of(grind, frames[i].named, &names[i]);
	for (uint32_t at = nodes[0].first_child; !err && at != RECORDING_NONE; at = next) {
		uint32_t frame = stack_sums_frame(&grind->stacks, at);

		err = add_function(grind, names[frame], ++within[names[frame]], frames[frame].named,
				   &grind->by_node[at]);
		for (next = nodes[at].first_child; next == RECORDING_NONE && at;
		     at = nodes[at].parent) {
			within[names[stack_sums_frame(&grind->stacks, at)]]--;
			next = nodes[at].next_sibling;
		}
	}
	return err;
}

/* --- costs --- */

static uint32_t line_of(const struct callgrind *grind, uint32_t node)
{
	const struct named_frame *frame = grind->stacks.tree->nodes[node].frame;

	return frame && frame->file ? frame->line : 0;
}

static int compare_costs(const void *a, const void *b)
{
	const struct cost *left = a, *right = b;

	if (left->function != right->function)
		return left->function < right->function ? -1 : 1;
	if (left->called != right->called) // what it has by itself first
		return left->called + 1 < right->called + 1 ? -1 : 1;
	return left->line < right->line ? -1 : left->line > right->line;
}

static bool is_nothing(const struct site *sum)
{
	for (size_t i = 0; i < ARRAY_COUNT(events); i++)
		if (*(const uint64_t *)((const char *)sum + events[i].offset))
			return false;
	return true;
}

static struct err *find_costs(struct callgrind *grind)
{
	const struct tree *tree = grind->stacks.tree;

	grind->all = malloc(tree->count * sizeof(*grind->all));
	if (!grind->all)
		return err_no_memory();
	memcpy(grind->all, grind->stacks.own, tree->count * sizeof(*grind->all));
	for (uint32_t i = tree->count; i-- > 1;)
		metric_add_site(&grind->all[tree->nodes[i].parent], &grind->all[i]);
	for (uint32_t i = 0; i < tree->count; i++) {
		uint32_t caller = tree->nodes[i].parent;
		struct cost own = {grind->by_node[i], line_of(grind, i), RECORDING_NONE, i};

		if (!is_nothing(&grind->stacks.own[i]) && !vec_push(&grind->costs, own))
			return err_no_memory();
		if (i && caller) {
			struct cost call = {grind->by_node[caller], line_of(grind, caller),
					    grind->by_node[i], i};

			if (!vec_push(&grind->costs, call))
				return err_no_memory();
		}
	}
	if (grind->costs.count)
		qsort(grind->costs.items, grind->costs.count, sizeof(*grind->costs.items),
		      compare_costs);
	return NULL;
}

/* --- lines --- */

static void put_values(struct buf *out, const struct site *sum)
{
	for (size_t i = 0; i < ARRAY_COUNT(events); i++) {
		buf_char(out, ' ');
		buf_u64(out, *(const uint64_t *)((const char *)sum + events[i].offset));
	}
	buf_char(out, '\n');
}

/* Writes "KEY=(1) text", and "KEY=(1)" from the second time on. kind: of texts with own numbers. */
static struct err *put_name(struct callgrind *grind, const char *key, char kind, const char *text)
{
	struct buf *scratch = &grind->scratch;
	uint64_t number;
	bool is_new;
	struct err *err;

	scratch->size = 0;
	buf_char(scratch, kind);
	buf_text(scratch, text ? text : "???");
	if (!buf_string(scratch))
		return buf_finish(scratch);
	err = number_of(grind, scratch->data, &number, &is_new);
	if (err)
		return err;
	buf_text(grind->out, key);
	buf_char(grind->out, '(');
	buf_u64(grind->out, number);
	buf_char(grind->out, ')');
	if (is_new) {
		buf_char(grind->out, ' ');
		export_text(grind->out, text);
	}
	buf_char(grind->out, '\n');
	return NULL;
}

static bool is_same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* Begins the lines of a function, or of a call. A call says only in what its place differs. */
static struct err *put_function(struct callgrind *grind, uint32_t index, bool called)
{
	static const struct named_frame nowhere = {0};
	struct function *function = &grind->list.items[index];
	const struct named_frame *frame = function->frame;
	const struct named_frame *place = frame ? frame : &nowhere;
	struct err *err = NULL;

	if (!called || !is_same(place->module, grind->place->module))
		err = put_name(grind, called ? "cob=" : "ob=", 'o', place->module);
	if (!err && (!called || !is_same(place->file, grind->place->file)))
		err = put_name(grind, called ? "cfi=" : "fl=", 'f', place->file);
	if (err)
		return err;
	if (!called)
		grind->place = place;
	buf_text(grind->out, called ? "cfn=(" : "fn=(");
	buf_u64(grind->out, index);
	buf_char(grind->out, ')');
	if (!function->named) {
		buf_char(grind->out, ' ');
		export_text(grind->out, frame ? frame->function : STACK_SUMS_NO_STACK);
		if (function->place > 1)
			buf_printf(grind->out, "'%u", function->place);
	}
	function->named = true;
	buf_char(grind->out, '\n');
	return NULL;
}

/* Writes the costs that differ in nothing but their nodes: one line of a function. */
static struct err *put_cost(struct callgrind *grind, size_t first, size_t end)
{
	const struct cost *cost = &grind->costs.items[first];
	bool calls = cost->called != RECORDING_NONE;
	struct site sum = {0};

	for (size_t i = first; i < end; i++)
		metric_add_site(&sum, &(calls ? grind->all
					      : grind->stacks.own)[grind->costs.items[i].node]);
	if (calls) {
		struct err *err = put_function(grind, cost->called, true);

		if (err)
			return err;
		buf_text(grind->out, "calls=");
		buf_u64(grind->out, sum.calls);
		buf_text(grind->out, " 0\n");
	}
	buf_u64(grind->out, cost->line);
	put_values(grind->out, &sum);
	return NULL;
}

static struct err *put_costs(struct callgrind *grind)
{
	const struct cost *costs = grind->costs.items;
	struct err *err = NULL;
	size_t end;

	for (size_t i = 0; !err && i < grind->costs.count; i = end) {
		for (end = i + 1; end < grind->costs.count; end++)
			if (compare_costs(&costs[i], &costs[end]) != 0)
				break;
		if (!i || costs[i].function != costs[i - 1].function) {
			buf_char(grind->out, '\n');
			err = put_function(grind, costs[i].function, false);
		}
		if (!err)
			err = put_cost(grind, i, end);
	}
	return err;
}

static void put_head(struct callgrind *grind, const struct recording_facts *facts)
{
	struct buf *out = grind->out;

	buf_text(out, "# callgrind format\nversion: 1\ncreator: mallow " MALLOW_VERSION "\n");
	if (facts->pid)
		buf_printf(out, "pid: %u\n", facts->pid);
	buf_text(out, "cmd: ");
	export_title(out, facts);
	buf_text(out, "\npositions: line\n");
	for (size_t i = 0; i < ARRAY_COUNT(events); i++)
		buf_printf(out, "event: %s : %s\n", events[i].name, events[i].text);
	buf_text(out, "events:");
	for (size_t i = 0; i < ARRAY_COUNT(events); i++)
		buf_printf(out, " %s", events[i].name);
	buf_text(out, "\nsummary:");
	put_values(out, &grind->all[0]);
}

struct err *callgrind_write(struct buf *buf, const struct export_subject *subject)
{
	const struct tree_shape shape = {.merge = TREE_BY_LINE,
					 .plumbing = subject->fold == TREE_FOLDED};
	cleanup(callgrind_deinit) struct callgrind grind = {.out = buf, .scratch = BUF_EMPTY};
	struct err *err =
		stack_sums_create(subject->recording, subject->symbolized, &shape, &grind.stacks);

	if (!err)
		err = find_functions(&grind);
	if (!err)
		err = find_costs(&grind);
	if (err)
		return err;
	put_head(&grind, recording_facts(subject->recording));
	err = put_costs(&grind);
	buf_text(buf, "\ntotals:");
	put_values(buf, &grind.all[0]);
	return err;
}
