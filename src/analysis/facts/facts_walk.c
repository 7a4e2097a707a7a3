#include "analysis/facts/facts_walk.h"

#include <stdlib.h>

#include "analysis/facts/chain_facts.h"
#include "hosted/cleanup.h"

/* So many places of blocks may be visited for pages, and one more for so many allocations. */
#define VISITS_FREE  (UINT64_C(1) << 18)
#define VISITS_SHARE 2

struct err *facts_walk_create(uint64_t start, bool curve, struct facts_walk **ret)
{
	cleanup(facts_walk_destroy_at) struct facts_walk *walk = calloc(1, sizeof(*walk));
	struct err *err;

	if (!walk)
		return err_no_memory();
	walk->start = start;
	walk->peak_site = walk->peak_thread = RECORDING_NONE;
	// Most of it is never touched in a short run.
	walk->live_at = calloc(FACTS_MOMENTS, sizeof(*walk->live_at));
	err = walk->live_at ? NULL : err_no_memory();
	if (!err && curve)
		err = facts_curve_create(&walk->curve);
	if (!err)
		*ret = steal(&walk);
	return err;
}

void facts_walk_destroy(struct facts_walk *walk)
{
	if (!walk)
		return;
	free(walk->live_at);
	map_deinit(&walk->chain_of);
	vec_deinit(&walk->chains);
	vec_deinit(&walk->threads);
	facts_curve_destroy(walk->curve);
	free(walk);
}

/* Goes on to a later moment. */
static void pass_moments(struct facts_walk *walk, uint64_t since, uint64_t live_bytes)
{
	for (; since >> walk->moment_shift >= FACTS_MOMENTS; walk->moment_shift++) {
		for (uint32_t i = 0; i <= walk->moment / 2; i++)
			walk->live_at[i] = walk->live_at[2 * i];
		walk->moment /= 2;
	}
	while (walk->moment < since >> walk->moment_shift)
		walk->live_at[++walk->moment] = live_bytes;
}

void facts_walk_flush(struct facts_walk *walk, uint64_t live_bytes)
{
	for (uint32_t i = 0; i < walk->large_count; i++) {
		struct large_candidate *large = &walk->large[i];
		uint64_t own = large->freed == UINT64_MAX ? large->bytes : 0;

		if (walk->most < own || walk->most - own <= large->without_bytes)
			continue;
		large->without_bytes = walk->most - own;
		large->without_ticks = walk->most_ticks;
	}
	if (walk->curve && walk->most > walk->curve->most[walk->cell])
		walk->curve->most[walk->cell] = walk->most;
	walk->most = live_bytes;
}

/* Goes on to a later cell, in which these ticks are. */
static void begin_cell(struct facts_walk *walk, struct site_table *sites, uint64_t since)
{
	uint64_t live = sites->summary.live_bytes;
	struct facts_curve *curve = walk->curve;
	uint32_t last = walk->cell;

	facts_walk_flush(walk, live);
	if (curve)
		curve->slack_at[last] = curve->slack;
	for (; since >> walk->shift >= FACTS_CELLS; walk->shift++) {
		if (curve)
			facts_curve_join(curve, last + 1);
		site_table_join_cells(sites);
		last /= 2;
	}
	walk->cell = (uint32_t)(since >> walk->shift);
	for (uint32_t i = last + 1; curve && i <= walk->cell; i++) {
		curve->most[i] = live;
		curve->slack_at[i] = curve->slack;
	}
	if (walk->cell >> FACTS_LEVEL_BITS != sites->cell)
		site_table_begin_cell(sites, walk->cell >> FACTS_LEVEL_BITS);
}

/*
 * Looks at pages now and then, and seldom enough that it costs no more than to read events does.
 * blocks: how many were allocated.
 */
static void look_at_pages(struct facts_walk *walk, struct site_table *sites,
			  const struct address_table *live, uint64_t blocks)
{
	uint64_t bytes = sites->summary.live_bytes;
	uint64_t visited = walk->visited + live->used;

	if (!facts_pages_tell(bytes, sites->summary.peak_bytes) ||
	    visited > blocks / VISITS_SHARE + VISITS_FREE)
		return;
	walk->visited = visited;
	walk->looks[1] = walk->looks[0];
	walk->looks[0] = (struct page_look){
		.live_bytes = bytes,
		.ticks = walk->start + ((uint64_t)walk->cell << walk->shift),
	};
	facts_pages_look(walk, sites, live);
}

void facts_walk_pass_slow(struct facts_walk *walk, struct site_table *sites,
			  const struct address_table *live, uint64_t ticks, uint64_t blocks)
{
	uint64_t since = facts_walk_since(walk, ticks);
	unsigned int shift = walk->shift;
	uint32_t cell = walk->cell;

	pass_moments(walk, since, sites->summary.live_bytes);
	if (since >> shift > cell) {
		begin_cell(walk, sites, since);
		if (walk->shift != shift ||
		    walk->cell >> FACTS_LOOK_BITS != cell >> FACTS_LOOK_BITS)
			look_at_pages(walk, sites, live, blocks);
	}
	// The begin of a cell is that of a moment, too.
	walk->until = walk->start + ((uint64_t)(walk->moment + 1) << walk->moment_shift);
}

void facts_walk_end(struct facts_walk *walk, struct site_table *sites, uint64_t ticks)
{
	uint64_t since = facts_walk_since(walk, ticks);

	facts_walk_flush(walk, sites->summary.live_bytes);
	if (since >> walk->shift > walk->cell)
		begin_cell(walk, sites, since);
	if (walk->curve)
		walk->curve->slack_at[walk->cell] = walk->curve->slack;
}

void facts_walk_hand(struct facts_walk *walk, struct site_table *sites,
		     const struct live_block *block, uint32_t thread, uint64_t weight)
{
	struct site_state *site = &sites->states.items[block->site];

	while (walk->threads.count <= thread)
		if (!vec_push(&walk->threads, (struct thread_facts){0})) {
			walk->failed = true;
			return;
		}
	site->handed_bytes += block->size * weight;
	site->handed_blocks += weight;
	walk->threads.items[thread].handed_bytes += block->size * weight;
	walk->threads.items[thread].handed_blocks += weight;
}

/* The chains of a site. NULL: no memory. */
static struct chain_facts *chain_at(struct facts_walk *walk, uint32_t site)
{
	uint64_t *place = vec_reserve(&walk->chains, 1) ? map_put(&walk->chain_of, site) : NULL;

	walk->failed |= !place;
	if (!place)
		return NULL;
	if (*place == MAP_NONE) {
		*place = walk->chains.count++;
		walk->chains.items[*place] = (struct chain_facts){.site = site};
	}
	return &walk->chains.items[*place];
}

void facts_walk_succeed(struct facts_walk *walk, const struct live_block *old,
			struct live_block *block, uint64_t weight)
{
	struct chain_facts *chain;

	if (old->chained) {
		chain = chain_at(walk, old->site);
		if (chain)
			chain_facts_end(chain, old->size, -(uint64_t)old->chained);
	}
	chain = chain_at(walk, block->site);
	if (!chain)
		return;
	block->chained = weight < UINT32_MAX ? (uint32_t)weight : UINT32_MAX;
	chain_facts_step(chain, old->size, block->size, block->address != old->address, weight);
	chain_facts_end(chain, block->size, block->chained);
}
