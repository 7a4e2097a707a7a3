#include "report/export/speedscope.h"

#include <inttypes.h>
#include <stdlib.h>

#include "hosted/cleanup.h"
#include "report/export/export_text.h"
#include "report/export/stack_sums.h"

#define SCHEMA "https://www.speedscope.app/file-format-schema.json"

struct speedscope {
	const struct export_subject *subject;
	struct stack_sums stacks;
	struct json_writer json;
	struct buf scratch;
	VEC(uint32_t) path;
	uint32_t folded; /* the most nodes that a profile is without */
};

/* One metric: what each node has of it, by what stands for the node. */
struct weights {
	uint64_t *own;    /* of stacks that end there */
	uint64_t *folded; /* of stacks that end in nodes which were left out below it */
};

static void speedscope_deinit(struct speedscope *scope)
{
	stack_sums_deinit(&scope->stacks);
	buf_deinit(&scope->scratch);
	vec_deinit(&scope->path);
}

static void weights_deinit(struct weights *weights)
{
	free(weights->own);
	free(weights->folded);
}

static bool is_known(const struct speedscope *scope, enum metric metric)
{
	const struct recording_facts *facts = recording_facts(scope->subject->recording);

	return metric != METRIC_TEMPORARY || !facts->sample_mean;
}

static struct err *weigh(struct speedscope *scope, enum metric metric, struct weights *ret)
{
	const struct stack_sums *stacks = &scope->stacks;
	auto_free uint64_t *values = NULL;
	auto_free uint32_t *stand = NULL;
	uint32_t count = stacks->tree->count, folded;
	struct err *err = stack_sums_values(stacks, metric, &values);

	if (!err)
		err = stack_sums_cut(stacks, values, scope->subject->nodes, &stand, &folded);
	if (err)
		return err;
	ret->own = calloc(count, sizeof(*ret->own));
	ret->folded = calloc(count, sizeof(*ret->folded));
	if (!ret->own || !ret->folded)
		return err_no_memory();
	for (uint32_t i = 0; i < count; i++)
		(stand[i] == i ? ret->own : ret->folded)[stand[i]] +=
			metric_of_site(metric, &stacks->own[i]);
	if (scope->folded < folded)
		scope->folded = folded;
	return NULL;
}

/* Writes the frames of a node's stack, outermost first, and one more behind them. */
static struct err *put_stack(struct speedscope *scope, uint32_t node, uint32_t more)
{
	const struct stack_sums *stacks = &scope->stacks;

	scope->path.count = 0;
	for (; node; node = stacks->tree->nodes[node].parent)
		if (!vec_push(&scope->path, stack_sums_frame(stacks, node)))
			return err_no_memory();
	json_array(&scope->json);
	for (size_t i = scope->path.count; i-- > 0;)
		json_u64(&scope->json, scope->path.items[i]);
	if (more != RECORDING_NONE)
		json_u64(&scope->json, more);
	json_end(&scope->json);
	return NULL;
}

static struct err *put_profile(struct speedscope *scope, enum metric metric)
{
	cleanup(weights_deinit) struct weights weights = {0};
	struct json_writer *json = &scope->json;
	uint32_t count = scope->stacks.tree->count;
	uint32_t no_stack = (uint32_t)scope->stacks.frames.count, folded = no_stack + 1;
	struct err *err = weigh(scope, metric, &weights);
	uint64_t sum = 0;

	if (err)
		return err;
	json_object(json);
	json_field_text(json, "type", "sampled");
	json_field_text(json, "name", metric_info(metric)->name);
	json_field_text(json, "unit", metric_info(metric)->bytes ? "bytes" : "none");
	json_field_array(json, "samples");
	for (uint32_t i = 0; !err && i < count; i++) {
		if (weights.own[i])
			err = put_stack(scope, i, i ? RECORDING_NONE : no_stack);
		if (!err && weights.folded[i])
			err = put_stack(scope, i, folded);
	}
	json_end(json);
	json_field_array(json, "weights");
	for (uint32_t i = 0; i < count; i++) {
		if (weights.own[i])
			json_u64(json, weights.own[i]);
		if (weights.folded[i])
			json_u64(json, weights.folded[i]);
		sum += weights.own[i] + weights.folded[i];
	}
	json_end(json);
	json_field_u64(json, "startValue", 0);
	json_field_u64(json, "endValue", sum);
	json_end(json);
	return err;
}

static void put_frame(struct json_writer *json, const char *name)
{
	json_object(json);
	json_field_text(json, "name", name);
	json_end(json);
}

static void put_frames(struct speedscope *scope)
{
	struct json_writer *json = &scope->json;
	char folded[STACK_SUMS_FOLDED_NAME];

	json_field_object(json, "shared");
	json_field_array(json, "frames");
	for (size_t i = 0; i < scope->stacks.frames.count; i++) {
		const struct stack_frame *frame = &scope->stacks.frames.items[i];

		json_object(json);
		json_field_text(json, "name", frame->label);
		if (frame->named->file)
			json_field_text(json, "file", frame->named->file);
		if (frame->named->file && frame->line)
			json_field_u64(json, "line", frame->line);
		json_end(json);
	}
	put_frame(json, STACK_SUMS_NO_STACK);
	put_frame(json, stack_sums_folded_name(scope->subject->nodes, folded, sizeof(folded)));
	json_end(json);
	json_end(json);
}

static struct err *put_document(struct speedscope *scope)
{
	struct json_writer *json = &scope->json;
	struct err *err = NULL;
	uint64_t active = 0;

	json_object(json);
	json_field_text(json, "$schema", SCHEMA);
	json_field_text(json, "exporter", "mallow " MALLOW_VERSION);
	json_key(json, "name");
	export_json_title(json, &scope->scratch, recording_facts(scope->subject->recording));
	for (enum metric metric = 0; metric < scope->subject->metric; metric++)
		active += is_known(scope, metric);
	json_field_u64(json, "activeProfileIndex", active);
	json_field_array(json, "profiles");
	for (enum metric metric = 0; !err && metric < METRIC_COUNT; metric++)
		if (is_known(scope, metric))
			err = put_profile(scope, metric);
	json_end(json);
	put_frames(scope);
	json_end(json);
	return err;
}

struct err *speedscope_write(struct buf *buf, const struct export_subject *subject)
{
	const struct tree_shape shape = {.merge = TREE_BY_LABEL,
					 .plumbing = subject->fold == TREE_FOLDED};
	cleanup(speedscope_deinit) struct speedscope scope = {
		.subject = subject,
		.scratch = BUF_EMPTY,
	};
	struct err *err;

	if (!is_known(&scope, subject->metric))
		return err_create("a sample does not know which allocations were temporary");
	json_init(&scope.json, buf, false);
	err = stack_sums_create(subject->recording, subject->symbolized, &shape, &scope.stacks);
	if (!err)
		err = put_document(&scope);
	if (!err && subject->note && scope.folded)
		buf_printf(subject->note,
			   "of each metric %" PRIu64
			   " nodes of stacks are in the file; up to %" PRIu32
			   " narrower ones are folded into their callers (--nodes)",
			   subject->nodes, scope.folded);
	return err;
}
