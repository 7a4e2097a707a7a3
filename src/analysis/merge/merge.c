#include "analysis/merge/merge.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/aggregate/aggregate.h"
#include "analysis/merge/merge_moment.h"
#include "analysis/merge/merge_sites.h"
#include "hosted/cleanup.h"

/*
 * By how much the boot times of the machine that two recordings tell may differ, because the time
 * of day is corrected now and then. A larger difference means another boot, or a machine that
 * slept.
 */
#define BOOT_TOLERANCE_NS 60000000000ull

/* The steps of a recording, by its process number. */
struct steps {
	struct live_step *items;
	size_t count;
};

struct merge {
	struct process_list processes;
	VEC(struct steps) steps;
	struct recording *recording; /* the result */
	struct merge_sites sites;
	struct symbolized *symbolized;
	const struct naming *naming; /* borrowed; NULL: the usual */
};

static void drop_steps(struct merge *merge)
{
	for (size_t i = 0; i < merge->steps.count; i++)
		free(merge->steps.items[i].items);
	vec_deinit(&merge->steps);
}

void merge_destroy(struct merge *merge)
{
	if (!merge)
		return;
	drop_steps(merge);
	symbolized_destroy(merge->symbolized);
	merge_sites_deinit(&merge->sites);
	recording_close(merge->recording);
	process_list_deinit(&merge->processes);
	free(merge);
}

struct err *merge_create(const struct naming *naming, struct merge **ret)
{
	cleanup(merge_destroy_at) struct merge *merge = calloc(1, sizeof(*merge));
	struct err *err = merge ? recording_create(&merge->recording) : err_no_memory();

	if (!err)
		err = sight_create(merge->recording, true);
	if (err)
		return err;
	merge->sites.into = merge->recording;
	merge->naming = naming;
	*ret = steal(&merge);
	return NULL;
}

size_t merge_count(const struct merge *merge)
{
	return merge->processes.items.count;
}

struct err *merge_add(struct merge *merge, const char *path, recording_progress *progress,
		      void *argument)
{
	cleanup(recording_close_at) struct recording *recording = NULL;
	struct steps steps;
	struct err *err;

	err = recording_open(path, RECORDING_LIVE_LINE, progress, argument, &recording);
	if (err)
		return err;
	if (process_list_has(&merge->processes, recording->facts.id))
		return NULL;
	if (!vec_reserve(&merge->steps, 1))
		return err_no_memory();
	err = process_list_add(&merge->processes, recording);
	if (err)
		return err;
	steps.count = recording->blocks->live_line.steps.count;
	steps.items = steal(&recording->blocks->live_line.steps.items);
	merge->steps.items[merge->steps.count++] = steps;
	return NULL;
}

/*
 * Whether all recordings were made on one machine since it was booted last, and know what was live
 * over time. A live table knows only what is live now, and what was imported begins at 0.
 */
static bool share_a_clock(const struct process_list *list)
{
	const struct recording_facts *first = &list->items.items[0].facts;
	uint64_t first_boot = first->start_realtime_ns - first->start_monotonic_ns;

	for (size_t i = 0; i < list->items.count; i++) {
		const struct recording_facts *facts = &list->items.items[i].facts;
		uint64_t boot = facts->start_realtime_ns - facts->start_monotonic_ns;
		uint64_t apart = boot > first_boot ? boot - first_boot : first_boot - boot;

		if (facts->live || facts->imported || strcmp(facts->host, first->host) ||
		    apart > BOOT_TOLERANCE_NS)
			return false;
	}
	return true;
}

static uint64_t sum(uint64_t a, uint64_t b)
{
	uint64_t result;

	return __builtin_add_overflow(a, b, &result) ? UINT64_MAX - 1 : result;
}

/* moments: for each process, how many operations it had done at the peak. */
static struct err *find_moment(const struct merge *merge, uint64_t *moments, uint64_t *time_ns)
{
	const struct listed_process *items = merge->processes.items.items;
	size_t count = merge->processes.items.count;
	auto_free struct merge_line *lines = calloc(count + 1, sizeof(*lines));
	struct err *err;

	if (!lines)
		return err_no_memory();
	for (size_t i = 0; i < count; i++) {
		const struct recording_facts *facts = &items[i].facts;
		const struct steps *steps = &merge->steps.items[items[i].number];

		lines[i] = (struct merge_line){
			.steps = steps->items,
			.count = steps->count,
			.start_ns = facts->start_monotonic_ns,
			.end_ns = facts->writing
					  ? UINT64_MAX
					  : sum(facts->start_monotonic_ns, facts->duration_ns),
		};
	}
	err = merge_moment_find(lines, count, time_ns);
	for (size_t i = 0; !err && i < count; i++)
		moments[i] = lines[i].operations;
	return err;
}

/* Adds a recording's sites. moment 0: nothing of it was live at the peak. */
static struct err *take_sites(struct merge *merge, const struct listed_process *process, bool timed,
			      uint64_t moment, recording_progress *progress, void *argument)
{
	cleanup(recording_close_at) struct recording *recording = NULL;
	cleanup(symbolized_destroy_at) struct symbolized *names = NULL;
	struct err *err;

	if (timed && moment)
		err = recording_open_moment(process->facts.path, moment, progress, argument,
					    &recording);
	else
		err = recording_open(process->facts.path, RECORDING_SUMS, progress, argument,
				     &recording);
	if (!err)
		err = sight_add(merge->recording->facts.sight, &recording->facts);
	if (!err)
		err = symbolized_create(recording, merge->naming, &names);
	if (!err)
		err = merge_sites_add(&merge->sites, recording, names, !timed || moment, NULL);
	symbolized_destroy(steal(&names)); // before the recording whose frames it names
	return err;
}

