#include "recordings_compare.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/recording_data.h"
#include "base/random.h"
#include "recordings_compare_inside.h"

static char difference[200];

const char *recordings_differ(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(difference, sizeof(difference), format, arguments);
	va_end(arguments);
	return difference;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	return random_mix(hash * 31 + value + 1);
}

static uint64_t mix_bytes(uint64_t hash, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		hash = mix(hash, ((const uint8_t *)bytes)[i]);
	return mix(hash, size);
}

static struct hashes make_hashes(size_t count)
{
	struct hashes made = {count, calloc(count + 1, sizeof(*made.items))};

	if (!made.items)
		abort();
	return made;
}

static struct side open_side(const struct recording *recording)
{
	uint32_t modules, frames, nodes;
	const struct recorded_module *module = recording_modules(recording, &modules);
	const struct recorded_frame *frame = recording_frames(recording, &frames);
	const struct stack_node *node = recording_stacks(recording, &nodes);
	struct side side = {recording, make_hashes(modules), make_hashes(frames),
			    make_hashes(nodes)};

	for (uint32_t i = 0; i < modules; i++, module++) {
		uint64_t hash = mix_bytes(1, module->path, strlen(module->path));

		hash = mix_bytes(hash, module->build_id, module->build_id_size);
		hash = mix(mix(mix(hash, module->generation), module->bias), module->start);
		side.modules.items[i] =
			mix(mix(mix(hash, module->end), module->loaded_ns), module->gone_ns);
	}
	for (uint32_t i = 0; i < frames; i++)
		side.frames.items[i] =
			mix(frame[i].pc, frame[i].module == RECORDING_NONE
						 ? 0
						 : side.modules.items[frame[i].module]);
	for (uint32_t i = 0; i < nodes; i++)
		side.nodes.items[i] = mix(
			side.frames.items[node[i].frame],
			node[i].parent == RECORDING_NONE ? 0 : side.nodes.items[node[i].parent]);
	return side;
}

static void close_side(struct side *side)
{
	free(side->modules.items);
	free(side->frames.items);
	free(side->nodes.items);
}

uint64_t recordings_stack_of(const struct side *side, uint32_t node)
{
	return node == RECORDING_NONE ? 0 : side->nodes.items[node];
}

static int compare_numbers(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

/* Whether both have the same, in any order. */
static bool same_set(const struct hashes *a, const struct hashes *b)
{
	struct hashes left = make_hashes(a->count), right = make_hashes(a->count);
	bool same = a->count == b->count;

	if (same) {
		memcpy(left.items, a->items, a->count * sizeof(*a->items));
		memcpy(right.items, b->items, a->count * sizeof(*a->items));
		qsort(left.items, a->count, sizeof(*a->items), compare_numbers);
		qsort(right.items, a->count, sizeof(*a->items), compare_numbers);
		same = memcmp(left.items, right.items, a->count * sizeof(*a->items)) == 0;
	}
	free(left.items);
	free(right.items);
	return same;
}

static const char *compare_texts(const char *const *a, const char *const *b)
{
	if (!a || !b)
		return a == b ? NULL : recordings_differ("one list of texts is not there");
	for (; *a && *b; a++, b++)
		if (strcmp(*a, *b) != 0)
			return recordings_differ("texts: %s, %s", *a, *b);
	return *a || *b ? recordings_differ("one list of texts is longer") : NULL;
}

static const char *compare_facts(const struct side *a, const struct side *b)
{
	struct recording_facts facts[2];
	const char *different;
	const uint32_t i = 0;

	memcpy(&facts[0], recording_facts(a->recording), sizeof(*facts));
	memcpy(&facts[1], recording_facts(b->recording), sizeof(*facts));

	const struct recording_facts *left = &facts[0], *right = &facts[1];

	SAME(file_size);
	SAME(ended);
	SAME(writing);
	SAME(complete);
	SAME(end_reason);
	SAME(duration_ns);
	SAME(events);
	SAME(allocations);
	SAME(frees);
	SAME(implicit_frees);
	SAME(unknown_frees);
	SAME_TEXT(path);
	SAME_TEXT(program);
	SAME_TEXT(directory);
	SAME_TEXT(host);
	SAME_TEXT(kernel);
	SAME_TEXT(agent_version);
	SAME_TEXT(first_damage_text);
	different = compare_texts(left->arguments, right->arguments);
	if (!different)
		different = compare_texts(left->environment, right->environment);
	if (different)
		return different;
	for (int side = 0; side < 2; side++) {
		facts[side].path = facts[side].program = facts[side].directory = NULL;
		facts[side].host = facts[side].kernel = facts[side].agent_version = NULL;
		facts[side].first_damage_text = NULL;
		facts[side].arguments = facts[side].environment = NULL;
		facts[side].sight = NULL;
	}
	SAME_BYTES("facts", left, right, sizeof(*left));
	if (a->recording->tables->fingerprint != b->recording->tables->fingerprint)
		return recordings_differ("fingerprint");
	return NULL;
}

static const char *compare_tables(const struct side *a, const struct side *b)
{
	if (!same_set(&a->modules, &b->modules))
		return recordings_differ("modules");
	if (!same_set(&a->frames, &b->frames))
		return recordings_differ("frames");
	return same_set(&a->nodes, &b->nodes) ? NULL : recordings_differ("stacks");
}

static const char *compare_summaries(const struct recording_summary *a,
				     const struct recording_summary *b)
{
	SAME_BYTES("summary", a, b, sizeof(*a));
	return NULL;
}

static const char *compare_site_lists(const struct side *a, const struct side *b,
				      const struct site *left, const struct site *right,
				      uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		SAME_STACK(stack);
		SAME(calls);
		SAME(total_bytes);
		SAME(peak_bytes);
		SAME(peak_blocks);
		SAME(own_peak_bytes);
		SAME(leaked_bytes);
		SAME(leaked_blocks);
		SAME(temporary);
	}
	return NULL;
}

