/* Makes the run facts of what was noted while events were read. */
#include <string.h>

#include "analysis/facts/facts_make.h"
#include "analysis/recording_data.h"
#include "analysis/sites/sample_weight.h"
#include "hosted/cleanup.h"

/* Ends of parts: the level that begins there, and its ticks. The last part ends with the run. */
struct part_ends {
	uint64_t levels[FACTS_POINTS];
	uint64_t ticks[FACTS_POINTS];
	unsigned int joined; /* these are levels of 1 << joined levels of the walk */
};

/*
 * Seeks the begin of a level that is nearest to the end of each part. The run may have gone on
 * after the last event of the walk: its levels are those that all of it would have.
 */
static void find_ends(const struct facts_source *source, struct part_ends *ret, uint64_t *ends_ns)
{
	const struct facts_walk *walk = source->walk;
	uint64_t run = facts_walk_since(walk, source->last_ticks), width;

	for (ret->joined = 0; run >> walk->shift >> ret->joined >= FACTS_CELLS;)
		ret->joined++;
	width = UINT64_C(1) << FACTS_LEVEL_BITS << walk->shift << ret->joined;
	for (unsigned int i = 0; i < FACTS_POINTS; i++) {
		uint64_t level = (facts_point_ns(run, i) + width / 2) / width;

		level += !level; // no event is before the first one
		ret->levels[i] = level;
		ret->ticks[i] = walk->start + level * width;
		ends_ns[i] = tick_clock_ns(source->clock, ret->ticks[i] - 1);
		if (i == FACTS_POINTS - 1 || level * width > run) {
			ret->levels[i] = UINT64_MAX;
			ret->ticks[i] = UINT64_MAX;
			ends_ns[i] = tick_clock_ns(source->clock, source->last_ticks);
		}
	}
}

/* Goes through what sites noted from the end to the begin of the run. */
static struct err *fill_levels(const struct facts_source *source, const struct part_ends *ends,
			       struct site_facts *ret)
{
	const struct site_table *sites = source->sites;
	auto_free uint64_t *live = malloc((sites->sites.count + 1) * sizeof(*live));
	size_t left = sites->levels.count;

	if (!live)
		return err_no_memory();
	for (size_t i = 0; i < sites->sites.count; i++)
		live[i] = sites->sites.items[i].leaked_bytes;
	for (unsigned int part = FACTS_POINTS; part-- > 0;) {
		for (; left && (uint64_t)sites->levels.items[left - 1].cell >> ends->joined >=
				       ends->levels[part];
		     left--)
			live[sites->levels.items[left - 1].site] =
				sites->levels.items[left - 1].live_bytes;
		for (size_t i = 0; i < sites->sites.count; i++)
			ret[i].live[part] = live[i];
	}
	return NULL;
}

static void fill_states(const struct site_table *sites, struct site_facts *ret, int look)
{
	for (size_t i = 0; i < sites->sites.count; i++) {
		const struct site_state *state = &sites->states.items[i];

		ret[i].peak_slack = state->saved < sites->peak ? state->slack : state->peak_slack;
		ret[i].handed_bytes = state->handed_bytes;
		ret[i].handed_blocks = state->handed_blocks;
		ret[i].few_pages = look >= 0 ? state->few_pages[look] : 0;
	}
}

static uint64_t weight_of(const struct facts_source *source, const struct live_block *block)
{
	return source->sample_mean ? sample_weight(source->sample_mean, block->size, block->number)
				   : 1;
}

/* What was never freed: the table of live blocks still has it. */
static void fill_kept(const struct facts_source *source, const struct part_ends *ends,
		      struct site_facts *ret)
{
	uint64_t duration = tick_clock_ns(source->clock, source->last_ticks);
	uint64_t late = duration - duration / FACTS_LATE;
	const struct live_block *block;
	uint32_t next = 0;

	while ((block = address_table_next(source->live, &next))) {
		struct site_facts *site = &ret[block->site];
		uint64_t weight = weight_of(source, block);
		unsigned int part = 0;

		while (block->ticks >= ends->ticks[part] && part < FACTS_POINTS - 1)
			part++;
		site->kept[part] += block->size * weight;
		if (tick_clock_ns(source->clock, block->ticks) > late) {
			site->late_bytes += block->size * weight;
			site->late_blocks += weight;
		}
	}
}

static bool comes_before(const struct large_candidate *a, const struct large_candidate *b)
{
	return a->size != b->size ? a->size > b->size : a->number < b->number;
}

static void fill_large(const struct facts_source *source, struct run_facts *ret)
{
	struct facts_walk *walk = source->walk;
	const struct large_candidate *chosen[FACTS_SHARE];

	facts_walk_flush(walk, source->sites->summary.live_bytes);
	for (uint32_t i = 0; i < walk->large_count; i++) {
		const struct large_candidate *large = &walk->large[i];
		uint32_t at = ret->large_count;

		if (!facts_large_counts(large, source->sites) || at == FACTS_SHARE)
			continue;
		for (; at && comes_before(large, chosen[at - 1]); at--)
			chosen[at] = chosen[at - 1];
		chosen[at] = large;
		ret->large_count++;
	}
	for (uint32_t i = 0; i < ret->large_count; i++)
		ret->large[i] = (struct large_block){
			.site = chosen[i]->site,
			.size = chosen[i]->size,
			.allocated_ns = tick_clock_ns(source->clock, chosen[i]->allocated),
			.freed_ns = chosen[i]->freed == UINT64_MAX
					    ? TIME_NEVER
					    : tick_clock_ns(source->clock, chosen[i]->freed),
			.without_bytes = chosen[i]->without_bytes,
			.without_ns = tick_clock_ns(source->clock, chosen[i]->without_ticks),
		};
}

