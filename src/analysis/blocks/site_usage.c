#include "analysis/blocks/site_usage.h"

#include <stdlib.h>

#include "hosted/cleanup.h"

/* Usable bytes of a site's live blocks, now and at most. */
struct usage {
	uint64_t now, most;
};

/*
 * The blocks by their free_turn: those that were freed after `turn` allocations are first[turn],
 * next[first[turn]] and so on, in any order. A site can have most only when it allocates, so the
 * order of the frees between two allocations does not matter.
 */
struct turns {
	uint32_t *first, *next; /* RECORDING_NONE: no further block */
};

static void turns_deinit(struct turns *turns)
{
	free(turns->first);
	free(turns->next);
}

static struct err *turns_init(const struct block_columns *blocks, struct turns *turns)
{
	turns->first = malloc((blocks->count + 1) * sizeof(*turns->first));
	turns->next = malloc((blocks->count + 1) * sizeof(*turns->next));
	if (!turns->first || !turns->next)
		return err_no_memory();
	for (uint64_t i = 0; i <= blocks->count; i++)
		turns->first[i] = RECORDING_NONE;
	for (uint64_t i = 0; i < blocks->count; i++) {
		uint32_t turn = blocks->free_turn[i];

		if (turn > blocks->count)
			continue;
		turns->next[i] = turns->first[turn];
		turns->first[turn] = (uint32_t)i;
	}
	return NULL;
}

static uint64_t usable(const struct block_columns *blocks, uint64_t block)
{
	return blocks->size[block] + blocks->slack[block];
}

static void walk(const struct block_columns *blocks, const struct turns *turns,
		 struct usage *usages, uint64_t *most_ns)
{
	for (uint64_t i = 0; i < blocks->count; i++) {
		struct usage *usage = &usages[blocks->site[i]];
		uint64_t *at = &most_ns[blocks->site[i]];

		for (uint32_t j = turns->first[i]; j != RECORDING_NONE; j = turns->next[j])
			usages[blocks->site[j]].now -= usable(blocks, j);
		usage->now += usable(blocks, i);
		if (*at == SITE_USAGE_NEVER || usage->now > usage->most) {
			usage->most = usage->now;
			*at = blocks->allocated_ns[i];
		}
	}
}

struct err *site_usage_most(const struct recording *recording, uint64_t **ret)
{
	const struct block_columns *blocks = recording_blocks(recording);
	cleanup(turns_deinit) struct turns turns = {0};
	auto_free struct usage *usages = NULL;
	auto_free uint64_t *most_ns = NULL;
	uint32_t count;
	struct err *err;

	recording_sites(recording, &count);
	usages = calloc((size_t)count + 1, sizeof(*usages));
	most_ns = malloc(((size_t)count + 1) * sizeof(*most_ns));
	if (!usages || !most_ns)
		return err_no_memory();
	for (uint32_t i = 0; i < count; i++)
		most_ns[i] = SITE_USAGE_NEVER;
	err = turns_init(blocks, &turns);
	if (err)
		return err;
	walk(blocks, &turns, usages, most_ns);
	*ret = steal(&most_ns);
	return NULL;
}
