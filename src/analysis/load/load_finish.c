#include <stdlib.h>

#include "analysis/live/live_load.h"

static void convert(const struct tick_clock *clock, uint64_t *ticks)
{
	if (*ticks != TIME_NEVER)
		*ticks = tick_clock_ns(clock, *ticks);
}

static void convert_times(struct load *load)
{
	struct recording *recording = load->recording;
	const struct tick_clock *clock = &load->clock;

	for (size_t i = 0; i < recording->modules.modules.count; i++) {
		convert(clock, &recording->modules.modules.items[i].loaded_ns);
		convert(clock, &recording->modules.modules.items[i].gone_ns);
	}
	for (size_t i = 0; i < recording->threads.count; i++) {
		uint64_t *first = &recording->threads.items[i].first_ns;

		// Nothing was read of this thread: it has no time.
		*first = *first == UINT64_MAX ? 0 : tick_clock_ns(clock, *first);
	}
	for (size_t i = 0; i < recording->memory.count; i++)
		convert(clock, &recording->memory.items[i].time_ns);
	for (size_t i = 0; i < recording->marks.count; i++)
		convert(clock, &recording->marks.items[i].time_ns);
	for (size_t i = 0; i < recording->switches.count; i++)
		convert(clock, &recording->switches.items[i].time_ns);
	for (size_t i = 0; i < recording->mappings.count; i++)
		convert(clock, &recording->mappings.items[i].time_ns);
	for (size_t i = 0; i < recording->mallopts.count; i++)
		convert(clock, &recording->mallopts.items[i].time_ns);
	for (size_t i = 0; i < recording->live_line.steps.count; i++)
		convert(clock, &recording->live_line.steps.items[i].time_ns);
}

/* Compares by the first member, a time. */
static int compare_times(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

static_assert(offsetof(struct memory_sample, time_ns) == 0, "compare_times");
static_assert(offsetof(struct recorded_mark, time_ns) == 0, "compare_times");
static_assert(offsetof(struct recorded_switch, time_ns) == 0, "compare_times");
static_assert(offsetof(struct mapping_operation, time_ns) == 0, "compare_times");
static_assert(offsetof(struct mallopt_operation, time_ns) == 0, "compare_times");

#define sort_by_time(vec)                                                                          \
	do {                                                                                       \
		if ((vec)->count)                                                                  \
			qsort((vec)->items, (vec)->count, sizeof(*(vec)->items), compare_times);   \
	} while (0)

/* Sorts the lists, which have records of all streams. */
static void sort_lists(struct recording *recording)
{
	sort_by_time(&recording->memory);
	sort_by_time(&recording->marks);
	sort_by_time(&recording->switches);
	sort_by_time(&recording->mappings);
	sort_by_time(&recording->mallopts);
}

void load_chunk_facts(struct load *load)
{
	struct recording_facts *facts = &load->recording->facts;

	facts->file_size = load->index.file_size;
	facts->chunks = load->index.chunks.count;
	facts->compressed = load->index.packs.count != 0;
	facts->missing_chunks = load->index.missing;
	facts->damaged_chunks = load->damage.chunks;
	if (load->damage.chunks) {
		facts->first_damage = load->damage.first_offset;
		facts->first_damage_text = load->damage.first_text;
	}
}

/* Sums up when recording was off. The last such time may last until the end. */
static void sum_up_switches(struct recording *recording)
{
	const struct recorded_switch *switches = recording->switches.items;
	struct recording_facts *facts = &recording->facts;
	uint64_t since = 0;
	bool on = true;

	facts->off_periods = facts->off_ns = 0;
	for (size_t i = 0; i < recording->switches.count; i++) {
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
	facts->unknown_frees = load->recording->blocks.unknown_frees;
	facts->frees -= facts->unknown_frees;
	facts->implicit_frees = load->recording->blocks.implicit_frees;
	facts->duration_ns = tick_clock_ns(&load->clock, load->last_ticks);
	sum_up_switches(load->recording);
	facts->complete = facts->ended && load->end_seen && !facts->damaged_chunks &&
			  !facts->missing_chunks && !facts->lost;
}

struct err *load_finish(struct load *load)
{
	struct recording *recording = load->recording;
	struct err *err;

	frame_table_finish(&recording->frames);
	err = stack_trie_finish(&recording->stacks);
	if (err)
		return err;
	// The end record has the latest clock readings, unless a chunk was opened after it.
	if (load->end_seen && load->end_monotonic_ns && load->end_ticks >= load->index.latest_ticks)
		load->clock =
			tick_clock_make(&load->header, load->end_ticks, load->end_monotonic_ns);
	if (!recording->facts.live) {
		err = load_threads_finish(load);
		if (err)
			return err;
	}
	convert_times(load);
	sort_lists(recording);
	block_store_finish(&recording->blocks, &load->clock);
	pool_table_finish(&recording->pools, &load->clock);
	if (recording->live_line.moment > recording->live_line.operations)
		site_table_hold_peak(&recording->sites);
	site_table_finish(&recording->sites, &recording->summary);
	recording->summary.peak_time_ns = tick_clock_ns(&load->clock, recording->sites.peak_ticks);
	finish_facts(load);
	if (recording->facts.live) {
		err = live_load_finish(load);
		if (err)
			return err;
	}
	if (recording->heap_errors.wanted)
		return heap_errors_judge(recording, &load->clock);
	return NULL;
}
