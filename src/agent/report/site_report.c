#include "agent/report/site_report.h"

#include "agent/ground/config.h"
#include "agent/ground/libc.h"
#include "agent/ground/state.h"
#include "agent/live/live_state.h"
#include "agent/report/report_frames.h"
#include "agent/report/report_weight.h"

/* Each site is made in `site` and `stack`, and copied to the report if the filter wants it. */
struct making {
	struct report_memory *memory;
	struct report_memory scratch;
	struct live *live;
	struct report_frames frames;
	struct mallow_site site;
	uint64_t *stack; /* room for the deepest */
	size_t stack_room;
	site_report_filter *filter;
	void *argument;
	struct site_report *report;
};

static void set_sums(struct mallow_site *site, uint64_t calls, uint64_t freed_calls)
{
	site->calls = report_calls(calls);
	site->freed_calls = report_calls(freed_calls);
	site->in_use = report_rest(site->allocated, site->freed);
	site->in_use_calls = report_rest(site->calls, site->freed_calls);
	site->average = site->calls ? (site->allocated + site->calls / 2) / site->calls : 0;
}

/* Reads the sums of a site, with those of its parts. */
static void read_sums(struct making *making, uint32_t number)
{
	struct sites *sites = &making->live->sites;
	struct mallow_site *site = &making->site;
	uint64_t calls = 0, freed_calls = 0;
	uint32_t part = 0;

	do {
		const struct live_site *entry = sites_at(sites, part ? part : number);

		// Freed sums first: a block that is freed meanwhile must not count as freed but not
		// allocated.
		freed_calls += __atomic_load_n(&entry->freed_calls, __ATOMIC_RELAXED);
		site->freed += __atomic_load_n(&entry->freed_bytes, __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		site->allocated += __atomic_load_n(&entry->bytes, __ATOMIC_RELAXED);
		calls += __atomic_load_n(&entry->calls, __ATOMIC_RELAXED);
	} while ((part = site_parts_next(sites, number, part)));
	set_sums(site, calls, freed_calls);
}

/* BACKTRACE=none: the only site has no sums of its own. */
static void read_all_threads(struct making *making)
{
	const struct live_threads *threads = &making->live->threads;
	uint32_t count = __atomic_load_n(&making->live->header->threads, __ATOMIC_ACQUIRE);
	uint64_t calls = 0, freed_calls = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct live_freed *row = live_threads_row(threads, i);

		for (uint32_t owner = 0; row && owner < count; owner++) {
			making->site.freed += __atomic_load_n(&row[owner].bytes, __ATOMIC_RELAXED);
			freed_calls += __atomic_load_n(&row[owner].calls, __ATOMIC_RELAXED);
		}
	}
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < count; i++) {
		making->site.allocated +=
			__atomic_load_n(&threads->entries[i].bytes, __ATOMIC_RELAXED);
		calls += __atomic_load_n(&threads->entries[i].calls, __ATOMIC_RELAXED);
	}
	set_sums(&making->site, calls, freed_calls);
}

static void read_stack(struct making *making, uint32_t node)
{
	struct mallow_site *site = &making->site;

	while (node && site->depth < making->stack_room) {
		const struct live_node *entry = sites_node_at(&making->live->sites, node);

		making->stack[site->depth++] = report_frames_pc(&making->frames, entry->frame);
		site->hash = report_frames_hash(site->hash,
						report_frames_key(&making->frames, entry->frame));
		node = entry->parent;
	}
	site->stack = making->stack;
}

/* false: no memory. */
static bool keep(struct making *making)
{
	struct mallow_site_report *open = &making->report->open;
	size_t size = making->site.depth * sizeof(*making->stack);
	struct mallow_site *site;
	uint64_t *stack;

	if (making->filter && !making->filter(&making->site, making->argument))
		return true;
	site = report_memory_take(making->memory, sizeof(*site));
	stack = report_memory_take(making->memory, size);
	if (!site || !stack)
		return false;
	*site = making->site;
	memcpy(stack, making->stack, size);
	site->stack = stack;
	open->sites[open->count++] = site;
	return true;
}

static bool add(struct making *making, uint32_t number)
{
	const struct live_site *entry;
	uint32_t node;

	// A site gets its number before its memory.
	if (!__atomic_load_n(&making->live->sites.sites[number >> SITES_SITE_BITS],
			     __ATOMIC_ACQUIRE))
		return true;
	entry = sites_at(&making->live->sites, number);
	node = __atomic_load_n(&entry->node, __ATOMIC_ACQUIRE);
	if (node & LIVE_SITE_PART || (!node && number != SITES_STACKLESS))
		return true; // its sums are added to its whole's; or it is not made yet
	making->site = (struct mallow_site){.stack = making->stack};
	if (config_stackless())
		read_all_threads(making);
	else
		read_sums(making, number);
	if (!making->site.calls)
		return true;
	read_stack(making, live_site_node(entry));
	return keep(making);
}

static bool make_room(struct making *making, uint32_t sites)
{
	struct mallow_site_report *open;

	making->report = report_memory_take(making->memory, sizeof(*making->report));
	// With room for the mark of a stack that was cut.
	making->stack_room = config.value[SETTING_DEPTH] + 8;
	making->stack =
		report_memory_take(&making->scratch, making->stack_room * sizeof(*making->stack));
	if (!making->report || !making->stack ||
	    !report_frames_make(&making->frames, &making->scratch))
		return false;
	open = &making->report->open;
	open->sites = report_memory_take(making->memory, sites * sizeof(*open->sites));
	return open->sites != NULL;
}

struct site_report *site_report_make(struct report_memory *memory, site_report_filter *filter,
				     void *argument)
{
	struct making making = {
		.memory = memory,
		.live = process->live,
		.filter = filter,
		.argument = argument,
	};
	uint32_t sites = __atomic_load_n(&making.live->header->sites, __ATOMIC_ACQUIRE);
	bool made;

	if (config_stackless())
		sites = SITES_STACKLESS + 1;
	made = make_room(&making, sites);
	for (uint32_t number = SITES_STACKLESS; made && number < sites; number++)
		made = add(&making, number);
	report_memory_release(&making.scratch);
	return made ? making.report : NULL;
}
