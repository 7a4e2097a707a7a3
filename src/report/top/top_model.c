#include "report/top/top_model.h"

#include <stdlib.h>
#include <string.h>

#include "hosted/cleanup.h"

void top_model_drop(struct top_model *model)
{
	if (model->symbolized)
		symbolized_destroy(model->symbolized);
	recording_close(model->recording);
	model->symbolized = NULL;
	model->recording = NULL;
	model->rows.count = 0;
}

void top_model_deinit(struct top_model *model)
{
	top_model_drop(model);
	vec_deinit(&model->rows);
	vec_deinit(&model->history);
	map_deinit(&model->marked);
	if (model->symbolizer)
		symbolizer_destroy(model->symbolizer);
	*model = (struct top_model){0};
}

/* The live bytes of the latest reading. */
static uint64_t live_bytes(const struct top_model *model)
{
	return model->recording ? recording_summary(model->recording)->live_bytes : 0;
}

static uint64_t time_of(const struct top_model *model)
{
	return model->recording ? recording_facts(model->recording)->duration_ns : 0;
}

/* A hash of a stack's pcs, from the innermost on: hardly any other stack has the same. */
static uint64_t key_of(const struct recording *recording, uint32_t node)
{
	uint32_t count;
	const struct stack_node *nodes = recording_stacks(recording, &count);
	const struct recorded_frame *frames = recording_frames(recording, &count);
	uint64_t key = 0;

	for (; node != RECORDING_NONE; node = nodes[node].parent) {
		key = (key ^ frames[nodes[node].frame].pc) * UINT64_C(0x9e3779b97f4a7c15);
		key ^= key >> 29;
	}
	return key;
}

static bool holds(const char *text, const char *filter)
{
	return text && strcasestr(text, filter);
}

/* Whether the filter's text is in the frame's names. */
static struct err *frame_matches(struct top_model *model, uint32_t frame, bool *ret)
{
	const struct named_frame *lines;
	size_t count;
	struct err *err = symbolized_frame(model->symbolized, frame, &lines, &count);

	*ret = false;
	for (size_t i = 0; !err && i < count; i++)
		*ret |= holds(lines[i].function, model->filter) ||
			holds(lines[i].file, model->filter) ||
			holds(lines[i].module_name, model->filter);
	return err;
}

/*
 * For each stack: whether the filter's text is in it. Index 0 is the empty stack, node i is at i +
 * 1. The caller owns *ret (free()).
 */
static struct err *match_stacks(struct top_model *model, bool **ret)
{
	uint32_t node_count, frame_count;
	const struct stack_node *nodes = recording_stacks(model->recording, &node_count);
	auto_free bool *stacks = NULL;
	auto_free bool *frames = NULL;
	struct err *err = NULL;

	recording_frames(model->recording, &frame_count);
	stacks = calloc((size_t)node_count + 1, sizeof(*stacks));
	frames = calloc((size_t)frame_count + 1, sizeof(*frames));
	if (!stacks || !frames)
		return err_no_memory();
	for (uint32_t i = 0; !err && i < frame_count; i++)
		err = frame_matches(model, i, &frames[i]);
	// A node's parent comes before it.
	for (uint32_t i = 0; !err && i < node_count; i++)
		stacks[i + 1] = frames[nodes[i].frame] || stacks[(uint32_t)(nodes[i].parent + 1)];
	if (!err)
		*ret = steal(&stacks);
	return err;
}

/* Arguments of the sort, because qsort() passes none to its function. */
static __thread struct {
	const struct site *sites;
	enum top_sort by;
} sorting;

static uint64_t magnitude(int64_t change)
{
	return change < 0 ? 0 - (uint64_t)change : (uint64_t)change;
}

static uint64_t value_of(const struct top_row *row)
{
	const struct site *site = &sorting.sites[row->site];

	switch (sorting.by) {
	case TOP_BY_COUNT:
		return site->leaked_blocks;
	case TOP_BY_CHANGE:
		return magnitude(row->change);
	case TOP_BY_CALLS:
		return site->calls;
	case TOP_BY_SIZE:
		break;
	}
	return site->leaked_bytes;
}

static int compare_rows(const void *left, const void *right)
{
	const struct top_row *a = left, *b = right;
	uint64_t x = value_of(a), y = value_of(b);

	if (x != y)
		return x < y ? 1 : -1;
	x = sorting.sites[a->site].leaked_bytes;
	y = sorting.sites[b->site].leaked_bytes;
	if (x != y)
		return x < y ? 1 : -1;
	return a->key < b->key ? -1 : a->key > b->key;
}

static void sort_rows(struct top_model *model)
{
	uint32_t count;

	sorting.sites = recording_sites(model->recording, &count);
	sorting.by = model->sort;
	if (model->rows.count)
		qsort(model->rows.items, model->rows.count, sizeof(*model->rows.items),
		      compare_rows);
}

/* Makes the rows from the latest reading. */
static struct err *fill_rows(struct top_model *model)
{
	uint32_t count;
	const struct site *sites = recording_sites(model->recording, &count);
	auto_free bool *wanted = NULL;
	struct err *err = *model->filter ? match_stacks(model, &wanted) : NULL;

	model->rows.count = 0;
	for (uint32_t i = 0; !err && i < count; i++) {
		struct top_row row = {.key = key_of(model->recording, sites[i].stack), .site = i};
		uint64_t before = map_get(&model->marked, row.key);

		row.change = (int64_t)(sites[i].leaked_bytes - (before == MAP_NONE ? 0 : before));
		if (wanted && !wanted[(uint32_t)(sites[i].stack + 1)])
			continue;
		if ((sites[i].leaked_blocks || row.change) && !vec_push(&model->rows, row))
			err = err_no_memory();
	}
	if (!err)
		sort_rows(model);
	return err;
}

static struct err *set_mark(struct top_model *model)
{
	uint32_t count;
	const struct site *sites = recording_sites(model->recording, &count);

	map_deinit(&model->marked);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t *place = map_put(&model->marked, key_of(model->recording, sites[i].stack));

		if (!place)
			return err_no_memory();
		*place = sites[i].leaked_bytes;
	}
	model->mark_bytes = live_bytes(model);
	model->mark_ns = time_of(model);
	return NULL;
}

struct err *top_model_take(struct top_model *model, struct recording *recording)
{
	bool first = !model->history.count;
	struct err *err = NULL;

	top_model_drop(model);
	model->recording = recording;
	if (!model->symbolizer)
		err = symbolizer_create(&model->symbolizer);
	if (!err)
		err = symbolized_create(recording,
					&(struct naming){.symbolizer = model->symbolizer,
							 .plumbing = model->plumbing},
					&model->symbolized);
	if (!err && !vec_push(&model->history, live_bytes(model)))
		err = err_no_memory();
	if (!err && first)
		err = set_mark(model);
	return err ? err : fill_rows(model);
}

struct err *top_model_sort(struct top_model *model, enum top_sort sort)
{
	model->sort = sort;
	if (model->recording)
		sort_rows(model);
	return NULL;
}

struct err *top_model_filter(struct top_model *model, const char *filter)
{
	size_t length = strlen(filter);

	if (length >= sizeof(model->filter))
		length = sizeof(model->filter) - 1;
	memcpy(model->filter, filter, length);
	model->filter[length] = 0;
	return model->recording ? fill_rows(model) : NULL;
}

struct err *top_model_mark(struct top_model *model)
{
	struct err *err = model->recording ? set_mark(model) : NULL;

	return err || !model->recording ? err : fill_rows(model);
}
