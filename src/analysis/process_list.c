#include "analysis/process_list.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/aggregate/aggregate.h"
#include "base/compiler.h"
#include "hosted/cleanup.h"
#include "hosted/map.h"

void process_list_deinit(struct process_list *list)
{
	vec_deinit(&list->items);
	arena_deinit(&list->arena);
}

bool process_list_has(const struct process_list *list, const char *id)
{
	for (size_t i = 0; i < list->items.count; i++)
		if (!strcmp(list->items.items[i].facts.id, id))
			return true;
	return false;
}

/* Copies the arguments. NULL: no memory. */
static const char *const *copy_arguments(struct arena *arena, const char *const *arguments)
{
	const char **copy;
	size_t count = 0;

	while (arguments[count])
		count++;
	copy = arena_array(arena, count + 1, sizeof(*copy));
	for (size_t i = 0; copy && i < count; i++) {
		copy[i] = arena_text(arena, arguments[i]);
		if (!copy[i])
			return NULL;
	}
	return copy;
}

static bool copy_strings(struct arena *arena, struct recording_facts *facts)
{
	const char **const texts[] = {
		&facts->path, &facts->program, &facts->directory,
		&facts->host, &facts->kernel,  &facts->agent_version,
	};

	for (size_t i = 0; i < ARRAY_COUNT(texts); i++) {
		*texts[i] = arena_text(arena, *texts[i]);
		if (!*texts[i])
			return false;
	}
	facts->environment = NULL; // lists do not show it
	if (facts->aggregate) {
		// What it knows; its moments stay with the recording.
		struct aggregate *known = arena_alloc(arena, sizeof(*known));

		if (!known)
			return false;
		*known = (struct aggregate){.known = facts->aggregate->known,
					    .peak_is_live = facts->aggregate->peak_is_live};
		facts->aggregate = known;
	}
	facts->arguments = copy_arguments(arena, facts->arguments);
	return facts->arguments;
}

struct err *process_list_add(struct process_list *list, const struct recording *recording)
{
	struct listed_process process = {
		.facts = *recording_facts(recording),
		.summary = *recording_summary(recording),
		.number = (uint32_t)list->items.count,
		.parent = RECORDING_NONE,
	};

	process.facts.environment = NULL;
	process.facts.sight = NULL; // the recording's own
	if (list->items.count >= RECORDING_NONE || !copy_strings(&list->arena, &process.facts) ||
	    !vec_push(&list->items, process))
		return err_no_memory();
	return NULL;
}

static int compare_starts(const void *left, const void *right)
{
	const struct listed_process *a = left, *b = right;

	if (a->facts.start_realtime_ns != b->facts.start_realtime_ns)
		return a->facts.start_realtime_ns < b->facts.start_realtime_ns ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

/* The key of an id: its first 64 bits. Ids are random, so that is enough. */
static uint64_t key_of(const char *id)
{
	char digits[17] = "";

	memcpy(digits, id, 16);
	return strtoull(digits, NULL, 16);
}

static struct err *find_parents(struct process_list *list)
{
	cleanup(map_deinit) struct map by_id = {0};
	struct listed_process *items = list->items.items;

	for (uint32_t i = 0; i < list->items.count; i++) {
		uint64_t *place = map_put(&by_id, key_of(items[i].facts.id));

		if (!place)
			return err_no_memory();
		*place = i;
	}
	for (uint32_t i = 0; i < list->items.count; i++) {
		uint64_t parent = MAP_NONE;

		if (items[i].facts.parent_id[0])
			parent = map_get(&by_id, key_of(items[i].facts.parent_id));
		items[i].parent = RECORDING_NONE;
		if (parent != MAP_NONE && parent != i &&
		    !strcmp(items[parent].facts.id, items[i].facts.parent_id))
			items[i].parent = (uint32_t)parent;
	}
	return NULL;
}

/* The processes as a forest of indices, with children in order. It is written to `order`. */
struct forest {
	uint32_t *first, *next; /* child and sibling; the last `first` is the first root */
	uint32_t *place;        /* place in the new order; RECORDING_NONE: none yet */
	uint32_t *order;
	uint32_t count; /* how many are placed */
};

/* Places a process and the tree below it; it has no place yet. */
static void put_tree(struct process_list *list, struct forest *forest, uint32_t root)
{
	struct listed_process *items = list->items.items;
	uint32_t at = root;

	for (;;) {
		uint32_t parent = items[at].parent, next;

		forest->place[at] = forest->count;
		forest->order[forest->count++] = at;
		items[at].depth = parent == RECORDING_NONE ? 0 : items[parent].depth + 1;
		next = forest->first[at];
		while (next == RECORDING_NONE && at != root) {
			next = forest->next[at];
			at = items[at].parent;
		}
		if (next == RECORDING_NONE)
			return;
		at = next;
	}
}

/*
 * Places all processes. No root leads to a circle of parents, or to what is below one: each of
 * these stands by itself.
 */
static void put_all(struct process_list *list, struct forest *forest)
{
	struct listed_process *items = list->items.items;
	uint32_t total = (uint32_t)list->items.count;

	for (uint32_t i = 0; i < total; i++)
		if (items[i].parent == RECORDING_NONE)
			put_tree(list, forest, i);
	for (uint32_t i = 0; i < total; i++)
		if (forest->place[i] == RECORDING_NONE) {
			items[i].parent = RECORDING_NONE;
			forest->place[i] = forest->count;
			forest->order[forest->count++] = i;
			items[i].depth = 0;
		}
}

static struct err *permute(struct process_list *list, const struct forest *forest)
{
	uint32_t total = (uint32_t)list->items.count;
	struct listed_process *ordered = calloc((size_t)total + 1, sizeof(*ordered));

	if (!ordered)
		return err_no_memory();
	for (uint32_t i = 0; i < total; i++) {
		ordered[i] = list->items.items[forest->order[i]];
		if (ordered[i].parent != RECORDING_NONE) {
			ordered[i].last = forest->next[forest->order[i]] == RECORDING_NONE;
			ordered[i].parent = forest->place[ordered[i].parent];
		}
	}
	memcpy(list->items.items, ordered, total * sizeof(*ordered));
	free(ordered);
	return NULL;
}

struct err *process_list_order(struct process_list *list)
{
	uint32_t total = (uint32_t)list->items.count;
	auto_free uint32_t *numbers = malloc(((size_t)total + 1) * 4 * sizeof(*numbers));
	struct forest forest = {.first = numbers};
	struct err *err;

	if (!numbers)
		return err_no_memory();
	if (!total)
		return NULL;
	memset(numbers, 0xff, ((size_t)total + 1) * 4 * sizeof(*numbers));
	forest.next = forest.first + total;
	forest.place = forest.next + total;
	forest.order = forest.place + total;
	qsort(list->items.items, total, sizeof(*list->items.items), compare_starts);
	err = find_parents(list);
	if (err)
		return err;
	for (uint32_t i = total; i-- > 0;) {
		uint32_t parent = list->items.items[i].parent;

		if (parent == RECORDING_NONE)
			continue;
		forest.next[i] = forest.first[parent];
		forest.first[parent] = i;
	}
	put_all(list, &forest);
	return permute(list, &forest);
}