static const char *compare_sites(const struct side *a, const struct side *b)
{
	COUNTS(recording_sites);
	return compare_site_lists(a, b, left, right, count);
}

static const char *compare_threads(const struct side *a, const struct side *b)
{
	COUNTS(recording_threads);
	for (uint32_t i = 0; i < count; i++) {
		SAME(stream);
		SAME(tid);
		SAME_TEXT(name);
		SAME(first_ns);
		SAME(events);
	}
	return NULL;
}

static const char *compare_samples(const struct side *a, const struct side *b)
{
	COUNTS(recording_memory);
	SAME_BYTES("memory", left, right, count * sizeof(*left));
	return NULL;
}

static const char *compare_marks(const struct side *a, const struct side *b)
{
	COUNTS(recording_marks);
	for (uint32_t i = 0; i < count; i++) {
		SAME(time_ns);
		SAME_TEXT(name);
	}
	return NULL;
}

static const char *compare_switches(const struct side *a, const struct side *b)
{
	COUNTS(recording_switches);
	for (uint32_t i = 0; i < count; i++) {
		SAME(time_ns);
		SAME(on);
	}
	return NULL;
}

static const char *compare_mappings(const struct side *a, const struct side *b)
{
	COUNTS(recording_mappings);
	for (uint32_t i = 0; i < count; i++) {
		SAME(time_ns);
		SAME(kind);
		SAME(thread);
		SAME_STACK(stack);
		SAME(requested);
		SAME(address);
		SAME(length);
		SAME(old_address);
		SAME(old_length);
		SAME(offset);
		SAME(protection);
		SAME(flags);
		SAME(fd);
		SAME(increment);
	}
	return NULL;
}

static const char *compare_mallopts(const struct side *a, const struct side *b)
{
	COUNTS(recording_mallopts);
	for (uint32_t i = 0; i < count; i++) {
		SAME(time_ns);
		SAME(thread);
		SAME_STACK(stack);
		SAME(parameter);
		SAME(value);
		SAME(result);
	}
	return NULL;
}

static const char *compare_pools(const struct side *a, const struct side *b)
{
	const char *different;

	COUNTS(recording_pools);
	for (uint32_t i = 0; i < count; i++) {
		SAME_TEXT(name);
		SAME(address);
		SAME(places);
		SAME(frees);
		SAME(resets);
		SAME(implicit_frees);
		SAME(wrong_frees);
		SAME(wrong_address);
		if (left[i].wrong_frees)
			SAME_STACK(wrong_stack);
		SAME(site_count);
		different = compare_summaries(&left[i].sum, &right[i].sum);
		if (!different)
			different = compare_site_lists(a, b, left[i].sites, right[i].sites,
						       left[i].site_count);
		if (different)
			return different;
	}
	return compare_summaries(recording_pool_sum(a->recording),
				 recording_pool_sum(b->recording));
}

static const char *compare_births(const struct side *a, const struct side *b)
{
	size_t count, others;
	const struct pool_birth *left = recording_pool_births(a->recording, &count);
	const struct pool_birth *right = recording_pool_births(b->recording, &others);

	if (count != others)
		return recordings_differ("births: %zu, %zu", count, others);
	SAME_BYTES("births", left, right, count * sizeof(*left));
	return NULL;
}

static bool same_unseen(const struct unseen *left, const struct unseen *right)
{
	return left->kind == right->kind && left->bytes_at_most == right->bytes_at_most &&
	       strcmp(left->object, right->object) == 0 && strcmp(left->name, right->name) == 0 &&
	       strcmp(left->symbol, right->symbol) == 0;
}

/* In any order: which stream is read first means nothing. */
static const char *compare_unseen(const struct side *a, const struct side *b)
{
	const struct unseen *left = a->recording->tables->unseen.items;
	const struct unseen *right = b->recording->tables->unseen.items;
	size_t count = a->recording->tables->unseen.count;

	if (count != b->recording->tables->unseen.count)
		return recordings_differ("unseen: %zu, %zu", count,
					 b->recording->tables->unseen.count);
	for (size_t i = 0; i < count; i++) {
		size_t same = 0;

		while (same < count && !same_unseen(&left[i], &right[same]))
			same++;
		if (same == count)
			return recordings_differ("unseen: %s", left[i].object);
	}
	return NULL;
}

static const char *compare(const struct side *a, const struct side *b)
{
	static const char *(*const parts[])(const struct side *, const struct side *) = {
		compare_facts,
		compare_tables,
		compare_sites,
		compare_threads,
		compare_samples,
		compare_marks,
		compare_switches,
		compare_mappings,
		compare_mallopts,
		compare_pools,
		compare_births,
		compare_unseen,
		recordings_compare_blocks,
		recordings_compare_errors,
		recordings_compare_run_facts,
	};
	const char *different =
		compare_summaries(recording_summary(a->recording), recording_summary(b->recording));

	for (size_t i = 0; !different && i < sizeof(parts) / sizeof(*parts); i++)
		different = parts[i](a, b);
	return different;
}

const char *recordings_compare(const struct recording *a, const struct recording *b)
{
	struct side left = open_side(a), right = open_side(b);
	const char *different = compare(&left, &right);

	close_side(&left);
	close_side(&right);
	return different;
}
