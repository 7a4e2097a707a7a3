#include "analysis/leaks/suppressed.h"
#include "analysis/names/library_state.h"
#include "analysis/names/pattern.h"

#include <assert.h>
#include <string.h>

#include "analysis/recording_data.h"
#include "hosted/cleanup.h"
#include "symbols/demangle.h"

void suppressed_deinit(struct suppressed *suppressed)
{
	recording_close(suppressed->recording);
	free(suppressed->sums);
	free(suppressed->stacks);
	*suppressed = (struct suppressed){0};
}

#define NOT_JUDGED UINT32_MAX

/* The index of the first suppression that matches + 1; 0: none does. */
static uint32_t find(const struct suppressions *suppressions, const char *text)
{
	size_t count;
	const struct suppression *list = suppressions_list(suppressions, &count);

	for (size_t i = 0; i < count; i++)
		if (pattern_matches(list[i].pattern, text))
			return (uint32_t)i + 1;
	return 0;
}

/*
 * Looks for a function. "f.isra.0" counts as f: patterns are made from the program's source, where
 * only f exists.
 */
static struct err *find_function(const struct suppressions *suppressions, const char *function,
				 uint32_t *ret)
{
	size_t length = demangle_without_clone(function);
	auto_free char *original = NULL;

	*ret = find(suppressions, function);
	if (*ret || !function[length])
		return NULL;
	original = strndup(function, length);
	if (!original)
		return err_no_memory();
	*ret = find(suppressions, original);
	return NULL;
}

static struct err *judge_frame(const struct suppressions *suppressions,
			       struct symbolized *symbolized, uint32_t frame, uint32_t *ret)
{
	const struct named_frame *lines;
	struct err *err;
	size_t count;

	err = symbolized_frame(symbolized, frame, &lines, &count);
	if (err)
		return err;
	// LeakSanitizer's name for code in no module.
	*ret = find(suppressions, lines->module ? lines->module : "<unknown module>");
	for (size_t i = 0; !err && !*ret && i < count; i++) {
		if (lines[i].has_symbol)
			err = find_function(suppressions, lines[i].function, ret);
		if (!err && !*ret)
			*ret = find(suppressions, lines[i].file);
	}
	return err;
}

/* Marks the stacks that something leaked from: the frames of others need no names. */
static void mark_wanted(const struct recording *recording, uint32_t *stacks)
{
	uint32_t count;
	const struct stack_node *nodes = recording_stacks(recording, &count);
	const struct site *sites = recording_sites(recording, &count);

	for (uint32_t i = 0; i < count; i++) {
		uint32_t node = sites[i].leaked_blocks ? sites[i].stack : RECORDING_NONE;

		for (; node != RECORDING_NONE && stacks[node + 1] != NOT_JUDGED;
		     node = nodes[node].parent)
			stacks[node + 1] = NOT_JUDGED;
	}
}

static struct err *judge_stacks(const struct suppressions *suppressions,
				const struct recording *recording, struct symbolized *symbolized,
				uint32_t *stacks)
{
	uint32_t node_count, frame_count;
	const struct stack_node *nodes = recording_stacks(recording, &node_count);
	auto_free uint32_t *frames = NULL;

	recording_frames(recording, &frame_count);
	frames = malloc(((size_t)frame_count + 1) * sizeof(*frames));
	if (!frames)
		return err_no_memory();
	memset(frames, 0xff, ((size_t)frame_count + 1) * sizeof(*frames));
	mark_wanted(recording, stacks);
	// Parents come first, so this goes from the outermost inwards.
	for (uint32_t i = 0; i < node_count; i++) {
		uint32_t *frame = &frames[nodes[i].frame];

		if (stacks[i + 1] != NOT_JUDGED)
			continue;
		if (*frame == NOT_JUDGED) {
			struct err *err =
				judge_frame(suppressions, symbolized, nodes[i].frame, frame);

			if (err)
				return err;
		}
		stacks[i + 1] = *frame || nodes[i].parent == RECORDING_NONE
					? *frame
					: stacks[nodes[i].parent + 1];
	}
	return NULL;
}