/* Adds the facts of one more process. */
static void add_facts(struct recording_facts *all, const struct recording_facts *facts)
{
	all->processes++;
	all->begun_by_fork &= facts->begun_by_fork;
	all->begun_by_start |= facts->begun_by_start;
	all->attached &= facts->attached;
	if (facts->sample_mean > all->sample_mean)
		all->sample_mean = facts->sample_mean;
	all->private_slots |= facts->private_slots;
	all->free_stacks &= facts->free_stacks;
	all->foreign |= facts->foreign || facts->owner != all->owner;
	all->hands_over |= facts->hands_over;
	all->python_pools |= facts->python_pools;
	all->finished &= facts->finished;
	all->compressed &= facts->compressed;
	all->live |= facts->live;
	all->ended &= facts->ended;
	all->writing |= facts->writing;
	all->complete &= facts->complete;
	all->off_periods += facts->off_periods;
	all->off_ns += facts->off_ns;
	all->events += facts->events;
	all->allocations += facts->allocations;
	all->frees += facts->frees;
	all->reallocs += facts->reallocs;
	all->failed_allocations += facts->failed_allocations;
	all->unknown_frees += facts->unknown_frees;
	all->implicit_frees += facts->implicit_frees;
	for (int i = 0; i < TRACE_LOSS_COUNTERS; i++)
		all->losses[i] += facts->losses[i];
	all->lost += facts->lost;
	all->guesses += facts->guesses;
	all->file_size += facts->file_size;
	all->chunks += facts->chunks;
	all->missing_chunks += facts->missing_chunks;
	all->damaged_chunks += facts->damaged_chunks;
}

/*
 * Makes the facts: those of the first process, which is the root of a tree, with the sums of all.
 */
static void make_facts(struct merge *merge, bool timed, uint64_t peak_ns,
		       const struct aggregate *aggregate)
{
	const struct listed_process *items = merge->processes.items.items;
	struct recording_facts *all = &merge->recording->facts;
	struct sight *sight = all->sight;
	uint64_t start = UINT64_MAX, end = 0;

	*all = items[0].facts;
	all->sight = sight;
	all->processes = 1;
	for (size_t i = 0; i < merge->processes.items.count; i++) {
		const struct recording_facts *facts = &items[i].facts;
		uint64_t at = timed ? facts->start_monotonic_ns : facts->start_realtime_ns;

		if (i)
			add_facts(all, facts);
		if (at < start)
			start = at;
		if (sum(at, facts->duration_ns) > end)
			end = sum(at, facts->duration_ns);
	}
	all->aggregate = aggregate;
	all->indexed = false;
	all->peaks_added = !timed;
	all->duration_ns = end - start;
	if (timed && peak_ns > start)
		merge->recording->summary.peak_time_ns = peak_ns - start;
}

/* *ret: what all know, if some are aggregates; NULL: none is. */
static struct err *merge_known(struct merge *merge, const struct aggregate **ret)
{
	struct aggregate *aggregate = NULL;

	*ret = NULL;
	for (size_t i = 0; i < merge->processes.items.count; i++) {
		const struct aggregate *part = merge->processes.items.items[i].facts.aggregate;

		if (!part)
			continue;
		if (!aggregate) {
			aggregate =
				arena_alloc(&merge->recording->tables->arena, sizeof(*aggregate));
			if (!aggregate)
				return err_no_memory();
			*aggregate = *part;
		}
		aggregate->known &= part->known;
		aggregate->peak_is_live |= part->peak_is_live;
	}
	*ret = aggregate;
	return NULL;
}

struct err *merge_run(struct merge *merge, recording_progress *progress, void *argument)
{
	size_t count = merge->processes.items.count;
	auto_free uint64_t *moments = calloc(count + 1, sizeof(*moments));
	bool timed = share_a_clock(&merge->processes);
	const struct aggregate *aggregate;
	uint64_t peak_ns = 0;
	struct err *err;

	if (!moments)
		return err_no_memory();
	err = process_list_order(&merge->processes);
	if (!err && timed)
		err = find_moment(merge, moments, &peak_ns);
	drop_steps(merge);
	for (size_t i = 0; !err && i < count; i++)
		err = take_sites(merge, &merge->processes.items.items[i], timed, moments[i],
				 progress, argument);
	if (!err)
		err = merge_sites_finish(&merge->sites);
	if (err)
		return err;
	err = merge_known(merge, &aggregate);
	if (err)
		return err;
	make_facts(merge, timed, peak_ns, aggregate);
	return symbolized_create_named(merge->recording, merge->sites.lines.items,
				       &merge->symbolized);
}

const struct recording *merge_recording(const struct merge *merge)
{
	return merge->recording;
}

struct symbolized *merge_symbolized(const struct merge *merge)
{
	return merge->symbolized;
}

const struct process_list *merge_processes(const struct merge *merge)
{
	return &merge->processes;
}