static int by_site(const void *left, const void *right)
{
	const struct chain_facts *a = left, *b = right;

	return a->site < b->site ? -1 : a->site > b->site;
}

/* Copies the lists of the walk, which have no entry for what did not occur. */
static struct err *fill_lists(const struct facts_source *source, struct owned_facts *ret)
{
	const struct facts_walk *walk = source->walk;

	if (!vec_append(&ret->chains, &walk->chains))
		return err_no_memory();
	if (ret->chains.count)
		qsort(ret->chains.items, ret->chains.count, sizeof(*ret->chains.items), by_site);
	if (walk->threads.count)
		memcpy(ret->threads, walk->threads.items,
		       walk->threads.count * sizeof(*ret->threads));
	return NULL;
}

/* Of each sample of memory: what was live at the last moment that had begun. */
static void fill_samples(const struct facts_source *source, const struct recording *recording,
			 uint64_t *ret)
{
	const struct facts_walk *walk = source->walk;
	uint64_t run = facts_walk_since(walk, source->last_ticks);
	unsigned int joined = 0;

	while (run >> walk->moment_shift >> joined >= FACTS_MOMENTS)
		joined++;
	for (size_t i = 0; i < recording->tables->memory.count; i++) {
		uint64_t since =
			tick_clock_span(source->clock, recording->tables->memory.items[i].time_ns);
		uint64_t moment = since >> walk->moment_shift >> joined << joined;

		ret[i] = moment <= walk->moment ? walk->live_at[moment]
						: source->sites->summary.live_bytes;
	}
}

/*
 * The last look at pages before the last part of the run, in which a program frees all; at most one
 * is in that. -1: there is none, or too little was live.
 */
static int choose_look(const struct facts_source *source, const struct part_ends *ends)
{
	const struct page_look *looks = source->walk->looks;
	int look = looks[0].ticks > ends->ticks[FACTS_POINTS - 2];

	return facts_pages_tell(looks[look].live_bytes, source->sites->summary.peak_bytes) ? look
											   : -1;
}

struct err *facts_make(const struct facts_source *source, const struct recording *recording,
		       struct owned_facts *ret)
{
	const struct site_table *sites = source->sites;
	struct facts_walk *walk = source->walk;
	struct run_facts *facts = &ret->facts;
	struct part_ends ends;
	struct err *err;
	int look;

	if (facts_walk_failed(walk, sites))
		return err_no_memory();
	find_ends(source, &ends, facts->ends_ns);
	look = choose_look(source, &ends);
	if (look >= 0) {
		facts->pages = walk->looks[look].facts;
		facts->pages.at_ns = tick_clock_ns(source->clock, walk->looks[look].ticks - 1);
	}
	facts->peak_site = walk->peak_site;
	facts->peak_thread = walk->peak_thread;
	fill_states(sites, ret->sites, look);
	fill_kept(source, &ends, ret->sites);
	fill_large(source, facts);
	fill_samples(source, recording, ret->sampled_live);
	err = fill_levels(source, &ends, ret->sites);
	return err ? err : fill_lists(source, ret);
}

void facts_make_curve(const struct facts_source *source, struct site_table *sites)
{
	struct facts_walk *walk = source->walk;
	struct facts_curve *curve = walk->curve;
	uint64_t run = facts_walk_since(walk, source->last_ticks);
	const struct live_block *block;
	uint32_t next = 0;

	facts_walk_end(walk, sites, source->last_ticks);
	while ((block = address_table_next(source->live, &next))) {
		uint64_t weight = weight_of(source, block);

		curve_flow_begin(&curve->never[facts_walk_since(walk, block->ticks) >> walk->shift],
				 block->size * weight, weight);
	}
	facts_curve_finish(curve, walk->cell + 1,
			   (double)run / FACTS_CURVE_LATE / (double)(UINT64_C(1) << walk->shift));
	for (uint32_t i = 0; i < curve->cells; i++)
		curve->ends_ns[i] = tick_clock_ns(
			source->clock, walk->start + ((uint64_t)(i + 1) << walk->shift) - 1);
	curve->ends_ns[curve->cells - 1] = tick_clock_ns(source->clock, source->last_ticks);
}

void facts_note_errors(const struct heap_errors *errors, struct error_facts *ret)
{
	ret->known = errors->wanted;
	ret->places = errors->errors.count;
	for (size_t i = 0; i < errors->errors.count; i++)
		ret->frees += errors->errors.items[i].count;
	for (size_t i = 0; i < errors->errors.count && ret->stack == RECORDING_NONE; i++) {
		const struct heap_error *error = &errors->errors.items[i];

		ret->stack = error->freed;
		if (ret->stack == RECORDING_NONE && error->entry)
			ret->stack = error->allocated;
	}
}