struct err *suppressed_stacks(const struct suppressions *suppressions,
			      const struct recording *recording, struct symbolized *symbolized,
			      uint32_t **ret)
{
	auto_free uint32_t *stacks = NULL;
	struct err *err = NULL;
	uint32_t nodes;
	size_t count;

	recording_stacks(recording, &nodes);
	suppressions_list(suppressions, &count);
	stacks = calloc((size_t)nodes + 1, sizeof(*stacks));
	if (!stacks)
		return err_no_memory();
	if (count)
		err = judge_stacks(suppressions, recording, symbolized, stacks);
	if (!err)
		*ret = steal(&stacks);
	return err;
}

/* Makes a recording that differs in its sites alone. */
static struct err *copy(const struct recording *recording, struct recording **ret)
{
	cleanup(recording_close_at) struct recording *made = NULL;
	struct err *err = recording_create_alike(recording, &made);

	if (err)
		return err;
	assert(made);
	made->summary = recording->summary;
	shared_drop(made->blocks);
	made->blocks = shared_hold(recording->blocks);
	shared_drop(made->pools);
	made->pools = shared_hold(recording->pools);
	if (!vec_append(&made->sites.sites, &recording->sites.sites))
		return err_no_memory();
	*ret = steal(&made);
	return NULL;
}

/* Adds a site's leaks to what is hidden. */
static void count(const struct site *site, struct suppressed_sum *sum)
{
	sum->sites++;
	sum->blocks += site->leaked_blocks;
	sum->bytes += site->leaked_bytes;
}

static void forget(struct suppressed *suppressed, struct site *site)
{
	count(site, &suppressed->all);
	suppressed->recording->summary.leaked_blocks -= site->leaked_blocks;
	suppressed->recording->summary.leaked_bytes -= site->leaked_bytes;
	site->leaked_blocks = site->leaked_bytes = 0;
}

static void leave_out(struct suppressed *suppressed)
{
	struct site_table *table = &suppressed->recording->sites;

	for (size_t i = 0; i < table->sites.count; i++) {
		struct site *site = &table->sites.items[i];
		uint32_t number = suppressed->stacks[(uint32_t)(site->stack + 1)];

		if (!number || !site->leaked_blocks)
			continue;
		count(site, &suppressed->sums[number - 1]);
		forget(suppressed, site);
	}
}

struct err *suppressed_create(const struct suppressions *suppressions,
			      const struct recording *recording, struct symbolized *symbolized,
			      struct suppressed *ret)
{
	cleanup(suppressed_deinit) struct suppressed suppressed = {.suppressions = suppressions};
	struct err *err = NULL;
	size_t count;

	suppressions_list(suppressions, &count);
	suppressed.sums = calloc(count + 1, sizeof(*suppressed.sums));
	if (!suppressed.sums)
		return err_no_memory();
	err = suppressed_stacks(suppressions, recording, symbolized, &suppressed.stacks);
	if (!err)
		err = copy(recording, &suppressed.recording);
	if (err)
		return err;
	assert(suppressed.recording);
	leave_out(&suppressed);
	*ret = suppressed;
	suppressed = (struct suppressed){0};
	return NULL;
}

void suppressed_keep_facts(struct suppressed *suppressed, const struct recording *original)
{
	suppressed->recording->facts_cache = shared_hold(original->facts_cache);
}

struct err *suppressed_create_own(const struct recording *recording, struct symbolized *symbolized,
				  struct suppressed *ret)
{
	cleanup(suppressed_deinit) struct suppressed suppressed = {0};
	struct err *err = copy(recording, &suppressed.recording);
	uint32_t site_count;

	recording_sites(recording, &site_count);
	for (uint32_t i = 0; !err && i < site_count; i++) {
		struct site *site = &suppressed.recording->sites.sites.items[i];
		bool kept = false;

		if (site->leaked_blocks)
			err = library_state_has(symbolized, site->stack, &kept);
		if (kept)
			forget(&suppressed, site);
	}
	if (err)
		return err;
	*ret = suppressed;
	suppressed = (struct suppressed){0};
	return NULL;
}
