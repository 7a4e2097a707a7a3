#include <stdlib.h>

#include "analysis/facts/facts_make.h"
#include "analysis/live/live_load.h"
#include "hosted/cleanup.h"

static void convert(const struct tick_clock *clock, uint64_t *ticks)
{
	if (*ticks != TIME_NEVER)
		*ticks = tick_clock_ns(clock, *ticks);
}

static void convert_times(struct load *load)
{
	struct recording *recording = load->recording;
	const struct tick_clock *clock = &load->clock;

	for (size_t i = 0; i < recording->tables->modules.modules.count; i++) {
		convert(clock, &recording->tables->modules.modules.items[i].loaded_ns);
		convert(clock, &recording->tables->modules.modules.items[i].gone_ns);
	}
	for (size_t i = 0; i < recording->tables->threads.count; i++) {
		uint64_t *first = &recording->tables->threads.items[i].first_ns;

		// Nothing was read of this thread: it has no time.
		*first = *first == UINT64_MAX ? 0 : tick_clock_ns(clock, *first);
	}
	for (size_t i = 0; i < recording->tables->memory.count; i++)
		convert(clock, &recording->tables->memory.items[i].time_ns);
	for (size_t i = 0; i < recording->tables->marks.count; i++)
		convert(clock, &recording->tables->marks.items[i].time_ns);
	for (size_t i = 0; i < recording->tables->switches.count; i++)
		convert(clock, &recording->tables->switches.items[i].time_ns);
	for (size_t i = 0; i < recording->tables->mappings.count; i++)
		convert(clock, &recording->tables->mappings.items[i].time_ns);
	for (size_t i = 0; i < recording->tables->mallopts.count; i++)
		convert(clock, &recording->tables->mallopts.items[i].time_ns);
	for (size_t i = 0; i < recording->blocks->live_line.steps.count; i++)
		convert(clock, &recording->blocks->live_line.steps.items[i].time_ns);
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* Compare by time, and what has the same one by thread: which was read first means nothing. */
#define COMPARE(name, type, thread)                                                                \
	static int compare_##name(const void *left, const void *right)                             \
	{                                                                                          \
		const struct type *a = left, *b = right;                                           \
		int order = compare_numbers(a->time_ns, b->time_ns);                               \
                                                                                                   \
		return order ? order : compare_numbers(a->thread, b->thread);                      \
	}
COMPARE(mappings, mapping_operation, thread)
COMPARE(mallopts, mallopt_operation, thread)
COMPARE(marks, recorded_mark, stream)
// No two of these have the same time.
COMPARE(memory, memory_sample, time_ns)
COMPARE(switches, recorded_switch, time_ns)

#define sort(vec, compare)                                                                         \
	do {                                                                                       \
		if ((vec)->count)                                                                  \
			qsort((vec)->items, (vec)->count, sizeof(*(vec)->items), compare);         \
	} while (0)

/* Sorts the lists, which have records of all streams. Times are ticks, threads numbered. */
static void sort_lists(struct recording *recording)
{
	sort(&recording->tables->memory, compare_memory);
	sort(&recording->tables->marks, compare_marks);
	sort(&recording->tables->switches, compare_switches);
	sort(&recording->tables->mappings, compare_mappings);
	sort(&recording->tables->mallopts, compare_mallopts);
}

void load_chunk_facts(struct load *load)
{
	struct recording_facts *facts = &load->recording->facts;

	facts->file_size = load->index.file_size;
	facts->chunks = load->index.chunks.count;
	facts->compressed = load->index.packs.count != 0;
	facts->missing_chunks = load->index.missing;
	// A stream of which nothing is there had one chunk at least.
	if (load->index.streams < load->expected_streams)
		facts->missing_chunks += load->expected_streams - load->index.streams;
	facts->damaged_chunks = load->damage.chunks;
	if (load->damage.chunks) {
		facts->first_damage = load->damage.first_offset;
		facts->first_damage_text = load->damage.first_text;
	}
}

/* Sums up when recording was off. The last such time may last until the end. */
static void sum_up_switches(struct recording *recording)
{
	const struct recorded_switch *switches = recording->tables->switches.items;
	struct recording_facts *facts = &recording->facts;
	uint64_t since = 0;
	bool on = true;

	facts->off_periods = facts->off_ns = 0;
	for (size_t i = 0; i < recording->tables->switches.count; i++) {
		if (switches[i].on == on)
			continue; // the switch between them is lost
		on = switches[i].on;
		if (on)
			facts->off_ns += switches[i].time_ns - since;
		facts->off_periods += !on;
		since = switches[i].time_ns;
	}
	if (!on && facts->duration_ns > since)
		facts->off_ns += facts->duration_ns - since;
}

static void finish_facts(struct load *load)
{
	struct recording_facts *facts = &load->recording->facts;

	load_chunk_facts(load);
	facts->unknown_frees = load->recording->blocks->store.unknown_frees;
	facts->frees -= facts->unknown_frees;
	facts->implicit_frees = load->recording->blocks->store.implicit_frees;
	facts->duration_ns = tick_clock_ns(&load->clock, load->last_ticks);
	sum_up_switches(load->recording);
	facts->complete = facts->ended && (load->end_seen || load->end_watched) &&
			  !facts->damaged_chunks && !facts->missing_chunks && !facts->lost;
}

void load_last_clock(struct load *load)
{
	// The end record has the latest clock readings, unless a chunk was opened after it.
	if (load->end_monotonic_ns && load->end_ticks >= load->index.latest_ticks)
		load->clock =
			tick_clock_make(&load->header, load->end_ticks, load->end_monotonic_ns);
}

struct err *load_finish_lists(struct load *load)
{
	struct err *err = load->recording->facts.live ? NULL : load_threads_finish(load);

	if (err)
		return err;
	sort_lists(load->recording);
	convert_times(load);
	return NULL;
}

void load_finish_sums(struct load *load)
{
	struct recording *recording = load->recording;

	site_table_finish(&recording->sites, &recording->summary);
	recording->summary.peak_time_ns = tick_clock_ns(&load->clock, recording->sites.peak_ticks);
	finish_facts(load);
}

static struct facts_source facts_source(const struct load *load)
{
	const struct recording *recording = load->recording;

	return (struct facts_source){
		.walk = recording->blocks->store.facts,
		.live = &recording->blocks->store.live,
		.sites = &recording->sites,
		.clock = &load->clock,
		.last_ticks = load->last_ticks,
		.sample_mean = recording->facts.sample_mean,
	};
}

struct err *load_make_facts(const struct load *load, struct recording *recording)
{
	const struct facts_source source = facts_source(load);
	struct facts_cache *cache = recording->facts_cache;
	struct err *err;

	if (!source.walk)
		return NULL;
	err = owned_facts_reserve(recording, &cache->owned);
	if (!err)
		err = facts_make(&source, recording, &cache->owned);
	if (err)
		return err;
	owned_facts_show(&cache->owned);
	cache->made = cache->known = true;
	return NULL;
}

/* The same when all was read, and the curve, if it is wanted: series_keep() takes it. */
static struct err *make_last_facts(struct load *load)
{
	const struct facts_source source = facts_source(load);
	struct err *err = load_make_facts(load, load->recording);

	if (err || !source.walk)
		return err;
	if (source.walk->curve)
		facts_make_curve(&source, &load->recording->sites);
	else
		facts_walk_destroy(steal(&load->recording->blocks->store.facts));
	return NULL;
}

struct err *load_finish(struct load *load)
{
	struct recording *recording = load->recording;
	struct err *err;

	frame_table_finish(&recording->tables->frames);
	err = stack_trie_finish(&recording->tables->trie);
	if (err)
		return err;
	recording_show_stacks(recording->tables);
	load_last_clock(load);
	err = load_finish_lists(load);
	if (err)
		return err;
	err = make_last_facts(load);
	if (err)
		return err;
	block_store_finish(&recording->blocks->store, &load->clock);
	pool_table_finish(recording->pools, &load->clock);
	if (recording->blocks->live_line.moment > recording->blocks->live_line.operations)
		site_table_hold_peak(&recording->sites);
	load_finish_sums(load);
	if (recording->facts.aggregate)
		load_aggregate_finish(load);
	if (recording->facts.live) {
		err = live_load_finish(load);
		if (err)
			return err;
	}
	if (recording->blocks->heap_errors.wanted)
		err = heap_errors_judge(recording, &load->clock);
	if (!err && recording->facts_cache->known)
		facts_note_errors(&recording->blocks->heap_errors,
				  &recording->facts_cache->owned.facts.errors);
	return err;
}
